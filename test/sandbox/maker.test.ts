import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, POST_ONLY, SELL } from "../../src/core/base/enums.ts";
import type { Message } from "../../src/core/protocol/message-schema.ts";
import { CancelAll, CancelOrder, Done, PlaceOrder } from "../../src/core/protocol/messages.ts";
import { Maker } from "../../src/sandbox/maker.ts";
import { Random } from "../../src/sandbox/random.ts";
import { BUDGET_QUANTA, type Cancel, type Place, ScriptedRoad } from "./scripted-engine.ts";

const done = (): Message => ({ type: Done.code });
const isPlace = ({ type }: Message): boolean => type === PlaceOrder.code;
const isCancel = ({ type }: Message): boolean => type === CancelOrder.code;
const isBid = (command: Message): boolean => isPlace(command) && (command as Place).side === BUY;

function beat(maker: Maker, beats = 1): void {
  for (let i = 0; i < beats; i++) {
    maker.retreat();
    maker.advance();
  }
}

/** A maker past its first cancel-all, with its first quotes waiting for an answer. */
function startMaker(): { road: ScriptedRoad; maker: Maker } {
  const road = new ScriptedRoad();
  const maker = new Maker(road.desk, new Random(1, "maker"));
  beat(maker);
  assert.deepEqual(
    road.commands().map(({ type }) => type),
    [CancelAll.code],
  );
  road.answer(done);
  beat(maker);
  return { road, maker };
}

/** The same with all quotes resting; answers their order ids by side. */
function quotingMaker(): { road: ScriptedRoad; maker: Maker; bids: number[]; asks: number[] } {
  const { road, maker } = startMaker();
  const ids: number[][] = [[], []];
  road.answer((command) => {
    const view = road.accepted();
    ids[(command as Place).side]!.push((view as unknown as { orderId: number }).orderId);
    return view;
  });
  return { road, maker, bids: ids[BUY]!, asks: ids[SELL]! };
}

test("it begins with a cancel-all, and then quotes nine post-only levels a side around the index", () => {
  const { road } = startMaker();
  const places = road.places();
  for (const side of [BUY, SELL]) {
    const prices = places.filter((place) => place.side === side).map((place) => place.priceTicks);
    assert.equal(new Set(prices).size, 9);
    for (const price of prices) assert.ok(side === BUY ? price < 650_000 : price > 650_000);
  }
  for (const place of places) assert.equal(place.flags, POST_ONLY);
});

test("what dies with its symbol's thread has not happened: quotes are sent again, cancels begin anew", () => {
  const { road, maker } = startMaker();
  assert.equal(road.places().length, 18);
  road.lose();
  beat(maker);
  assert.equal(road.places().length, 18);
  road.answer(road.accepted);
  road.market.indexTicks = 700_000;
  beat(maker, 50);
  assert.ok(road.commands().some(isCancel));
  road.lose();
  beat(maker, 50);
  assert.ok(road.commands().some(({ type }) => type === CancelAll.code));
});

test("while the index stands still nothing is sent", () => {
  const { road, maker } = quotingMaker();
  beat(maker, 200);
  assert.deepEqual(road.commands(), []);
});

test("only the quotes that a small move leaves behind are moved, cancel before place", () => {
  const { road, maker } = quotingMaker();
  road.market.indexTicks = 650_090;
  beat(maker);
  const types = road.commands().map(({ type }) => type);
  const cancels = types.filter((type) => type === CancelOrder.code).length;
  assert.ok(cancels >= 2 && cancels <= 8, `${cancels} cancels`);
  assert.deepEqual(types, [...Array(cancels).fill(CancelOrder.code), ...Array(cancels).fill(PlaceOrder.code)]);
});

test("a filled or closed level is quoted again", () => {
  const { road, maker, bids, asks } = quotingMaker();
  maker.onFilled(bids[0]!, 1);
  beat(maker);
  assert.deepEqual(road.commands(), []);
  maker.onFilled(bids[0]!, 1_000_000);
  maker.onClosed(asks[3]!);
  maker.onClosed(12345);
  beat(maker);
  assert.deepEqual(
    road.places().map(({ side }) => side),
    [BUY, SELL],
  );
});

