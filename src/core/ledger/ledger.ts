import { createHash } from "node:crypto";
import { unreachable } from "../../assert.ts";
import type { MarginTable } from "../accounts/margin-table.ts";
import { LEDGER } from "../base/enums.ts";
import { RowReader } from "../base/row-reader.ts";
import type { Quanta, TimeMs } from "../base/units.ts";
import type { Actor, SnapshotWriter, Transaction } from "../protocol/actor.ts";
import {
  Audit,
  CloseSession,
  CreateKey,
  Deposit,
  Describe,
  type LedgerCommand,
  OpenSession,
  ReadWithdrawals,
  RevokeKey,
  Tick,
  Withdraw,
} from "../protocol/commands.ts";
import {
  AccountOpened,
  Deposited,
  KeyCreated,
  KeyRevoked,
  type LedgerEvent,
  LedgerUnsound,
  SessionClosed,
  SessionOpened,
  WithdrawalCompleted,
  WithdrawalRequested,
  WithdrawalSent,
} from "../protocol/events.ts";
import type { Message, MessageOf } from "../protocol/message-schema.ts";
import type { ActorAudit, Transfer } from "../protocol/payloads.ts";
import { refuse } from "../protocol/refusals.ts";
import {
  AuditReport,
  Done,
  LedgerDescription,
  SessionView,
  TransferView,
  WithdrawalsPage,
} from "../protocol/replies.ts";
import { type Key, LedgerState, referenceKey } from "./ledger-state.ts";
import { MAX_SESSIONS_PER_ACCOUNT, type Session } from "./sessions.ts";

export interface LedgerSettings {
  /** What the faucet credits an account on one UTC day. */
  faucetCapQuanta: Quanta;
  /** How long a withdrawal waits before it is sent, and again before it is completed. */
  withdrawalDelayMs: number;
}

/** How often the balances are added up. */
const CHECK_INTERVAL_MS = 10_000;
const MAX_KEYS_PER_ACCOUNT = 50;
/** Rows of each kind in one answer: a turn must fit into a ring. */
const ROWS_PER_PAGE = 1000;
/** What one tick moves at most, for the same reason: the rest follows with the next. */
const EVENTS_PER_TICK = 256;
/** Balances stay a factor of eight below 2^53, so that sums over one account's symbols are exact. */
const MAX_BALANCE_QUANTA = 2 ** 50;

/** Accounts, sessions, keys, deposits and withdrawals. Margin it knows from the cells alone. */
export class LedgerActor implements Actor {
  readonly actorId = LEDGER;
  readonly isFiring = false;
  readonly state: LedgerState;
  private readonly marginTable: MarginTable;
  private readonly settings: LedgerSettings;
  private readonly accountRows = new RowReader(() => this.state.addressOfAccount);
  private readonly sessionRows = new RowReader(() => this.state.sessions.values());
  private readonly keyRows = new RowReader(() => this.state.keys.values());
  private readonly withdrawalRows = new RowReader(() => this.state.pending.values());
  private nextCheckAt: TimeMs = 0;
  private isUnsound = false;

  constructor(settings: LedgerSettings, marginTable: MarginTable) {
    this.settings = settings;
    this.marginTable = marginTable;
    this.state = new LedgerState(marginTable);
  }

  decide(message: Message, transaction: Transaction): void {
    const command = message as LedgerCommand;
    switch (command.type) {
      case OpenSession.code:
        return this.openSession(command, transaction);
      case CloseSession.code:
        return this.closeSessions(command, transaction);
      case CreateKey.code:
        return this.createKey(command, transaction);
      case RevokeKey.code:
        if (this.state.keys.get(command.apiKey)?.accountId !== command.accountId)
          return refuse(transaction, "KEY_NOT_FOUND", "apiKey");
        this.revokeKey(command, transaction);
        return transaction.reply({ type: Done.code });
      case Deposit.code:
        return this.deposit(command, transaction);
      case Withdraw.code:
        return this.withdraw(command, transaction);
      case Tick.code:
        return this.tick(transaction);
      case Describe.code:
        return this.describe(command.from, transaction);
      case ReadWithdrawals.code:
        return this.tellWithdrawals(command.from, transaction);
      case Audit.code:
        return transaction.reply({ type: AuditReport.code, report: this.audit() });
      default:
        unreachable(command);
    }
  }

  runBackground(): boolean {
    return false;
  }

  fire(): void {}

  apply(event: Message, time: number): void {
    this.state.apply(event as LedgerEvent, time);
  }

  settle(): void {}

  snapshot(writer: SnapshotWriter, most?: number): boolean {
    return this.state.snapshot(writer, most);
  }

  load(table: string, _key: number | string, row: Message): void {
    this.state.load(table, row);
  }

  restored(): void {
    this.state.refreshAll();
    this.marginTable.commit();
  }

  contribute(sums: MarginTable): void {
    this.state.contribute(sums);
  }

