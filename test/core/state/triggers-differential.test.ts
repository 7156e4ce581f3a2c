import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  BUY,
  MODE_REDUCE_ONLY,
  STATUS_REJECTED,
  STOP_MARKET,
  TAKE_PROFIT_MARKET,
} from "../../../src/core/base/enums.ts";
import { Tick } from "../../../src/core/protocol/commands.ts";
import {
  ConditionalOrderAmended,
  ConditionalOrderPlaced,
  OrderClosed,
  OrderTriggered,
  type SymbolEvent,
  TradingHalted,
} from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Exchange, type Said } from "../support/exchange.ts";
import { FREE, instrument, ODD } from "../support/instruments.ts";
import { runUntilReached, takeSeed } from "../support/seed.ts";
import { eventfulStep, type Step } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";
import { TriggerPrices } from "../support/trigger-prices.ts";

const seed = takeSeed("triggers-differential.test");

const common = { symbol: 1, waitMs: 0, clientId: 0 } as const;
/** A fired order fills an order whose take-profit is at the same price: that must not go on waiting. */
const FIRED_INTO_A_LEG: Step[] = [
  { ...common, kind: "deposit", account: 3, amountQuanta: 390 },
  {
    ...{ ...common, kind: "extended", account: 3, side: 0, orderType: 0, priceTicks: 97, quantityLots: 2 },
    ...{ tillMs: null, takeProfitAway: 1, stopLossAway: null },
  },
  {
    ...{ ...common, kind: "trigger", account: 1, side: 1, orderType: TAKE_PROFIT_MARKET, timeInForce: 1, flags: 0 },
    ...{ selfTradePrevention: 0, priceTicks: 0, quantityLots: 2, triggerTicks: 101, triggerBy: 0 },
  },
  { ...common, kind: "deposit", account: 1, amountQuanta: 486 },
  { ...common, kind: "index", account: 0, indexTicks: 101 },
];

test("orders fire that a scan found at the end of a transaction, in its order, wherever the price is by then", () => {
  /** `left`: fired after the price had moved back. `moved`: amended to another trigger. */
  const seen = { fired: 0, rejected: 0, left: 0, moved: 0 };
  const property = fc.property(fc.array(eventfulStep, { maxLength: 200, size: "max" }), (steps) => {
    const exchange = new Exchange([instrument(ODD), instrument(FREE)]);
    const traffic = new Traffic(exchange, [ODD.id, FREE.id]);
    let transactions = 0;
    const models = new Map([ODD.id, FREE.id].map((id) => [id, new NaiveTriggers(seen)]));
    for (const { actorId, command } of traffic.opening()) models.get(actorId)?.follow(traffic.send(actorId, command));
    for (const step of steps) {
      const { actorId, command } = traffic.command(step);
      exchange.time += step.waitMs;
      const said = exchange.do(actorId, command);
      // The model knows no liquidation: a run ends with the first bankrupt account.
      if (exchange.settlementEvents > 0) return;
      traffic.note(said.events);
      const model = models.get(actorId);
      model?.follow(said);
      // Further commands come while some due orders have not fired.
      if (model === undefined || ++transactions % 3 === 0) continue;
      const next = command.type === Tick.code ? exchange.proceed(actorId) : exchange.fire(actorId);
      if (exchange.settlementEvents > 0) return;
      traffic.note(next.events);
      model.follow(next);
    }
    for (const [actorId, model] of models)
      while (exchange.symbol(actorId).isFiring) model.follow(exchange.fire(actorId));
    for (const model of models.values()) model.end();
    for (const actorId of exchange.actors.keys()) assert.deepEqual(exchange.audit(actorId).faults, []);
  });
  runUntilReached(
    seed,
    (each) =>
      fc.assert(property, { seed: each, numRuns: 300, includeErrorInReport: true, examples: [[FIRED_INTO_A_LEG]] }),
    () => Object.entries(seen).flatMap(([what, times]) => (times === 0 ? [what] : [])),
  );
});

type Waiting = MessageOf<typeof ConditionalOrderPlaced>;

interface Seen {
  fired: number;
  rejected: number;
  left: number;
  moved: number;
}

/** Scans every conditional order at the end of each transaction. */
class NaiveTriggers {
  private waiting: Waiting[] = [];
  /** Due orders, in the order in which they came due. */
  private due: Waiting[] = [];
  private readonly trailing = new Set<number>();
  private isHalted = false;
  private readonly prices = new TriggerPrices();
  private readonly seen: Seen;

