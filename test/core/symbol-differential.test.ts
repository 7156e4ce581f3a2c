import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { summarizeSymbol } from "../../src/core/audit/symbol-summary.ts";
import { BUY, CROSS, FEE_ACCOUNT, INSURANCE_ACCOUNT, ISOLATED, LEDGER, SELL } from "../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../src/core/base/units.ts";
import {
  AmendOrder,
  Deposit,
  OrderBatch,
  PlaceExtended,
  PlaceOrder,
  ReadOrders,
  ReadPosition,
  SetIndexPrice,
} from "../../src/core/protocol/commands.ts";
import { OrderClosed, OrderReduced, Traded } from "../../src/core/protocol/events.ts";
import { MESSAGE_SCHEMAS, type Message, type MessageOf } from "../../src/core/protocol/message-schema.ts";
import { DuplicateOrder, OrderView, PositionView, Refused } from "../../src/core/protocol/replies.ts";
import type { SymbolActor } from "../../src/core/symbol.ts";
import { Random } from "../../src/sandbox/random.ts";
import { itemsSaid } from "./support/batches.ts";
import { Exchange, LEDGER_SETTINGS, MAX_ACCOUNTS, make, type Said, SHORT_INDEX_AGE_MS } from "./support/exchange.ts";
import { FREE, instrument, ODD } from "./support/instruments.ts";
import { ReferenceExchange, type ReferenceSymbol } from "./support/reference/reference.ts";
import { initialMarginOf, maintenanceMarginOf } from "./support/reference/reference-formulas.ts";
import { unrealizedOf } from "./support/reference/reference-isolated.ts";
import {
  nothing,
  type Outcome,
  type ReferenceOrder,
  type ReferencePosition,
} from "./support/reference/reference-outcome.ts";
import { runUntilReached, takeSeed } from "./support/seed.ts";
import { type Step, step } from "./support/steps.ts";
import { Market, tradeTightly } from "./support/tight-market.ts";
import { Traffic } from "./support/traffic.ts";

const seed = takeSeed("symbol-differential.test");
const RUNS = 300;
const TIGHT_RUNS = 100;

test("a symbol does what the reference model does, command by command", () => {
  const seen = new Map<string, number>();
  const property = fc.property(fc.array(step, { maxLength: 200, size: "max" }), (steps) => drive(steps, seen));
  runUntilReached(
    seed,
    (seed) => fc.assert(property, { seed, numRuns: RUNS, includeErrorInReport: true }),
    () => EXPECTED.filter((what) => !seen.has(what)),
  );
});

const EXPECTED = [
  "INSUFFICIENT_MARGIN PlaceOrder",
  "INSUFFICIENT_MARGIN SetLeverage",
  "INSUFFICIENT_MARGIN AmendOrder",
  "QUANTITY_BELOW_FILLED",
  "amended",
  "amended and traded",
  "INSUFFICIENT_MARGIN SetMarginMode",
  "INSUFFICIENT_MARGIN MoveMargin",
  "OPEN_ORDERS_EXIST",
  "POSITION_NOT_ISOLATED",
  "INSUFFICIENT_BALANCE",
  "PRICE_OUT_OF_BAND",
  "PRICE_TOO_HIGH",
  "QUANTITY_TOO_SMALL",
  "QUANTITY_TOO_LARGE",
  "NOTIONAL_TOO_SMALL",
  "NO_PRICE_LEVEL",
  "DISPLAY_QUANTITY_OUT_OF_RANGE",
  "two slices for one taker",
  "POSITION_LIMIT",
  "TOO_MANY_OPEN_ORDERS",
  "POST_ONLY_WOULD_TRADE",
  "REDUCE_ONLY_NO_POSITION",
  "NO_POSITION",
  "LEVERAGE_OUT_OF_RANGE",
  "REQUEST_EXPIRED",
  "SYMBOL_HALTED",
  "STALE_PRICE",
  "ORDER_NOT_FOUND",
  "CLIENT_ORDER_ID_REUSED",
  "REFERENCE_REUSED",
  "duplicate",
  "trade",
  "closed for 1",
  "closed for 2",
  "closed for 3",
  "closed for 4",
  "closed for 5",
  "closed for 6",
  "reduced for 5",
  "reduced for 6",
];