test("bids never cross own asks that are still on their way in", () => {
  const { road, maker } = startMaker();
  road.answer(road.accepted, isBid);
  const asks = road.places().map(({ priceTicks }) => priceTicks);
  road.market.indexTicks = 660_000;
  beat(maker, 3);
  const bids = road.places().filter(({ side }) => side === BUY);
  assert.ok(bids.every(({ priceTicks }) => priceTicks < Math.min(...asks)));
  road.answer(done, isCancel);
  road.answer(road.accepted, (command) => isPlace(command) && !isBid(command));
  beat(maker, 2);
  assert.equal(road.places().filter(({ side }) => side === BUY).length, 9);
});

test("position and resting orders of a side never pass the limit of three budgets", () => {
  const { road, maker, bids, asks } = quotingMaker();
  const limitLots = road.desk.lotsFor(3 * BUDGET_QUANTA);
  road.desk.positionLots = Math.floor(limitLots * 0.95);
  maker.onClosed(bids[8]!);
  maker.onClosed(asks[8]!);
  beat(maker);
  assert.ok(road.places().every(({ side }) => side === SELL));
});

test("a long maker asks nearer to the index than it bids, a short one the other way round", () => {
  for (const sign of [1, -1]) {
    const road = new ScriptedRoad();
    road.desk.positionLots = sign * Math.floor(road.desk.lotsFor(3 * BUDGET_QUANTA) / 2);
    const maker = new Maker(road.desk, new Random(1, "maker"));
    beat(maker);
    road.answer(done);
    beat(maker);
    const places = road.places();
    const toAsk = Math.min(...places.filter(({ side }) => side === SELL).map((p) => p.priceTicks)) - 650_000;
    const toBid = 650_000 - Math.max(...places.filter(({ side }) => side === BUY).map((p) => p.priceTicks));
    assert.ok(sign > 0 ? toAsk < toBid : toBid < toAsk, `bid ${toBid}, ask ${toAsk}`);
    const lots = (side: number): number =>
      places.filter((place) => place.side === side).reduce((sum, place) => sum + place.quantityLots, 0);
    assert.ok(sign > 0 ? lots(BUY) < lots(SELL) : lots(SELL) < lots(BUY));
  }
});

test("refused for margin, it waits and comes back smaller; its courage returns", () => {
  const { road, maker } = startMaker();
  const lots = (): number => road.places().reduce((sum, place) => sum + place.quantityLots, 0);
  const first = lots();
  road.answer(road.refused("INSUFFICIENT_MARGIN"), isPlace);
  beat(maker, 7);
  assert.deepEqual(road.commands(), []);
  beat(maker, 3);
  assert.ok(lots() < first / 8, `${lots()} of ${first}`);
  road.answer(road.refused("POST_ONLY_WOULD_TRADE"), isPlace);
  beat(maker, 2000);
  assert.equal(road.desk.appetite, 1);
});

test("a cancel that is refused while the order should be open makes it begin anew", () => {
  const { road, maker } = quotingMaker();
  road.market.indexTicks = 651_000;
  maker.retreat();
  road.answer(road.refused("SYMBOL_HALTED"), isCancel);
  beat(maker);
  assert.deepEqual(
    road.commands().map(({ type }) => type),
    [CancelAll.code],
  );
});

test("in a halt that it cannot cancel in it asks again every two seconds, and quotes as soon as it could", () => {
  const { road, maker } = quotingMaker();
  const halted = road.refused("SYMBOL_HALTED");
  road.market.indexTicks = 660_000;
  maker.retreat();
  road.answer(halted, isCancel);
  for (let i = 0; i < 3; i++) {
    beat(maker, 8);
    assert.deepEqual(
      road.commands().map(({ type }) => type),
      [CancelAll.code],
    );
    road.answer(i < 2 ? halted : done);
  }
  beat(maker);
  assert.equal(road.places().length, 18);
});

test("a cancel that comes too late for a fill is no reason to worry", () => {
  const { road, maker } = quotingMaker();
  road.market.indexTicks = 651_000;
  maker.retreat();
  for (const command of road.commands()) maker.onFilled((command as Cancel).orderId, 1_000_000);
  road.answer(road.refused("ORDER_NOT_FOUND"), isCancel);
  beat(maker);
  assert.ok(road.commands().every(isPlace));
});

test("without an index price, or without room in the rings, it is quiet", () => {
  const { road, maker } = quotingMaker();
  road.market.indexTicks = 0;
  beat(maker, 10);
  assert.deepEqual(road.commands(), []);
  road.market.indexTicks = 660_000;
  road.full = true;
  beat(maker, 10);
  road.full = false;
  beat(maker);
  assert.equal(road.commands().length, 36);
});
