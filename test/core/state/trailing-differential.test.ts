import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUY, LEDGER, MODE_REDUCE_ONLY, STATUS_REJECTED, STATUS_UNTRIGGERED } from "../../../src/core/base/enums.ts";
import { ReadOrders } from "../../../src/core/protocol/commands.ts";
import {
  ConditionalOrderAmended,
  ConditionalOrderPlaced,
  OrderClosed,
  OrderTriggered,
  type SymbolEvent,
  TradingHalted,
} from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, type Said, SnapshotStore } from "../support/exchange.ts";
import { FREE, instrument, ODD } from "../support/instruments.ts";
import { runUntilReached, takeSeed } from "../support/seed.ts";
import { eventfulStep } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";
import { TriggerPrices } from "../support/trigger-prices.ts";

const seed = takeSeed("trailing-differential.test");

test("a trailing order has the trigger that follows from all prices since it was placed, and fires only there", () => {
  const seen = { fired: 0, rejected: 0, activated: 0, moved: 0, recalled: 0, reactivated: 0 };
  const property = fc.property(fc.array(eventfulStep, { maxLength: 200, size: "max" }), (steps) => {
    const exchange = new Exchange([instrument(ODD), instrument(FREE)]);
    const traffic = new Traffic(exchange, [ODD.id, FREE.id]);
    const models = new Map(
      [ODD.id, FREE.id].map((id) => [
        id,
        new NaiveTrailing(seen, instrument(id === ODD.id ? ODD : FREE).maxPriceTicks),
      ]),
    );
    for (const { actorId, command } of traffic.opening()) models.get(actorId)?.follow(exchange.do(actorId, command));
    for (const step of steps) {
      const { actorId, command } = traffic.command(step);
      exchange.time += step.waitMs;
      const said = exchange.do(actorId, command);
      traffic.note(said.events);
      if (actorId === LEDGER) continue;
      const model = models.get(actorId) as NaiveTrailing;
      model.follow(said);
      for (let more = true; more; ) {
        const next = exchange.proceed(actorId);
        model.follow(next);
        more = next.more;
      }
      model.compare(exchange, actorId, traffic.accounts);
    }
    for (const actorId of [ODD.id, FREE.id]) {
      const store = new SnapshotStore();
      store.take(exchange, actorId);
      const again = new Exchange([instrument(ODD), instrument(FREE)]);
      store.load(again.symbol(actorId));
      models.get(actorId)?.compare(again, actorId, traffic.accounts);
    }
  });
  runUntilReached(
    seed,
    (seed) => fc.assert(property, { seed, numRuns: 100, includeErrorInReport: true }),
    () => Object.entries(seen).flatMap(([what, count]) => (count === 0 ? [what] : [])),
  );
});

interface Follower {
  /** As amended. */
  readonly order: MessageOf<typeof ConditionalOrderPlaced>;
  /**
   * Prices of its source, at the end of each transaction in which prices count. The first one is that at its placing, or at
   * the amendment that gave it another activation price.
   */
  prices: number[];
}

/** Keeps every price, and scans all of them for each question. */
class NaiveTrailing {
  private followers: Follower[] = [];
  private readonly prices = new TriggerPrices();
  private isHalted = false;
  private readonly seen: Record<"fired" | "rejected" | "activated" | "moved" | "recalled" | "reactivated", number>;
  private readonly maxPriceTicks: number;

  constructor(seen: NaiveTrailing["seen"], maxPriceTicks: number) {
    this.seen = seen;
    this.maxPriceTicks = maxPriceTicks;
  }

