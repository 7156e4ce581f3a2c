import assert from "node:assert/strict";
import { PerpdClient } from "../../../src/client/client.ts";
import { PerpdError } from "../../../src/client/error.ts";
import type { Stream, WebSocketConstructor } from "../../../src/client/stream.ts";
import { DocumentedWebSocket } from "./documents/documented-messages.ts";
import { Follower } from "./follower.ts";
import { Random } from "./random.ts";
import type { TestServer } from "./server.ts";
import { Operator, openTrader, type Trader } from "./trader.ts";
import { pause, until } from "./wait.ts";

const IN_FLIGHT = 16;
/** Mean number of events between two cuts. A client reconnects after a quarter of a second. */
const EVENTS_PER_CUT = 250;

export interface Resumed {
  cuts: number;
  /** Number of reconnects that resumed without a snapshot, at least. */
  resumed: number;
}

/**
 * Two accounts trade at random over sockets, and two clients follow one of them. The connection of one follower is cut
 * at random. Both must end with the exchange's books and account, and must have seen the same trades and fills. Rejects
 * when they do not.
 */
export async function runResuming(server: TestServer, seed: number, events: number): Promise<Resumed> {
  const random = new Random(seed);
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const [alice, bob] = await Promise.all([openTrader(server, "1000000"), openTrader(server, "1000000")]);
  const traders = [alice, bob].map((trader) => socketOf(server, trader));
  const steady = new Follower(server.url, alice);
  const cut = new Follower(server.url, alice);
  const streams = [...traders, steady.stream, cut.stream];
  let cuts = 0;
  try {
    await Promise.all(streams.map(({ ready }) => ready));
    for (let done = 0; done < events; done += IN_FLIGHT) {
      await Promise.all(Array.from({ length: IN_FLIGHT }, () => act(random, random.pick(traders))));
      if (random.next() >= IN_FLIGHT / EVENTS_PER_CUT) continue;
      cut.cut();
      cuts++;
      // Waits for different times, so that more or less happens before the reconnect.
      await pause(random.pick([0, 250, 400]));
    }
    for (const [name, follower] of Object.entries({ steady, cut })) {
      let last: string | null = null;
      await until(`the ${name} follower to be in step`, async () => {
        last = await follower.difference();
        return last === null;
      }).catch((error) => assert.fail(`${error.message}: ${last}`));
    }
    for (const id of cut.trades) assert.ok(steady.trades.has(id), `trade ${id} was invented`);
    for (const [id, fill] of cut.fills) assert.deepEqual(fill, steady.fills.get(id));
    return { cuts, resumed: cut.resumed };
  } finally {
    for (const stream of streams) stream.close();
  }
}

const socketOf = (server: TestServer, trader: Trader): Stream =>
  new PerpdClient({
    baseUrl: server.url,
    token: trader.token as string,
    WebSocket: DocumentedWebSocket as unknown as WebSocketConstructor,
  }).stream([], { onMessage() {} });

/** Sends one random request, which may be refused. */
async function act(random: Random, trader: Stream): Promise<void> {
  const roll = random.next();
  const side = random.pick(["BUY", "SELL"] as const);
  const away = random.between(-15, 25);
  const quantity = `0.00${random.between(1, 9)}`;
  const limit = { symbol: "BTC-PERP", side, type: "LIMIT", quantity } as const;
  const price = String(65_000 + (side === "BUY" ? -away : away));
  const refused = (error: unknown): void =>
    assert.ok(error instanceof PerpdError && error.code !== "DISCONNECTED", String(error));
  if (roll < 0.01) await trader.cancelOrders({ symbol: "BTC-PERP", side }).catch(refused);
  else if (roll < 0.02) await trader.closePosition("BTC-PERP").catch(refused);
  else {
    const iceberg = random.next() < 0.3 ? { displayQuantity: "0.001" } : {};
    const placed = await trader.placeOrder({ ...limit, price, ...iceberg }).catch(refused);
    if (placed && placed.status !== "FILLED" && random.next() < 0.8)
      await trader.cancelOrder({ orderId: placed.orderId }).catch(refused);
  }
}
