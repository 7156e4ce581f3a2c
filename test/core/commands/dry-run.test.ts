import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { summarizeSymbol } from "../../../src/core/audit/symbol-summary.ts";
import { ACCOUNT } from "../../../src/core/base/columns.ts";
import {
  BUY,
  FOK,
  GTC,
  GTD,
  IOC,
  ISOLATED,
  LEDGER,
  ORDER_STATUSES,
  REASONS,
  SELL,
  STATUS_EXPIRED,
  STATUS_NEW,
} from "../../../src/core/base/enums.ts";
import {
  Deposit,
  DryRunOrder,
  OpenSession,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  ReadPosition,
  SetIndexPrice,
  SetMarginMode,
} from "../../../src/core/protocol/commands.ts";
import { FundingPaid, OrderClosed, Traded } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { AccountProjection, ExpectedFill } from "../../../src/core/protocol/payloads.ts";
import {
  type DryRunResult,
  OrderView,
  type PositionView,
  Refused,
  type SessionView,
} from "../../../src/core/protocol/replies.ts";
import { openDeepMarket } from "../support/deep-market.ts";
import { Exchange, LEDGER_SETTINGS, MAX_ACCOUNTS, make, type Said, SHORT_INDEX_AGE_MS } from "../support/exchange.ts";
import { FREE, instrument, ODD, PLAIN } from "../support/instruments.ts";
import { runUntilReached, takeSeed } from "../support/seed.ts";
import { eventfulStep, type Step } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";

const seed = takeSeed("dry-run.test");
const INSTRUMENTS = [instrument(ODD), instrument(FREE)];
const IDS = INSTRUMENTS.map(({ id }) => id);
const PLACES: readonly number[] = [PlaceOrder.code, PlaceExtended.code, PlaceTrigger.code];

test("a dry run predicts what the order then gets, and changes nothing", () => {
  const seen = new Set<string>();
  const property = fc.property(fc.array(eventfulStep, { maxLength: 100, size: "max" }), (steps) => drive(steps, seen));
  runUntilReached(
    seed,
    (seed) => fc.assert(property, { seed, numRuns: 120, includeErrorInReport: true }),
    () => EXPECTED.filter((what) => !seen.has(what)),
  );
});

const EXPECTED = [
  "FILLED null",
  "NEW null",
  "PARTIALLY_FILLED null",
  "UNTRIGGERED null",
  "EXPIRED IOC_REMAINDER",
  "EXPIRED FOK_UNFILLABLE",
  "EXPIRED NO_LIQUIDITY",
  "EXPIRED SELF_TRADE",
  "INSUFFICIENT_MARGIN",
  "POST_ONLY_WOULD_TRADE",
  "PRICE_OUT_OF_BAND",
  "REDUCE_ONLY_NO_POSITION",
  "CLIENT_ORDER_ID_REUSED",
  "duplicate",
  "more than was shown",
];

function drive(steps: readonly Step[], seen: Set<string>): void {
  const exchange = new Exchange(INSTRUMENTS, LEDGER_SETTINGS, MAX_ACCOUNTS, SHORT_INDEX_AGE_MS);
  const traffic = new Traffic(exchange, IDS);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  for (const step of steps) {
    const { actorId, command } = traffic.command(step);
    exchange.time += step.waitMs;
    if (!PLACES.includes(command.type)) {
      traffic.send(actorId, command);
      continue;
    }
    const dryRun = make(DryRunOrder, { order: command as MessageOf<typeof DryRunOrder>["order"] });
    // Overdue orders expire first, also in the transaction of a dry run.
    exchange.carryOut(actorId, dryRun);
    save(exchange, actorId);
    const before = stateOf(exchange, actorId);
    const tried = exchange.do(actorId, dryRun);
    assert.deepEqual(tried.events, []);
    assert.deepEqual(stateOf(exchange, actorId), before, JSON.stringify(step));
    assert.equal(save(exchange, actorId), 0, "nothing to save");
    const { accountId, side } = command as MessageOf<typeof PlaceOrder>;
    const hides = isHiding(exchange, actorId, 1 - side);
    checkSecrecy(exchange, actorId, 1 - side, tried);
    const projection = projectionOf(exchange, actorId, accountId);
    const placed = exchange.do(actorId, command);
    if (!hides) {
      assert.deepEqual(toldBy(tried), cameOf(placed), JSON.stringify(step));
      checkMargin(tried, placed, projection, projectionOf(exchange, actorId, accountId));
    } else if (cameOf(placed).fills.length > toldBy(tried).fills.length) seen.add("more than was shown");
    note(tried, seen);
    traffic.note(placed.events);
    for (let more = true; more; ) {
      const next = exchange.proceed(actorId);
      traffic.note(next.events);
      more = next.more;
    }
  }
}

/** Whether a side of the book has hidden lots. */
function isHiding(exchange: Exchange, actorId: number, side: number): boolean {
  const { book } = exchange.symbol(actorId).state;
  const bitmap = book.side(side);
  for (let price = bitmap.best(); price >= 0; price = bitmap.next(price)) if (book.hiddenLots(price) > 0) return true;
  return false;
}

