import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { summarizeSymbol } from "../../../src/core/audit/symbol-summary.ts";
import { BUY, IOC, LEDGER, LIMIT } from "../../../src/core/base/enums.ts";
import {
  AmendOrder,
  type BatchItem,
  CancelOrder,
  OpenSession,
  OrderBatch,
  PlaceOrder,
  ReadOrders,
  ReadPosition,
} from "../../../src/core/protocol/commands.ts";
import { Traded, TriggersReached } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, Refused } from "../../../src/core/protocol/replies.ts";
import { itemsSaid } from "../support/batches.ts";
import { openDeepMarket } from "../support/deep-market.ts";
import { Exchange, LEDGER_SETTINGS, MAX_ACCOUNTS, make, type Said } from "../support/exchange.ts";
import { FREE, instrument, ODD } from "../support/instruments.ts";
import { runUntilReached, takeSeed } from "../support/seed.ts";
import { mixedBatch, type Step, step } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";

const seed = takeSeed("batch.test");
const INSTRUMENTS = [instrument(ODD), instrument(FREE)];
const IDS = INSTRUMENTS.map(({ id }) => id);

test("a batch has the result of its items, one after the other, with nothing in between", () => {
  const seen = new Set<string>();
  const steps = fc.array(fc.oneof({ weight: 2, arbitrary: step }, mixedBatch), { maxLength: 120, size: "max" });
  const property = fc.property(steps, (steps) => compare(steps, seen));
  runUntilReached(
    seed,
    (seed) => fc.assert(property, { seed, numRuns: 90, includeErrorInReport: true }),
    () => ["freed margin used", "traded", "refused", "order of the batch changed"].filter((what) => !seen.has(what)),
  );
});

function compare(steps: readonly Step[], seen: Set<string>): void {
  const batched = new Exchange(INSTRUMENTS, LEDGER_SETTINGS, MAX_ACCOUNTS);
  const single = new Exchange(INSTRUMENTS, LEDGER_SETTINGS, MAX_ACCOUNTS);
  const traffic = new Traffic(batched, IDS);
  for (const { actorId, command } of traffic.opening()) {
    traffic.send(actorId, command);
    single.carryOut(LEDGER, make(OpenSession, { address: `0x${traffic.accounts.length - 1}`, expiresAt: 2 ** 50 }));
    single.carryOut(actorId, command);
  }
  for (const step of steps) {
    const { actorId, command } = traffic.command(step);
    batched.time += step.waitMs;
    single.time = batched.time;
    if (command.type !== OrderBatch.code) {
      assert.deepEqual(timeless(single.carryOut(actorId, command)), timeless(traffic.send(actorId, command)));
      continue;
    }
    const { items } = command as MessageOf<typeof OrderBatch>;
    const before = batched.marginTable.available((items[0] as BatchItem).accountId);
    const said = batched.do(actorId, command);
    traffic.note(said.events);
    const parts = items.map((item) => single.do(actorId, item));
    // A command of its own checks triggers at its end; an item of a batch does not.
    const reached = parts.map(({ events }) => events.filter(isReached));
    const last = reached.pop();
    if (reached.some((events) => events.length > 0)) return;
    assert.deepEqual(said.events.filter(isReached), last);
    assert.deepEqual(itemsSaid(said).map(timeless), parts.map(timeless), JSON.stringify(step));
    for (const { id } of INSTRUMENTS) carryOn(id, batched, single);
    assertSame(batched, single, traffic.accounts);
    note(items, parts, before, seen);
  }
  for (const actorId of batched.actors.keys()) assert.deepEqual(batched.audit(actorId).faults, []);
}

/** Finishes the background work that both exchanges have begun. */
function carryOn(id: number, batched: Exchange, single: Exchange): void {
  for (let more = true; more; ) {
    const [one, other] = [batched.proceed(id), single.proceed(id)];
    assert.deepEqual(timeless(one), timeless(other));
    more = one.more || other.more;
  }
}

function assertSame(batched: Exchange, single: Exchange, accounts: readonly number[]): void {
  assert.deepEqual(batched.allMarginTables(), single.allMarginTables());
  for (const { id } of INSTRUMENTS) {
    assert.deepEqual(summarizeSymbol(batched.symbol(id).state), summarizeSymbol(single.symbol(id).state));
    for (const accountId of accounts)
      for (const question of [make(ReadOrders, { accountId }), make(ReadPosition, { accountId })])
        assert.deepEqual(timeless(batched.do(id, question)), timeless(single.do(id, question)));
  }
}

const isReached = ({ type }: Message): boolean => type === TriggersReached.code;

/** Without sequences and reached triggers: the exchange with the batch has fewer transactions. */
const timeless = ({ events, replies }: Said): object => ({
  events: events.filter((event) => !isReached(event)),
  replies: replies.map((reply) => ({ ...reply, sequence: 0 })),
});

function note(items: readonly BatchItem[], parts: readonly Said[], before: number, seen: Set<string>): void {
  const own = new Set<number>();
  let reserved = 0;
  for (const [index, { events, replies }] of parts.entries()) {
    const { orderId, remainingLots } = replies[0] as MessageOf<typeof OrderView>;
    if ((replies[0] as Message).type === Refused.code) seen.add("refused");
    else if (items[index].type === PlaceOrder.code) {
      own.add(orderId);
      reserved += remainingLots;
    } else if (own.has(orderId)) seen.add("order of the batch changed");
    if (events.some(({ type }) => type === Traded.code)) seen.add("traded");
    const isCancel = items[index].type === CancelOrder.code;
    if (before < 500 && reserved > 0 && !isCancel && index > 0 && items[index - 1].type === CancelOrder.code)
      seen.add("freed margin used");
  }
}

test("after items that fill half a transaction, orders are refused and cancels are not", () => {
  const { exchange, id, taker } = openDeepMarket(8000);
  const resting = { accountId: taker, side: BUY, orderType: LIMIT, priceTicks: 9, quantityLots: 1 };
  exchange.do(id, make(PlaceOrder, { ...resting, clientOrderId: "resting" }));
  const take = (quantityLots: number) =>
    make(PlaceOrder, { accountId: taker, side: BUY, orderType: LIMIT, timeInForce: IOC, priceTicks: 10, quantityLots });
  const items: BatchItem[] = [
    take(1500),
    take(1500),
    take(1),
    make(AmendOrder, { accountId: taker, clientOrderId: "resting", quantityLots: 2 }),
    make(CancelOrder, { accountId: taker, clientOrderId: "resting" }),
    take(1),
  ];
  const said = itemsSaid(exchange.do(id, make(OrderBatch, { items })));
  const codes = said.map(({ replies: [reply] }) => (reply as MessageOf<typeof Refused>).code ?? "");
  assert.deepEqual(codes, ["", "", "BATCH_TOO_LONG", "BATCH_TOO_LONG", "", "BATCH_TOO_LONG"]);
  assert.deepEqual(
    said.map(({ events }) => events.length),
    [1501, 1501, 0, 0, 1, 0],
  );
  // The next batch has room again.
  const again = itemsSaid(exchange.do(id, make(OrderBatch, { items: [take(1)] })));
  assert.deepEqual(
    again.map(({ replies }) => (replies[0] as Message).type),
    [OrderView.code],
  );
  assert.deepEqual(exchange.audit(id).faults, []);
});
