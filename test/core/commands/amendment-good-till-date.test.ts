import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NONE } from "../../../src/core/base/columns.ts";
import {
  GTD,
  HALT_REASON,
  idToInstrumentId,
  LEDGER,
  MODE_CANCEL_ONLY,
  MODE_HALTED,
  REASON_GOOD_TILL_DATE,
  SELL,
} from "../../../src/core/base/enums.ts";
import type { TimeMs } from "../../../src/core/base/units.ts";
import { AmendOrder, Deposit, HaltSymbol, PlaceExtended, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import {
  OrderAmended,
  OrderClosed,
  OrderExtended,
  type SymbolEvent,
  Traded,
} from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, recoveriesOf } from "../support/exchange.ts";
import { FREE, instrument, ODD, PLAIN } from "../support/instruments.ts";
import { withoutLastFields } from "../support/old-logs.ts";
import { scenario } from "../support/scenario.ts";
import { runUntilReached, takeSeed } from "../support/seed.ts";
import { eventfulStep } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";

scenario(
  "an order with an amended goodTillDate keeps its place, and expires then and no earlier",
  `
  mark 100                                    -> 100
  alice sell 10 @ 101 till=100 id=a           -> NEW
  bob   sell 10 @ 101 till=100 id=b           -> NEW
  alice amends a till=300                     -> NEW
  bob   amends b till=50                      -> NEW
  carol buy 4 @ 101                           -> FILLED 4@101
  alice amends a till=300                     -> PARTIALLY_FILLED
  wait 50
  tick                                        -> b EXPIRED GOOD_TILL_DATE
  wait 249
  carol buy 1 @ 101                           -> FILLED 1@101
  alice orders                                -> a PARTIALLY_FILLED 5@101
  wait 1
  carol buy 1 market                          -> EXPIRED NO_LIQUIDITY; a EXPIRED GOOD_TILL_DATE
`,
);

scenario(
  "amending the goodTillDate needs no margin, whatever the mark",
  `
  mark 100                                    -> 100
  alice has 100                               ->
  alice buy 9 @ 99 till=100 id=a              -> NEW
  mark 120                                    -> 120
  alice withdraws 10                          -> PENDING
  alice amends a 9 @ 99 till=200              -> NEW
  wait 199
  bob sell 2 @ 114                            -> NEW
  alice orders                                -> a NEW 9@99
  wait 1
  tick                                        -> a EXPIRED GOOD_TILL_DATE
`,
);

scenario(
  "goodTillDate and price are amended together or not at all",
  `
  mark 100                                    -> 100
  alice buy 5 @ 99 till=100 id=a              -> NEW
  alice amends a @ 80 till=300                -> NEW
  alice amends a @ 120 till=500               -> PRICE_OUT_OF_BAND limitTicks=105 markTicks=100
  bob   sell 2 @ 100                          -> NEW
  alice amends a @ 100 till=200               -> PARTIALLY_FILLED 2@100
  wait 199
  alice orders                                -> a PARTIALLY_FILLED 3@100
  wait 1
  tick                                        -> a EXPIRED GOOD_TILL_DATE
`,
);

scenario(
  "amending the goodTillDate keeps an iceberg, a reduce-only flag and legs",
  `
  mark 100                                    -> 100
  alice sell 10 @ 101 show=4 till=100 id=a    -> NEW
  bob   sell 3 @ 101                          -> NEW
  carol buy 1 @ 101                           -> FILLED 1@101
  alice amends a till=200                     -> PARTIALLY_FILLED
  book                                        -> bids - asks 101:6
  carol buy 4 @ 101                           -> FILLED 3@101 1@101
  carol sell 2 @ 104 reduce-only till=100 id=c -> NEW
  carol amends c till=200                     -> NEW
  dave  buy 5 @ 99 tp=103 sl=97 till=100 id=d -> NEW
  dave  amends d till=200                     -> NEW
  wait 100
  erin  sell 2 @ 99                           -> FILLED 2@99; d.tp waits with 2; d.sl waits with 2
  book                                        -> bids 99:3 asks 101:6 104:2
  wait 100
  tick                                        -> a EXPIRED GOOD_TILL_DATE; c EXPIRED GOOD_TILL_DATE; d EXPIRED GOOD_TILL_DATE
  dave  orders                                -> d.sl STOP_MARKET 2 at 97; d.tp TAKE_PROFIT_MARKET 2 at 103
`,
);

