import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUY, SELL, type Side } from "../../../src/core/base/enums.ts";
import { Depth } from "../../../src/core/market-data/depth.ts";
import { ReadOrders } from "../../../src/core/protocol/commands.ts";
import type { SymbolEvent } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { OrderView } from "../../../src/core/protocol/replies.ts";
import type { OrderRecord } from "../../../src/store/database/history-schema.ts";
import { applyToOrders, type OrderStore } from "../../../src/store/history/order-records.ts";
import { Exchange, make } from "../support/exchange.ts";
import { FREE, instrument, ODD } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";
import { takeSeed } from "../support/seed.ts";
import { eventfulStep } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";

scenario(
  "a slice has time priority, and the next slice goes to the back of the queue",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 show=3 id=a            -> NEW
  bob   sell 5 @ 101 id=b                    -> NEW
  book                                       -> bids - asks 101:8
  carol buy 2 @ 101                          -> FILLED 2@101
  book                                       -> bids - asks 101:6
  alice orders                               -> a PARTIALLY_FILLED 8@101 shows 3
  # the last lot of the slice, and then bob
  carol buy 3 @ 101                          -> FILLED 1@101 2@101
  book                                       -> bids - asks 101:6
  bob   orders                               -> b PARTIALLY_FILLED 3@101
  dave  sell 1 @ 101 id=d                    -> NEW
  carol buy 7 @ 101                          -> FILLED 3@101 3@101 1@101
  book                                       -> bids - asks 101:3
  alice orders                               -> a PARTIALLY_FILLED 4@101 shows 3
  # alone at its price: slice by slice, a fill each; the last one is what is left
  carol buy 9 @ 101 id=c                     -> PARTIALLY_FILLED 3@101 1@101
  book                                       -> bids 101:5 asks -
`,
);

scenario(
  "the slices of two icebergs alternate, and a taker that rests as an iceberg shows its first slice",
  `
  mark 100                                   -> 100
  alice sell 6 @ 101 show=2                  -> NEW
  bob   sell 5 @ 101 show=3                  -> NEW
  carol buy 12 @ 101 show=4 id=c             -> PARTIALLY_FILLED 2@101 3@101 2@101 2@101 2@101
  book                                       -> bids 101:1 asks -
  alice orders                               -> none
  bob   orders                               -> none
  carol buy 10 @ 100 show=4 id=e             -> NEW
  dave  sell 9 @ 100 show=9 id=d             -> FILLED 1@101 4@100 4@100
  book                                       -> bids 100:2 asks -
`,
);

scenario(
  "each fill of a slice pays its own fee; margin and limits count the whole order",
  `
  mark 100                                   -> 100
  alice has 1010                             ->
  alice sell 90 @ 101 show=7 id=a            -> NEW
  alice money                                -> equity 1010 initial 913.545 orders 913.545 maintenance 0 free 96.455
  alice sell 10 @ 101 show=1                 -> INSUFFICIENT_MARGIN requiredQuanta=101.505 availableQuanta=96.455
  carol buy 8 @ 101                          -> FILLED 7@101 1@101
  fees                                       -> taker 0.0505 maker 0.0202
`,
);

scenario(
  "a refusal whose figures would count hidden lots has no figures",
  `
  mark 100                                   -> 100
  dave  sell 10 @ 101 show=2 id=d            -> NEW
  dave  sell 1 @ 102                         -> NEW
  alice has 10                               ->
  alice buy 2 @ 101 IOC                      -> INSUFFICIENT_MARGIN requiredQuanta=22.101 availableQuanta=10
  alice buy 3 @ 101 IOC                      -> INSUFFICIENT_MARGIN
  alice buy 500 @ 101 IOC                    -> INSUFFICIENT_MARGIN
  alice buy 50 market                        -> INSUFFICIENT_MARGIN
  # the same for one that crosses after an amendment
  bob   has 90                               ->
  bob   buy 9 @ 90 id=b                      -> NEW
  bob   amends b @ 101                       -> INSUFFICIENT_MARGIN
  bob   amends b @ 100                       -> INSUFFICIENT_MARGIN requiredQuanta=9.045 availableQuanta=8.595
  book                                       -> bids 90:9 asks 101:2 102:1
`,
);

scenario(
  "takers count hidden lots: fill-or-kill, market orders, and no more than there is",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 show=2 id=a            -> NEW
  carol buy 11 @ 101 FOK                     -> EXPIRED FOK_UNFILLABLE
  carol buy 7 @ 101 FOK                      -> FILLED 2@101 2@101 2@101 1@101
  carol buy 4 market                         -> EXPIRED 1@101 2@101 NO_LIQUIDITY
`,
);