/** A market that sends each command to the reference model, too, and compares the results. */
class MarketWithReference extends Market {
  private readonly reference: ReferenceExchange;
  private readonly opened: number[] = [];
  readonly seen = new Map<string, number>();

  constructor() {
    super();
    const instruments = this.symbols.map(({ state }) => state.instrument);
    this.reference = new ReferenceExchange(instruments, Number.POSITIVE_INFINITY);
    for (const { actorId, state } of this.symbols)
      this.reference.do(actorId, make(SetIndexPrice, { indexTicks: state.markTicks }), this.exchange.time);
  }

  protected override deposit(accountId: number, usdc: number): void {
    super.deposit(accountId, usdc);
    if (accountId === INSURANCE_ACCOUNT) return;
    this.opened.push(accountId);
    this.reference.do(LEDGER, make(Deposit, { accountId, amountQuanta: usdc * QUANTA_PER_USDC }), this.exchange.time);
  }

  override do({ actorId }: SymbolActor, command: Message): Message[] {
    const said = this.exchange.carryOut(actorId, command);
    // The reference model has no liquidation: it is compared until the first account is bankrupt.
    if (this.exchange.settlementEvents > 0) return [...said.events, ...said.replies];
    const outcome = outcomeOf(said);
    const what = JSON.stringify(command);
    assert.deepEqual(outcome, this.reference.do(actorId, command, this.exchange.time), what);
    for (const each of this.opened)
      assert.deepEqual(
        this.exchange.marginTableOf(each),
        this.reference.total(each),
        `margin of ${each} after ${what}`,
      );
    note(outcome, command, this.seen);
    return [...said.events, ...said.replies];
  }
}

test("a symbol does what the reference model does where margins are tight", () => {
  const seen = new Set<string>();
  for (let run = 0; run < TIGHT_RUNS; run++) {
    const market = new MarketWithReference();
    tradeTightly(new Random(seed + run, "tight margins"), market);
    for (const what of market.seen.keys()) seen.add(what);
  }
  for (const what of ["trade", "two slices for one taker", "closed for 2", "closed for 11", "reduced for 6"])
    assert.ok(seen.has(what), what);
});

function drive(steps: readonly Step[], seen: Map<string, number>): void {
  const instruments = [instrument(ODD), instrument(FREE)];
  const exchange = new Exchange(instruments, LEDGER_SETTINGS, MAX_ACCOUNTS, SHORT_INDEX_AGE_MS);
  const reference = new ReferenceExchange(instruments, SHORT_INDEX_AGE_MS);
  const traffic = new Traffic(
    exchange,
    instruments.map(({ id }) => id),
  );
  for (const { actorId, command } of traffic.opening()) {
    traffic.send(actorId, command);
    reference.do(actorId, command, exchange.time);
  }
  for (const step of steps) {
    const { actorId, command } = traffic.command(step);
    exchange.time += step.waitMs;
    const said = traffic.send(actorId, command);
    // The reference model has no liquidation: a run ends with the first bankrupt account.
    if (exchange.settlementEvents > 0) return;
    for (const [part, says] of partsOf(command, said)) {
      const outcome = outcomeOf(says);
      assert.deepEqual(outcome, reference.do(actorId, part, exchange.time), JSON.stringify(step));
      note(outcome, part, seen);
    }
    for (const symbol of reference.symbols) compareSymbol(exchange, symbol, traffic.accounts);
    for (const accountId of [FEE_ACCOUNT, ...traffic.accounts])
      assert.deepEqual(exchange.marginTableOf(accountId), reference.total(accountId), `margin of ${accountId}`);
  }
  // The audits find Σ cash = 0 and Σ size = 0 for each symbol, and Σ balances = deposits − withdrawals.
  for (const actorId of exchange.actors.keys()) assert.deepEqual(exchange.audit(actorId).faults, []);
  let equity = exchange.allMarginTables().reduce((sum, marginTable) => sum + marginTable.equity, 0);
  for (const symbol of reference.symbols)
    for (const position of symbol.positions.values()) equity += isolatedEquityOf(symbol, position);
  assert.equal(String(equity), exchange.audit(LEDGER).depositsMinusWithdrawalsQuanta);
}