scenario(
  "a goodTillDate in the past, or for an order that is not GTD, is refused",
  `
  mark 100                                    -> 100
  alice buy 5 @ 99 till=100 id=a              -> NEW
  alice amends a till=0                       -> GOOD_TILL_DATE_PASSED
  alice amends a till=-1                      -> GOOD_TILL_DATE_PASSED
  alice buy 5 @ 98 id=b                       -> NEW
  alice amends b till=100                     -> ORDER_NOT_GTD
  alice sell 5 @ 98 stop=99 id=s              -> UNTRIGGERED
  alice amends s till=100                     -> ORDER_WAITS
  wait 100
  alice amends a till=100                     -> ORDER_NOT_FOUND; a EXPIRED GOOD_TILL_DATE
`,
);

/** An exchange with a GTD order that expires in 1000 ms. */
function openMarket(): { exchange: Exchange; accountId: number; orderId: number } {
  const exchange = new Exchange([instrument(PLAIN)]);
  const traffic = new Traffic(exchange, [PLAIN.id]);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  const [accountId] = traffic.accounts;
  traffic.send(LEDGER, make(Deposit, { accountId, amountQuanta: 1e12 }));
  const goodTillDate = exchange.time + 1000;
  const order = { accountId, side: SELL, timeInForce: GTD, priceTicks: 101, quantityLots: 10, goodTillDate };
  const { orderId } = exchange.ask(PLAIN.id, make(PlaceExtended, order)) as MessageOf<typeof OrderView>;
  return { exchange, accountId, orderId };
}

const seed = takeSeed("amend-end.test");

test("each order expires at its last goodTillDate, and trades only before it", () => {
  const seen = { later: 0, earlier: 0, ended: 0, traded: 0 };
  const property = fc.property(fc.array(eventfulStep, { maxLength: 200, size: "max" }), (steps) => {
    const exchange = new Exchange([instrument(ODD), instrument(FREE)]);
    const traffic = new Traffic(exchange, [ODD.id, FREE.id]);
    const ends = new Map<number, TimeMs>();
    for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
    for (const step of steps) {
      const { actorId, command } = traffic.command(step);
      exchange.time += step.waitMs;
      const { events, time } = traffic.send(actorId, command);
      for (const event of events as SymbolEvent[]) follow(event, time, ends, seen);
      const open = exchange.symbol(actorId).state;
      for (const [orderId, end] of ends) {
        if (idToInstrumentId(orderId) !== actorId || open.findOrder(orderId) === NONE) continue;
        assert.ok(end > time, `order ${orderId} is there behind its end`);
      }
    }
  });
  runUntilReached(
    seed,
    (seed) => fc.assert(property, { seed, numRuns: 100, includeErrorInReport: true }),
    () => Object.entries(seen).flatMap(([what, count]) => (count === 0 ? [what] : [])),
  );
});

function follow(
  event: SymbolEvent,
  time: TimeMs,
  ends: Map<number, TimeMs>,
  seen: Record<"later" | "earlier" | "ended" | "traded", number>,
): void {
  if (event.type === OrderExtended.code && event.goodTillDate !== 0) ends.set(event.orderId, event.goodTillDate);
  else if (event.type === OrderAmended.code) {
    const { orderId, goodTillDate } = event;
    const end = ends.get(orderId) ?? 0;
    if (goodTillDate > end) seen.later++;
    if (goodTillDate < end) seen.earlier++;
    assert.equal(goodTillDate === 0, end === 0, "an order that has no end was given one, or the other way round");
    if (end !== 0) ends.set(orderId, goodTillDate);
  } else if (event.type === Traded.code) {
    for (const orderId of [event.takerOrderId, event.makerOrderId]) {
      const end = ends.get(orderId);
      if (end === undefined) continue;
      assert.ok(time < end, `order ${orderId} trades behind its end`);
      seen.traded++;
    }
  } else if (event.type === OrderClosed.code && event.reason === REASON_GOOD_TILL_DATE) {
    assert.ok(time >= (ends.get(event.orderId) ?? Number.POSITIVE_INFINITY), "ended too early");
    seen.ended++;
  }
}

