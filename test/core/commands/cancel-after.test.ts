import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  BUY,
  GTD,
  ISOLATED,
  LEDGER,
  LIMIT,
  REASON_CANCEL_AFTER,
  REASON_GOOD_TILL_DATE,
  SELL,
  STATUS_CANCELED,
} from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import {
  CancelAfter,
  CancelAll,
  Deposit,
  OpenSession,
  PlaceExtended,
  PlaceOrder,
  ReadOrders,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
} from "../../../src/core/protocol/commands.ts";
import { CancelAfterSet, OrderClosed, PositionTransferred } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, Refused, type SessionView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, type Said, START } from "../support/exchange.ts";
import { FREE, instrument, ODD, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";
import { takeSeed } from "../support/seed.ts";
import { eventfulStep } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";

const seed = takeSeed("cancel-after.test");

scenario(
  "a cancel-after timer cancels all open orders, before anything can trade with them, and once",
  `
  mark 100                                    -> 100
  alice buy 5 @ 99 id=a                       -> NEW
  alice sell 5 @ 103 id=b                     -> NEW
  alice buy 5 market stop=102 id=s            -> UNTRIGGERED
  bob buy 5 @ 98 id=c                         -> NEW
  alice cancels-in 1000                       ->
  wait 999
  carol sell 1 market                         -> FILLED 1@99
  wait 1
  carol sell 1 market                         -> FILLED 1@98; s CANCELED CANCEL_AFTER; b CANCELED CANCEL_AFTER; a CANCELED CANCEL_AFTER
  alice orders                                -> none
  alice buy 5 @ 97 id=d                       -> NEW
  wait 5000
  tick                                        ->
  alice orders                                -> d NEW 5@97
`,
);

scenario(
  "the margin of orders that cancel-after has canceled is free for the next order",
  `
  mark 100                                    -> 100
  alice has 100                               ->
  alice buy 9 @ 100 id=a                      -> NEW
  alice cancels-in 1000                       ->
  wait 1000
  alice buy 9 @ 99 id=b                       -> NEW; a CANCELED CANCEL_AFTER
  alice orders                                -> b NEW 9@99
`,
);

scenario(
  "each call sets the timer anew, 0 clears it, and orders that protect a position are canceled, too",
  `
  mark 100                                    -> 100
  bob sell 9 @ 100                            -> NEW
  alice buy 9 market sl=95 id=e               -> FILLED 9@100; e.sl waits with 9
  alice sell 4 @ 102 reduce-only id=r         -> NEW
  alice cancels-in 1000                       ->
  wait 900
  alice cancels-in 1000                       ->
  wait 900
  tick                                        ->
  alice cancels-in never                      ->
  wait 900
  tick                                        ->
  alice cancels-in 1000                       ->
  alice cancels-in 10                         ->
  wait 10
  tick                                        -> r CANCELED CANCEL_AFTER; e.sl CANCELED CANCEL_AFTER
  alice position                              -> 9 cost 900 realized -0.45
`,
);

test("timers fire when a scan of all accounts says so, first in their transaction, and reads fire none", () => {
  let fired = 0;
  fc.assert(
    fc.property(fc.array(eventfulStep, { maxLength: 150, size: "max" }), (steps) => {
      const exchange = new Exchange([instrument(ODD), instrument(FREE)]);
      const traffic = new Traffic(exchange, [ODD.id, FREE.id]);
      const armed = new Map([ODD.id, FREE.id].map((id) => [id, new Map<number, number>()]));
      for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
      for (const step of steps) {
        const { actorId, command } = traffic.command(step);
        exchange.time += step.waitMs;
        const switches = armed.get(actorId);
        const due = switches === undefined ? [] : dueOf(switches, exchange.time);
        const open = new Map(due.map((accountId) => [accountId, openOrders(exchange, actorId, accountId)]));
        const said = traffic.send(actorId, command);
        if (switches === undefined) continue;
        checkFired(said, due, open);
        fired += due.filter((accountId) => open.get(accountId)?.length).length;
        for (const event of said.events) {
          const { type, accountId, cancelAt } = event as MessageOf<typeof CancelAfterSet>;
          if (type !== CancelAfterSet.code) continue;
          if (cancelAt === 0) switches.delete(accountId);
          else switches.set(accountId, cancelAt);
        }
      }
      for (const actorId of exchange.actors.keys()) assert.deepEqual(exchange.audit(actorId).faults, []);
    }),
    { seed, numRuns: 100, includeErrorInReport: true },
  );
  assert.ok(fired > 0, "no switch found an order to cancel");
});

/** By time, then by account. */
const dueOf = (switches: ReadonlyMap<number, number>, now: number): number[] =>
  [...switches]
    .filter(([, cancelAt]) => cancelAt <= now)
    .sort(([a, atA], [b, atB]) => atA - atB || a - b)
    .map(([accountId]) => accountId);

/** Newest first. */
const openOrders = (exchange: Exchange, actorId: number, accountId: number): number[] =>
  exchange
    .do(actorId, make(ReadOrders, { accountId }))
    .replies.filter(({ type }) => type === OrderView.code)
    .map((view) => (view as MessageOf<typeof OrderView>).orderId);

function checkFired(said: Said, due: readonly number[], open: ReadonlyMap<number, readonly number[]>): void {
  const events = [...said.events];
  const gone = new Set<number>();
  const isExpired = (event: Message | undefined): boolean =>
    event?.type === OrderClosed.code && (event as MessageOf<typeof OrderClosed>).reason === REASON_GOOD_TILL_DATE;
  while (isExpired(events[0])) gone.add((events.shift() as MessageOf<typeof OrderClosed>).orderId);
  for (const accountId of due) {
    for (const orderId of open.get(accountId) ?? []) {
      if (gone.has(orderId)) continue;
      const closed = events.shift() as MessageOf<typeof OrderClosed>;
      assert.deepEqual(
        [closed.type, closed.orderId, closed.status, closed.reason],
        [OrderClosed.code, orderId, STATUS_CANCELED, REASON_CANCEL_AFTER],
      );
    }
    assert.deepEqual(events.shift(), make(CancelAfterSet, { accountId, cancelAt: 0 }));
  }
}

/** Many orders of many accounts, all to end by themselves in a second; `arm` is told of each account behind its orders. */
function crowd(order: Partial<MessageOf<typeof PlaceExtended>>, arm: (exchange: Exchange, accountId: number) => void) {
  const accounts = 30;
  const ordersEach = 500;
  const plain = instrument({ ...PLAIN, maxOpenOrders: ordersEach }, {});
  const exchange = new Exchange([plain]);
  const open = (name: string): number => {
    const session = make(OpenSession, { address: name, tokenHash: name, expiresAt: 2 ** 50 });
    const { accountId } = exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 1e6 * QUANTA_PER_USDC }));
    return accountId;
  };
  exchange.do(plain.id, make(SetIndexPrice, { indexTicks: 100 }));
  const makers = Array.from({ length: accounts }, (_, i) => open(`maker ${i}`));
  const taker = open("taker");
  const limit = { orderType: LIMIT, priceTicks: 100 };
  for (const accountId of makers) {
    for (let i = 0; i < ordersEach; i++)
      exchange.do(plain.id, make(PlaceExtended, { ...limit, accountId, side: BUY, quantityLots: 1, ...order }));
    arm(exchange, accountId);
  }
  const sell = (): Said =>
    exchange.do(plain.id, make(PlaceOrder, { ...limit, accountId: taker, side: SELL, quantityLots: 5 }));
  return { exchange, plain, makers, sell, orders: accounts * ordersEach };
}

