import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, LEDGER, SELL } from "../../src/core/base/enums.ts";
import {
  FundingSettled,
  IndexWentStale,
  OrderPlaced,
  PositionTransferred,
  PriceUpdated,
  Traded,
  TradingHalted,
} from "../../src/core/protocol/events.ts";
import type { Message } from "../../src/core/protocol/message-schema.ts";
import { MarketData } from "../../src/front/exchange/market.ts";
import { packSymbolPage, readSymbolPage, type SymbolPage } from "../../src/front/exchange/symbol-page.ts";
import { Follower } from "../../src/gateway/follower.ts";
import { StreamFault } from "../../src/replication/batch.ts";
import { encodeLeaderBegan } from "../../src/replication/leader-began.ts";
import { UnknownOutcomeError } from "../../src/replication/stream.ts";
import { seal } from "../../src/store/log/log-record.ts";
import { encodeMessage, maxMessageBytes } from "../../src/wire/codec.ts";
import * as record from "../../src/wire/record.ts";
import { Random } from "../e2e/support/random.ts";
import { make, ScriptedEngine } from "../front/support/scripted-engine.ts";
import { EXCHANGE, MemoryStream } from "../replication/support.ts";

function recordOf(sequence: number, actorId: number, time: number, events: readonly Message[]): Buffer {
  const bytes = Buffer.alloc(
    record.RECORD_HEADER_BYTES + events.reduce((sum, event) => sum + maxMessageBytes(event), 0),
  );
  const view = record.viewOf(bytes);
  let end = record.RECORD_HEADER_BYTES;
  for (const event of events) end = encodeMessage(view, bytes, end, event);
  view.setUint32(record.AT_LOG_BYTES, end, true);
  view.setFloat64(record.AT_SEQUENCE, sequence, true);
  view.setFloat64(record.AT_TIME, time, true);
  view.setUint16(record.AT_ACTOR_ID, actorId, true);
  view.setUint8(record.AT_KIND, record.KIND_TRANSACTION);
  view.setUint8(record.AT_VERSION, record.FORMAT_VERSION);
  seal(view, bytes, 0, end, sequence - 1);
  return bytes.subarray(0, end);
}

/** A leader whose transactions go into a stream. */
class Leader {
  readonly engine = new ScriptedEngine();
  readonly stream = new MemoryStream();
  market!: MarketData;
  epoch = 1;
  private readonly levels = new Map<number, [tick: number, lots: number][]>();

  static async open(): Promise<Leader> {
    const leader = new Leader();
    const past = { minuteCandles: [], trades: [], liquidations: [], fundingRates: [] };
    leader.engine.sequence = 0;
    const opening = MarketData.open(
      leader.engine,
      () => past,
      () => leader.engine.time,
    );
    leader.engine.describe();
    leader.market = await opening;
    return leader;
  }

  publish(actorId: number, ...events: Message[]): void {
    const { engine } = this;
    const sequence = engine.transaction(actorId, ...events);
    this.add(sequence, recordOf(sequence, actorId, engine.time, events));
  }

  add(sequence: number, bytes: Uint8Array): void {
    const place = { exchangeId: EXCHANGE, epoch: this.epoch, node: String(this.epoch), part: 1, parts: 1 };
    this.stream.add({ ...place, first: sequence, last: sequence, bytes });
  }

  /** Another process leads from here on. */
  takeOver(sequence: number): void {
    this.epoch++;
    this.add(sequence, encodeLeaderBegan({ sequence, epoch: this.epoch, node: "b", timeMs: this.engine.time }));
    this.engine.sequence = Math.max(this.engine.sequence, sequence);
  }