  private openSession(command: MessageOf<typeof OpenSession>, transaction: Transaction): void {
    const { state } = this;
    let accountId = state.accountOfAddress.get(command.address);
    if (accountId === undefined) {
      accountId = state.nextAccountId;
      if (accountId >= this.marginTable.maxAccounts) return refuse(transaction, "TOO_MANY_ACCOUNTS");
      this.happen(transaction, { type: AccountOpened.code, accountId, address: command.address });
    }
    const { address, tokenHash, expiresAt } = command;
    const first = state.sessions.firstOf(accountId);
    if (first !== undefined && state.sessions.countOf(accountId) >= MAX_SESSIONS_PER_ACCOUNT)
      this.closeSession(first, transaction);
    this.happen(transaction, { type: SessionOpened.code, accountId, tokenHash, expiresAt });
    transaction.reply({ type: SessionView.code, accountId, address, expiresAt });
  }

  private closeSessions({ accountId, tokenHash }: MessageOf<typeof CloseSession>, transaction: Transaction): void {
    const { sessions } = this.state;
    const next = () => (tokenHash === "" ? sessions.firstOf(accountId) : sessions.get(tokenHash));
    for (let own = next(); own?.accountId === accountId; own = next()) this.closeSession(own, transaction);
    transaction.reply({ type: Done.code });
  }

  private closeSession(
    { accountId, tokenHash }: Pick<Session, "accountId" | "tokenHash">,
    transaction: Transaction,
  ): void {
    this.happen(transaction, { type: SessionClosed.code, accountId, tokenHash });
  }

  private createKey(command: MessageOf<typeof CreateKey>, transaction: Transaction): void {
    const { accountId, apiKey, record } = command;
    if (this.state.keyCount(accountId) >= MAX_KEYS_PER_ACCOUNT) {
      // One that has expired is kept until then, so that whoever still uses it is told why it is refused.
      const expired = this.state.firstExpiredKey(accountId, transaction.time);
      if (expired === undefined) return refuse(transaction, "TOO_MANY_KEYS", "", { limit: MAX_KEYS_PER_ACCOUNT });
      this.revokeKey(expired, transaction);
    }
    this.happen(transaction, { type: KeyCreated.code, accountId, apiKey, record });
    transaction.reply({ type: Done.code });
  }

  private revokeKey({ accountId, apiKey }: Pick<Key, "accountId" | "apiKey">, transaction: Transaction): void {
    this.happen(transaction, { type: KeyRevoked.code, accountId, apiKey });
  }

  private deposit(command: MessageOf<typeof Deposit>, transaction: Transaction): void {
    const { accountId, amountQuanta, reference } = command;
    if (this.repeats(transaction, { accountId, kind: "DEPOSIT", amountQuanta, address: "", reference })) return;
    const usedQuanta = this.state.depositedOnDay(accountId, transaction.time);
    const limitQuanta = this.settings.faucetCapQuanta;
    if (amountQuanta > limitQuanta - usedQuanta)
      return refuse(transaction, "DEPOSIT_CAP", "amount", {
        limitQuanta,
        availableQuanta: Math.max(0, limitQuanta - usedQuanta),
      });
    const room = MAX_BALANCE_QUANTA - this.state.balance(accountId);
    if (amountQuanta > room)
      return refuse(transaction, "DEPOSIT_CAP", "amount", {
        limitQuanta: MAX_BALANCE_QUANTA,
        availableQuanta: Math.max(0, room),
      });
    const transferId = this.state.nextTransferId;
    this.happen(transaction, { type: Deposited.code, transferId, accountId, amountQuanta, reference });
    this.state.refresh(accountId);
    this.replyTransfer(transaction, transferId);
  }

  private withdraw(command: MessageOf<typeof Withdraw>, transaction: Transaction): void {
    const { accountId, amountQuanta, address, reference, refusal } = command;
    if (this.repeats(transaction, { accountId, kind: "WITHDRAWAL", amountQuanta, address, reference })) return;
    if (refusal !== null) return transaction.reply(refusal);
    // What is refused for sure is not taken, not even for a moment: another actor would refuse an order for it.
    if (amountQuanta > this.marginTable.withdrawable(accountId) || !this.marginTable.debit(accountId, amountQuanta))
      return refuse(transaction, "INSUFFICIENT_BALANCE", "amount", {
        requiredQuanta: amountQuanta,
        availableQuanta: this.marginTable.withdrawable(accountId),
      });
    this.state.noteDebited(accountId, amountQuanta);
    const transferId = this.state.nextTransferId;
    this.happen(transaction, {
      type: WithdrawalRequested.code,
      transferId,
      accountId,
      amountQuanta,
      address,
      reference,
    });
    this.replyTransfer(transaction, transferId);
  }

