import { connect } from "node:net";

/** The bytes of an answer on a raw connection, and whether the server closed it. */
export interface RawAnswer {
  text: string;
  closed: boolean;
}

/** How long an open connection must stay silent before it counts as left open. */
const SILENCE_MS = 250;
/** Far longer than any answer takes. */
const DEADLINE_MS = 15_000;

/** Sends the bytes (latin1) as they are. Listens until the server closes, or has answered and is silent. */
export const sendRaw = (port: number, ...parts: string[]): Promise<RawAnswer> =>
  listenFor(DEADLINE_MS, SILENCE_MS, port, parts);

/** The same for bytes that may get no answer: silence from the beginning counts, too. */
export const sendAstray = (port: number, ...parts: string[]): Promise<RawAnswer> =>
  listenFor(SILENCE_MS, SILENCE_MS, port, parts);

/** The same, but listens until the server closes. */
export const sendAndWait = (port: number, ...parts: string[]): Promise<RawAnswer> =>
  listenFor(DEADLINE_MS, DEADLINE_MS, port, parts);

/** Sends each part in a packet of its own. Listens until the server closes, or for `waitMs`. */
export async function sendInPackets(port: number, parts: string[], waitMs = DEADLINE_MS): Promise<RawAnswer> {
  let text = "";
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("data", (bytes) => (text += bytes.toString("latin1")));
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const connected = new Promise((resolve) => socket.once("connect", resolve));
  await Promise.race([connected, closed]);
  for (const part of parts) {
    socket.write(Buffer.from(part, "latin1"));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const timer = setTimeout(() => socket.destroy(), waitMs);
  await closed;
  clearTimeout(timer);
  return { text, closed: true };
}

function listenFor(firstMs: number, silenceMs: number, port: number, parts: string[]): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(port, "127.0.0.1");
    let timer: NodeJS.Timeout;
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, closed });
    };
    const listen = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const before = text;
        // If this process was delayed, it reads the bytes that came meanwhile first.
        setImmediate(() => before === text && !socket.closed && finish(false));
      }, ms);
    };
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      listen(silenceMs);
    });
    socket.on("close", () => finish(true));
    socket.on("error", () => {});
    for (const part of parts) socket.write(Buffer.from(part, "latin1"));
    listen(firstMs);
  });
}

export const statusOf = (answer: RawAnswer): number => Number(answer.text.split(" ", 2)[1] ?? 0);

/** The JSON body of the first answer, or null when there is none. */
export function bodyOf(answer: RawAnswer): Record<string, unknown> | null {
  const [head, ...rest] = answer.text.split("\r\n\r\n");
  const length = Number(/content-length: (\d+)/i.exec(head ?? "")?.[1] ?? 0);
  const bytes = Buffer.from(rest.join("\r\n\r\n").slice(0, length), "latin1");
  const body = bytes.toString("utf8");
  return body.startsWith("{") ? (JSON.parse(body) as Record<string, unknown>) : null;
}