  /** One transaction. */
  follow({ events }: Pick<Said, "events">): void {
    for (const each of events) {
      const event = each as SymbolEvent;
      this.prices.follow(event);
      if (event.type === ConditionalOrderPlaced.code && event.callbackPpm !== 0)
        this.followers.push({ order: { ...event }, prices: [this.prices.of(event.triggerBy)] });
      else if (event.type === ConditionalOrderAmended.code) this.amend(event);
      else if (event.type === TradingHalted.code) this.isHalted = event.mode > MODE_REDUCE_ONLY;
      else if (event.type === OrderTriggered.code) this.fire(event.orderId, event.triggerTicks);
      else if (event.type === OrderClosed.code) {
        if (event.status === STATUS_REJECTED) this.fire(event.orderId, 0);
        this.remove(event.orderId);
      }
    }
    if (this.isHalted) return;
    for (const { order, prices } of this.followers) prices.push(this.prices.of(order.triggerBy));
  }

  private amend({
    orderId,
    callbackPpm,
    activationTicks,
    triggerTicks,
  }: MessageOf<typeof ConditionalOrderAmended>): void {
    const follower = this.followers.find(({ order }) => order.orderId === orderId);
    if (follower === undefined) return;
    const { order } = follower;
    if (callbackPpm !== order.callbackPpm) this.seen.recalled++;
    if (activationTicks !== order.activationTicks) {
      assert.equal(this.triggerOf(follower), 0, "trails, and is told where to begin");
      follower.prices = [];
      this.seen.reactivated++;
    }
    Object.assign(order, { callbackPpm, activationTicks });
    assert.equal(triggerTicks, this.triggerOf(follower));
    assert.ok(!this.isDue(follower), "amended across the price");
  }

  /** No order is left to fire, and each has the expected trigger. */
  compare(exchange: Exchange, actorId: number, accounts: readonly number[]): void {
    const shown = new Map<number, number>();
    for (const accountId of accounts)
      for (const reply of exchange.do(actorId, make(ReadOrders, { accountId })).replies) {
        const view = reply as MessageOf<typeof OrderView>;
        if (view.type === OrderView.code && view.callbackPpm !== 0 && view.status === STATUS_UNTRIGGERED)
          shown.set(view.orderId, view.triggerTicks);
      }
    assert.deepEqual(
      [...shown].sort(([a], [b]) => a - b),
      this.followers.map((each) => [each.order.orderId, this.triggerOf(each)]).sort(([a], [b]) => a - b),
    );
    if (this.isHalted) return;
    for (const follower of this.followers) assert.ok(!this.isDue(follower), "left waiting at its price");
  }

  private triggerOf({ order, prices }: Follower): number {
    const { side, activationTicks, callbackPpm } = order;
    const isBuy = side === BUY;
    const known = prices.filter((price) => price > 0);
    const first = known.findIndex(
      (price) => activationTicks === 0 || (isBuy ? price <= activationTicks : price >= activationTicks),
    );
    if (first < 0) return 0;
    if (activationTicks !== 0) this.seen.activated++;
    const best = (isBuy ? Math.min : Math.max)(...known.slice(first));
    if (best !== known[first]) this.seen.moved++;
    const exact = BigInt(best) * BigInt(1_000_000 + (isBuy ? callbackPpm : -callbackPpm));
    const whole = Number(exact / 1_000_000n);
    if (!isBuy) return Math.max(1, whole);
    return Math.min(this.maxPriceTicks, exact % 1_000_000n === 0n ? whole : whole + 1);
  }

  private isDue(follower: Follower): boolean {
    const price = this.prices.of(follower.order.triggerBy);
    const trigger = this.triggerOf(follower);
    if (price === 0 || trigger === 0) return false;
    return follower.order.side === BUY ? price >= trigger : price <= trigger;
  }

  /** `firedAt` 0: the order was refused when it fired. */
  private fire(orderId: number, firedAt: number): void {
    const follower = this.followers.find(({ order }) => order.orderId === orderId);
    if (follower === undefined) return;
    assert.ok(!this.isHalted, "fires while the symbol is halted");
    assert.ok(this.isDue(follower), "fires before its price has come");
    if (firedAt === 0) this.seen.rejected++;
    else {
      this.seen.fired++;
      assert.equal(firedAt, this.triggerOf(follower));
    }
    this.remove(orderId);
  }

  private remove(orderId: number): void {
    this.followers = this.followers.filter(({ order }) => order.orderId !== orderId);
  }
}
