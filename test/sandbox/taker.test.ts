import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, IOC, MARKET } from "../../src/core/base/enums.ts";
import { Random } from "../../src/sandbox/random.ts";
import { Taker } from "../../src/sandbox/taker.ts";
import { BUDGET_QUANTA, type Place, ScriptedEngine } from "./scripted-engine.ts";

/** Runs a taker for `beats`, each of its orders answered at once by `fill`. */
function runTaker(engine: ScriptedEngine, steps: number, fill: (place: Place) => void, seed = 1): Place[] {
  const taker = new Taker(engine.account, new Random(seed, "taker"));
  const orders: Place[] = [];
  for (let i = 0; i < steps; i++) {
    taker.trade();
    const [place, ...more] = engine.places();
    assert.equal(more.length, 0);
    if (place === undefined) continue;
    orders.push({ ...place });
    fill(place);
    engine.answer(engine.accepted);
  }
  return orders;
}

const fillAll =
  (engine: ScriptedEngine) =>
  (place: Place): void => {
    engine.account.positionLots += place.side === BUY ? place.quantityLots : -place.quantityLots;
  };

test("a taker sends about one order per second, at market or with a limit near the mark, all IOC", () => {
  const engine = new ScriptedEngine();
  const orders = runTaker(engine, 4 * 1000, fillAll(engine));
  assert.ok(orders.length > 900 && orders.length < 2500, `${orders.length} orders`);
  const market = orders.filter(({ orderType }) => orderType === MARKET);
  assert.ok(market.length > orders.length / 2 && market.length < orders.length);
  for (const order of orders) {
    assert.equal(order.timeInForce, IOC);
    assert.ok(order.quantityLots >= engine.account.minOrderLots());
    if (order.orderType === MARKET) assert.equal(order.priceTicks, 0);
    else {
      const away = (order.priceTicks / 650_000 - 1) * (order.side === BUY ? 1 : -1);
      assert.ok(away >= 0 && away < 0.0005, "it goes beyond the mark to trade");
    }
  }
});

test("the position stays within a fifth of the budget even when only buys fill", () => {
  const engine = new ScriptedEngine();
  const limitLots = engine.account.lotsFor(0.2 * BUDGET_QUANTA);
  const orders = runTaker(engine, 20_000, (place) => {
    if (place.side === BUY) engine.account.positionLots += place.quantityLots;
    assert.ok(engine.account.positionLots <= limitLots, `${engine.account.positionLots} lots`);
  });
  assert.ok(engine.account.positionLots > limitLots / 2);
  const last = orders.slice(-50);
  assert.ok(last.filter(({ side }) => side === BUY).length < 10);
});

test("some minutes have bursts", () => {
  const engine = new ScriptedEngine();
  const times: number[] = [];
  const taker = new Taker(engine.account, new Random(3, "taker"));
  for (let i = 0; i < 4 * 1200; i++) {
    taker.trade();
    if (engine.places().length === 0) continue;
    times.push(i);
    engine.answer(engine.accepted);
  }
  const perTenSeconds = Array.from({ length: 120 }, (_, i) => times.filter((t) => Math.floor(t / 40) === i).length);
  const mean = times.length / 120;
  const variance = perTenSeconds.reduce((sum, count) => sum + (count - mean) ** 2, 0) / 120;
  // Independent beats alone would give less than 1.
  assert.ok(variance / mean > 1, `variance ${variance}, mean ${mean}`);
});

test("a taker has one order in flight, and gives up a lost one", () => {
  const engine = new ScriptedEngine();
  const taker = new Taker(engine.account, new Random(1, "taker"));
  const steps: number[] = [];
  for (let i = 0; i < 400; i++) {
    taker.trade();
    if (engine.places().length > steps.length) steps.push(i);
  }
  assert.ok(steps.length >= 2);
  for (let i = 1; i < steps.length; i++) assert.ok(steps[i]! - steps[i - 1]! >= 80, steps.join());
});

test("an order that could not be sent is not awaited", () => {
  const engine = new ScriptedEngine();
  const taker = new Taker(engine.account, new Random(1, "taker"));
  let tries = 0;
  const ask = engine.request.bind(engine);
  engine.request = (...sent) => {
    tries++;
    return ask(...sent);
  };
  engine.full = true;
  for (let i = 0; i < 80; i++) taker.trade();
  assert.ok(tries > 2, `${tries} tries`);
});

test("after a margin refusal the taker sends smaller orders", () => {
  const engine = new ScriptedEngine();
  const taker = new Taker(engine.account, new Random(1, "taker"));
  while (engine.account.sizeFactor > 0.1) {
    taker.trade();
    if (engine.places().length > 0) engine.answer(engine.refused("INSUFFICIENT_MARGIN"));
  }
  const small = runTaker(engine, 100, () => {}, 2).reduce((sum, order) => sum + order.quantityLots, 0);
  const usual = runTaker(new ScriptedEngine(), 100, () => {}, 2).reduce((sum, order) => sum + order.quantityLots, 0);
  assert.ok(small < usual / 2, `${small} of ${usual}`);
});

test("without a price no order is sent", () => {
  const engine = new ScriptedEngine();
  engine.market.markTicks = 0;
  assert.equal(runTaker(engine, 1000, () => {}).length, 0);
});

test("trades come faster while the price moves more than usual", () => {
  const engine = new ScriptedEngine();
  const taker = new Taker(engine.account, new Random(1, "taker"));
  const counts = [0, 0];
  for (let i = 0; i < 4 * 1200; i++) {
    const isWild = i % 1200 >= 600;
    engine.market.indexTicks = 650_000 + (i % 2) * (isWild ? 65 : 6);
    taker.trade();
    if (engine.places().length === 0) continue;
    counts[Number(isWild)]++;
    engine.answer(engine.accepted);
  }
  const [calm, wild] = counts as [number, number];
  assert.ok(calm > 300 && wild > 1.5 * calm, `${wild} in wild minutes, ${calm} in calm ones`);
});
