import { createServer } from "node:net";

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program already listens on this port",
  EACCES: "this user may not use this port",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "the host name has no address",
  EAI_AGAIN: "the host name has no address",
};

/**
 * Listens for a moment, and rejects with the reason if that fails. uWebSockets.js gives no reason, and it only tries after
 * the recovery, which may take minutes. Another program may still take the port in between.
 */
export function probePort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // A client that connects now must leave no connection behind on the port.
    const probe = createServer((socket) => socket.resetAndDestroy());
    probe.once("error", ({ code, message }: NodeJS.ErrnoException) =>
      reject(new Error(`cannot listen on ${host}:${port}: ${REASONS[code ?? ""] ?? message}`)),
    );
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  });
}