  constructor(seen: Seen) {
    this.seen = seen;
  }

  /** One transaction. */
  follow({ events }: Said): void {
    for (const each of events) {
      const event = each as SymbolEvent;
      this.prices.follow(event);
      // Trailing orders have a test of their own.
      if (event.type === ConditionalOrderPlaced.code) {
        if (event.callbackPpm === 0) this.waiting.push({ ...event });
        else this.trailing.add(event.orderId);
      } else if (event.type === ConditionalOrderAmended.code) {
        const { triggerTicks, quantityLots } = event;
        const order = this.waiting.find(({ orderId }) => orderId === event.orderId);
        if (order?.triggerTicks !== triggerTicks) this.seen.moved += order === undefined ? 0 : 1;
        if (order !== undefined) Object.assign(order, { triggerTicks, quantityLots });
        else assert.ok(this.trailing.has(event.orderId), "a due order is not amended");
      } else if (event.type === TradingHalted.code) this.isHalted = event.mode > MODE_REDUCE_ONLY;
      else if (event.type === OrderTriggered.code) {
        this.fire(event.orderId);
        this.seen.fired++;
      } else if (event.type === OrderClosed.code && this.has(event.orderId)) {
        if (event.status === STATUS_REJECTED) {
          this.fire(event.orderId);
          this.seen.rejected++;
        } else this.remove(event.orderId);
      }
    }
    if (!this.isHalted) this.look();
  }

  /** No due order is left, unless the symbol was halted before it could fire. */
  end(): void {
    if (!this.isHalted) assert.deepEqual(this.due, []);
  }

  private fire(orderId: number): void {
    assert.ok(!this.isHalted, "fires while the symbol is halted");
    if (this.trailing.has(orderId)) return;
    const [next] = this.due;
    assert.equal(next?.orderId, orderId, "fires out of order");
    if (!isReached(next, this.prices)) this.seen.left++;
    this.remove(orderId);
  }

  private has(orderId: number): boolean {
    return [...this.waiting, ...this.due].some((order) => order.orderId === orderId);
  }

  private remove(orderId: number): void {
    this.waiting = this.waiting.filter((order) => order.orderId !== orderId);
    this.due = this.due.filter((order) => order.orderId !== orderId);
  }

  /** By mark, then last, then index; falling prices first; the trigger that was reached first, then the oldest. */
  private look(): void {
    const reached = this.waiting.filter((order) => isReached(order, this.prices));
    this.waiting = this.waiting.filter((order) => !reached.includes(order));
    reached.sort(
      (a, b) =>
        a.triggerBy - b.triggerBy ||
        Number(rises(a)) - Number(rises(b)) ||
        (rises(a) ? a.triggerTicks - b.triggerTicks : b.triggerTicks - a.triggerTicks) ||
        a.orderId - b.orderId,
    );
    this.due.push(...reached);
  }
}

const isReached = (order: Waiting, prices: TriggerPrices): boolean => {
  const price = prices.of(order.triggerBy);
  return price > 0 && (rises(order) ? price >= order.triggerTicks : price <= order.triggerTicks);
};
const rises = ({ orderType, side }: Waiting): boolean => (orderType <= STOP_MARKET ? side === BUY : side !== BUY);

test("the self-check counts fired orders and their fills after their transaction", () => {
  const common = { symbol: 0, account: 0, waitMs: 0 };
  const steps: Step[] = [
    {
      ...common,
      kind: "extended",
      side: 1,
      orderType: 0,
      priceTicks: 97,
      quantityLots: 3,
      tillMs: null,
      takeProfitAway: 1,
      stopLossAway: null,
      clientId: 0,
    },
    {
      ...common,
      kind: "trigger",
      account: 1,
      side: 0,
      orderType: TAKE_PROFIT_MARKET,
      timeInForce: 1,
      flags: 0,
      selfTradePrevention: 0,
      priceTicks: 0,
      quantityLots: 2,
      triggerTicks: 75,
      triggerBy: 0,
      clientId: 0,
    },
    { ...common, kind: "index", indexTicks: 75 },
    { ...common, kind: "tick" },
  ];
  const exchange = new Exchange([instrument(FREE)]);
  const traffic = new Traffic(exchange, [FREE.id]);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  for (const step of steps) traffic.run(step);
  assert.deepEqual(exchange.audit(FREE.id).faults, []);
});
