import assert from "node:assert/strict";
import { test } from "node:test";
import { LEDGER } from "../../../../src/core/base/enums.ts";
import { ReadWithdrawals } from "../../../../src/core/protocol/commands.ts";
import {
  Deposited,
  WithdrawalCompleted,
  WithdrawalRequested,
  WithdrawalSent,
} from "../../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../../src/core/protocol/message-schema.ts";
import type { Transfer } from "../../../../src/core/protocol/payloads.ts";
import { WithdrawalsPage } from "../../../../src/core/protocol/replies.ts";
import { Transfers } from "../../../../src/front/exchange/transfers.ts";
import type { Received } from "../../support/scripted-client.ts";
import { make, ScriptedEngine, START } from "../../support/scripted-engine.ts";
import { ALICE, BOB, nextTurn, open, subscribe, unsubscribe } from "../../support/scripted-exchange.ts";

const statesOf = ({ data }: Received): string[] =>
  data.map(({ transferId, kind, status }: Received) => `${transferId} ${kind} ${status}`);

const known = (transferId: number, more: Partial<Transfer> = {}): Transfer => ({
  ...{ transferId, accountId: ALICE, kind: "WITHDRAWAL", amountQuanta: 5_000_000, address: "0xaa", reference: "" },
  ...{ status: "COMPLETED", txHash: "", createdAt: START, updatedAt: START },
  ...more,
});

const deposit = (transferId: number, accountId = ALICE) =>
  make(Deposited, { transferId, accountId, amountQuanta: 1_000_000, reference: "mine" });
const withdrawal = (transferId: number) =>
  make(WithdrawalRequested, { transferId, accountId: ALICE, amountQuanta: 2_500_000, address: "0xaa" });
const sent = (transferId: number) => make(WithdrawalSent, { transferId, accountId: ALICE, txHash: "0x01" });
const completed = (transferId: number) => make(WithdrawalCompleted, { transferId, accountId: ALICE });

async function pageRead(): Promise<void> {
  for (let transactions = 0; transactions < 5; transactions++) await nextTurn();
}

test("transfers: the last hundred of both kinds in the order of the requests, then each change", async () => {
  const asked: unknown[] = [];
  const { engine, connect } = await open({}, undefined, null, {
    transfersOf: (accountId, kind, { limit, throughSequence }) => {
      asked.push([accountId, kind, limit, throughSequence]);
      const ids = Array.from({ length: 80 }, (_, i) => 2 * (80 - i) - (kind === "DEPOSIT" ? 1 : 0));
      return { data: ids.map((transferId) => known(transferId, { kind })), nextCursor: null };
    },
  });
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "transfers" }));
  client.take();
  const through = engine.sequence;
  await pageRead();
  assert.deepEqual(asked, [
    [ALICE, "DEPOSIT", 100, through],
    [ALICE, "WITHDRAWAL", 100, through],
  ]);
  const [snapshot] = client.take();
  assert.deepEqual([snapshot.type, snapshot.sequence], ["SNAPSHOT", through]);
  const expected = Array.from({ length: 100 }, (_, i) => 61 + i);
  assert.deepEqual(
    statesOf(snapshot),
    expected.map((id) => `${id} ${id % 2 === 0 ? "WITHDRAWAL" : "DEPOSIT"} COMPLETED`),
  );

  const first = engine.transaction(LEDGER, deposit(161), deposit(162, BOB));
  engine.time += 10;
  engine.transaction(LEDGER, withdrawal(163));
  engine.time += 10;
  engine.transaction(LEDGER, sent(163), withdrawal(164));
  engine.time += 10;
  const last = engine.transaction(LEDGER, completed(163), sent(164));
  engine.drain();
  const updates = client.take();
  assert.deepEqual(updates.map(statesOf), [
    ["161 DEPOSIT COMPLETED"],
    ["163 WITHDRAWAL PENDING"],
    ["163 WITHDRAWAL SENT", "164 WITHDRAWAL PENDING"],
    ["163 WITHDRAWAL COMPLETED", "164 WITHDRAWAL SENT"],
  ]);
  assert.deepEqual([updates[0].prevSequence, updates[0].sequence, updates[3].sequence], [through, first, last]);
  assert.deepEqual(updates[3].data[0], {
    ...{ transferId: "163", kind: "WITHDRAWAL", asset: "USDC", amount: "2.5", address: "0xaa", reference: null },
    ...{ status: "COMPLETED", txHash: "0x01", createdAt: START + 10, updatedAt: START + 30 },
  });

  // A later subscriber does not read the history, and gets each in its current state.
  const later = connect();
  later.say({ op: "auth", token: "alice" });
  later.say(subscribe({ channel: "transfers" }));
  const states = statesOf(later.take().at(-1));
  assert.equal(asked.length, 2);
  assert.equal(states.length, 100);
  assert.deepEqual(states.slice(-3), ["161 DEPOSIT COMPLETED", "163 WITHDRAWAL COMPLETED", "164 WITHDRAWAL SENT"]);

  client.say(unsubscribe({ channel: "transfers" }));
  client.take();
  engine.transaction(LEDGER, completed(164));
  engine.drain();
  assert.deepEqual(client.take(), []);
  assert.deepEqual(later.take().map(statesOf), [["164 WITHDRAWAL COMPLETED"]]);
});