test("the same goodTillDate writes no event; another one survives a snapshot and a replay", () => {
  const { exchange, accountId, orderId } = openMarket();
  const goodTillDate = exchange.time + 5000;
  const amend = make(AmendOrder, { accountId, orderId, goodTillDate });
  const { replies, events } = exchange.do(PLAIN.id, amend);
  const view = replies[0] as MessageOf<typeof OrderView>;
  assert.deepEqual([view.type, view.orderId, view.goodTillDate], [OrderView.code, orderId, goodTillDate]);
  assert.deepEqual(
    events.map((event) => [event.type, (event as MessageOf<typeof OrderAmended>).queueSerial]),
    [[OrderAmended.code, 0]],
  );
  assert.deepEqual(exchange.do(PLAIN.id, amend).events, []);

  for (const again of recoveriesOf(exchange, instrument(PLAIN)))
    assert.equal(again.symbol(PLAIN.id).state.open.expiries.earliest, goodTillDate);
});

test("an amendment in an older log leaves the goodTillDate as it was", () => {
  const { exchange, accountId, orderId } = openMarket();
  const before = exchange.audit(PLAIN.id).digest;
  exchange.do(PLAIN.id, make(AmendOrder, { accountId, orderId, priceTicks: 102 }));
  exchange.do(PLAIN.id, make(AmendOrder, { accountId, orderId, quantityLots: 5 }));
  assert.notEqual(exchange.audit(PLAIN.id).digest, before);
  const again = new Exchange([instrument(PLAIN)]);
  again.replay(withoutLastFields(exchange.log, OrderAmended, 1));
  again.restored();
  assert.equal(again.audit(PLAIN.id).digest, exchange.audit(PLAIN.id).digest);
  assert.equal(again.symbol(PLAIN.id).state.open.expiries.size, 1);
});

test("an overdue order that a full transaction has not expired cannot be prolonged", () => {
  const { exchange, accountId, orderId } = openMarket();
  const { state } = exchange.symbol(PLAIN.id);
  exchange.time += 1000;
  const replies: unknown[] = [];
  const transaction = {
    time: exchange.time,
    emit: () => {},
    reply: (reply: object) => void replies.push({ ...reply }),
  };
  // The transaction is full already.
  Object.defineProperty(state.progress, "isLong", { value: true });
  exchange
    .symbol(PLAIN.id)
    .decide(make(AmendOrder, { accountId, orderId, goodTillDate: exchange.time + 1000 }), transaction);
  assert.equal((replies[0] as { code?: string }).code, "GOOD_TILL_DATE_PASSED");
});

test("while the symbol is cancel-only, only the goodTillDate can be amended; while it is halted, nothing", () => {
  const { exchange, accountId, orderId } = openMarket();
  const amend = (goodTillDate: number) => {
    const reply = exchange.ask(PLAIN.id, make(AmendOrder, { accountId, orderId, goodTillDate }));
    return reply as unknown as { code?: string; goodTillDate?: number };
  };
  const halt = (mode: number) => exchange.do(PLAIN.id, make(HaltSymbol, { mode, reason: HALT_REASON.OPERATOR }));
  halt(MODE_CANCEL_ONLY);
  assert.equal(amend(exchange.time + 5000).goodTillDate, exchange.time + 5000);
  halt(MODE_HALTED);
  assert.equal(amend(exchange.time + 6000).code, "SYMBOL_HALTED");
});

test("the goodTillDate can be amended even if a new order of that price and notional would be refused", () => {
  const { exchange, accountId, orderId } = openMarket();
  const strict = new Exchange([instrument(PLAIN, { minNotional: "1000000" })]);
  strict.replay(exchange.log);
  strict.restored();
  strict.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 150 }));
  const amend = (changes: object) =>
    strict.ask(PLAIN.id, make(AmendOrder, { accountId, orderId, ...changes })) as unknown as Record<string, unknown>;
  assert.equal(amend({ quantityLots: 9 }).code, "NOTIONAL_TOO_SMALL");
  assert.equal(amend({ goodTillDate: strict.time + 5000 }).goodTillDate, strict.time + 5000);
});
