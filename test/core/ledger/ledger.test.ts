import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST_CUSTOMER_ACCOUNT, LEDGER, LIMIT } from "../../../src/core/base/enums.ts";
import {
  type LedgerSettings,
  MAX_PENDING_WITHDRAWALS_PER_ACCOUNT,
  MAX_TRANSFERS_IN_MEMORY,
} from "../../../src/core/ledger/ledger.ts";
import { RECENT_TRANSFERS } from "../../../src/core/ledger/transfer-book.ts";
import {
  AddWithdrawalAddress,
  CloseSession,
  CreateKey,
  Deposit,
  Describe,
  OpenSession,
  PlaceOrder,
  ReadMarginCall,
  ReadWithdrawalAddresses,
  ReadWithdrawals,
  RemoveWithdrawalAddress,
  RevokeKey,
  SetIndexPrice,
  SetMarginCall,
  Tick,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import {
  Deposited,
  KeyRevoked,
  MarginCallSet,
  SessionClosed,
  SessionOpened,
  WithdrawalCompleted,
  WithdrawalRequested,
  WithdrawalSent,
} from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type {
  KeyRecord,
  LedgerSummary,
  Transfer,
  WithdrawalAddress,
  WithdrawalList,
} from "../../../src/core/protocol/payloads.ts";
import {
  Done,
  type LedgerDescription,
  type MarginCallView,
  Refused,
  type SessionView,
  TransferView,
  type WithdrawalAddressesView,
  type WithdrawalsPage,
} from "../../../src/core/protocol/replies.ts";
import { AccountRow } from "../../../src/core/protocol/snapshot-schema.ts";
import {
  DAY_MS,
  Exchange,
  LEDGER_SETTINGS,
  MAX_ACCOUNTS,
  make,
  type Said,
  SnapshotStore,
  START,
} from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

const ADDRESS = "0x00000000000000000000000000000000000000aa";
const KEY: KeyRecord = {
  label: "a key",
  permissions: ["READ", "TRADE"],
  allowedIps: ["10.0.0.1"],
  sealedSecret: "sealed",
  expiresAt: 0,
  createdAt: START,
};

class Bank extends Exchange {
  constructor(settings: Partial<LedgerSettings> = {}, stored?: SnapshotStore) {
    super([instrument(PLAIN)], { ...LEDGER_SETTINGS, ...settings }, MAX_ACCOUNTS, Number.POSITIVE_INFINITY, stored);
  }

  open(name: string, expiresAt = this.time + DAY_MS): number {
    const session = make(OpenSession, { address: name, tokenHash: `${name} ${expiresAt}`, expiresAt });
    return (this.ask(LEDGER, session) as MessageOf<typeof SessionView>).accountId;
  }

  /** The transfer and whether it is a repeated one, or the refusal. */
  deposit(accountId: number, amountQuanta: number, reference = ""): Answer {
    return answerOf(this.ask(LEDGER, make(Deposit, { accountId, amountQuanta, reference })));
  }

  withdraw(accountId: number, amountQuanta: number, reference = "", address = ADDRESS): Answer {
    return answerOf(this.ask(LEDGER, make(Withdraw, { accountId, amountQuanta, address, reference })));
  }

  /** The entry and whether it was there before, or the refusal. */
  addAddress(accountId: number, address: string, label = "mine"): Partial<WithdrawalAddress & Answer> {
    const reply = this.ask(LEDGER, make(AddWithdrawalAddress, { accountId, address, label }));
    if (reply.type === Refused.code) return { code: (reply as MessageOf<typeof Refused>).code };
    const { addresses, duplicate } = reply as MessageOf<typeof WithdrawalAddressesView>;
    return { ...addresses[0], duplicate: duplicate === 1 };
  }

  /** The code of the refusal, or null. */
  removeAddress(accountId: number, address: string): string | null {
    const reply = this.ask(LEDGER, make(RemoveWithdrawalAddress, { accountId, address }));
    return reply.type === Refused.code ? (reply as MessageOf<typeof Refused>).code : null;
  }

  addresses(accountId: number): string[] {
    const reply = this.ask(LEDGER, make(ReadWithdrawalAddresses, { accountId }));
    return (reply as MessageOf<typeof WithdrawalAddressesView>).addresses.map(({ address }) => address);
  }

  describe(from = 0): LedgerSummary {
    return (this.ask(LEDGER, make(Describe, { from })) as MessageOf<typeof LedgerDescription>).state;
  }

  withdrawals(from = 0): WithdrawalList {
    return (this.ask(LEDGER, make(ReadWithdrawals, { from })) as MessageOf<typeof WithdrawalsPage>).page;
  }

  tick(): string[] {
    const names = new Map<number, string>(
      [WithdrawalSent, WithdrawalCompleted, SessionClosed].map(({ code, name }) => [code, name]),
    );
    return this.do(LEDGER, make(Tick)).events.map(({ type }) => String(names.get(type)));
  }

  assertSound(): void {
    assert.deepEqual(this.audit(LEDGER).faults, []);
    const { moneyQuanta, depositsMinusWithdrawalsQuanta } = this.audit(LEDGER);
    assert.equal(moneyQuanta, depositsMinusWithdrawalsQuanta);
  }
}

type Answer = { transfer?: Transfer; duplicate?: boolean; code?: string; details?: unknown };

function answerOf(reply: { type: number }): Answer {
  if (reply.type === Refused.code) {
    const { code, details } = reply as MessageOf<typeof Refused>;
    return { code, details };
  }
  assert.equal(reply.type, TransferView.code);
  const { transfer, duplicate } = reply as MessageOf<typeof TransferView>;
  return { transfer, duplicate: duplicate === 1 };
}

test("an address has one account, however often it logs in", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  assert.equal(alice, 16, "behind the accounts of the house");
  assert.equal(bank.open("bob"), 17);
  assert.equal(bank.open("alice", START + 2 * DAY_MS), alice);
  const { accounts, sessions } = bank.describe();
  assert.deepEqual(accounts, [
    [16, "alice"],
    [17, "bob"],
  ]);
  assert.equal(sessions.length, 3);
});

