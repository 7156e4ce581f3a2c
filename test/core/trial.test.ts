import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { summarizeSymbol } from "../../src/core/invariants.ts";
import {
  BUY,
  type ExpectedFill,
  FOK,
  GTC,
  IOC,
  ORDER_STATUSES,
  OrderView,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  REASONS,
  Refused,
  STATUS_EXPIRED,
  STATUS_NEW,
  Traded,
  type TrialEnd,
  TryOrder,
} from "../../src/core/messages.ts";
import type { Message, MessageOf } from "../../src/core/shape.ts";
import { openDeepMarket } from "./support/deep-market.ts";
import { Exchange, LEDGER_SETTINGS, MAX_ACCOUNTS, make, type Said, SHORT_INDEX_AGE_MS } from "./support/exchange.ts";
import { FREE, instrument, ODD } from "./support/instruments.ts";
import { runUntilReached, takeSeed } from "./support/seed.ts";
import { eventfulStep, type Step, Traffic } from "./support/steps.ts";

const seed = takeSeed("trial.test");
const INSTRUMENTS = [instrument(ODD), instrument(FREE)];
const IDS = INSTRUMENTS.map(({ id }) => id);
const PLACES: readonly number[] = [PlaceOrder.code, PlaceExtended.code, PlaceTrigger.code];

test("an order that is tried is told what it then gets, and nothing has changed", () => {
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
    const trial = make(TryOrder, { order: command as MessageOf<typeof TryOrder>["order"] });
    // What is due by now comes first, whatever comes.
    exchange.carryOut(actorId, trial);
    save(exchange, actorId);
    const before = stateOf(exchange, actorId);
    const tried = exchange.do(actorId, trial);
    assert.deepEqual(tried.events, []);
    assert.deepEqual(stateOf(exchange, actorId), before, JSON.stringify(step));
    assert.equal(save(exchange, actorId), 0, "nothing to save");
    const { accountId, side } = command as MessageOf<typeof PlaceOrder>;
    const hides = isHiding(exchange, actorId, 1 - side);
    checkSecrecy(exchange, actorId, 1 - side, tried);
    const initial = exchange.cells.initial(accountId);
    const placed = exchange.do(actorId, command);
    if (!hides) assert.deepEqual(toldBy(tried), cameOf(placed), JSON.stringify(step));
    else if (cameOf(placed).fills.length > toldBy(tried).fills.length) seen.add("more than was shown");
    checkMargin(exchange, tried, placed, initial, accountId);
    note(tried, seen);
    traffic.note(placed.events);
    for (let more = true; more; ) {
      const next = exchange.proceed(actorId);
      traffic.note(next.events);
      more = next.more;
    }
  }
}

/** Whether icebergs hide something on a side of the book. */
function isHiding(exchange: Exchange, actorId: number, side: number): boolean {
  const { book } = exchange.symbol(actorId).state;
  const ladder = book.side(side);
  for (let price = ladder.best(); price >= 0; price = ladder.next(price)) if (book.hiddenLots(price) > 0) return true;
  return false;
}

/** Nobody is told of more than what the book shows. */
function checkSecrecy(exchange: Exchange, actorId: number, side: number, tried: Said): void {
  const summary = summarizeSymbol(exchange.symbol(actorId).state);
  const shown = new Map(side === BUY ? summary.bids : summary.asks);
  for (const [priceTicks, lots] of toldBy(tried).fills) {
    const left = (shown.get(priceTicks) ?? 0) - lots;
    assert.ok(left >= 0, `${lots} more at ${priceTicks} than are shown`);
    shown.set(priceTicks, left);
  }
}

/** Takes a snapshot of what has changed. Returns how many rows that is. */
function save(exchange: Exchange, actorId: number): number {
  let rows = 0;
  const count = (): void => void rows++;
  exchange.actors.get(actorId)?.snapshot({ put: count, remove: count });
  return rows;
}

/** All that can be seen of the symbol; the audit hashes its whole state. */
function stateOf(exchange: Exchange, actorId: number): object {
  const { state } = exchange.symbol(actorId);
  return {
    serials: [state.nextOrderSerial, state.nextTradeSerial],
    log: [exchange.sequence, exchange.log.length],
    cells: exchange.allCells(),
    audit: exchange.audit(actorId),
    summary: summarizeSymbol(state),
  };
}

test("an order that meets more than a turn may hold is told where it ends", () => {
  const { exchange, id, taker } = openDeepMarket(6000);
  for (const timeInForce of [GTC, IOC, FOK]) {
    const order = make(PlaceOrder, { accountId: taker, side: BUY, priceTicks: 10, quantityLots: 5500, timeInForce });
    const tried = toldBy(exchange.do(id, make(TryOrder, { order })));
    const placed = cameOf(exchange.do(id, order));
    assert.deepEqual(tried, placed);
    assert.equal((placed.answer as MessageOf<typeof OrderView>).status, STATUS_EXPIRED);
  }
});

interface Told {
  /** A refusal, a duplicate's id, or the order without what it has only when it exists. */
  answer: object;
  fills: ExpectedFill[];
}

function toldBy({ replies }: Said): Told {
  const [view, end] = replies as [Message, MessageOf<typeof TrialEnd> | undefined];
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

/** What it says that it takes is there, and is what an order takes that comes to rest as it is. */
function checkMargin(exchange: Exchange, tried: Said, placed: Said, initialBefore: number, accountId: number): void {
  const [view, end] = tried.replies as [MessageOf<typeof OrderView>, MessageOf<typeof TrialEnd> | undefined];
  if (end === undefined) return;
  assert.ok(end.requiredQuanta <= Math.max(0, end.availableQuanta), JSON.stringify(end));
  const isUntouched = view.filledLots === 0 && view.status === STATUS_NEW && placed.events.length === 1;
  if (isUntouched) assert.equal(exchange.cells.initial(accountId) - initialBefore, end.requiredQuanta);
}

function note({ replies: [reply] }: Said, seen: Set<string>): void {
  const { code } = reply as MessageOf<typeof Refused>;
  const { status, reason } = reply as MessageOf<typeof OrderView>;
  if (reply?.type === Refused.code) seen.add(code);
  else if (reply?.type === OrderView.code) seen.add(`${ORDER_STATUSES[status]} ${REASONS[reason]}`);
  else seen.add("duplicate");
}
