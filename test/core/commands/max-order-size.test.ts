import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { GTC, IOC, LEDGER, LIMIT, MARKET, REDUCE_ONLY } from "../../../src/core/base/enums.ts";
import { DryRunOrder, PlaceOrder, ReadMaxOrderSize, Withdraw } from "../../../src/core/protocol/commands.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { MaxOrderSize } from "../../../src/core/protocol/payloads.ts";
import { type MaxOrderSizeView, OrderView, Refused } from "../../../src/core/protocol/replies.ts";
import type { SymbolState } from "../../../src/core/state/symbol-state.ts";
import { openDeepMarket } from "../support/deep-market.ts";
import { Exchange, LEDGER_SETTINGS, MAX_ACCOUNTS, make, SHORT_INDEX_AGE_MS } from "../support/exchange.ts";
import { FREE, instrument, ODD } from "../support/instruments.ts";
import { runUntilReached, takeSeed } from "../support/seed.ts";
import { eventfulStep, type Step } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";

const seed = takeSeed("max-order-size.test");
const INSTRUMENTS = [instrument(ODD), instrument(FREE)];
const IDS = INSTRUMENTS.map(({ id }) => id);

type Order = MessageOf<typeof PlaceOrder>;

test("the largest order passes a dry run, and one lot more is refused with the reason that was named", () => {
  const seen = new Set<string>();
  const property = fc.property(fc.array(eventfulStep, { maxLength: 80, size: "max" }), (steps) => drive(steps, seen));
  runUntilReached(
    seed,
    (seed) => fc.assert(property, { seed, numRuns: 60, includeErrorInReport: true }),
    () => EXPECTED.filter((what) => !seen.has(what)),
  );
});

const EXPECTED = [
  "some INSUFFICIENT_MARGIN",
  "none INSUFFICIENT_MARGIN",
  "some POSITION_LIMIT",
  "some QUANTITY_TOO_LARGE",
  "some KEY_ORDER_LIMIT",
  "some KEY_POSITION_LIMIT",
  "none PRICE_OUT_OF_BAND",
  "none REDUCE_ONLY_NO_POSITION",
  "none STALE_PRICE",
  "some null",
];

function drive(steps: readonly Step[], seen: Set<string>): void {
  const exchange = new Exchange(INSTRUMENTS, LEDGER_SETTINGS, MAX_ACCOUNTS, SHORT_INDEX_AGE_MS);
  const traffic = new Traffic(exchange, IDS);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  for (const step of steps) {
    const { actorId, command } = traffic.command(step);
    exchange.time += step.waitMs;
    traffic.send(actorId, command);
    if (command.type !== PlaceOrder.code) continue;
    const { markTicks, instrument } = exchange.symbol(actorId).state;
    const lotQuanta = markTicks * instrument.quantaPerTickLot;
    for (const order of variants(command as Order, markTicks, lotQuanta)) check(exchange, actorId, order, seen);
  }
}

/** Orders of the same account, price and key. */
function variants(order: Order, markTicks: number, lotQuanta: number): Order[] {
  const priceTicks = order.priceTicks || markTicks;
  const plain = { ...order, priceTicks, flags: 0, timeInForce: GTC, orderType: LIMIT, expiresAt: 0, clientOrderId: "" };
  return [
    plain,
    { ...plain, flags: REDUCE_ONLY },
    { ...plain, orderType: MARKET, priceTicks: 0, timeInForce: IOC },
    { ...plain, orderType: MARKET, priceTicks: 0, timeInForce: IOC, maxSlippagePpm: 5000 },
    { ...plain, keyOrderQuanta: 6 * lotQuanta },
    { ...plain, keyPositionQuanta: 9 * lotQuanta },
  ];
}

function check(exchange: Exchange, actorId: number, order: Order, seen: Set<string>): void {
  const tryLots = (quantityLots: number): Outcome => {
    const { replies } = exchange.do(actorId, make(DryRunOrder, { order: { ...order, quantityLots } }));
    const refused = replies.find(({ type }) => type === Refused.code) as MessageOf<typeof Refused> | undefined;
    const view = replies.find(({ type }) => type === OrderView.code) as MessageOf<typeof OrderView> | undefined;
    const refusal = refused === undefined ? null : { ...refused };
    return { refusal, filledLots: view?.filledLots ?? 0 };
  };
  const { instrument, markTicks } = exchange.symbol(actorId).state;
  for (const { side, quantityLots, limitedBy } of sizesOf(exchange, actorId, order)) {
    order.side = side;
    const says = `${JSON.stringify(order)}: ${quantityLots} ${limitedBy?.code}`;
    seen.add(`${quantityLots === 0 ? "none" : "some"} ${limitedBy?.code ?? null}`);
    const largest = tryLots(quantityLots);
    if (quantityLots > 0) assert.equal(largest.refusal, null, says);
    if (limitedBy === null) {
      assert.equal(order.flags, REDUCE_ONLY, says);
      assert.equal(tryLots(instrument.maxQuantityLots).filledLots, largest.filledLots, says);
      continue;
    }
    const valueTicks = order.orderType === MARKET ? markTicks : order.priceTicks;
    const notionalLots = instrument.minNotionalQuanta / (valueTicks * instrument.quantaPerTickLot);
    const isReduceOnly = order.flags === REDUCE_ONLY;
    const least = isReduceOnly
      ? instrument.minQuantityLots
      : Math.max(instrument.minQuantityLots, Math.ceil(notionalLots));
    const next = tryLots(quantityLots > 0 ? quantityLots + 1 : least);
    assert.deepEqual(next.refusal, { type: Refused.code, ...limitedBy }, says);
    // A larger order passes only if it fills less: it skips a maker whose account cannot cover so many lots.
    for (let more = quantityLots + 1; more <= instrument.maxQuantityLots; more = Math.ceil(more * 1.7)) {
      const { refusal, filledLots } = tryLots(more);
      if (refusal !== null) continue;
      assert.ok(filledLots < largest.filledLots, `${says}, but ${more} passes`);
      seen.add("skips a maker");
    }
  }
}

interface Outcome {
  refusal: MessageOf<typeof Refused> | null;
  filledLots: number;
}

function sizesOf(exchange: Exchange, actorId: number, order: Order): MaxOrderSize[] {
  const reply = exchange.ask(actorId, make(ReadMaxOrderSize, { order: { ...order }, side: -1 }));
  return (reply as MessageOf<typeof MaxOrderSizeView>).sizes;
}

test("the largest order of a deep book is found in a bounded number of dry runs", () => {
  const { exchange, id, taker } = openDeepMarket(3000);
  const { placement, state } = exchange.symbol(id) as unknown as Internals;
  const place = placement.place.bind(placement);
  let runs = 0;
  placement.place = (...given) => {
    runs++;
    place(...given);
  };
  exchange.do(LEDGER, make(Withdraw, { accountId: taker, amountQuanta: 1e14 - 1e9, address: "0x0" }));
  const [buy, sell] = sizesOf(exchange, id, make(PlaceOrder, { accountId: taker, orderType: MARKET }));
  assert.equal(buy?.limitedBy?.code, "INSUFFICIENT_MARGIN");
  assert.equal(sell?.limitedBy?.code, "QUANTITY_TOO_LARGE", "a market order that meets nobody needs no margin");
  const bound = 2 * (3 + Math.ceil(Math.log2(state.instrument.maxQuantityLots)));
  assert.ok(runs <= bound, `${runs} dry runs, expected at most ${bound}`);
});

interface Internals {
  placement: { place(...given: unknown[]): void };
  state: SymbolState;
}