test("no account is opened that the margin table has no room for", () => {
  const bank = new Bank();
  for (let id = 16; id < MAX_ACCOUNTS; id++) assert.equal(bank.open(`account ${id}`), id);
  const reply = bank.ask(LEDGER, make(OpenSession, { address: "one more", tokenHash: "t", expiresAt: START + 1 }));
  assert.equal((reply as MessageOf<typeof Refused>).code, "TOO_MANY_ACCOUNTS");
  // Existing accounts can still log in.
  assert.equal(bank.open("account 20"), 20);
});

test("deposits are credited at once, up to the cap of a UTC day", () => {
  const bank = new Bank({ faucetCapQuanta: 1000 });
  const alice = bank.open("alice");
  const bob = bank.open("bob");
  const { transfer } = bank.deposit(alice, 400);
  assert.deepEqual(transfer, {
    transferId: 1,
    accountId: alice,
    kind: "DEPOSIT",
    amountQuanta: 400,
    address: "",
    reference: "",
    status: "COMPLETED",
    txHash: "",
    createdAt: START,
    updatedAt: START,
  });
  assert.equal(bank.marginTable.equity(alice), 400);
  const refused = { code: "DEPOSIT_CAP", details: { limitQuanta: 1000, availableQuanta: 600 } };
  assert.deepEqual(bank.deposit(alice, 601), refused);
  assert.equal(bank.deposit(alice, 600).duplicate, false);
  assert.deepEqual(bank.deposit(alice, 1).details, { limitQuanta: 1000, availableQuanta: 0 });
  assert.equal(bank.deposit(bob, 1000).duplicate, false, "each account has its own");
  // A withdrawal does not free the daily cap.
  bank.withdraw(alice, 500);
  assert.equal(bank.deposit(alice, 1).code, "DEPOSIT_CAP");
  const midnight = Math.ceil(START / DAY_MS) * DAY_MS;
  bank.time = midnight - 1;
  assert.equal(bank.deposit(alice, 1).code, "DEPOSIT_CAP");
  bank.time = midnight;
  assert.equal(bank.deposit(alice, 1000).duplicate, false);
  assert.equal(bank.deposit(alice, 1).code, "DEPOSIT_CAP");
  bank.assertSound();
});

test("withdrawals that are not complete are listed in pages", () => {
  const bank = new Bank({ withdrawalDelayMs: 100 });
  const alice = bank.open("alice");
  bank.deposit(alice, 5000);
  assert.deepEqual(bank.withdrawals(), { withdrawals: [], next: null });
  const first = bank.withdraw(alice, 1, "rent").transfer;
  bank.time += 100;
  bank.tick();
  for (let i = 0; i < 1000; i++) bank.withdraw(alice, 1);
  const { withdrawals, next } = bank.withdrawals();
  assert.deepEqual([withdrawals.length, next], [1000, 1000]);
  const { txHash } = withdrawals[0] as Transfer;
  assert.match(txHash, /^0x/);
  assert.deepEqual(withdrawals[0], { ...first, status: "SENT", txHash, updatedAt: bank.time });
  assert.deepEqual(withdrawals[1]?.status, "PENDING");
  const rest = bank.withdrawals(1000);
  assert.deepEqual([rest.withdrawals.length, rest.next], [1, null]);
  bank.time += 100;
  bank.tick();
  assert.equal(bank.withdrawals(1000).next, null);
  assert.notEqual(bank.withdrawals().withdrawals[0]?.transferId, first?.transferId, "that one is complete");
});