  /** Something that changes the market of a symbol. */
  act(random: Random): void {
    const { engine } = this;
    const actorId = 1 + Math.floor(random.next() * 2);
    const levels = this.levels.get(actorId) ?? [];
    this.levels.set(actorId, levels);
    engine.time += Math.floor(random.next() * 90_000);
    const choice = random.next();
    const tick = 100 + Math.floor(random.next() * 80);
    const lots = 1 + Math.floor(random.next() * 9);
    const takerSide = random.next() < 0.5 ? BUY : SELL;
    const level = levels.findIndex(([at]) => (takerSide === BUY ? at >= 140 : at < 140));
    if (choice < 0.5) {
      levels.push([tick, lots]);
      const side = tick < 140 ? BUY : SELL;
      this.publish(actorId, make(OrderPlaced, { side, priceTicks: tick, quantityLots: lots, rests: 1 }));
    } else if (choice < 0.8 && level >= 0) {
      const [[priceTicks, quantityLots]] = levels.splice(level, 1);
      const tradeId = engine.sequence + 1;
      const execType = random.next() < 0.3 ? 1 : 0;
      this.publish(actorId, make(Traded, { takerSide, priceTicks, quantityLots, tradeId, execType }));
    } else if (choice < 0.9) {
      const indexTicks = tick * 10;
      this.publish(
        actorId,
        make(PriceUpdated, {
          indexTicks,
          markTicks: indexTicks + 1,
          fundingRatePpb: lots,
          nextFundingTime: engine.time,
        }),
      );
    } else if (choice < 0.93) {
      this.publish(actorId, make(TradingHalted, { mode: lots % 3, reason: 1, until: 0 }));
    } else if (choice < 0.95) this.publish(actorId, make(IndexWentStale));
    else if (choice < 0.97) this.publish(actorId, make(FundingSettled, { fundingTime: engine.time, ratePpb: lots }));
    else if (choice < 0.98) this.publish(actorId, make(PositionTransferred, { priceTicks: tick, quantityLots: lots }));
    else this.publish(LEDGER);
  }

  page(id: number): SymbolPage {
    const { engine, market, epoch } = this;
    const { instrument } = market.symbol(id);
    const page = { exchangeId: EXCHANGE, epoch, sequence: engine.sequence, time: engine.time, isTrustedProxy: true };
    return readSymbolPage(packSymbolPage({ ...page, config: instrument.config, state: market.symbol(id).capture() }));
  }

  follower(pages: readonly SymbolPage[], onEpoch: (epoch: number) => void = () => {}): Follower {
    const { stream } = this;
    return new Follower({
      ...{ pages, stream, onEpoch, now: () => this.engine.time, monotonicMs: () => performance.now() },
      sleep: () => Promise.resolve(),
    });
  }
}

/** Reads until the follower has all that the leader has published. */
async function catchUp(leader: Leader, follower: Follower): Promise<void> {
  const running = follower.run();
  while (follower.engine.releasedSequence() < leader.engine.sequence)
    await Promise.race([running, new Promise((resolve) => setImmediate(resolve))]);
  follower.stop();
  await running;
}

function textsOf(market: MarketData): string[] {
  return [1, 2].flatMap((id) => {
    const symbol = market.symbol(id);
    const trades = [symbol.latestTrades(1000), symbol.latestTrades(10), symbol.latestLiquidations(100)];
    return [
      ...[market.tickerJson(id).toString(), symbol.orderBookJson(1000).toString(), market.instrumentJson(id)],
      ...[symbol.markPriceJson(0).toString(), JSON.stringify(trades), market.sparklinesJson().toString()],
      JSON.stringify([symbol.sequence, symbol.priceSequence, symbol.faults, symbol.fundingRatePpb]),
    ];
  });
}

test("market data that begins with states and goes on with the stream is the leader's", async () => {
  for (const seed of [1, 2, 3, 4]) {
    const random = new Random(seed);
    const leader = await Leader.open();
    for (let i = 0; i < 400; i++) leader.act(random);
    // The leader trades while its states are read, one symbol after the other.
    const first = leader.page(1);
    for (let i = 0; i < 30; i++) leader.act(random);
    const follower = leader.follower([first, leader.page(2)]);
    for (let i = 0; i < 600; i++) leader.act(random);
    await follower.begin();
    await catchUp(leader, follower);
    assert.deepEqual(textsOf(follower.market), textsOf(leader.market), `seed ${seed}`);
    assert.ok(leader.market.symbol(1).recentTrades(1000).length > 50);
  }
});

test("a symbol without any event is followed from its first one on", async () => {
  const leader = await Leader.open();
  const follower = leader.follower([1, 2].map((id) => leader.page(id)));
  await follower.begin();
  leader.publish(1, make(OrderPlaced, { side: BUY, priceTicks: 100, quantityLots: 5, rests: 1 }));
  await catchUp(leader, follower);
  assert.deepEqual(textsOf(follower.market), textsOf(leader.market));
});