/** The expected fills are no more than the book shows. */
function checkSecrecy(exchange: Exchange, actorId: number, side: number, tried: Said): void {
  const summary = summarizeSymbol(exchange.symbol(actorId).state);
  const shown = new Map(side === BUY ? summary.bids : summary.asks);
  for (const [priceTicks, lots] of toldBy(tried).fills) {
    const left = (shown.get(priceTicks) ?? 0) - lots;
    assert.ok(left >= 0, `${lots} more at ${priceTicks} than are shown`);
    shown.set(priceTicks, left);
  }
}

/** Takes a snapshot of changes. Returns its number of rows. */
function save(exchange: Exchange, actorId: number): number {
  let rows = 0;
  const count = (): void => void rows++;
  exchange.actors.get(actorId)?.snapshot({ put: count, remove: count });
  return rows;
}

/** The public state of the symbol, and the audit's hash of its whole state. */
function stateOf(exchange: Exchange, actorId: number): object {
  const { state } = exchange.symbol(actorId);
  return {
    serials: [state.nextOrderSerial, state.nextTradeSerial],
    log: [exchange.sequence, exchange.log.length],
    marginTable: exchange.allMarginTables(),
    audit: exchange.audit(actorId),
    summary: summarizeSymbol(state),
  };
}

test("the dry run of an order that fills its transaction says where it ends", () => {
  const { exchange, id, taker } = openDeepMarket(6000);
  for (const timeInForce of [GTC, IOC, FOK]) {
    const order = make(PlaceOrder, { accountId: taker, side: BUY, priceTicks: 10, quantityLots: 5500, timeInForce });
    const tried = toldBy(exchange.do(id, make(DryRunOrder, { order })));
    const placed = cameOf(exchange.do(id, order));
    assert.deepEqual(tried, placed);
    assert.equal((placed.answer as MessageOf<typeof OrderView>).status, STATUS_EXPIRED);
  }
});

test("a dry run counts owed funding as paid by the first fill", () => {
  const accounts = 600; // more than are paid when an interval ends
  const exchange = new Exchange([instrument(PLAIN)], LEDGER_SETTINGS, accounts + 16);
  const place = (accountId: number, order: Partial<MessageOf<typeof PlaceOrder>>): Said =>
    exchange.do(PLAIN.id, make(PlaceOrder, { accountId, priceTicks: 100, quantityLots: 10, ...order }));
  exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 100 }));
  for (let i = 0; i < accounts; i++) {
    exchange.do(LEDGER, make(OpenSession, { address: `0x${i}`, tokenHash: `t${i}`, expiresAt: 2 ** 50 }));
    exchange.do(LEDGER, make(Deposit, { accountId: 16 + i, amountQuanta: 1e12 }));
    place(16 + i, { side: i % 2 });
  }
  // A bid above the index, large enough for the impact price: a premium.
  place(16, { side: BUY, priceTicks: 103, quantityLots: 200 });
  exchange.time += 8 * 3_600_000;
  exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 100 }));
  const { state } = exchange.symbol(PLAIN.id);
  const owing = state.positions.open.filter((row) => state.funding.owes(row));
  const accountId = state.positions.numbers[(owing[0] as number) + ACCOUNT] as number;
  const order = make(PlaceOrder, { accountId, side: SELL, priceTicks: 103, quantityLots: 3 });
  const before = projectionOf(exchange, PLAIN.id, accountId);
  const tried = exchange.do(PLAIN.id, make(DryRunOrder, { order }));
  const placed = exchange.do(PLAIN.id, order);
  assert.ok(placed.events.some(({ type }) => type === FundingPaid.code));
  assert.deepEqual(toldBy(tried), cameOf(placed));
  checkMargin(tried, placed, before, projectionOf(exchange, PLAIN.id, accountId));
});

test("an order that expires in the transaction of a dry run is in none of its figures", () => {
  const exchange = new Exchange([instrument(PLAIN)]);
  const { accountId } = exchange.ask(LEDGER, make(OpenSession, { address: "0x1", tokenHash: "t" })) as MessageOf<
    typeof SessionView
  >;
  exchange.do(LEDGER, make(Deposit, { accountId, amountQuanta: 1e8 }));
  exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 100 }));
  const order = make(PlaceOrder, { accountId, priceTicks: 99, quantityLots: 4 });
  const goodTillDate = exchange.time + 1000;
  const terms = { accountId, priceTicks: 100, quantityLots: 5, timeInForce: GTD, goodTillDate };
  const before = projectionOf(exchange, PLAIN.id, accountId);
  exchange.do(PLAIN.id, make(PlaceExtended, terms));
  exchange.time = goodTillDate;
  const tried = exchange.do(PLAIN.id, make(DryRunOrder, { order }));
  assert.deepEqual(
    tried.events.map(({ type }) => type),
    [OrderClosed.code],
  );
  checkMargin(tried, exchange.do(PLAIN.id, order), before, projectionOf(exchange, PLAIN.id, accountId));
});

