import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** A connection that is idle for longer is closed: the other side closes it after ten seconds. */
const IDLE_MS = 4_000;
const MAX_CONNECTIONS = 512;
/** Longer than the leader lets a call wait. */
const ANSWER_WITHIN_MS = 7_000;
/** The largest answer is the state of a symbol with very many price levels. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;

const OPTIONS = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS, scheduling: "lifo" } as const;
const HTTP_AGENT = new HttpAgent(OPTIONS);
const HTTPS_AGENT = new HttpsAgent(OPTIONS);

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: none. */
  readonly body: Uint8Array | null;
  /** Default: longer than a leader lets a call wait. */
  readonly withinMs?: number;
  /** Ends the wait for an answer. */
  readonly signal?: AbortSignal;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The request has certainly not reached the other side. */
export class NotSentError extends Error {
  override name = "NotSentError";
}

/** Sends a request to `url`, of which only the origin counts. Rejects with NotSentError, or with another Error if it may have arrived. */
export function sendUpstream(url: string, request: UpstreamRequest): Promise<UpstreamAnswer> {
  const { method, target, headers, body, withinMs = ANSWER_WITHIN_MS, signal } = request;
  const isTls = url.startsWith("https:");
  const { hostname, port } = new URL(url);
  const lengths: Record<string, string> = body === null ? {} : { "Content-Length": String(body.length) };
  return new Promise((resolve, reject) => {
    let isSent = false;
    const sending = (isTls ? requestHttps : requestHttp)({
      ...{ hostname: hostname.replace(/^\[|\]$/g, ""), port, method, path: target },
      headers: { ...headers, ...lengths },
      agent: isTls ? HTTPS_AGENT : HTTP_AGENT,
      signal,
    });
    const timer = setTimeout(() => sending.destroy(new Error(`${url} does not answer`)), withinMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(isSent ? error : new NotSentError(error.message, { cause: error }));
    };
    sending.on("error", fail);
    sending.on("socket", (socket: Socket) => {
      const note = (): void => {
        isSent = true;
      };
      if (socket.connecting) socket.once((socket as TLSSocket).encrypted ? "secureConnect" : "connect", note);
      else note();
    });
    sending.on("response", (response: IncomingMessage) => {
      readAll(response, MAX_ANSWER_BYTES).then((bytes) => {
        clearTimeout(timer);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes });
      }, fail);
    });
    sending.end(body ?? undefined);
  });
}

async function readAll(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length > maxBytes) throw new Error("the answer is too large");
  }
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}
