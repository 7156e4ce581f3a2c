import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LEDGER } from "../../../src/core/base/enums.ts";
import {
  AddWithdrawalAddress,
  CloseSession,
  CreateKey,
  Deposit,
  Describe,
  OpenSession,
  ReadWithdrawalAddresses,
  RemoveWithdrawalAddress,
  RevokeKey,
  SetMarginCall,
  Tick,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { LedgerDescription } from "../../../src/core/protocol/replies.ts";
import { DAY_MS, Exchange, MAX_ACCOUNTS, make, type Said, SnapshotStore } from "../support/exchange.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("ledger-replay.test");
const parameters = { seed, numRuns: 150, includeErrorInReport: true };
/** Few transfers are recent, so that settled ones leave memory. */
const SETTINGS = {
  ...{ faucetCapQuanta: 3000, withdrawalDelayMs: 1000, recentTransfers: 2 },
  ...{ withdrawalAddressBook: true, withdrawalAddressHoldMs: 600 },
};

const account = fc.nat(3);
const name = fc.constantFrom("", "a", "b", "c");
const amountQuanta = fc.constantFrom(1, 500, 1000, 1001);
const step = fc.oneof(
  fc.record({ kind: fc.constant("login" as const), account, name, forMs: fc.constantFrom(0, 900, DAY_MS) }),
  fc.record({ kind: fc.constant("logout" as const), account, name }),
  fc.record({ kind: fc.constant("create key" as const), account, name }),
  fc.record({ kind: fc.constant("revoke key" as const), account, name }),
  fc.record({ kind: fc.constant("deposit" as const), account, amountQuanta, name }),
  fc.record({ kind: fc.constant("withdraw" as const), account, amountQuanta, name, to: name }),
  fc.record({ kind: fc.constant("add address" as const), account, name }),
  fc.record({ kind: fc.constant("remove address" as const), account, name }),
  fc.record({ kind: fc.constant("read addresses" as const), account }),
  fc.record({ kind: fc.constant("set call" as const), account, ratioPpm: fc.constantFrom(10_000, 800_000, 990_000) }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(0, 1, 600, 1000, DAY_MS) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
const steps = fc.array(step, { maxLength: 120, size: "max" });

test("the log alone restores the ledger, and it goes on like the first one", () => {
  fc.assert(
    fc.property(steps, steps, (before, after) => {
      const live = open();
      for (const step of before) live.do(LEDGER, command(live, step));
      const again = new Exchange([], SETTINGS);
      again.replay(live.log);
      again.restored();
      goOn(live, again, after);
    }),
    parameters,
  );
});

test("snapshots of changes and the tail of the log restore the ledger, also a tail that is followed", () => {
  fc.assert(
    fc.property(steps, fc.array(fc.nat(119), { maxLength: 6 }), steps, fc.nat(200), (before, moments, after, cut) => {
      const store = new SnapshotStore();
      const live = open(store);
      for (const [i, step] of before.entries()) {
        live.do(LEDGER, command(live, step));
        if (!moments.includes(i)) continue;
        store.take(live, LEDGER);
        live.ledger.snapshotStored();
      }
      const again = restore(live, store, cut);
      goOn(live, again, after);
      store.take(again, LEDGER);
      again.ledger.snapshotStored();
      goOn(again, restore(again, store), after);
    }),
    parameters,
  );
});

function open(stored?: SnapshotStore): Exchange {
  const live = new Exchange([], SETTINGS, MAX_ACCOUNTS, Number.POSITIVE_INFINITY, stored);
  for (let i = 0; i < 4; i++) {
    const session = make(OpenSession, { address: `0x${i}`, tokenHash: `first of ${i}`, expiresAt: live.time + DAY_MS });
    live.ask(LEDGER, session);
    // Most withdrawals shall be accepted.
    live.ask(LEDGER, make(AddWithdrawalAddress, { accountId: 16 + i, address: "", label: "" }));
  }
  return live;
}

function restore(live: Exchange, store: SnapshotStore, cut = live.log.length): Exchange {
  const again = new Exchange([], SETTINGS, MAX_ACCOUNTS, Number.POSITIVE_INFINITY, store);
  store.load(again.ledger);
  const tail = live.log.filter(({ sequence }) => sequence > store.sequence);
  again.replay(tail.slice(0, cut));
  again.restored();
  again.follow(tail.slice(cut));
  assert.deepEqual(again.allMarginTables(), live.allMarginTables());
  again.restored();
  again.sequence = live.sequence;
  return again;
}

/** Both get the same commands and must reply the same. */
function goOn(live: Exchange, again: Exchange, steps: readonly Step[]): void {
  again.time = live.time;
  assertSame(live, again);
  for (const step of steps) {
    const next = command(live, step);
    again.time = live.time;
    assert.deepEqual(inOrder(again.do(LEDGER, next)), inOrder(live.do(LEDGER, next)), JSON.stringify(step));
  }
  assertSame(live, again);
}

/** Sessions that expire together close in the order of opening, or after a restart in the order on disk. */
const inOrder = (said: Said): Said => ({
  ...said,
  events: said.events.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
});

function assertSame(live: Exchange, again: Exchange): void {
  assert.deepEqual(again.allMarginTables(), live.allMarginTables());
  assert.deepEqual(again.audit(LEDGER), live.audit(LEDGER));
  assert.deepEqual(again.audit(LEDGER).faults, []);
  assert.deepEqual(described(again), described(live));
}

/** Sorted: a ledger lists sessions and keys in the order of creation, or after a restart in the order on disk. */
function described(exchange: Exchange): unknown {
  const [reply] = exchange.do(LEDGER, make(Describe)).replies as [MessageOf<typeof LedgerDescription>];
  const { accounts, sessions, keys } = reply.state;
  return {
    accounts,
    sessions: sessions.toSorted((a, b) => (a.tokenHash < b.tokenHash ? -1 : 1)),
    keys: keys.toSorted((a, b) => (a.apiKey < b.apiKey ? -1 : 1)),
  };
}

function command(live: Exchange, step: Step): Message {
  if (step.kind === "wait") {
    live.time += step.ms;
    return make(Tick);
  }
  const accountId = 16 + step.account;
  if (step.kind === "set call") return make(SetMarginCall, { accountId, ratioPpm: step.ratioPpm });
  if (step.kind === "read addresses") return make(ReadWithdrawalAddresses, { accountId });
  const own = `${step.name} of ${step.account}`;
  switch (step.kind) {
    case "login":
      return make(OpenSession, { address: `0x${step.account}`, tokenHash: own, expiresAt: live.time + step.forMs });
    case "logout":
      return make(CloseSession, { accountId, tokenHash: own });
    case "create key": {
      const record = {
        label: own,
        permissions: [],
        allowedIps: [],
        sealedSecret: "",
        expiresAt: 0,
        createdAt: live.time,
      };
      return make(CreateKey, { accountId, apiKey: own, record });
    }
    case "revoke key":
      return make(RevokeKey, { accountId, apiKey: own });
    case "deposit":
      return make(Deposit, { accountId, amountQuanta: step.amountQuanta, reference: step.name });
    case "withdraw":
      return make(Withdraw, { accountId, amountQuanta: step.amountQuanta, address: step.to, reference: step.name });
    case "add address":
      return make(AddWithdrawalAddress, { accountId, address: step.name, label: own });
    case "remove address":
      return make(RemoveWithdrawalAddress, { accountId, address: step.name });
  }
}