test("settled transfers leave memory when they are stored, and their references stay taken for ever", () => {
  const store = new SnapshotStore();
  let bank = new Bank({ withdrawalDelayMs: 0 }, store);
  const alice = bank.open("alice");
  const settle = () => {
    while (bank.withdrawals().withdrawals.length > 0) bank.tick();
    store.take(bank, LEDGER);
    bank.ledger.snapshotStored();
  };
  const { transfer: first } = bank.deposit(alice, 500, "first");
  const { transfer: second } = bank.withdraw(alice, 100, "second");
  for (let i = 0; i < 5 * RECENT_TRANSFERS; i++) {
    bank.deposit(alice, 2, `deposit ${i}`);
    if (i % 2 === 0) bank.withdraw(alice, 1, `withdrawal ${i}`);
    if (i % 400 === 0) settle();
  }
  settle();
  assert.equal(bank.ledger.state.transfers.size, RECENT_TRANSFERS);
  assert.equal(store.keys("transfers").length, RECENT_TRANSFERS, "a start loads no others");
  bank.deposit(alice, 1);
  const { digest } = bank.audit(LEDGER);
  const live = bank;
  bank = new Bank({ withdrawalDelayMs: 0 }, store);
  store.load(bank.ledger);
  assert.equal(bank.ledger.state.transfers.size, RECENT_TRANSFERS);
  bank.replay(live.log.filter(({ sequence }) => sequence > store.sequence));
  assert.equal(bank.audit(LEDGER).digest, digest);
  const replayed = new Bank();
  replayed.replay(live.log);
  assert.equal(replayed.audit(LEDGER).digest, digest, "the log alone gives the same digest");
  for (const again of [live, bank]) {
    assert.deepEqual(again.deposit(alice, 500, "first"), { transfer: first, duplicate: true });
    const { transfer, duplicate } = again.withdraw(alice, 100, "second");
    assert.deepEqual([transfer?.transferId, transfer?.status, duplicate], [second?.transferId, "COMPLETED", true]);
    assert.equal(again.deposit(alice, 2, "deposit 0").duplicate, true);
    const { code, details } = again.deposit(alice, 501, "first");
    assert.deepEqual([code, details], ["REFERENCE_REUSED", { transferId: String(first?.transferId) }]);
    assert.equal(again.withdraw(alice, 1, "withdrawal 0", `${ADDRESS.slice(0, -1)}b`).code, "REFERENCE_REUSED");
  }
});

test("a snapshot of an older version, with a row of each transfer, loads to the same state", () => {
  const settings = { withdrawalDelayMs: 0, faucetCapQuanta: 1000 };
  const live = new Bank({ ...settings, recentTransfers: 100 });
  const alice = live.open("alice");
  for (let i = 0; i < 9; i++) live.deposit(alice, 100, `deposit ${i}`);
  live.withdraw(alice, 50, "done");
  while (live.tick().length > 0);
  live.withdraw(alice, 60, "in progress");
  const store = new SnapshotStore();
  store.take(live, LEDGER);
  const older = (table: string, key: number | string): Message => ({
    ...(store.find(table, key) as Message),
    ...(table === "ledger" ? { olderTransfers: 0, olderTransfersSum: "" } : {}),
    ...(table === "accounts" ? { depositDay: 0, dayDepositsQuanta: 0 } : {}),
  });

  const bank = new Bank({ ...settings, recentTransfers: 2 }, store);
  for (const table of ["accounts", "ledger", "sessions", "transfers"])
    for (const key of store.keys(table)) bank.ledger.load(table, key, older(table, key));
  const replayed = new Bank({ ...settings, recentTransfers: 2 });
  replayed.replay(live.log);
  assert.equal(bank.audit(LEDGER).digest, replayed.audit(LEDGER).digest);

  store.take(bank, LEDGER);
  bank.ledger.snapshotStored();
  const again = new Bank({ ...settings, recentTransfers: 2 }, store);
  store.load(again.ledger);
  assert.equal(again.audit(LEDGER).digest, replayed.audit(LEDGER).digest);
  for (const each of [bank, again, replayed]) {
    each.restored();
    each.time = live.time;
    assert.equal(each.deposit(alice, 100, "deposit 0").duplicate, true);
    assert.equal(each.withdraw(alice, 60, "in progress").transfer?.status, "PENDING");
    assert.deepEqual(each.deposit(alice, 101).details, { limitQuanta: 1000, availableQuanta: 100 });
  }
  assert.equal(again.ledger.state.transfers.size, 2);
});

test("transfers are refused while the store does not take them, and while an account has too many in progress", () => {
  const bank = new Bank({ withdrawalDelayMs: 100 });
  const [alice, bob] = [bank.open("alice"), bank.open("bob")];
  bank.deposit(alice, 1e6);
  for (let i = 0; i < MAX_PENDING_WITHDRAWALS_PER_ACCOUNT; i++)
    assert.equal(bank.withdraw(alice, 1).code, undefined, String(i));
  const { code, details } = bank.withdraw(alice, 1, "late");
  assert.deepEqual([code, details], ["TOO_MANY_TRANSFERS", { limit: MAX_PENDING_WITHDRAWALS_PER_ACCOUNT }]);
  assert.equal(bank.deposit(bob, 1).code, undefined, "that is the limit of one account");
  bank.time += 100;
  while (bank.tick().includes("WithdrawalSent"));
  bank.time += 100;
  while (bank.tick().length > 0);
  assert.equal(bank.withdraw(alice, 1, "late").duplicate, false);

  let deposits = 0;
  for (; bank.deposit(bob, 1, `deposit ${deposits}`).code === undefined; deposits++)
    assert.ok(deposits < MAX_TRANSFERS_IN_MEMORY);
  const refused = bank.deposit(bob, 1, "too many");
  assert.deepEqual([refused.code, refused.details], ["TOO_MANY_TRANSFERS", { limit: MAX_TRANSFERS_IN_MEMORY }]);
  assert.equal(bank.withdraw(bob, 1).code, "TOO_MANY_TRANSFERS");
  assert.equal(bank.deposit(bob, 1, "deposit 0").duplicate, true, "a repeated one needs no room");
  new SnapshotStore().take(bank, LEDGER);
  bank.ledger.snapshotStored();
  assert.equal(bank.deposit(bob, 1, "too many").duplicate, false);
});