scenario(
  "an iceberg may be post-only and GTD; it ends with its hidden lots",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 show=2 post-only till=500 id=a -> NEW
  bob   buy 4 @ 101 show=2 post-only         -> POST_ONLY_WOULD_TRADE bestTicks=101
  wait 500                                   ->
  tick                                       -> a EXPIRED GOOD_TILL_DATE
  book                                       -> bids - asks -
  alice sell 10 @ 101 show=2 id=b            -> NEW
  alice cancel b                             -> CANCELED USER
  carol buy 1 @ 101 IOC                      -> EXPIRED IOC_REMAINDER
`,
);

scenario(
  "orders attached to an iceberg grow with each of its slices",
  `
  mark 100                                   -> 100
  alice buy 10 @ 99 show=3 tp=103 id=e       -> NEW
  bob   sell 5 @ 99                          -> FILLED 3@99 2@99; e.tp waits with 5
  bob   sell 4 @ 99                          -> FILLED 1@99 3@99; e.tp grows to 9
  book                                       -> bids 99:1 asks -
  alice cancel e                             -> CANCELED USER
  alice orders                               -> e.tp TAKE_PROFIT_MARKET 9 at 103
`,
);

scenario(
  "a liquidation cancels an iceberg with its hidden lots",
  `
  mark 100                                   -> 100
  bob   sell 20 @ 100                        -> NEW
  alice has 153                              ->
  alice buy 10 @ 100                         -> FILLED 10@100
  alice sell 10 @ 104 show=2 id=a            -> NEW
  alice buy 4 @ 96 show=2 id=b               -> NEW
  mark 85                                    -> 85
  tick                                       ->
  tick                                       -> b CANCELED LIQUIDATION; a CANCELED LIQUIDATION; undefined EXPIRED NO_LIQUIDITY
  book                                       -> bids - asks 100:10
`,
);

scenario(
  "self-trade prevention cancels an own iceberg as a whole, or decrements it slice by slice",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 show=2 id=a            -> NEW
  alice buy 5 @ 101                          -> EXPIRED SELF_TRADE
  alice buy 5 @ 101 EXPIRE_MAKER id=m        -> NEW; a CANCELED SELF_TRADE
  alice cancel m                             -> CANCELED USER
  alice sell 10 @ 101 show=2 id=b            -> NEW
  bob   sell 3 @ 101 id=c                    -> NEW
  # its slice, then bob's three, and then the next slices
  alice buy 8 @ 101 DECREMENT                -> EXPIRED 3@101 SELF_TRADE; b -2 SELF_TRADE; #6 -2 SELF_TRADE; b -2 SELF_TRADE; #6 -2 SELF_TRADE; b -1 SELF_TRADE
  book                                       -> bids - asks 101:1
  alice orders                               -> b NEW 5@101 shows 2
`,
);

scenario(
  "a reduce-only iceberg loses hidden lots first",
  `
  mark 100                                   -> 100
  bob   sell 20 @ 100                        -> NEW
  alice buy 12 @ 100                         -> FILLED 12@100
  alice sell 15 @ 102 show=4 reduce-only id=r -> NEW of 12
  carol sell 1 @ 102 id=c                    -> NEW
  carol buy 5 @ 99                           -> NEW
  alice sell 5 @ 99                          -> FILLED 5@99; r -5 REDUCE_ONLY
  book                                       -> bids - asks 100:8 102:5
  carol buy 5 @ 99                           -> NEW
  alice sell 5 @ 99                          -> FILLED 5@99; r -3 REDUCE_ONLY; r -2 REDUCE_ONLY
  book                                       -> bids - asks 100:8 102:3
  # and its slice has kept its place
  dave  buy 10 @ 102 IOC                     -> FILLED 8@100 2@102
  alice orders                               -> none
`,
);

scenario(
  "amending an iceberg: a smaller quantity or another display quantity keeps the slice's place; a larger quantity or another price does not",
  `
  mark 100                                   -> 100
  alice sell 20 @ 101 show=5 id=a            -> NEW
  bob   sell 5 @ 101 id=b                    -> NEW
  alice amends a 12                          -> NEW
  book                                       -> bids - asks 101:10
  # less is shown at once, more from the next slice on
  alice amends a show=3                      -> NEW
  book                                       -> bids - asks 101:8
  alice amends a show=4                      -> NEW
  book                                       -> bids - asks 101:8
  alice amends a show=4                      -> NEW
  carol buy 3 @ 101                          -> FILLED 3@101
  book                                       -> bids - asks 101:9
  alice orders                               -> a PARTIALLY_FILLED 9@101 shows 4
  carol buy 5 @ 101                          -> FILLED 5@101
  # less than its slice: all that is left
  alice amends a 6                           -> PARTIALLY_FILLED
  book                                       -> bids - asks 101:3
  alice orders                               -> a PARTIALLY_FILLED 3@101 shows 4
  alice amends a 10 @ 102                    -> PARTIALLY_FILLED
  book                                       -> bids - asks 102:4
  bob   buy 6 @ 102                          -> FILLED 4@102 2@102
  alice orders                               -> a PARTIALLY_FILLED 1@102 shows 4
`,
);

