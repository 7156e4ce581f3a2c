import { parseObject } from "../../client/response.ts";

/** An answer to one call has some hundred bytes. */
const MAX_ANSWER_BYTES = 16_384;

/** The node did not answer, or not as JSON-RPC has it. The message does not show the node's URL. */
export class RpcError extends Error {
  override name = "RpcError";
  /** The contract has run and ended with an error. */
  readonly isRevert: boolean;

  constructor(message: string, isRevert = false) {
    super(message);
    this.isRevert = isRevert;
  }
}

let lastId = 0;

/**
 * Sends one JSON-RPC request and resolves to its result, a text in hex. Rejects with RpcError, or with the error of the signal.
 * It follows no redirect: the node that was configured must answer.
 */
export async function ethereumCall(
  url: string,
  method: string,
  params: readonly unknown[],
  signal: AbortSignal,
): Promise<string> {
  const id = ++lastId;
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Accept-Encoding": "identity" },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    redirect: "manual",
    signal,
  }).catch((error: Error) => {
    throw signal.aborted ? signal.reason : new RpcError(`no connection (${codeOf(error)})`);
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new RpcError(`the status of its answer is ${response.status}`);
  }
  return resultOf(await readText(response), id);
}

const codeOf = ({ cause, name }: Error): string => (cause as NodeJS.ErrnoException | undefined)?.code ?? name;

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > MAX_ANSWER_BYTES) throw new RpcError(`its answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

interface Answer {
  jsonrpc?: unknown;
  id?: unknown;
  result?: unknown;
  error?: { code?: unknown; message?: unknown };
}

/** Throws RpcError. */
function resultOf(text: string, id: number): string {
  const answer: Answer | null = parseObject(text);
  if (answer?.jsonrpc !== "2.0" || answer.id !== id)
    throw new RpcError("its answer is no JSON-RPC answer to the request");
  const { result, error } = answer;
  if (typeof error === "object" && error !== null && result === undefined) throw errorOf(error);
  if (error !== undefined || typeof result !== "string" || !/^0x[0-9a-f]*$/i.test(result))
    throw new RpcError("the result in its answer is no text in hex");
  return result.toLowerCase();
}

/** Nodes report a failed call with the code 3, or with a code of their own and this word. */
function errorOf({ code, message }: NonNullable<Answer["error"]>): RpcError {
  const isRevert = code === 3 || (typeof message === "string" && /\brevert(ed)?\b/i.test(message));
  return new RpcError(`it answered with the error ${Number(code)}`, isRevert);
}