test("a balance stays in the range in which sums are exact", () => {
  const bank = new Bank({ faucetCapQuanta: Number.MAX_SAFE_INTEGER });
  const alice = bank.open("alice");
  assert.equal(bank.deposit(alice, 2 ** 50 - 1).duplicate, false);
  assert.deepEqual(bank.deposit(alice, 2), {
    code: "DEPOSIT_CAP",
    details: { limitQuanta: 2 ** 50, availableQuanta: 1 },
  });
  assert.equal(bank.deposit(alice, 1).duplicate, false);
  bank.assertSound();
});

test("a repeated reference returns the first transfer of its account and kind, and of no other account", () => {
  const bank = new Bank({ faucetCapQuanta: 1000 });
  const alice = bank.open("alice");
  const bob = bank.open("bob");
  const first = bank.deposit(alice, 700, "r");
  const { sequence } = bank;
  assert.deepEqual(bank.deposit(alice, 700, "r"), { ...first, duplicate: true });
  assert.equal(bank.sequence, sequence, "nothing happened");
  // The cap does not stop a repeated request.
  assert.equal(bank.deposit(alice, 301).code, "DEPOSIT_CAP");
  assert.deepEqual(bank.deposit(alice, 701, "r"), { code: "REFERENCE_REUSED", details: { transferId: "1" } });
  assert.equal(bank.deposit(bob, 700, "r").duplicate, false);
  const out = bank.withdraw(alice, 600, "r");
  assert.equal(out.duplicate, false, "withdrawals have references of their own");
  // Repeated when the money is gone.
  assert.deepEqual(bank.withdraw(alice, 600, "r"), { ...out, duplicate: true });
  assert.equal(bank.withdraw(alice, 599, "r").code, "REFERENCE_REUSED");
  assert.equal(bank.withdraw(alice, 600, "r", "0xbb").code, "REFERENCE_REUSED");
  // "" = no reference.
  assert.equal(bank.withdraw(alice, 10).duplicate, false);
  assert.equal(bank.withdraw(alice, 10).duplicate, false);
  assert.equal(bank.marginTable.equity(alice), 80);
  bank.assertSound();
});

const HOLD = { withdrawalAddressBook: true, withdrawalAddressHoldMs: 1000 };

test("with the address book a withdrawal goes only to an address of the own book, after its hold", () => {
  const bank = new Bank(HOLD);
  const [alice, bob] = [bank.open("alice"), bank.open("bob")];
  bank.deposit(alice, 1000);
  bank.deposit(bob, 1000);
  assert.deepEqual(bank.withdraw(alice, 1), { code: "ADDRESS_NOT_IN_BOOK", details: null });
  const entry = { address: ADDRESS, label: "mine", addedAt: START, usableAt: START + 1000 };
  assert.deepEqual(bank.addAddress(alice, ADDRESS), { ...entry, duplicate: false });
  assert.equal(bank.withdraw(bob, 1).code, "ADDRESS_NOT_IN_BOOK", "it is not in bob's book");
  bank.time = START + 999;
  const held = { code: "ADDRESS_ON_HOLD", details: { usableAt: START + 1000 } };
  assert.deepEqual(bank.withdraw(alice, 1), held);
  assert.deepEqual(bank.withdraw(alice, 1, "", ADDRESS.toUpperCase()), held, "in any case");
  bank.time = START + 1000;
  assert.equal(bank.withdraw(alice, 1).transfer?.status, "PENDING");
  assert.equal(bank.withdraw(alice, 1, "", ADDRESS.toUpperCase()).transfer?.status, "PENDING");
  assert.equal(bank.marginTable.equity(alice), 998);
  bank.assertSound();
});

test("neither adding an address again nor removing it makes its hold shorter", () => {
  const bank = new Bank(HOLD);
  const alice = bank.open("alice");
  bank.deposit(alice, 1000);
  bank.addAddress(alice, ADDRESS);
  bank.time = START + 900;
  const again = bank.addAddress(alice, ADDRESS.toUpperCase(), "another name");
  assert.deepEqual(again, { address: ADDRESS, label: "mine", addedAt: START, usableAt: START + 1000, duplicate: true });
  assert.equal(bank.removeAddress(alice, ADDRESS.toUpperCase()), null);
  assert.equal(bank.removeAddress(alice, ADDRESS), "ADDRESS_NOT_FOUND");
  assert.equal(bank.withdraw(alice, 1).code, "ADDRESS_NOT_IN_BOOK");
  bank.addAddress(alice, ADDRESS);
  bank.time = START + 1899;
  assert.equal(bank.withdraw(alice, 1).code, "ADDRESS_ON_HOLD", "the hold began anew");
  bank.time = START + 1900;
  const { transfer } = bank.withdraw(alice, 1, "r");
  // What was requested goes on, and the same request gets the same transfer.
  bank.removeAddress(alice, ADDRESS);
  assert.deepEqual(bank.withdraw(alice, 1, "r"), { transfer, duplicate: true });
  bank.time += 1000;
  assert.deepEqual(bank.tick(), ["WithdrawalSent"]);
});