scenario(
  "amending makes an order an iceberg and an iceberg a plain order",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 id=a                   -> NEW
  bob   sell 5 @ 101 id=b                    -> NEW
  alice amends a show=4                      -> NEW
  book                                       -> bids - asks 101:9
  carol buy 6 @ 101                          -> FILLED 4@101 2@101
  book                                       -> bids - asks 101:7
  alice amends a show=10                     -> PARTIALLY_FILLED
  book                                       -> bids - asks 101:7
  carol buy 7 @ 101                          -> FILLED 3@101 4@101
  book                                       -> bids - asks 101:2
`,
);

scenario(
  "a slice is at most the order, at least the instrument's minimum and a hundredth of the order",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 show=11                -> DISPLAY_QUANTITY_OUT_OF_RANGE minLots=1 maxLots=10
  alice sell 201 @ 101 show=2                -> DISPLAY_QUANTITY_OUT_OF_RANGE minLots=3 maxLots=201
  alice sell 10 @ 101 show=10 id=a           -> NEW
  alice amends a show=11                     -> DISPLAY_QUANTITY_OUT_OF_RANGE minLots=1 maxLots=10
  alice amends a 8 show=9                    -> DISPLAY_QUANTITY_OUT_OF_RANGE minLots=1 maxLots=8
  alice amends a show=1                      -> NEW
  alice amends a 101                         -> DISPLAY_QUANTITY_OUT_OF_RANGE minLots=2 maxLots=101
  alice amends a 101 show=2                  -> NEW
  book                                       -> bids - asks 101:2
`,
);

const seed = takeSeed("iceberg.test");

test("folds of the events know each order in full, and of the book the shown lots only", () => {
  let slices = 0;
  fc.assert(
    fc.property(fc.array(eventfulStep, { maxLength: 150, size: "max" }), (steps) => {
      const instruments = [instrument(ODD), instrument(FREE)];
      const exchange = new Exchange(instruments);
      const traffic = new Traffic(
        exchange,
        instruments.map(({ id }) => id),
      );
      for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
      const folds = new Map(instruments.map((of) => [of.id, new Folds(of)]));
      for (const step of steps) {
        const { actorId, command } = traffic.command(step);
        const { events } = traffic.send(actorId, command);
        for (const event of events) folds.get(actorId)?.apply(event as SymbolEvent);
        for (const fold of folds.values()) slices += fold.check(exchange, traffic.accounts);
      }
    }),
    { seed, numRuns: 40, includeErrorInReport: true },
  );
  assert.ok(slices > 100, `only ${slices} looks at an iceberg that hid something`);
});

/** Folds events into order records, as the history does, and into depth, as market data does. */
class Folds implements OrderStore {
  readonly time = 0;
  readonly sequence = 0;
  private readonly of: ReturnType<typeof instrument>;
  private readonly orders = new Map<number, OrderRecord>();
  private readonly depth: Depth;

  constructor(of: ReturnType<typeof instrument>) {
    this.of = of;
    this.depth = new Depth(of.maxPriceTicks);
  }

  apply(event: SymbolEvent): void {
    this.depth.apply(event);
    applyToOrders(event, this);
  }

  follows(): boolean {
    return true;
  }

  instrumentOf(): ReturnType<typeof instrument> {
    return this.of;
  }

  add(order: OrderRecord): void {
    this.orders.set(order.orderId, order);
  }

  change(orderId: number): OrderRecord {
    return this.orders.get(orderId) as OrderRecord;
  }

  end(order: OrderRecord): void {
    this.orders.delete(order.orderId);
  }

  addFill(): void {}

  /** Returns how many orders have hidden lots. */
  check(exchange: Exchange, accounts: readonly number[]): number {
    const { state } = exchange.symbol(this.of.id);
    const views = accounts.flatMap((accountId) =>
      exchange.do(this.of.id, make(ReadOrders, { accountId })).replies.slice(0, -1),
    ) as MessageOf<typeof OrderView>[];
    const facts = (order: MessageOf<typeof OrderView> | OrderRecord) => [
      order.orderId,
      order.quantityLots,
      order.remainingLots,
      order.filledLots,
      order.filledQuanta,
      order.feeQuanta,
      order.displayLots,
    ];
    const byId = (a: number[], b: number[]): number => a[0] - b[0];
    assert.deepEqual([...this.orders.values()].map(facts).sort(byId), views.map(facts).sort(byId));
    const shown = new Map<number, number>();
    let hiding = 0;
    for (const { orderId, side, priceTicks, remainingLots } of views) {
      const slot = state.findOrder(orderId);
      if (state.orders.isWaiting(slot)) continue;
      const key = side === BUY ? -priceTicks : priceTicks;
      shown.set(key, (shown.get(key) ?? 0) + state.open.shownLots(slot));
      if (state.open.shownLots(slot) < remainingLots) hiding++;
    }
    const levels = [BUY, SELL].flatMap((side) =>
      this.depth.levels(side as Side, 1000, (tick, lots) => [side === BUY ? -tick : tick, lots]),
    );
    assert.deepEqual(levels.sort(byId), [...shown].sort(byId));
    return hiding;
  }
}