function note(outcome: Outcome, command: Message, seen: Map<string, number>): void {
  const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
  const isPlace = command.type === PlaceOrder.code || command.type === PlaceExtended.code;
  if (outcome.refusal === "INSUFFICIENT_MARGIN") count(`${outcome.refusal} ${MESSAGE_SCHEMAS.get(command.type)?.name}`);
  else if (outcome.refusal !== "") count(outcome.refusal);
  else if (isPlace && outcome.quantityLots === 0) count("duplicate");
  if (outcome.trades.length > 0) count("trade");
  const makers = outcome.trades.map(({ makerOrderId }) => makerOrderId);
  if (new Set(makers).size < makers.length) count("two slices for one taker");
  if (command.type === AmendOrder.code && outcome.refusal === "")
    count(outcome.trades.length > 0 ? "amended and traded" : "amended");
  for (const [, , reason] of outcome.closed) count(`closed for ${reason}`);
  for (const [, , reason] of outcome.reduced) count(`reduced for ${reason}`);
}

/** A command with its replies and events. A batch becomes its items, because the reference model has no batches. */
function partsOf(command: Message, said: Said): [Message, Said][] {
  if (command.type !== OrderBatch.code) return [[command, said]];
  return (command as MessageOf<typeof OrderBatch>).items.map((item, index) => [item, itemsSaid(said)[index]]);
}

/** The outcome of a transaction in the form of the reference model. */
function outcomeOf({ events, replies }: Said): Outcome {
  const out = nothing();
  for (const reply of replies) {
    if (reply.type === Refused.code) {
      const { code, details } = reply as MessageOf<typeof Refused>;
      out.refusal = code;
      out.details = details;
    } else if (reply.type === DuplicateOrder.code) out.orderId = (reply as MessageOf<typeof DuplicateOrder>).orderId;
  }
  // A cancel of all orders replies with each order and Done; they are compared as closed orders.
  if (replies.length === 1 && replies[0].type === OrderView.code) {
    const order = replies[0] as MessageOf<typeof OrderView>;
    out.orderId = order.orderId;
    out.quantityLots = order.quantityLots;
    out.remainingLots = order.remainingLots;
    out.status = order.status;
    out.reason = order.reason;
    out.filledLots = order.filledLots;
    out.filledQuanta = order.filledQuanta;
    out.feeQuanta = order.feeQuanta;
  }
  for (const event of events) {
    if (event.type === Traded.code) {
      const { type, tradeId, takerAccountId, makerAccountId, takerSide, execType, ...trade } = event as MessageOf<
        typeof Traded
      >;
      out.trades.push(trade);
    } else if (event.type === OrderClosed.code) {
      const { orderId, status, reason } = event as MessageOf<typeof OrderClosed>;
      out.closed.push([orderId, status, reason]);
    } else if (event.type === OrderReduced.code) {
      const { orderId, byLots, reason } = event as MessageOf<typeof OrderReduced>;
      out.reduced.push([orderId, byLots, reason]);
    }
  }
  out.closed.sort(([a], [b]) => a - b);
  out.reduced.sort(([a, x], [b, y]) => a - b || x - y);
  return out;
}

