import { createServer } from "node:net";

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there",
  EACCES: "the system does not let this user take that port",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "no address is known for that name",
  EAI_AGAIN: "no address is known for that name",
};

/**
 * Listens for a moment and rejects with the reason when that cannot be: uWebSockets.js says only that it could not, and
 * says it after the recovery, which may take minutes. Another program may still take the port in between.
 */
export function probePort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // Whoever connects in that moment leaves nothing behind at the port.
    const probe = createServer((socket) => socket.resetAndDestroy());
    probe.once("error", ({ code, message }: NodeJS.ErrnoException) =>
      reject(new Error(`cannot listen on ${host}:${port}: ${REASONS[code ?? ""] ?? message}`)),
    );
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  });
}
