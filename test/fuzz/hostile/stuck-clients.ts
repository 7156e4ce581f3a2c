import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { readToEnd, textFrame, upgrade } from "../../e2e/support/raw-socket.ts";
import { SocketClient } from "../../e2e/support/socket.ts";
import type { Trader } from "../../e2e/support/trader.ts";
import type { FuzzStage } from "../stage.ts";
import { AttackedExchange } from "./attacked-exchange.ts";

const LEVELS = 900;
const BOOK = { channel: "orderbook", symbol: "BTC-PERP", depth: 1000 } as const;
/** Five copies of the book are about 100 kB: repeated, more than a kernel buffers. */
export const BOOKS = ([0, 100, 250, 500, 1000] as const).map((updateMs) => ({ ...BOOK, updateMs }));
export const TIMES = 60;
/** After that no more books are sent, but so many replies exceed what a client may leave unread. */
export const ANSWERS = 500;

/**
 * uWebSockets.js closes idle connections after 8 to 12 s: all that came within four seconds at once, at about 10 µs
 * each. It does so without our code, and offers no way to close them earlier.
 */
const END_DEADLINE_MS = 120_000;
const CONNECTS_AT_ONCE = 250;
const NO_STALL_LIMIT = false;

/** Fills the book with many orders. */
export const fillBook = (trader: Trader): Promise<unknown> =>
  Promise.all(Array.from({ length: LEVELS }, (_, i) => trader.buy("0.001", String(20_000 + i))));

/**
 * Clients that request more than they read: each must be dropped, and nobody else may wait. One input is one client.
 */
export const STALLED: FuzzStage = {
  name: "stalled",
  runs: 1000,
  run: (_seed, runs, say) =>
    AttackedExchange.run(say, async (victim) => {
      const { alice } = victim.target;
      await fillBook(alice);
      const healthy = await SocketClient.open(victim.server.wsUrl);
      await healthy.subscribe(BOOK);
      const asking = textFrame({ op: "subscribe", channels: BOOKS });
      const much = Buffer.concat(new Array<Buffer>(ANSWERS).fill(asking));
      const stalled: Socket[] = [];
      let slowestMs = 0;
      const trade = async (): Promise<void> => {
        // Orders are accepted, and subscribers get their changes.
        const startedAt = performance.now();
        const { orderId, sequence } = await alice.buy("0.001", "21000");
        await healthy.find("the change", (message) => message.sequence === sequence && message.type === "DELTA");
        slowestMs = Math.max(slowestMs, performance.now() - startedAt);
        await alice.cancel(orderId);
      };
      try {
        while (stalled.length < runs) {
          const socket = await upgrade(victim.server.port);
          stalled.push(socket);
          socket.write(asking);
          if (stalled.length % 10 === 0) await trade();
        }
        for (let i = 1; i < TIMES; i++) {
          // A repeated request is merged with one that was not sent yet. Clients take turns, so the last request of
          // each is the last overall.
          for (const socket of stalled) socket.write(asking);
          await readBooks(victim.server.wsUrl);
          await trade();
        }
        for (const socket of stalled) {
          socket.write(much);
          await trade();
        }
        say(`an order and its change on a healthy socket took ${slowestMs.toFixed(0)} ms at most`);
        await Promise.all(stalled.map(readToEnd));
      } finally {
        for (const socket of stalled) socket.destroy();
      }
      await healthy.close();
    }),
};

async function readBooks(wsUrl: string): Promise<void> {
  const client = await SocketClient.open(wsUrl);
  await client.subscribe(...BOOKS);
  let books = 0;
  await client.find("the books", ({ type }) => type === "SNAPSHOT" && ++books === BOOKS.length);
  await client.close();
}

/** Silent, incomplete and idle connections: each must be closed. One input is one connection. */
export const IDLE: FuzzStage = {
  name: "idle",
  runs: 10_000,
  run: (_seed, runs, say) =>
    AttackedExchange.run(
      say,
      async (victim) => {
        const { alice } = victim.target;
        // A valid order except for bytes in its head that make uWebSockets.js wait.
        const body = JSON.stringify({
          symbol: "BTC-PERP",
          side: "BUY",
          type: "LIMIT",
          price: "21001",
          quantity: "0.001",
        });
        const order = (bytes: string) =>
          `POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.token}\r\n${bytes}Content-Length: ${body.length}\r\n\r\n`;
        const starts = [
          "",
          "GET /v1/time HTTP/1.1\r\nHo",
          "GET /v1/time HTTP/1.1\r\nHost: x\r\nX-More: ",
          order("").slice(0, -20),
          order("") + body.slice(0, 10),
          "GET /v1/time HTTP/1.1\r\nHost: x\r\n\r\n",
          order("X-Folded: a\r\n b\r\n") + body,
          order("X-Nul: a\0b\r\n") + body,
          order("X-Return: a\rb\r\n") + body,
        ];
        const [DRIPS, HALF_BODY] = [2, 4];
        const sockets: Socket[] = [];
        const ends: Promise<Buffer>[] = [];
        let slowestMs = 0;
        const kind = (i: number) => i % starts.length;
        // Slow senders send a byte per second, so they are never silent for long.
        const dripping = setInterval(() => {
          for (const [i, socket] of sockets.entries()) if (kind(i) === DRIPS && !socket.closed) socket.write("x");
        }, 1000);
        try {
          for (let from = 0; from < runs; from += CONNECTS_AT_ONCE) {
            const count = Math.min(CONNECTS_AT_ONCE, runs - from);
            for (const socket of await Promise.all(Array.from({ length: count }, () => open(victim.server.port)))) {
              socket.write(starts[kind(sockets.length)] ?? "");
              sockets.push(socket);
              ends.push(readToEnd(socket));
            }
            const startedAt = performance.now();
            const { orderId } = await alice.buy("0.001", "21000");
            slowestMs = Math.max(slowestMs, performance.now() - startedAt);
            await alice.cancel(orderId);
          }
          say(`an order took ${slowestMs.toFixed(0)} ms at most`);
          await within(END_DEADLINE_MS, `the end of ${runs} connections`, Promise.all(ends));
          const late = String(await ends[HALF_BODY]);
          assert.match(late, /^HTTP\/1\.1 408 .*"code":"REQUEST_TIMEOUT"/s);
          const taken = (await alice.openOrders()).data.filter(({ price }) => price === "21001");
          assert.deepEqual(taken, [], "none of the orders was read");
        } finally {
          clearInterval(dripping);
          for (const socket of sockets) socket.destroy();
        }
      },
      NO_STALL_LIMIT,
    ),
};

function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.removeListener("error", reject).on("error", () => {});
      resolve(socket);
    });
  });
}

export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out waiting for ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
