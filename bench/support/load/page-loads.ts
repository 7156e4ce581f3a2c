import { Agent, get } from "node:http";
import { yieldToAll } from "../own-core.ts";
import { SocketClient, textFrame } from "./socket-client.ts";

/** Loads a page many times at once in a separate process, without a browser: a browser would take all of the machine. */
export interface PageLoadsTask {
  pages: number;
  /** Addresses of the document, its files and the requests of its scripts. */
  requests: string[];
  /** For each WebSocket of the page the messages that it sends first. */
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

/** Resolves when everything has been answered. The WebSockets stay open and are read until the process ends. */
async function load({ requests, sockets }: PageLoadsTask): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  await Promise.all([...requests.map((url) => read(url, agent)), ...sockets.map(follow)]);
  agent.destroy();
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