function compareSymbol(exchange: Exchange, reference: ReferenceSymbol, accounts: readonly number[]): void {
  const { instrument } = reference;
  const { id } = instrument;
  const symbol = exchange.symbol(id);
  const summary = summarizeSymbol(symbol.state);
  const longs = [...reference.positions.values()].map(({ sizeLots }) => Math.max(0, sizeLots));
  assert.deepEqual(
    // Funding, the end of halts and the range of the index have tests of their own.
    { ...summary, priceTime: 0, indexRange: null, haltUntil: 0, fundingRatePpb: 0, nextFundingTime: 0, haltReason: 0 },
    {
      indexTicks: reference.indexTicks,
      markTicks: reference.markTicks,
      lastTicks: reference.lastTicks,
      fundingRatePpb: 0,
      nextFundingTime: 0,
      openInterestLots: longs.reduce((sum, lots) => sum + lots, 0),
      priceTime: 0,
      indexRange: null,
      haltUntil: 0,
      haltMode: reference.haltMode,
      haltReason: 0,
      fault: "",
      isIndexStale: false,
      pendingIndexTicks: 0,
      next: null,
      bids: reference.levels(BUY),
      asks: reference.levels(SELL),
    },
  );
  for (const accountId of [FEE_ACCOUNT, ...accounts]) {
    const orders = exchange.do(id, make(ReadOrders, { accountId })).replies.slice(0, -1);
    // Newest first.
    const expected = reference.ordersOf(accountId).reverse();
    const isEqual = orders.length === expected.length && orders.every((each, i) => isOrder(each, expected[i]));
    if (!isEqual) assert.deepEqual(orders.map(withoutSequence), expected.map(expectedReply));

    const position = reference.position(accountId);
    const [reply] = exchange.do(id, make(ReadPosition, { accountId })).replies as MessageOf<typeof PositionView>[];
    if (reply.type !== PositionView.code) continue; // the symbol never met it
    const notional = Math.abs(position.sizeLots) * reference.markTicks * instrument.quantaPerTickLot;
    assert.deepEqual(
      {
        sizeLots: reply.sizeLots,
        cashQuanta: reply.cashQuanta,
        costQuanta: reply.costQuanta,
        leverage: reply.leverage,
        realizedQuanta: reply.realizedQuanta,
        markTicks: reply.markTicks,
        initialQuanta: reply.initialQuanta,
        maintenanceQuanta: reply.maintenanceQuanta,
        marginMode: reply.marginMode,
        isolatedQuanta: reply.isolatedQuanta,
      },
      {
        sizeLots: position.sizeLots,
        cashQuanta: position.cashQuanta,
        costQuanta: position.costQuanta,
        leverage: position.leverage,
        marginMode: position.isIsolated ? ISOLATED : CROSS,
        isolatedQuanta: isolatedEquityOf(reference, position),
        realizedQuanta: position.cashQuanta + position.costQuanta,
        markTicks: reference.markTicks,
        initialQuanta: initialMarginOf(instrument, notional, position.leverage),
        maintenanceQuanta: maintenanceMarginOf(instrument, notional),
      },
      `position of ${accountId}`,
    );
  }
}

/** Fields of an order that these commands do not set. */
const UNSET = {
  goodTillDate: 0,
  parentId: 0,
  triggerTicks: 0,
  triggerBy: 0,
  callbackPpm: 0,
  activationTicks: 0,
  maxSlippagePpm: 0,
  legs: null,
  type: OrderView.code,
  reason: 0,
};

function expectedReply(order: ReferenceOrder): object {
  const { accountId, marginPriceTicks, lossTicks, priority, shownLots, ...rest } = order;
  return { ...rest, ...UNSET, status: order.filledLots > 0 ? 1 : 0 };
}

const ONLY_IN_REFERENCE = new Set(["accountId", "marginPriceTicks", "lossTicks", "priority", "shownLots"]);

/** Whether the reply has the fields of expectedReply() and no other but its sequence. Makes no copies: most of the time went there. */
function isOrder(message: Message, order: ReferenceOrder): boolean {
  const reply = message as unknown as Record<string, unknown>;
  const wanted = order as unknown as Record<string, unknown>;
  let fields = 2; // the sequence and the status
  for (const name in wanted) {
    if (ONLY_IN_REFERENCE.has(name)) continue;
    if (!(name in reply) || !Object.is(reply[name], wanted[name])) return false;
    fields++;
  }
  for (const name in UNSET) {
    if (!Object.is(reply[name], UNSET[name as keyof typeof UNSET])) return false;
    fields++;
  }
  return reply.status === (order.filledLots > 0 ? 1 : 0) && Object.keys(reply).length === fields;
}

function isolatedEquityOf({ instrument, markTicks }: ReferenceSymbol, position: ReferencePosition): number {
  const isApart = position.isIsolated && position.sizeLots !== 0;
  return isApart ? position.walletQuanta + unrealizedOf(instrument, markTicks, position) : 0;
}

const withoutSequence = (message: Message): Message => {
  const { sequence, ...rest } = message as MessageOf<typeof OrderView>;
  return rest;
};
