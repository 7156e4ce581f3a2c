import { readFileSync } from "node:fs";
import { connect, isIP } from "node:net";
import { connect as connectSecurely } from "node:tls";
import type { ReplicationConfig } from "../config/replication.ts";

const TIMEOUT_MS = 3000;
const NATS_PORT = 4222;

/**
 * Rejects if a NATS server and this process do not agree on certificates, with the reason: the client of NATS itself only
 * says that the time is over. Resolves if they do, or if nobody answers there.
 */
export function requireTls(url: string, files: NonNullable<ReplicationConfig["tls"]>): Promise<void> {
  const { hostname, port } = new URL(url);
  const contents = contentsOf(files);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port) || NATS_PORT, hostname);
    const end = (fault?: string): void => {
      socket.destroy();
      if (fault === undefined) resolve();
      else reject(new Error(fault));
    };
    socket.setTimeout(TIMEOUT_MS, end);
    const endUnheard = (): void => end();
    socket.on("error", endUnheard);
    socket.on("close", endUnheard);
    // The server speaks first, in the clear.
    socket.once("data", () => {
      socket.off("close", endUnheard);
      const name = isIP(hostname) === 0 ? { servername: hostname } : {};
      const secure = connectSecurely({ socket, host: hostname, ...name, ...contents });
      secure.on("error", ({ message, reason }: Error & { reason?: string }) => end(reason ?? message));
      secure.on("close", () => end("the server has ended the connection"));
      // It refuses this side's certificate after the handshake, if at all.
      secure.on("secureConnect", () => secure.write("PING\r\n"));
      secure.on("data", () => end());
    });
  });
}

function contentsOf({ caFile, certFile, keyFile }: NonNullable<ReplicationConfig["tls"]>): object {
  return {
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
    ...(certFile === undefined ? {} : { cert: readFileSync(certFile) }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
  };
}