test("a book has a limit, is the account's own, and lists the oldest address first", () => {
  const bank = new Bank(HOLD);
  const [alice, bob] = [bank.open("alice"), bank.open("bob")];
  for (let i = 0; i < 50; i++) {
    bank.time++;
    assert.equal(bank.addAddress(alice, `0x${99 - i}`).code, undefined);
  }
  const { sequence } = bank;
  assert.equal(bank.addAddress(alice, "0xff").code, "TOO_MANY_ADDRESSES");
  assert.equal(bank.addAddress(alice, "0x99").duplicate, true);
  assert.equal(bank.removeAddress(bob, "0x99"), "ADDRESS_NOT_FOUND");
  assert.equal(bank.sequence, sequence, "nothing happened");
  assert.deepEqual(bank.addresses(alice).slice(0, 2), ["0x99", "0x98"]);
  assert.deepEqual(bank.addresses(bob), []);
  bank.removeAddress(alice, "0x99");
  assert.equal(bank.addAddress(alice, "0xff").code, undefined);
});

test("a new hold applies to addresses that are added from then on, and the book is kept while it is not required", () => {
  const before = new Bank({ withdrawalAddressHoldMs: 5000 });
  const alice = before.open("alice");
  before.deposit(alice, 1000);
  assert.equal(before.withdraw(alice, 1).transfer?.status, "PENDING", "to any address");
  before.addAddress(alice, ADDRESS);
  const after = new Bank({ withdrawalAddressBook: true, withdrawalAddressHoldMs: 0 });
  after.replay(before.log);
  after.restored();
  assert.equal(after.withdraw(alice, 1).code, "ADDRESS_ON_HOLD");
  after.addAddress(alice, "0xbb");
  assert.equal(after.withdraw(alice, 1, "", "0xbb").transfer?.status, "PENDING");
  after.time = START + 5000;
  assert.equal(after.withdraw(alice, 1).transfer?.status, "PENDING");
});

test("a withdrawal is debited at once, sent after the delay, and complete after another", () => {
  const bank = new Bank({ withdrawalDelayMs: 1000 });
  const alice = bank.open("alice", START + 10 * DAY_MS);
  bank.deposit(alice, 1000);
  assert.deepEqual(bank.withdraw(alice, 1001), {
    code: "INSUFFICIENT_BALANCE",
    details: { requiredQuanta: 1001, availableQuanta: 1000 },
  });
  const first = bank.withdraw(alice, 300, "out").transfer as Transfer;
  assert.equal(first.status, "PENDING");
  assert.equal(bank.marginTable.equity(alice), 700);
  bank.time += 999;
  assert.deepEqual(bank.tick(), []);
  bank.withdraw(alice, 100);
  bank.time += 1;
  assert.deepEqual(bank.tick(), ["WithdrawalSent"]);
  assert.deepEqual(bank.tick(), []);
  const sent = bank.withdraw(alice, 300, "out").transfer as Transfer;
  assert.equal(sent.status, "SENT");
  assert.match(sent.txHash, /^0x[0-9a-f]{64}$/);
  assert.deepEqual({ ...sent, status: "PENDING", txHash: "", updatedAt: START }, first);
  assert.equal(sent.updatedAt, START + 1000);
  bank.time += 999;
  assert.deepEqual(bank.tick(), ["WithdrawalSent"], "the other one");
  bank.time += 1;
  assert.deepEqual(bank.tick(), ["WithdrawalCompleted"]);
  assert.equal(bank.withdraw(alice, 300, "out").transfer?.status, "COMPLETED");
  bank.time += DAY_MS;
  assert.deepEqual(bank.tick(), ["WithdrawalCompleted"]);
  assert.deepEqual(bank.tick(), []);
  assert.equal(bank.marginTable.equity(alice), 600);
  bank.assertSound();
});

test("margin that a symbol has reserved cannot be withdrawn, and withdrawn money cannot be reserved", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  bank.deposit(alice, 200e6);
  bank.ask(PLAIN.id, make(SetIndexPrice, { indexTicks: 100 }));
  const buy = (quantityLots: number): MessageOf<typeof PlaceOrder> =>
    make(PlaceOrder, { accountId: alice, orderType: LIMIT, priceTicks: 100, quantityLots });
  bank.ask(PLAIN.id, buy(10)); // 100.5
  assert.deepEqual(bank.withdraw(alice, 100e6).details, { requiredQuanta: 100e6, availableQuanta: 99.5e6 });
  assert.equal(bank.withdraw(alice, 99.5e6).transfer?.status, "PENDING");
  const reply = bank.ask(PLAIN.id, buy(1)) as MessageOf<typeof Refused>;
  assert.equal(reply.code, "INSUFFICIENT_MARGIN");
  assert.equal(bank.marginTable.available(alice), 0);
  bank.assertSound();
});

