import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, POST_ONLY, SELL } from "../../src/core/base/enums.ts";
import { CancelAll, CancelOrder, PlaceOrder } from "../../src/core/protocol/commands.ts";
import type { Message } from "../../src/core/protocol/message-schema.ts";
import { Done } from "../../src/core/protocol/replies.ts";
import { Maker } from "../../src/sandbox/maker.ts";
import { Random } from "../../src/sandbox/random.ts";
import { BUDGET_QUANTA, type Cancel, type Place, ScriptedEngine } from "./scripted-engine.ts";

const done = (): Message => ({ type: Done.code });
const isPlace = ({ type }: Message): boolean => type === PlaceOrder.code;
const isCancel = ({ type }: Message): boolean => type === CancelOrder.code;
const isBid = (command: Message): boolean => isPlace(command) && (command as Place).side === BUY;

function step(maker: Maker, steps = 1): void {
  for (let i = 0; i < steps; i++) {
    maker.cancelStaleQuotes();
    maker.placeMissingQuotes();
  }
}

/** A maker past its first cancel-all, with its first quotes waiting for an answer. */
function startMaker(): { engine: ScriptedEngine; maker: Maker } {
  const engine = new ScriptedEngine();
  const maker = new Maker(engine.account, new Random(1, "maker"));
  step(maker);
  assert.deepEqual(
    engine.commands().map(({ type }) => type),
    [CancelAll.code],
  );
  engine.answer(done);
  step(maker);
  return { engine, maker };
}

/** The same with all quotes resting; answers their order ids by side. */
function quotingMaker(): { engine: ScriptedEngine; maker: Maker; bids: number[]; asks: number[] } {
  const { engine, maker } = startMaker();
  const ids: number[][] = [[], []];
  engine.answer((command) => {
    const view = engine.accepted();
    ids[(command as Place).side]!.push((view as unknown as { orderId: number }).orderId);
    return view;
  });
  return { engine, maker, bids: ids[BUY]!, asks: ids[SELL]! };
}

test("a maker starts with a cancel-all, then quotes twelve post-only levels per side around the index", () => {
  const { engine } = startMaker();
  const places = engine.places();
  for (const side of [BUY, SELL]) {
    const prices = places.filter((place) => place.side === side).map((place) => place.priceTicks);
    assert.equal(new Set(prices).size, 12);
    for (const price of prices) assert.ok(side === BUY ? price < 650_000 : price > 650_000);
  }
  for (const place of places) assert.equal(place.flags, POST_ONLY);
});

test("commands lost with the symbol's thread are handled: quotes are sent again, and a lost cancel leads to a resync", () => {
  const { engine, maker } = startMaker();
  assert.equal(engine.places().length, 24);
  engine.lose();
  step(maker);
  assert.equal(engine.places().length, 24);
  engine.answer(engine.accepted);
  engine.market.indexTicks = 700_000;
  step(maker, 50);
  assert.ok(engine.commands().some(isCancel));
  engine.lose();
  step(maker, 50);
  assert.ok(engine.commands().some(({ type }) => type === CancelAll.code));
});

test("nothing is sent while the index does not move", () => {
  const { engine, maker } = quotingMaker();
  step(maker, 200);
  assert.deepEqual(engine.commands(), []);
});

test("a small move replaces only the stale quotes, cancel before place", () => {
  const { engine, maker } = quotingMaker();
  engine.market.indexTicks = 650_090;
  step(maker);
  const types = engine.commands().map(({ type }) => type);
  const cancels = types.filter((type) => type === CancelOrder.code).length;
  assert.ok(cancels >= 2 && cancels <= 8, `${cancels} cancels`);
  assert.deepEqual(types, [...Array(cancels).fill(CancelOrder.code), ...Array(cancels).fill(PlaceOrder.code)]);
});

test("a filled or closed level is quoted again", () => {
  const { engine, maker, bids, asks } = quotingMaker();
  maker.onFilled(bids[0]!, 1);
  step(maker);
  assert.deepEqual(engine.commands(), []);
  maker.onFilled(bids[0]!, 1_000_000);
  maker.onClosed(asks[3]!);
  maker.onClosed(12345);
  step(maker);
  assert.deepEqual(
    engine.places().map(({ side }) => side),
    [BUY, SELL],
  );
});

