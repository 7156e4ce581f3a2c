import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, ISOLATED, LEDGER, LIMIT, SELL } from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import {
  ClosePosition,
  Deposit,
  MoveMargin,
  OpenSession,
  PlaceOrder,
  SetIndexPrice,
  SetMarginMode,
} from "../../../src/core/protocol/commands.ts";
import { IsolatedMarginSet, MarginMoved } from "../../../src/core/protocol/events.ts";
import { MAX_MARGIN_REFERENCES, MarginReferences } from "../../../src/core/protocol/margin-references.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { PositionView, type Refused, type SessionView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, type Said, SnapshotStore } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

const { id } = PLAIN;
const USDC = QUANTA_PER_USDC;

/** Two accounts, each with an isolated position against the other. */
function open() {
  const exchange = new Exchange([instrument(PLAIN)]);
  exchange.do(id, make(SetIndexPrice, { indexTicks: 100 }));
  const [alice, bob] = ["alice", "bob"].map((name) => {
    const session = make(OpenSession, { address: name, tokenHash: name, expiresAt: 2 ** 50 });
    const { accountId } = exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 10_000 * USDC }));
    exchange.ask(id, make(SetMarginMode, { accountId, marginMode: ISOLATED }));
    return accountId;
  });
  trade(exchange, alice, bob);
  return { exchange, alice, bob };
}

function trade(exchange: Exchange, buyer: number, seller: number): void {
  const order = { orderType: LIMIT, priceTicks: 100, quantityLots: 10 };
  exchange.do(id, make(PlaceOrder, { ...order, accountId: buyer, side: BUY }));
  exchange.do(id, make(PlaceOrder, { ...order, accountId: seller, side: SELL }));
}

const move = (exchange: Exchange, accountId: number, usdc: number, reference: string, expiresAt = 0): Said =>
  exchange.do(id, make(MoveMargin, { accountId, amountQuanta: usdc * USDC, reference, expiresAt }));

/** The isolated margin, and whether the request was a repeated one. */
function answer({ replies }: Said): [usdc: number, duplicate: number] {
  const [view] = replies as MessageOf<typeof PositionView>[];
  assert.equal(view.type, PositionView.code, JSON.stringify(view));
  return [view.isolatedQuanta / USDC, view.duplicate];
}

const refusal = ({ replies }: Said) => replies[0] as MessageOf<typeof Refused>;

test("each account's reference moves margin once; without a reference each request does", () => {
  const { exchange, alice, bob } = open();
  const first = move(exchange, alice, 50, "a");
  assert.deepEqual(
    first.events.map(({ type }) => type),
    [IsolatedMarginSet.code, MarginMoved.code],
  );
  assert.deepEqual(answer(first), [150, 0]);
  const again = move(exchange, alice, 50, "a");
  assert.deepEqual([answer(again), again.events], [[150, 1], []]);
  assert.deepEqual(answer(move(exchange, bob, 50, "a")), [150, 0]);
  assert.deepEqual(answer(move(exchange, alice, -20, "b")), [130, 0]);
  assert.deepEqual(answer(move(exchange, alice, -20, "b")), [130, 1]);
  assert.deepEqual(answer(move(exchange, alice, 5, "")), [135, 0]);
  assert.deepEqual(answer(move(exchange, alice, 5, "")), [140, 0]);
});

test("another amount with a used reference is refused, and a refused request uses no reference", () => {
  const { exchange, alice } = open();
  move(exchange, alice, 50, "a");
  for (const usdc of [49, -50]) {
    const { code, field, details } = refusal(move(exchange, alice, usdc, "a"));
    assert.deepEqual([code, field, details], ["REFERENCE_REUSED", "reference", { movedQuanta: 50 * USDC }]);
  }
  assert.equal(refusal(move(exchange, alice, 50_000, "b")).code, "INSUFFICIENT_MARGIN");
  assert.deepEqual(answer(move(exchange, alice, 10, "b")), [160, 0]);
});

test("a repeated request gets its reply also after it expired, and after the position closed", () => {
  const { exchange, alice, bob } = open();
  move(exchange, alice, 50, "a", exchange.time);
  exchange.time++;
  assert.deepEqual(answer(move(exchange, alice, 50, "a", exchange.time - 1)), [150, 1]);
  exchange.do(id, make(PlaceOrder, { accountId: bob, side: BUY, orderType: LIMIT, priceTicks: 100, quantityLots: 10 }));
  exchange.do(id, make(ClosePosition, { accountId: alice }));
  assert.deepEqual(answer(move(exchange, alice, 50, "a")), [0, 1]);
  assert.equal(refusal(move(exchange, alice, 50, "b")).code, "NO_POSITION");
});

test("only the latest references are kept, also through replay and snapshots", () => {
  const { exchange, alice, bob } = open();
  const store = new SnapshotStore();
  const name = (i: number): string => `move ${i}`;
  const count = MAX_MARGIN_REFERENCES + 2;
  for (let i = 0; i < count; i++) {
    move(exchange, alice, 1, name(i));
    if (i === 40) store.take(exchange, id);
  }
  move(exchange, bob, 1, name(0));
  store.take(exchange, id);
  move(exchange, alice, 1, name(count));
  const replayed = new Exchange([instrument(PLAIN)]);
  replayed.replay(exchange.log);
  const restored = new Exchange([instrument(PLAIN)]);
  store.load(restored.symbol(id));
  restored.replay(exchange.log.filter(({ actorId, sequence }) => actorId !== id || sequence > store.sequence));
  for (const each of [exchange, replayed, restored]) {
    if (each !== exchange) each.restored();
    const duplicateOf = (accountId: number, i: number) => answer(move(each, accountId, 1, name(i)))[1];
    assert.equal(duplicateOf(bob, 0), 1);
    for (let i = count - MAX_MARGIN_REFERENCES + 1; i <= count; i++) assert.equal(duplicateOf(alice, i), 1, name(i));
    assert.equal(duplicateOf(alice, count - MAX_MARGIN_REFERENCES), 0);
  }
});

test("a part of a snapshot is bounded by moves, not by accounts", () => {
  const references = new MarginReferences();
  for (const accountId of [16, 17, 18]) for (let i = 0; i < 40; i++) references.add(accountId, `move ${i}`, 1);
  const taken: [accountId: number, moves: number][] = [];
  const take = (most: number): boolean =>
    references.takeChanges((accountId, moves) => taken.push([accountId, moves.length]), most);
  assert.equal(take(50), false);
  assert.deepEqual(taken, [
    [16, 40],
    [17, 40],
  ]);
  assert.equal(take(50), true);
  assert.deepEqual(taken.slice(2), [[18, 40]]);
  assert.equal(take(50), true);
  assert.equal(taken.length, 3);
});
