import { once } from "node:events";
import { createServer } from "node:net";

/** Systems give the ports from 32768 on to connections that programs open, and tests that run at the same time open many. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_000;

/** A port that nobody listens on. Nobody gets it by chance before the test uses it, or between two starts of a server. */
export async function freePort(host = "127.0.0.1"): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    const server = createServer().listen(port, host);
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