test("bids never cross own asks that are still in flight", () => {
  const { engine, maker } = startMaker();
  engine.answer(engine.accepted, isBid);
  const asks = engine.places().map(({ priceTicks }) => priceTicks);
  engine.market.indexTicks = 660_000;
  step(maker, 3);
  const bids = engine.places().filter(({ side }) => side === BUY);
  assert.ok(bids.every(({ priceTicks }) => priceTicks < Math.min(...asks)));
  engine.answer(done, isCancel);
  engine.answer(engine.accepted, (command) => isPlace(command) && !isBid(command));
  step(maker, 2);
  assert.equal(engine.places().filter(({ side }) => side === BUY).length, 12);
});

test("position plus open orders of a side never exceed three budgets", () => {
  const { engine, maker, bids, asks } = quotingMaker();
  const limitLots = engine.account.lotsFor(3 * BUDGET_QUANTA);
  engine.account.positionLots = Math.floor(limitLots * 0.95);
  maker.onClosed(bids[8]!);
  maker.onClosed(asks[8]!);
  step(maker);
  assert.ok(engine.places().every(({ side }) => side === SELL));
});

test("a long maker asks nearer to the index than it bids, and a short one the reverse", () => {
  for (const sign of [1, -1]) {
    const engine = new ScriptedEngine();
    engine.account.positionLots = sign * Math.floor(engine.account.lotsFor(3 * BUDGET_QUANTA) / 2);
    const maker = new Maker(engine.account, new Random(1, "maker"));
    step(maker);
    engine.answer(done);
    step(maker);
    const places = engine.places();
    const toAsk = Math.min(...places.filter(({ side }) => side === SELL).map((p) => p.priceTicks)) - 650_000;
    const toBid = 650_000 - Math.max(...places.filter(({ side }) => side === BUY).map((p) => p.priceTicks));
    assert.ok(sign > 0 ? toAsk < toBid : toBid < toAsk, `bid ${toBid}, ask ${toAsk}`);
    const lots = (side: number): number =>
      places.filter((place) => place.side === side).reduce((sum, place) => sum + place.quantityLots, 0);
    assert.ok(sign > 0 ? lots(BUY) < lots(SELL) : lots(SELL) < lots(BUY));
  }
});

test("after a margin refusal the maker waits, quotes smaller sizes, and recovers", () => {
  const { engine, maker } = startMaker();
  const lots = (): number => engine.places().reduce((sum, place) => sum + place.quantityLots, 0);
  const first = lots();
  engine.answer(engine.refused("INSUFFICIENT_MARGIN"), isPlace);
  step(maker, 7);
  assert.deepEqual(engine.commands(), []);
  step(maker, 3);
  assert.ok(lots() < first / 8, `${lots()} of ${first}`);
  engine.answer(engine.refused("POST_ONLY_WOULD_TRADE"), isPlace);
  step(maker, 2000);
  assert.equal(engine.account.sizeFactor, 1);
});

test("a refused cancel of an open order leads to a resync", () => {
  const { engine, maker } = quotingMaker();
  engine.market.indexTicks = 651_000;
  maker.cancelStaleQuotes();
  engine.answer(engine.refused("SYMBOL_HALTED"), isCancel);
  step(maker);
  assert.deepEqual(
    engine.commands().map(({ type }) => type),
    [CancelAll.code],
  );
});

test("in a halt without cancels the maker retries every two seconds, and quotes when the halt ends", () => {
  const { engine, maker } = quotingMaker();
  const halted = engine.refused("SYMBOL_HALTED");
  engine.market.indexTicks = 660_000;
  maker.cancelStaleQuotes();
  engine.answer(halted, isCancel);
  for (let i = 0; i < 3; i++) {
    step(maker, 8);
    assert.deepEqual(
      engine.commands().map(({ type }) => type),
      [CancelAll.code],
    );
    engine.answer(i < 2 ? halted : done);
  }
  step(maker);
  assert.equal(engine.places().length, 24);
});

test("a cancel that arrives after the fill needs no resync", () => {
  const { engine, maker } = quotingMaker();
  engine.market.indexTicks = 651_000;
  maker.cancelStaleQuotes();
  for (const command of engine.commands()) maker.onFilled((command as Cancel).orderId, 1_000_000);
  engine.answer(engine.refused("ORDER_NOT_FOUND"), isCancel);
  step(maker);
  assert.ok(engine.commands().every(isPlace));
});

test("a maker sends nothing without an index price or with full rings", () => {
  const { engine, maker } = quotingMaker();
  engine.market.indexTicks = 0;
  step(maker, 10);
  assert.deepEqual(engine.commands(), []);
  engine.market.indexTicks = 660_000;
  engine.full = true;
  step(maker, 10);
  engine.full = false;
  step(maker);
  assert.equal(engine.commands().length, 48);
});