test("a follower that has fallen behind what the stream holds says so", async () => {
  const leader = await Leader.open();
  const random = new Random(7);
  for (let i = 0; i < 20; i++) leader.act(random);
  const pages = [1, 2].map((id) => leader.page(id));
  for (let i = 0; i < 20; i++) leader.act(random);
  await leader.stream.purgeThrough(30);
  await assert.rejects(leader.follower(pages).begin(), StreamFault);
});

test("without word from the server that knows the end of the stream, market data grows old", async () => {
  const leader = await Leader.open();
  leader.publish(1, make(OrderPlaced, { side: BUY, priceTicks: 100, quantityLots: 5, rests: 1 }));
  const pages = [1, 2].map((id) => leader.page(id));
  let nowMs = 0;
  const wait = (ms: number): Promise<void> => {
    nowMs += ms;
    return new Promise((resolve) => setImmediate(resolve));
  };
  const { stream } = leader;
  stream.wait = wait;
  const clocks = { now: () => leader.engine.time, monotonicMs: () => nowMs, sleep: wait };
  const follower = new Follower({ ...{ pages, stream, onEpoch: () => {} }, ...clocks });
  await follower.begin();
  const running = follower.run();
  const ages: number[] = [];
  const pass = async (ms: number): Promise<void> => {
    for (const endMs = nowMs + ms; nowMs < endMs; ) await new Promise((resolve) => setImmediate(resolve));
    ages.push(nowMs - follower.heardAtMs);
  };
  await pass(5000);
  // A replica that is cut off from the others says that there is no more.
  stream.readableThrough = 1;
  leader.publish(2, make(IndexWentStale));
  await pass(5000);
  stream.bounds = async () => {
    throw new UnknownOutcomeError("timeout");
  };
  await pass(5000);
  follower.stop();
  await running;
  const [fresh = 0, behind = 0, silent = 0] = ages;
  assert.ok(fresh <= 600 && behind >= 4000 && silent >= 9000, JSON.stringify(ages));
});

test("a take-over after the state is followed; one that lost a part of the state is a fault", async () => {
  const cases: { states: [number, number]; streamEnds: number; isFault: boolean }[] = [
    { states: [10, 10], streamEnds: 10, isFault: false },
    { states: [10, 10], streamEnds: 14, isFault: false },
    { states: [6, 10], streamEnds: 10, isFault: false },
    // In mode async the leader's state may be ahead of the stream.
    { states: [10, 10], streamEnds: 9, isFault: true },
    { states: [10, 10], streamEnds: 4, isFault: true },
    { states: [6, 10], streamEnds: 8, isFault: true },
  ];
  for (const begunBefore of [true, false])
    for (const { states, streamEnds, isFault } of cases) {
      const leader = await Leader.open();
      const pages: SymbolPage[] = [];
      for (let sequence = 1; sequence <= 14; sequence++) {
        leader.publish(1, make(OrderPlaced, { side: BUY, priceTicks: 100 + sequence, quantityLots: 5, rests: 1 }));
        for (const id of [1, 2]) if (states[id - 1] === sequence) pages.push(leader.page(id));
      }
      leader.stream.truncate(streamEnds);
      const epochs: number[] = [];
      const follower = leader.follower(pages, (epoch) => epochs.push(epoch));
      if (begunBefore) await follower.begin();
      leader.engine.sequence = streamEnds;
      leader.takeOver(streamEnds + 1);
      for (let i = 0; i < 10; i++) leader.publish(2, make(IndexWentStale));
      const follow = async (): Promise<void> => {
        if (!begunBefore) await follower.begin();
        await catchUp(leader, follower);
      };
      const what = JSON.stringify({ begunBefore, states, streamEnds });
      if (isFault) await assert.rejects(follow(), StreamFault, what);
      else {
        await follow();
        assert.deepEqual(epochs, [2], what);
      }
    }
});

test("a state of another version is refused", async () => {
  const leader = await Leader.open();
  const page = { version: 2, ...leader.page(1) };
  const { packPlain } = await import("../../src/wire/codec.ts");
  assert.throws(() => readSymbolPage(packPlain(page)), /version 2, and this program reads 1/);
});
