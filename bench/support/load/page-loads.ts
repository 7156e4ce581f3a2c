import { Agent, get } from "node:http";
import { yieldToAll } from "../own-core.ts";
import { SocketClient, textFrame } from "./socket-client.ts";

/** Loads a page many times at once in a separate process, without a browser: a browser would take all of the machine. */
export interface PageLoadsTask {
  pages: number;
  /** Addresses that a page asks for together: the document, then all that it names, then the requests of its scripts. */
  stages: string[][];
  /** For each WebSocket of its scripts the messages that it sends first. */
  sockets: { url: string; messages: string[] }[];
}

export interface Loaded {
  pages: number;
  seconds: number;
}

/** As browsers have for a host. */
const CONNECTIONS = 6;

// It stands for other machines: it must not delay the client whose orders are measured.
yieldToAll();

process.once("message", (task: PageLoadsTask) => {
  process.on("message", async () => {
    const from = performance.now();
    await Promise.all(Array.from({ length: task.pages }, () => load(task)));
    process.send?.({ pages: task.pages, seconds: (performance.now() - from) / 1e3 } satisfies Loaded);
  });
  process.send?.("ready");
});

/**
 * Resolves when everything has been answered. The connections stay open until the process ends, as a browser keeps them for
 * later requests, and the WebSockets are read.
 */
async function load({ stages, sockets }: PageLoadsTask): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const readAll = (urls: readonly string[]): Promise<unknown> => Promise.all(urls.map((url) => read(url, agent)));
  for (const urls of stages.slice(0, -1)) await readAll(urls);
  await Promise.all([readAll(stages.at(-1) ?? []), ...sockets.map(follow)]);
}

function read(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { "Accept-Encoding": "br, gzip" } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.on("end", resolve).resume();
    }).on("error", reject);
  });
}

async function follow({ url, messages }: { url: string; messages: string[] }): Promise<void> {
  const socket = await SocketClient.open(url);
  for (const message of messages) socket.send(textFrame(message));
  await new Promise<void>((resolve) => {
    socket.onFrames = () => {
      if (socket.counter.texts >= messages.length) resolve();
    };
  });
}