test("a session ends when its owner closes it, or when it expires", () => {
  const bank = new Bank();
  const alice = bank.open("alice", START + 1000);
  const bob = bank.open("bob", START + 2000);
  const [first] = bank.describe().sessions;
  // Bob cannot close another account's session, and the reply does not reveal that it exists.
  const close = (accountId: number): number =>
    bank.ask(LEDGER, make(CloseSession, { accountId, tokenHash: first.tokenHash })).type;
  assert.equal(close(bob), Done.code);
  assert.equal(bank.describe().sessions.length, 2);
  bank.time += 1999;
  assert.deepEqual(bank.tick(), ["SessionClosed"]);
  assert.deepEqual(
    bank.describe().sessions.map(({ accountId }) => accountId),
    [bob],
  );
  assert.equal(close(alice), Done.code);
  const { tokenHash } = bank.describe().sessions[0];
  const said = bank.do(LEDGER, make(CloseSession, { accountId: bob, tokenHash }));
  assert.deepEqual(said.events, [{ type: SessionClosed.code, accountId: bob, tokenHash }]);
  assert.deepEqual(bank.describe().sessions, []);
  assert.equal(bank.describe().accounts.length, 2, "accounts stay");
});

test("without a token all sessions of the account are closed, and none of other accounts", () => {
  const bank = new Bank();
  const [alice, , bob] = [bank.open("alice", START), bank.open("alice", START + 1), bank.open("bob", START)];
  const closed = bank.do(LEDGER, make(CloseSession, { accountId: alice }));
  assert.equal(closed.events.length, 2);
  assert.deepEqual(
    bank.describe().sessions.map(({ accountId }) => accountId),
    [bob],
  );
  assert.deepEqual(bank.do(LEDGER, make(CloseSession, { accountId: alice })).events, []);
});

test("one transaction closes a bounded number of expired sessions", () => {
  const bank = new Bank();
  const sessions = 2000;
  for (let i = 0; i < sessions; i++)
    bank.do(LEDGER, make(OpenSession, { address: `a${i % 40}`, tokenHash: `${i}`.padEnd(64, "f"), expiresAt: START }));
  const transactions: number[] = [];
  for (let transaction = bank.tick(); transaction.length > 0; transaction = bank.tick())
    transactions.push(transaction.length);
  assert.equal(
    transactions.reduce((sum, ended) => sum + ended, 0),
    sessions,
  );
  // A transaction is one record and must fit into a ring. Simulations use 64 KiB, and a record may take half of it.
  for (const { bytes } of bank.log) assert.ok(bytes.length < 32 * 1024 - 64, `a transaction of ${bytes.length} bytes`);
});

test("an account has at most a hundred sessions: a further one closes the one that would expire first", () => {
  const bank = new Bank();
  const bob = bank.open("bob");
  const open = (tokenHash: string, expiresAt: number) =>
    bank.do(LEDGER, make(OpenSession, { address: "alice", tokenHash, expiresAt }));
  open("late", START + 1000);
  open("early", START + 500);
  for (let i = 2; i < 100; i++) assert.equal(open(`t${i}`, START + 900).events.length, 1);
  const store = new SnapshotStore();
  store.take(bank, LEDGER);
  const again = new Bank();
  store.load(again.ledger);
  for (const each of [bank, again]) {
    const accountId = bob + 1;
    const said = each.do(LEDGER, make(OpenSession, { address: "alice", tokenHash: "new", expiresAt: START + 1000 }));
    assert.deepEqual(said.events, [
      { type: SessionClosed.code, accountId, tokenHash: "early" },
      { type: SessionOpened.code, accountId, tokenHash: "new", expiresAt: START + 1000 },
    ]);
    const sessions = each.describe().sessions;
    assert.equal(sessions.filter((session) => session.accountId === accountId).length, 100);
    assert.equal(sessions.filter((session) => session.accountId === bob).length, 1, "nobody else's");
  }
});

test("an account without deposits keeps its number through a snapshot", () => {
  const bank = new Bank();
  const store = new SnapshotStore();
  bank.deposit(bank.open("alice"), 100);
  store.take(bank, LEDGER);
  const bob = bank.open("bob");
  store.take(bank, LEDGER);
  const again = new Bank();
  store.load(again.ledger);
  assert.equal(again.open("carol"), bob + 1);
  assert.equal(again.open("bob", START + 1), bob);
});

test("the ratio of margin calls is 0.8 until the account sets another, which a snapshot keeps", () => {
  const bank = new Bank();
  const store = new SnapshotStore();
  const [alice, bob] = [bank.open("alice"), bank.open("bob")];
  const ratioOf = (each: Bank, accountId: number) =>
    (each.ask(LEDGER, make(ReadMarginCall, { accountId })) as MessageOf<typeof MarginCallView>).ratioPpm;
  const before = bank.audit(LEDGER).digest;
  assert.deepEqual([ratioOf(bank, alice), ratioOf(bank, bob)], [800_000, 800_000]);
  const set = make(SetMarginCall, { accountId: alice, ratioPpm: 650_000 });
  assert.deepEqual(bank.do(LEDGER, set).events, [{ type: MarginCallSet.code, accountId: alice, ratioPpm: 650_000 }]);
  assert.deepEqual(bank.do(LEDGER, set).events, [], "set already");
  assert.notEqual(bank.audit(LEDGER).digest, before);
  store.take(bank, LEDGER);
  const again = new Bank();
  store.load(again.ledger);
  assert.deepEqual([ratioOf(again, alice), ratioOf(again, bob)], [650_000, 800_000]);
  assert.equal(again.audit(LEDGER).digest, bank.audit(LEDGER).digest);
});