for (const side of [BUY, SELL])
  test(`a dry run says what adding to an isolated ${side === BUY ? "long" : "short"} sets aside, and what closing a part gives back`, () => {
    const exchange = new Exchange([instrument(PLAIN)]);
    const [alice, bob] = [16, 17];
    for (const accountId of [alice, bob]) {
      exchange.do(
        LEDGER,
        make(OpenSession, { address: `0x${accountId}`, tokenHash: `t${accountId}`, expiresAt: 2 ** 50 }),
      );
      exchange.do(LEDGER, make(Deposit, { accountId, amountQuanta: 1e12 }));
    }
    exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 1000 }));
    exchange.do(PLAIN.id, make(SetMarginMode, { accountId: alice, marginMode: ISOLATED }));
    const order = (accountId: number, side: number, priceTicks: number): MessageOf<typeof PlaceOrder> =>
      make(PlaceOrder, { accountId, side, priceTicks, quantityLots: 10 });
    exchange.do(PLAIN.id, order(bob, 1 - side, 1000));
    exchange.do(PLAIN.id, order(alice, side, 1000));
    const priceTicks = side === BUY ? 1020 : 980;
    exchange.do(PLAIN.id, order(bob, 1 - side, priceTicks));
    const before = projectionOf(exchange, PLAIN.id, alice);
    const tried = exchange.do(PLAIN.id, make(DryRunOrder, { order: order(alice, side, priceTicks) }));
    const placed = exchange.do(PLAIN.id, order(alice, side, priceTicks));
    const after = projectionOf(exchange, PLAIN.id, alice);
    // Initial margin of 10 at the mark, 10 times 20 against it, and the fee.
    const feeQuanta = Math.ceil(10 * priceTicks * 500);
    assert.equal(before.availableQuanta - after.availableQuanta, 1000e6 + 200e6 + feeQuanta);
    checkMargin(tried, placed, before, after);
    // Closing a part gives back what it has won, and its share of the rest.
    exchange.do(PLAIN.id, order(bob, side, priceTicks));
    const closing = order(alice, 1 - side, priceTicks);
    const triedToClose = exchange.do(PLAIN.id, make(DryRunOrder, { order: closing }));
    checkMargin(triedToClose, exchange.do(PLAIN.id, closing), after, projectionOf(exchange, PLAIN.id, alice));
  });

interface Told {
  /** A refusal, the id of a duplicate, or the order without the fields of placed orders. */
  answer: object;
  fills: ExpectedFill[];
}

function toldBy({ replies }: Said): Told {
  const [view, end] = replies as [Message, MessageOf<typeof DryRunResult> | undefined];
  return { answer: withoutId(view), fills: end?.fills ?? [] };
}

function cameOf({ events, replies: [reply] }: Said): Told {
  const { orderId } = reply as MessageOf<typeof OrderView>;
  const trades = (events as MessageOf<typeof Traded>[]).filter(
    ({ type, takerOrderId }) => type === Traded.code && takerOrderId === orderId,
  );
  const fills = trades.map(
    ({ priceTicks, quantityLots, takerFeeQuanta }): ExpectedFill => [priceTicks, quantityLots, takerFeeQuanta],
  );
  return { answer: withoutId(reply as Message), fills };
}

const withoutId = (reply: Message): object => (reply.type === OrderView.code ? { ...reply, orderId: 0 } : reply);

/** The account's margin and position. */
function projectionOf(exchange: Exchange, actorId: number, accountId: number): AccountProjection {
  const { initial: initialQuanta, equity } = exchange.marginTableOf(accountId) as { initial: number; equity: number };
  const [reply] = exchange.do(actorId, make(ReadPosition, { accountId })).replies as MessageOf<typeof PositionView>[];
  const { sizeLots = 0, liquidationTicks = 0 } = reply;
  return { sizeLots, liquidationTicks, initialQuanta, availableQuanta: equity - initialQuanta };
}

/** The required margin was available, and equals what a resting order reserves. */
function checkMargin({ replies }: Said, placed: Said, before: AccountProjection, after: AccountProjection): void {
  const [view, end] = replies as [MessageOf<typeof OrderView>, MessageOf<typeof DryRunResult> | undefined];
  if (view.type !== OrderView.code) return;
  assert.ok(end, "each order that is tried has a projection");
  assert.deepEqual([end.before, end.after], [before, after]);
  const { requiredQuanta } = end;
  assert.ok(requiredQuanta <= Math.max(0, before.availableQuanta), JSON.stringify(end));
  const isUntouched = view.filledLots === 0 && view.status === STATUS_NEW && placed.events.length === 1;
  if (isUntouched) assert.equal(after.initialQuanta - before.initialQuanta, requiredQuanta);
}

function note({ replies: [reply] }: Said, seen: Set<string>): void {
  const { code } = reply as MessageOf<typeof Refused>;
  const { status, reason } = reply as MessageOf<typeof OrderView>;
  if (reply?.type === Refused.code) seen.add(code);
  else if (reply?.type === OrderView.code) seen.add(`${ORDER_STATUSES[status]} ${REASONS[reason]}`);
  else seen.add("duplicate");
}
