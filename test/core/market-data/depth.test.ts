import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUY, SELL, type Side } from "../../../src/core/base/enums.ts";
import { Depth } from "../../../src/core/market-data/depth.ts";
import {
  LeverageSet,
  OrderClosed,
  OrderPlaced,
  OrderReduced,
  OrderRested,
  type SymbolEvent,
  Traded,
} from "../../../src/core/protocol/events.ts";
import { blank, type MessageOf, type MessageSchema } from "../../../src/core/protocol/message-schema.ts";
import type { Levels } from "../../../src/core/protocol/payloads.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("depth.test");

const event = <S extends MessageSchema>(of: S, fields: Partial<MessageOf<S>>): MessageOf<S> =>
  Object.assign(blank(of), fields);

const tuples = (depth: Depth, side: Side, count: number): Levels =>
  depth.levels(side, count, (tick, lots): [number, number] => [tick, lots]);

/** The slow reference: resting orders in a list, added up by price. */
class Model {
  readonly orders: { side: Side; tick: number; lots: number }[] = [];

  levels(side: Side, depth: number): Levels {
    const byTick = new Map<number, number>();
    for (const order of this.orders)
      if (order.side === side) byTick.set(order.tick, (byTick.get(order.tick) ?? 0) + order.lots);
    return [...byTick].sort(([a], [b]) => (side === BUY ? b - a : a - b)).slice(0, depth);
  }

  best(side: Side): number {
    return this.levels(side, 1)[0]?.[0] ?? (side === BUY ? -1 : Number.POSITIVE_INFINITY);
  }
}

const MAX_TICKS = 200;
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const step = fc.record({
  kind: fc.constantFrom("place", "rest", "trade", "reduce", "close", "take", "reduce taker", "leverage"),
  side: fc.constantFrom<Side>(BUY, SELL),
  tick: fc.integer({ min: 0, max: MAX_TICKS }),
  lots: fc.integer({ min: 1, max: 50 }),
  pick: fc.nat(1000),
});

/** The next event of an uncrossed book; undefined when the step is impossible now. */
function toEvent(model: Model, { kind, side, tick, lots, pick }: Step): SymbolEvent | undefined {
  const index = model.orders.length === 0 ? -1 : pick % model.orders.length;
  const order = model.orders[index];
  switch (kind) {
    case "place":
    case "rest":
      if (side === BUY ? tick >= model.best(SELL) : tick <= model.best(BUY)) return undefined;
      model.orders.push({ side, tick, lots });
      return kind === "place"
        ? event(OrderPlaced, { side, priceTicks: tick, quantityLots: lots, rests: 1 })
        : event(OrderRested, { side, priceTicks: tick, restingLots: lots });
    case "take":
      return event(OrderPlaced, { side, priceTicks: tick, quantityLots: lots, rests: 0 });
    case "reduce taker":
      return event(OrderReduced, { side, priceTicks: tick, byLots: lots, resting: 0 });
    case "leverage":
      return event(LeverageSet, { leverage: 5 });
    default:
      break;
  }
  if (order === undefined) return undefined;
  const { side: orderSide, tick: priceTicks } = order;
  if (kind === "close") {
    model.orders.splice(index, 1);
    return event(OrderClosed, { side: orderSide, priceTicks, restingLots: order.lots });
  }
  const byLots = Math.min(lots, order.lots);
  order.lots -= byLots;
  if (order.lots === 0) model.orders.splice(index, 1);
  return kind === "reduce"
    ? event(OrderReduced, { side: orderSide, priceTicks, byLots, resting: 1 })
    : event(Traded, { takerSide: orderSide === BUY ? SELL : BUY, priceTicks, quantityLots: byLots });
}

test("depth folded from events is the sum of the resting orders", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const depth = new Depth(MAX_TICKS);
      const model = new Model();
      for (const each of steps) {
        const before = [model.levels(BUY, 1000), model.levels(SELL, 1000)];
        const happened = toEvent(model, each);
        if (happened === undefined) continue;
        const after = [model.levels(BUY, 1000), model.levels(SELL, 1000)];
        assert.equal(depth.apply(happened), JSON.stringify(before) !== JSON.stringify(after));
        for (const side of [BUY, SELL] as const) {
          assert.deepEqual(tuples(depth, side, 1000), after[side]);
          assert.deepEqual(tuples(depth, side, 2), after[side].slice(0, 2));
        }
      }
    }),
    { seed, numRuns: 300 },
  );
});

test("reset replaces the whole book, also where new bids have prices of old asks", () => {
  const depth = new Depth(100);
  depth.reset(
    [[49, 1]],
    [
      [50, 2],
      [60, 3],
    ],
  );
  depth.reset(
    [
      [60, 4],
      [50, 5],
    ],
    [[70, 6]],
  );
  assert.deepEqual(tuples(depth, BUY, 10), [
    [60, 4],
    [50, 5],
  ]);
  assert.deepEqual(tuples(depth, SELL, 10), [[70, 6]]);
});

test("taking out more lots than rest fails", () => {
  const depth = new Depth(100);
  depth.reset([[49, 1]], []);
  assert.throws(() => depth.apply(event(OrderClosed, { side: BUY, priceTicks: 49, restingLots: 2 })), /below zero/);
});
