import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, IOC, MARKET } from "../../src/core/base/enums.ts";
import { Random } from "../../src/sandbox/random.ts";
import { Taker } from "../../src/sandbox/taker.ts";
import { BUDGET_QUANTA, type Place, ScriptedRoad } from "./scripted-engine.ts";

/** Runs a taker for `beats`, each of its orders answered at once by `fill`. */
function runTaker(road: ScriptedRoad, beats: number, fill: (place: Place) => void, seed = 1): Place[] {
  const taker = new Taker(road.desk, new Random(seed, "taker"));
  const orders: Place[] = [];
  for (let i = 0; i < beats; i++) {
    taker.takeTurn();
    const [place, ...more] = road.places();
    assert.equal(more.length, 0);
    if (place === undefined) continue;
    orders.push({ ...place });
    fill(place);
    road.answer(road.accepted);
  }
  return orders;
}

const fillAll =
  (road: ScriptedRoad) =>
  (place: Place): void => {
    road.desk.positionLots += place.side === BUY ? place.quantityLots : -place.quantityLots;
  };

test("about one order a second, some at market and some with a limit near the mark, all IOC", () => {
  const road = new ScriptedRoad();
  const orders = runTaker(road, 4 * 1000, fillAll(road));
  assert.ok(orders.length > 900 && orders.length < 2500, `${orders.length} orders`);
  const market = orders.filter(({ orderType }) => orderType === MARKET);
  assert.ok(market.length > orders.length / 2 && market.length < orders.length);
  for (const order of orders) {
    assert.equal(order.timeInForce, IOC);
    assert.ok(order.quantityLots >= road.desk.smallestLots());
    if (order.orderType === MARKET) assert.equal(order.priceTicks, 0);
    else {
      const away = (order.priceTicks / 650_000 - 1) * (order.side === BUY ? 1 : -1);
      assert.ok(away >= 0 && away < 0.0005, "it goes beyond the mark to trade");
    }
  }
});

test("the position stays within a fifth of its money even when only its buys are filled", () => {
  const road = new ScriptedRoad();
  const limitLots = road.desk.lotsFor(0.2 * BUDGET_QUANTA);
  const orders = runTaker(road, 20_000, (place) => {
    if (place.side === BUY) road.desk.positionLots += place.quantityLots;
    assert.ok(road.desk.positionLots <= limitLots, `${road.desk.positionLots} lots`);
  });
  assert.ok(road.desk.positionLots > limitLots / 2);
  const last = orders.slice(-50);
  assert.ok(last.filter(({ side }) => side === BUY).length < 10);
});

test("some minutes are livelier than others", () => {
  const road = new ScriptedRoad();
  const times: number[] = [];
  const taker = new Taker(road.desk, new Random(3, "taker"));
  for (let i = 0; i < 4 * 1200; i++) {
    taker.takeTurn();
    if (road.places().length === 0) continue;
    times.push(i);
    road.answer(road.accepted);
  }
  const perTenSeconds = Array.from({ length: 120 }, (_, i) => times.filter((t) => Math.floor(t / 40) === i).length);
  const mean = times.length / 120;
  const variance = perTenSeconds.reduce((sum, count) => sum + (count - mean) ** 2, 0) / 120;
  // Independent beats alone would give less than 1.
  assert.ok(variance / mean > 1, `variance ${variance}, mean ${mean}`);
});

test("one order at a time; one that is never answered is given up after a while", () => {
  const road = new ScriptedRoad();
  const taker = new Taker(road.desk, new Random(1, "taker"));
  const beats: number[] = [];
  for (let i = 0; i < 400; i++) {
    taker.takeTurn();
    if (road.places().length > beats.length) beats.push(i);
  }
  assert.ok(beats.length >= 2);
  for (let i = 1; i < beats.length; i++) assert.ok(beats[i]! - beats[i - 1]! >= 80, beats.join());
});

test("an order that could not be sent is not waited for", () => {
  const road = new ScriptedRoad();
  const taker = new Taker(road.desk, new Random(1, "taker"));
  let tries = 0;
  const ask = road.ask.bind(road);
  road.ask = (...sent) => {
    tries++;
    return ask(...sent);
  };
  road.full = true;
  for (let i = 0; i < 80; i++) taker.takeTurn();
  assert.ok(tries > 2, `${tries} tries`);
});

test("refused for margin it orders less", () => {
  const road = new ScriptedRoad();
  const taker = new Taker(road.desk, new Random(1, "taker"));
  while (road.desk.appetite > 0.1) {
    taker.takeTurn();
    if (road.places().length > 0) road.answer(road.refused("INSUFFICIENT_MARGIN"));
  }
  const small = runTaker(road, 100, () => {}, 2).reduce((sum, order) => sum + order.quantityLots, 0);
  const usual = runTaker(new ScriptedRoad(), 100, () => {}, 2).reduce((sum, order) => sum + order.quantityLots, 0);
  assert.ok(small < usual / 2, `${small} of ${usual}`);
});

test("no price, no order", () => {
  const road = new ScriptedRoad();
  road.market.markTicks = 0;
  assert.equal(runTaker(road, 1000, () => {}).length, 0);
});