test("an audit names the account whose part of the margin table is wrong", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  bank.deposit(alice, 100);
  bank.ledger.state.apply(make(Deposited, { transferId: 2, accountId: alice, amountQuanta: 5 }), bank.time);
  assert.deepEqual(bank.audit(LEDGER).faults, [
    `account ${alice}: contributed 100 to the margin table, but its balance is 105`,
  ]);
});

test("a tick visits only sessions that have expired", () => {
  const bank = new Bank();
  for (let i = 0; i < 200; i++)
    bank.do(
      LEDGER,
      make(OpenSession, { address: `a${i % 40}`, tokenHash: `t${i}`, expiresAt: START + (i < 3 ? 500 : 5000) }),
    );
  bank.ledger.state.sessions.values = () => assert.fail("all sessions are looked at");
  assert.deepEqual(bank.tick(), []);
  bank.time += 500;
  assert.deepEqual(bank.tick(), ["SessionClosed", "SessionClosed", "SessionClosed"]);
});

test("sessions close in time, however many withdrawals are due", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  bank.open("bob", START + 1000);
  bank.deposit(alice, 10_000);
  for (let i = 0; i < 1000; i++) bank.withdraw(alice, 1);
  bank.time += 1000;
  const moved = bank.tick();
  assert.equal(moved[0], "SessionClosed");
  assert.ok(moved.length > 1 && moved.slice(1).every((name) => name === "WithdrawalSent"));
});

test("one transaction moves a bounded number of due withdrawals, the oldest first", () => {
  const bank = new Bank();
  const alice = bank.open("alice", START + 10 * DAY_MS);
  bank.deposit(alice, 10_000);
  for (let i = 0; i < 1000; i++) bank.withdraw(alice, 1);
  bank.time += 1000;
  const order: number[] = [];
  for (let said = bank.do(LEDGER, make(Tick)); said.events.length > 0; said = bank.do(LEDGER, make(Tick)))
    order.push(...said.events.map((event) => (event as MessageOf<typeof WithdrawalSent>).transferId));
  assert.deepEqual(
    order,
    Array.from({ length: 1000 }, (_, i) => i + 2),
  );
  for (const { bytes } of bank.log) assert.ok(bytes.length < 32 * 1024 - 64, `a transaction of ${bytes.length} bytes`);
});

test("keys belong to their account, and their number is limited", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  const bob = bank.open("bob");
  const create = (accountId: number, apiKey: string): { type: number } =>
    bank.ask(LEDGER, make(CreateKey, { accountId, apiKey, record: KEY }));
  const revoke = (accountId: number, apiKey: string): { type: number } =>
    bank.ask(LEDGER, make(RevokeKey, { accountId, apiKey }));
  assert.equal(create(alice, "k0").type, Done.code);
  assert.deepEqual(bank.describe().keys, [{ apiKey: "k0", accountId: alice, record: KEY }]);
  assert.equal((revoke(bob, "k0") as MessageOf<typeof Refused>).code, "KEY_NOT_FOUND");
  assert.equal((revoke(alice, "k1") as MessageOf<typeof Refused>).code, "KEY_NOT_FOUND");
  for (let i = 1; i < 50; i++) create(alice, `k${i}`);
  const refused = create(alice, "one more") as MessageOf<typeof Refused>;
  assert.equal(refused.code, "TOO_MANY_KEYS");
  assert.deepEqual(refused.details, { limit: 50 });
  assert.equal(create(bob, "his").type, Done.code);
  assert.equal(revoke(alice, "k0").type, Done.code);
  assert.equal((revoke(alice, "k0") as MessageOf<typeof Refused>).code, "KEY_NOT_FOUND");
  assert.equal(create(alice, "one more").type, Done.code);
});

test("at the limit the key that expired first makes room for another", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  const create = (apiKey: string, expiresAt = 0) =>
    bank.do(LEDGER, make(CreateKey, { accountId: alice, apiKey, record: { ...KEY, expiresAt } }));
  const end = bank.time + 1000;
  create("later", end + 1);
  create("first", end);
  create("live", end + DAY_MS);
  for (let i = 3; i < 50; i++) create(`k${i}`);
  const code = ({ replies }: Said) => (replies[0] as MessageOf<typeof Refused>).code;
  assert.equal(code(create("too early")), "TOO_MANY_KEYS");
  bank.time = end + 1;
  const revoked = ({ events }: Said) =>
    events.flatMap((event) => (event.type === KeyRevoked.code ? [(event as MessageOf<typeof KeyRevoked>).apiKey] : []));
  assert.deepEqual([revoked(create("a")), revoked(create("b"))], [["first"], ["later"]]);
  assert.equal(code(create("c")), "TOO_MANY_KEYS");
  const left = bank.describe().keys.map(({ apiKey }) => apiKey);
  assert.deepEqual([left.length, left.includes("live"), left.at(-1)], [50, true, "b"]);
  const store = new SnapshotStore();
  store.take(bank, LEDGER);
  assert.equal(store.keys("keys").length, 50);
});