/** Checks that the overdue orders end over two transactions, and that nothing trades before. */
function endsInTransactions({ exchange, plain, makers, sell, orders }: ReturnType<typeof crowd>): void {
  assert.equal(exchange.audit(plain.id).openOrders, orders);
  exchange.time += 1000;
  const first = sell();
  assert.equal(closedIn(first), 10_000);
  const [refused] = first.replies as MessageOf<typeof Refused>[];
  assert.deepEqual([refused.type, refused.code], [Refused.code, "SYMBOL_HALTED"]);
  // A cancel by the account still works.
  const rest = exchange.do(plain.id, make(CancelAll, { accountId: makers.at(-1) ?? 0, side: -1 }));
  assert.equal(closedIn(rest), orders - 10_000);
  assert.deepEqual(exchange.do(plain.id, make(Tick)).events, []);
  assert.equal(sell().replies[0].type, OrderView.code);
  assert.deepEqual(exchange.audit(plain.id).faults, []);
}

test("more orders than fit into a transaction are canceled over several, and nothing trades until then", () => {
  endsInTransactions(
    crowd({}, (exchange, accountId) => exchange.do(PLAIN.id, make(CancelAfter, { accountId, timeoutMs: 1000 }))),
  );
});

test("more orders than fit into a transaction expire over several, and nothing trades until then", () => {
  endsInTransactions(crowd({ timeInForce: GTD, goodTillDate: START + 1000 }, () => {}));
});

const closedIn = ({ events }: Said): number => events.filter(({ type }) => type === OrderClosed.code).length;

test("an account cannot delay its liquidation by orders that expire at each tick", () => {
  const { exchange, plain, makers } = crowd({ timeInForce: GTD, goodTillDate: START + 1000 }, () => {});
  const [alice, bob] = makers;
  for (const accountId of [alice, bob]) exchange.do(plain.id, make(CancelAll, { accountId, side: -1 }));
  exchange.do(plain.id, make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
  exchange.do(plain.id, make(SetLeverage, { accountId: alice, leverage: 50 }));
  const order = { orderType: LIMIT, priceTicks: 101, quantityLots: 10 };
  exchange.do(plain.id, make(PlaceOrder, { ...order, accountId: bob, side: SELL }));
  exchange.do(plain.id, make(PlaceOrder, { ...order, accountId: alice, side: BUY }));
  exchange.do(plain.id, make(SetIndexPrice, { indexTicks: 98 }));
  exchange.time += 1000;
  const { events } = exchange.carryOut(plain.id, make(Tick));
  const closed = events.filter(({ type }) => type === PositionTransferred.code) as MessageOf<
    typeof PositionTransferred
  >[];
  assert.deepEqual(
    closed.map(({ accountId, counterpartyId, quantityLots }) => [accountId, counterpartyId, quantityLots]),
    [[alice, bob, 10]],
    "bankrupt, and settled against the account that she has just bought from",
  );
});
