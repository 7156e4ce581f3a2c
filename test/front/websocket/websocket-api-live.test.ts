import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import WebSocket from "ws";
import { BUY, SELL } from "../../../src/core/base/enums.ts";
import { OrderPlaced, Traded } from "../../../src/core/protocol/events.ts";
import { MarketData } from "../../../src/front/exchange/market.ts";
import { Transfers } from "../../../src/front/exchange/transfers.ts";
import { listen, type Server } from "../../../src/front/http/server.ts";
import { WebSocketApi } from "../../../src/front/websocket/websocket-api.ts";
import type { Received } from "../support/scripted-client.ts";
import { EMPTY_HISTORY, make, ScriptedEngine } from "../support/scripted-engine.ts";

const BTC = 1;
const SUBSCRIBE = JSON.stringify({
  op: "subscribe",
  channels: [
    { channel: "orderbook", symbol: "BTC-PERP", depth: 5 },
    { channel: "trades", symbol: "BTC-PERP" },
  ],
});

class Client {
  private readonly socket: WebSocket;
  private readonly received: Received[] = [];
  private wake: (() => void) | null = null;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => {
      this.received.push(JSON.parse(String(data)));
      this.wake?.();
    });
  }

  static async connect(port: number): Promise<Client> {
    const client = new Client(new WebSocket(`ws://127.0.0.1:${port}/v1/ws`));
    await once(client.socket, "open");
    return client;
  }

  say(text: string): void {
    this.socket.send(text);
  }

  /** The messages up to the answer to a ping: all that were sent before it. */
  async take(): Promise<Received[]> {
    this.say('{"op":"ping"}');
    while (this.received.at(-1)?.op !== "pong") {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this.received.splice(0).slice(0, -1);
  }
}

const label = (message: Received): string =>
  message.op ?? `${message.channel} ${message.type} ${message.prevSequence} ${message.sequence}`;

test("over the real server, published and sent messages keep their order", async () => {
  const engine = new ScriptedEngine();
  const opening = MarketData.open(
    engine,
    () => ({ minuteCandles: [], trades: [], liquidations: [], fundingRates: [] }),
    Date.now,
  );
  engine.describe({ [BTC]: { bids: [[100, 1000]] } });
  const market = await opening;
  let server: Server | null = null;
  const log = { error: assert.fail };
  const channels = new WebSocketApi({
    engine,
    market,
    publish: (topic, text) => server?.publish(topic, text),
    auth: { socket: () => assert.fail("nobody logs in") },
    transfers: new Transfers(engine),
    history: EMPTY_HISTORY,
    trade: () => assert.fail("nobody trades"),
    now: Date.now,
    // It stands still: else a slow machine would answer the ping before the last snapshot.
    monotonic: () => 0,
    limits: null,
    log,
  });
  const onCall = (): void => assert.fail("no call was made");
  server = await listen({ host: "127.0.0.1", port: 0, socketPath: "/v1/ws", onCall, sockets: channels, log });
  try {
    const early = await Client.connect(server.port);
    const late = await Client.connect(server.port);
    early.say(SUBSCRIBE);
    assert.deepEqual((await early.take()).map(label), [
      "subscribed",
      "orderbook SNAPSHOT null 100",
      "trades SNAPSHOT null 0",
    ]);
    engine.transaction(BTC, make(OrderPlaced, { side: BUY, priceTicks: 101, quantityLots: 1000, rests: 1 }));
    engine.transaction(BTC, make(Traded, { takerSide: SELL, priceTicks: 101, quantityLots: 1 }));
    late.say(SUBSCRIBE);
    assert.deepEqual((await late.take()).map(label), [
      "subscribed",
      "orderbook SNAPSHOT null 102",
      "trades SNAPSHOT null 102",
    ]);
    assert.deepEqual((await early.take()).map(label), ["orderbook DELTA 100 102", "trades UPDATE 0 102"]);

    engine.transaction(BTC, make(Traded, { takerSide: SELL, priceTicks: 101, quantityLots: 1 }));
    late.say(SUBSCRIBE);
    assert.deepEqual((await late.take()).map(label), [
      "subscribed",
      "orderbook DELTA 102 103",
      "orderbook SNAPSHOT null 103",
      "trades UPDATE 102 103",
      "trades SNAPSHOT null 103",
    ]);
    engine.transaction(BTC, make(Traded, { takerSide: SELL, priceTicks: 101, quantityLots: 1 }));
    engine.drain();
    for (const client of [early, late])
      assert.deepEqual((await client.take()).slice(-2).map(label), [
        "orderbook DELTA 103 104",
        "trades UPDATE 103 104",
      ]);
  } finally {
    await server.close();
  }
});