test("transfers: a snapshot shows each status exactly as of its sequence, even when the history is ahead", async () => {
  const rows = [known(1), known(2, { status: "SENT" }), known(3, { status: "PENDING" })];
  const { engine, connect } = await open({}, undefined, null, {
    transfersOf: (_, kind) => ({ data: kind === "WITHDRAWAL" ? [...rows].reverse() : [], nextCursor: null }),
  });
  for (const id of [1, 2, 3]) engine.transaction(LEDGER, withdrawal(id));
  engine.transaction(LEDGER, sent(1), sent(2));
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "transfers" }));
  client.take();
  engine.transaction(LEDGER, completed(2));
  engine.transaction(LEDGER, deposit(4));
  await pageRead();
  const [snapshot] = client.take();
  assert.equal(snapshot.sequence, engine.sequence);
  assert.deepEqual(statesOf(snapshot), [
    "1 WITHDRAWAL SENT",
    "2 WITHDRAWAL COMPLETED",
    "3 WITHDRAWAL PENDING",
    "4 DEPOSIT COMPLETED",
  ]);
  engine.drain();
  engine.transaction(LEDGER, completed(1));
  engine.drain();
  assert.deepEqual(client.take().map(statesOf), [["1 WITHDRAWAL COMPLETED"]]);
});

test("transfers: a change of one older than the last hundred is published, but is in no snapshot", async () => {
  const { engine, connect } = await open();
  engine.transaction(LEDGER, withdrawal(1));
  const subscribed = (): Received => {
    const client = connect();
    client.say({ op: "auth", token: "alice" });
    client.say(subscribe({ channel: "transfers" }));
    return client;
  };
  const client = subscribed();
  await pageRead();
  for (let id = 2; id <= 101; id++) engine.transaction(LEDGER, deposit(id));
  engine.drain();
  client.take();
  engine.transaction(LEDGER, sent(1));
  engine.drain();
  assert.deepEqual(client.take().map(statesOf), [["1 WITHDRAWAL SENT"]]);
  const states = statesOf(subscribed().take().at(-1));
  assert.deepEqual([states.length, states[0]], [100, "2 DEPOSIT COMPLETED"]);
});

test("a transfer requested before the start is published whole when its status changes", async () => {
  const engine = new ScriptedEngine();
  const opening = Transfers.open(engine);
  const pages = [[known(1, { status: "SENT", txHash: "0x07" })], [known(2, { status: "PENDING", reference: "rent" })]];
  for (const [i, withdrawals] of pages.entries()) {
    assert.ok(
      engine.answer(({ actorId, command }) => {
        const { type, from } = command as MessageOf<typeof ReadWithdrawals>;
        assert.deepEqual([actorId, type, from], [LEDGER, ReadWithdrawals.code, i]);
        return [make(WithdrawalsPage, { page: { withdrawals, next: i === 0 ? 1 : null } })];
      }),
    );
    await nextTurn();
  }
  const transfers = await opening;
  const told: [Transfer, number][] = [];
  transfers.onChanged((transfer, { sequence }) => told.push([transfer, sequence]));
  engine.time += 5;
  const sequence = engine.transaction(LEDGER, completed(1), sent(2));
  const updatedAt = START + 5;
  assert.deepEqual(told, [
    [known(1, { txHash: "0x07", updatedAt }), sequence],
    [known(2, { status: "SENT", txHash: "0x01", reference: "rent", updatedAt }), sequence],
  ]);
  assert.equal(transfers.pendingWithdrawal(1), undefined);
  assert.equal(transfers.pendingWithdrawal(2)?.status, "SENT");
});