  /** A reference that was used: the same request is answered with its first transfer, another one is refused. */
  private repeats(
    transaction: Transaction,
    asked: Pick<Transfer, "accountId" | "kind" | "amountQuanta" | "address" | "reference">,
  ): boolean {
    if (asked.reference === "") return false;
    const first = this.state.transferOfReference.get(referenceKey(asked));
    if (first === undefined) return false;
    if (first.amountQuanta === asked.amountQuanta && first.address === asked.address)
      transaction.reply({ type: TransferView.code, transfer: first, duplicate: 1 });
    else refuse(transaction, "REFERENCE_REUSED", "reference", { transferId: String(first.transferId) });
    return true;
  }

  /** In the sandbox nothing leaves: a withdrawal waits, is "sent" with a made-up hash, waits and is complete. */
  private tick(transaction: Transaction): void {
    this.checkItself(transaction);
    let events = 0;
    // First: fewer can end than log in, and that takes longer than withdrawals do, which might never let them have a turn.
    for (;;) {
      const session = this.state.sessions.firstDue(transaction.time);
      if (session === undefined) break;
      if (++events > EVENTS_PER_TICK) return;
      this.closeSession(session, transaction);
    }
    const dueBefore = transaction.time - this.settings.withdrawalDelayMs;
    for (const transfer of this.state.pending.values()) {
      if (transfer.updatedAt > dueBefore) continue;
      if (++events > EVENTS_PER_TICK) return;
      const { transferId, accountId } = transfer;
      if (transfer.status === "PENDING") {
        const seed = `${transferId}/${accountId}/${transfer.amountQuanta}/${transfer.createdAt}`;
        const txHash = `0x${createHash("sha256").update(seed).digest("hex")}`;
        this.happen(transaction, { type: WithdrawalSent.code, transferId, accountId, txHash });
      } else this.happen(transaction, { type: WithdrawalCompleted.code, transferId, accountId });
    }
  }

  /** A page of accounts, of sessions and of keys each. Consistent as long as nothing else happens between the pages. */
  private describe(from: number, transaction: Transaction): void {
    const { addressOfAccount, sessions, keys } = this.state;
    const { accountRows, sessionRows, keyRows } = this;
    const to = from + ROWS_PER_PAGE;
    const largest = Math.max(addressOfAccount.size, sessions.size, keys.size);
    transaction.reply({
      type: LedgerDescription.code,
      state: {
        next: to < largest ? to : null,
        accounts: accountRows.between(from, to),
        sessions: sessionRows.between(from, to),
        keys: keyRows.between(from, to),
      },
    });
  }

  /** A page of those that are not complete. Consistent as long as nothing else happens between the pages. */
  private tellWithdrawals(from: number, transaction: Transaction): void {
    const to = from + ROWS_PER_PAGE;
    const withdrawals = this.withdrawalRows.between(from, to);
    const next = to < this.state.pending.size ? to : null;
    transaction.reply({ type: WithdrawalsPage.code, page: { withdrawals, next } });
  }

  /** Now and then, until a difference is found: once is enough. */
  private checkItself(transaction: Transaction): void {
    if (this.isUnsound || transaction.time < this.nextCheckAt) return;
    this.nextCheckAt = transaction.time + CHECK_INTERVAL_MS;
    const fault = this.state.faultOfSums();
    if (fault === null) return;
    this.isUnsound = true;
    this.happen(transaction, { type: LedgerUnsound.code, fault });
  }

  private audit(): ActorAudit {
    const { state } = this;
    const faults: string[] = [];
    const hash = createHash("sha256");
    let money = 0n;
    for (const accountId of state.accountIds()) {
      const balance = state.balance(accountId);
      money += BigInt(balance);
      if (state.givenEquity(accountId) !== balance)
        faults.push(`account ${accountId}: the cells were given ${state.givenEquity(accountId)} but ${balance} is due`);
      hash.update(`${accountId} ${state.addressOfAccount.get(accountId)} ${balance}\n`);
    }
    const net = state.depositedQuanta - state.withdrawnQuanta;
    if (money !== net) faults.push(`Σ balances is ${money} quanta but deposits − withdrawals are ${net}`);
    for (const token of Array.from(state.sessions.values(), ({ tokenHash }) => tokenHash).sort())
      hash.update(`${token}\n`);
    for (const key of [...state.keys.keys()].sort()) hash.update(`${key}\n`);
    for (const transfer of state.transfers.values())
      hash.update(`${transfer.transferId} ${transfer.accountId} ${transfer.amountQuanta} ${transfer.status}\n`);
    return {
      actorId: LEDGER,
      sequence: 0,
      moneyQuanta: money.toString(),
      depositsMinusWithdrawalsQuanta: net.toString(),
      accounts: state.addressOfAccount.size,
      faults,
      digest: hash.digest("hex"),
    };
  }

  private replyTransfer(transaction: Transaction, transferId: number): void {
    const transfer = this.state.transfers.get(transferId);
    if (transfer !== undefined) transaction.reply({ type: TransferView.code, transfer, duplicate: 0 });
  }

  private happen(transaction: Transaction, event: LedgerEvent): void {
    this.state.apply(event, transaction.time);
    transaction.emit(event);
  }
}