test("an account's keys are counted without visiting those of others, also after a snapshot", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  const create = (apiKey: string) => make(CreateKey, { accountId: alice, apiKey, record: KEY });
  for (let i = 0; i < 50; i++) bank.do(LEDGER, create(`k${i}`));
  bank.do(LEDGER, make(RevokeKey, { accountId: alice, apiKey: "k7" }));
  const store = new SnapshotStore();
  store.take(bank, LEDGER);
  const again = new Bank();
  store.load(again.ledger);
  again.ledger.state.keys.values = () => assert.fail("all keys are looked at");
  assert.equal(again.ask(LEDGER, create("last")).type, Done.code);
  assert.equal((again.ask(LEDGER, create("one more")) as MessageOf<typeof Refused>).code, "TOO_MANY_KEYS");
});

test("the pages of a description hold each row once", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  for (let i = 0; i < 4500; i++)
    bank.do(LEDGER, make(OpenSession, { address: `a${i % 45}`, tokenHash: `t${i}`, expiresAt: START + 1 }));
  for (let i = 0; i < 40; i++) bank.do(LEDGER, make(CreateKey, { accountId: alice, apiKey: `k${i}`, record: KEY }));
  const pages: LedgerSummary[] = [];
  for (let from: number | null = 0; from !== null; from = pages[pages.length - 1].next) pages.push(bank.describe(from));
  assert.deepEqual(
    pages.map(({ next }) => next),
    [1000, 2000, 3000, 4000, null],
  );
  const sessions = pages.flatMap((page) => page.sessions.map(({ tokenHash }) => tokenHash));
  assert.equal(sessions.length, 4501);
  assert.equal(new Set(sessions).size, 4501);
  assert.deepEqual(
    pages.map(({ accounts }) => accounts.length),
    [46, 0, 0, 0, 0],
  );
  assert.equal(pages.flatMap(({ keys }) => keys).length, 40);
});

test("a description visits each row once, however many pages it has", () => {
  const bank = new Bank();
  const sessions = 20_000;
  const held = bank.ledger.state.sessions;
  for (let i = 0; i < sessions; i++) held.add({ tokenHash: `t${i}`, accountId: 16 + i, expiresAt: START + 1 });
  let looks = 0;
  const all = held.values.bind(held);
  held.values = function* () {
    for (const session of all()) {
      looks++;
      yield session;
    }
  };
  let found = 0;
  for (let from: number | null = 0; from !== null; ) {
    const page = bank.describe(from);
    found += page.sessions.length;
    from = page.next;
  }
  assert.deepEqual([found, looks], [sessions, sessions]);
  assert.equal(bank.describe(sessions - 5).sessions.length, 5, "any page may be asked for");
  assert.equal(bank.describe(sessions + 1000).sessions.length, 0);
  assert.equal(bank.describe().sessions.length, 1000);
});

test("a symbol's refusal is the reply to a withdrawal, unless the withdrawal was done before", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  bank.deposit(alice, 100);
  const refusal = make(Refused, { code: "STALE_PRICE", details: { symbol: "PLAIN" } });
  const ask = (reference: string, more = {}) => {
    const { replies } = bank.do(
      LEDGER,
      make(Withdraw, { accountId: alice, amountQuanta: 40, address: ADDRESS, reference, ...more }),
    );
    return replies[0];
  };
  assert.deepEqual(ask("r", { refusal }), refusal);
  assert.equal(bank.marginTable.equity(alice), 100);
  const { transfer } = ask("r") as MessageOf<typeof TransferView>;
  assert.deepEqual(ask("r", { refusal }), make(TransferView, { transfer, duplicate: 1 }));
  assert.equal((ask("r", { refusal, amountQuanta: 41 }) as MessageOf<typeof Refused>).code, "REFERENCE_REUSED");
  assert.equal(bank.marginTable.equity(alice), 60);
});

test("events name their account", () => {
  const bank = new Bank();
  const alice = bank.open("alice");
  bank.deposit(alice, 100);
  const said = bank.do(
    LEDGER,
    make(Withdraw, { accountId: alice, amountQuanta: 40, address: ADDRESS, reference: "r" }),
  );
  assert.deepEqual(said.events, [
    {
      type: WithdrawalRequested.code,
      transferId: 2,
      accountId: alice,
      amountQuanta: 40,
      address: ADDRESS,
      reference: "r",
    },
  ]);
});

test("a data folder with more accounts than maxAccounts is refused as a setting that is too low", () => {
  const { ledger } = new Exchange([], LEDGER_SETTINGS, FIRST_CUSTOMER_ACCOUNT + 1);
  const load = (accountId: number): void =>
    ledger.load("accounts", accountId, make(AccountRow, { accountId, address: ADDRESS }));
  load(FIRST_CUSTOMER_ACCOUNT);
  assert.throws(() => load(FIRST_CUSTOMER_ACCOUNT + 1), {
    name: "SettingTooLowError",
    message: /^maxAccounts: \d+ is too low/,
  });
});
