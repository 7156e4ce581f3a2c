import { createHash } from "node:crypto";
import { must, unreachable } from "../../assert.ts";
import type { MarginTable } from "../accounts/margin-table.ts";
import { GATE, GATE_REASONS, isCustomer, LEDGER } from "../base/enums.ts";
import { RowReader } from "../base/row-reader.ts";
import type { Quanta, TimeMs } from "../base/units.ts";
import type { Actor, SnapshotReader, SnapshotWriter, Transaction } from "../protocol/actor.ts";
import {
  AddWithdrawalAddress,
  Audit,
  CloseSession,
  CreateKey,
  Deposit,
  Describe,
  type LedgerCommand,
  OpenSession,
  ReadMarginCall,
  ReadWithdrawalAddresses,
  ReadWithdrawals,
  RemoveWithdrawalAddress,
  RevokeKey,
  SetMarginCall,
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
  MarginCallSet,
  SessionClosed,
  SessionOpened,
  SolvencyChanged,
  WithdrawalAddressAdded,
  WithdrawalAddressRemoved,
  WithdrawalCompleted,
  WithdrawalRequested,
  WithdrawalSent,
} from "../protocol/events.ts";
import type { Message, MessageOf } from "../protocol/message-schema.ts";
import type { ActorAudit, Transfer } from "../protocol/payloads.ts";
import { refuse, refuses } from "../protocol/refusals.ts";
import {
  AuditReport,
  Done,
  LedgerDescription,
  MarginCallView,
  SessionView,
  TransferView,
  WithdrawalAddressesView,
  WithdrawalsPage,
} from "../protocol/replies.ts";
import { contributionFault, type Key, LedgerState } from "./ledger-state.ts";
import { MAX_SESSIONS_PER_ACCOUNT, type Session } from "./sessions.ts";
import { SolvencyCheck } from "./solvency-check.ts";
import { MAX_WITHDRAWAL_ADDRESSES } from "./withdrawal-addresses.ts";

export interface LedgerSettings {
  /** The most that the faucet credits an account on one UTC day. */
  faucetCapQuanta: Quanta;
  /** Of customers. Default: 0. */
  minDepositQuanta?: Quanta;
  /** How long a withdrawal waits before it is sent, and again before it is completed. */
  withdrawalDelayMs: number;
  /** For tests. Default: RECENT_TRANSFERS. */
  recentTransfers?: number;
  /** Withdrawals go to addresses of the account's book alone. Default: to every address. */
  withdrawalAddressBook?: boolean;
  /** How long a new address of a book is not usable. Default 0. */
  withdrawalAddressHoldMs?: number;
}

/** Of adding up all balances. */
const CHECK_INTERVAL_MS = 10_000;
const SOLVENCY_INTERVAL_MS = 1000;
const MAX_KEYS_PER_ACCOUNT = 50;
/** Withdrawals that are not completed. */
export const MAX_PENDING_WITHDRAWALS_PER_ACCOUNT = 2000;
/** Transfers in memory, and rows that the next snapshot will have. About 100 MB. */
export const MAX_TRANSFERS_IN_MEMORY = 100_000;
/** Rows of each kind in one reply: a transaction must fit into a ring. */
const ROWS_PER_PAGE = 1000;
/** For the same reason. The next tick goes on. */
const EVENTS_PER_TICK = 256;
/** Balances stay a factor of eight below 2^53, so that sums over one account's symbols are exact. */
const MAX_BALANCE_QUANTA = 2 ** 50;

const NOTHING_STORED: SnapshotReader = { find: () => undefined };

/** Accounts, sessions, keys, deposits and withdrawals. It knows positions and orders only from the margin table. */
export class LedgerActor implements Actor {
  readonly actorId = LEDGER;
  readonly isFiring = false;
  readonly isSettlingMark = false;
  readonly state: LedgerState;
  private readonly marginTable: MarginTable;
  private readonly settings: LedgerSettings;
  private readonly accountRows = new RowReader(() => this.state.addressOfAccount);
  private readonly sessionRows = new RowReader(() => this.state.sessions.values());
  private readonly keyRows = new RowReader(() => this.state.keys.values());
  private readonly withdrawalRows = new RowReader(() => this.state.transfers.pending.values());
  private readonly solvency: SolvencyCheck;
  private nextCheckAt: TimeMs = 0;
  private nextSolvencyAt: TimeMs = 0;
  private isUnsound = false;

  /** `stored`: the ledger's rows in the database. Without it, no snapshot of this ledger may be stored. */
  constructor(settings: LedgerSettings, marginTable: MarginTable, stored: SnapshotReader = NOTHING_STORED) {
    this.settings = settings;
    this.marginTable = marginTable;
    this.state = new LedgerState(marginTable, stored, settings.recentTransfers);
    this.solvency = new SolvencyCheck(marginTable);
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
      case ReadMarginCall.code:
        return this.replyMarginCall(command.accountId, transaction);
      case SetMarginCall.code:
        return this.setMarginCall(command, transaction);
      case AddWithdrawalAddress.code:
        return this.addAddress(command, transaction);
      case RemoveWithdrawalAddress.code:
        return this.removeAddress(command, transaction);
      case ReadWithdrawalAddresses.code: {
        const addresses = this.state.withdrawalAddresses.of(command.accountId);
        return transaction.reply({ type: WithdrawalAddressesView.code, addresses, duplicate: 0 });
      }
      case Tick.code:
        return this.tick(transaction);
      case Describe.code:
        return this.describe(command.from, transaction);
      case ReadWithdrawals.code:
        return this.replyWithdrawals(command.from, transaction);
      case Audit.code:
        return transaction.reply({ type: AuditReport.code, report: this.audit() });
      default:
        unreachable(command);
    }
  }

  /** Continues the check of the solvency. */
  runBackground(transaction: Transaction): boolean {
    if (this.solvency.isChecking) this.checkSolvency(transaction);
    return this.solvency.isChecking;
  }

  /** The ledger has no mark. */
  settleMark(): boolean {
    return true;
  }

  fire(): void {}

  apply(event: Message, time: number): void {
    this.state.apply(event as LedgerEvent, time);
  }

  read(command: Message, transaction: Transaction): void {
    this.decide(command, transaction);
  }

  settle(): void {
    this.state.changedAccounts.length = 0;
  }

  settleFollowed(): void {
    this.marginTable.begin();
    for (const accountId of this.state.changedAccounts) this.state.refresh(accountId);
    this.marginTable.commit();
    this.settle();
  }

  followMark(): boolean {
    return false;
  }

  snapshot(writer: SnapshotWriter, most?: number): boolean {
    return this.state.snapshot(writer, most);
  }

  snapshotStored(): void {
    this.state.transfers.snapshotStored();
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
      this.applyAndEmit(transaction, { type: AccountOpened.code, accountId, address: command.address });
    }
    const { address, tokenHash, expiresAt } = command;
    const first = state.sessions.firstOf(accountId);
    if (first !== undefined && state.sessions.countOf(accountId) >= MAX_SESSIONS_PER_ACCOUNT)
      this.closeSession(first, transaction);
    this.applyAndEmit(transaction, { type: SessionOpened.code, accountId, tokenHash, expiresAt });
    transaction.reply({ type: SessionView.code, accountId, address, expiresAt });
  }

  private closeSessions({ accountId, tokenHash }: MessageOf<typeof CloseSession>, transaction: Transaction): void {
    const { sessions } = this.state;
    const next = () => (tokenHash === "" ? sessions.firstOf(accountId) : sessions.get(tokenHash));
    for (let session = next(); session?.accountId === accountId; session = next())
      this.closeSession(session, transaction);
    transaction.reply({ type: Done.code });
  }

  private closeSession(
    { accountId, tokenHash }: Pick<Session, "accountId" | "tokenHash">,
    transaction: Transaction,
  ): void {
    this.applyAndEmit(transaction, { type: SessionClosed.code, accountId, tokenHash });
  }

  private createKey(command: MessageOf<typeof CreateKey>, transaction: Transaction): void {
    const { accountId, apiKey, record } = command;
    if (this.state.keyCount(accountId) >= MAX_KEYS_PER_ACCOUNT) {
      // Expired keys are kept until their room is needed, so that their users get the right error.
      const expired = this.state.firstExpiredKey(accountId, transaction.time);
      if (expired === undefined) return refuse(transaction, "TOO_MANY_KEYS", "", { limit: MAX_KEYS_PER_ACCOUNT });
      this.revokeKey(expired, transaction);
    }
    this.applyAndEmit(transaction, { type: KeyCreated.code, accountId, apiKey, record });
    transaction.reply({ type: Done.code });
  }

  private revokeKey({ accountId, apiKey }: Pick<Key, "accountId" | "apiKey">, transaction: Transaction): void {
    this.applyAndEmit(transaction, { type: KeyRevoked.code, accountId, apiKey });
  }

  private deposit(command: MessageOf<typeof Deposit>, transaction: Transaction): void {
    const { accountId, amountQuanta, reference } = command;
    if (this.repeats(transaction, { accountId, kind: "DEPOSIT", amountQuanta, address: "", reference })) return;
    if (this.refusesForRoom(transaction)) return;
    const usedQuanta = this.state.transfers.depositedOnDay(accountId, transaction.time);
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
    const { minDepositQuanta = 0 } = this.settings;
    if (amountQuanta < minDepositQuanta && isCustomer(accountId))
      return refuse(transaction, "DEPOSIT_TOO_SMALL", "amount", { limitQuanta: minDepositQuanta });
    const transferId = this.state.transfers.nextTransferId;
    this.applyAndEmit(transaction, { type: Deposited.code, transferId, accountId, amountQuanta, reference });
    this.state.refresh(accountId);
    this.replyTransfer(transaction, transferId);
  }

  private withdraw(command: MessageOf<typeof Withdraw>, transaction: Transaction): void {
    const { accountId, amountQuanta, address, reference, refusal } = command;
    if (this.repeats(transaction, { accountId, kind: "WITHDRAWAL", amountQuanta, address, reference })) return;
    if (this.refusesAddress(command, transaction)) return;
    if (refusal !== null) return transaction.reply(refusal);
    if (this.state.gate !== GATE.OPEN) return this.refuseGated(transaction);
    const limit = MAX_PENDING_WITHDRAWALS_PER_ACCOUNT;
    if (this.state.transfers.pendingCount(accountId) >= limit)
      return refuse(transaction, "TOO_MANY_TRANSFERS", "", { limit });
    if (this.refusesForRoom(transaction)) return;
    // debit() takes the amount before it checks, and another actor could refuse an order meanwhile. So check here first.
    if (amountQuanta > this.marginTable.withdrawable(accountId) || !this.marginTable.debit(accountId, amountQuanta))
      return refuse(transaction, "INSUFFICIENT_BALANCE", "amount", {
        requiredQuanta: amountQuanta,
        availableQuanta: this.marginTable.withdrawable(accountId),
      });
    this.state.noteDebited(accountId, amountQuanta);
    const transferId = this.state.transfers.nextTransferId;
    this.applyAndEmit(transaction, {
      type: WithdrawalRequested.code,
      transferId,
      accountId,
      amountQuanta,
      address,
      reference,
    });
    this.replyTransfer(transaction, transferId);
  }

  /** Memory is full only while the store does not keep up, or while very many withdrawals are in progress. */
  private refusesForRoom(transaction: Transaction): boolean {
    const { transfers, changedRows } = this.state;
    if (transfers.size + changedRows < MAX_TRANSFERS_IN_MEMORY) return false;
    return refuses(transaction, "TOO_MANY_TRANSFERS", "", { limit: MAX_TRANSFERS_IN_MEMORY });
  }

  private refusesAddress({ accountId, address }: MessageOf<typeof Withdraw>, transaction: Transaction): boolean {
    if (this.settings.withdrawalAddressBook !== true) return false;
    const entry = this.state.withdrawalAddresses.find(accountId, address);
    if (entry === undefined) return refuses(transaction, "ADDRESS_NOT_IN_BOOK", "address");
    if (entry.usableAt <= transaction.time) return false;
    return refuses(transaction, "ADDRESS_ON_HOLD", "address", { usableAt: entry.usableAt });
  }

  private addAddress(command: MessageOf<typeof AddWithdrawalAddress>, transaction: Transaction): void {
    const { accountId, address, label } = command;
    const { withdrawalAddresses } = this.state;
    const isKnown = withdrawalAddresses.find(accountId, address) !== undefined;
    if (!isKnown) {
      const limit = MAX_WITHDRAWAL_ADDRESSES;
      if (withdrawalAddresses.countOf(accountId) >= limit)
        return refuse(transaction, "TOO_MANY_ADDRESSES", "", { limit });
      const usableAt = transaction.time + (this.settings.withdrawalAddressHoldMs ?? 0);
      this.applyAndEmit(transaction, { type: WithdrawalAddressAdded.code, accountId, address, label, usableAt });
    }
    // An address that is there keeps its hold: adding it again makes it neither shorter nor longer.
    const entry = must(withdrawalAddresses.find(accountId, address), "the address");
    transaction.reply({ type: WithdrawalAddressesView.code, addresses: [entry], duplicate: isKnown ? 1 : 0 });
  }

  private removeAddress(
    { accountId, address }: MessageOf<typeof RemoveWithdrawalAddress>,
    transaction: Transaction,
  ): void {
    if (this.state.withdrawalAddresses.find(accountId, address) === undefined)
      return refuse(transaction, "ADDRESS_NOT_FOUND", "address");
    this.applyAndEmit(transaction, { type: WithdrawalAddressRemoved.code, accountId, address });
    transaction.reply({ type: Done.code });
  }

  /** The gate is looked at again by the next check. */
  private refuseGated(transaction: Transaction): void {
    const { gate, deficitQuanta } = this.state;
    refuse(transaction, "WITHDRAWALS_GATED", "", {
      reason: String(GATE_REASONS[gate]),
      ...this.solvency.figures(deficitQuanta),
      retryAfterMs: Math.max(1, this.nextSolvencyAt - transaction.time),
    });
  }

  private setMarginCall({ accountId, ratioPpm }: MessageOf<typeof SetMarginCall>, transaction: Transaction): void {
    if (this.state.marginCallPpm(accountId) !== ratioPpm)
      this.applyAndEmit(transaction, { type: MarginCallSet.code, accountId, ratioPpm });
    this.replyMarginCall(accountId, transaction);
  }

  private replyMarginCall(accountId: number, transaction: Transaction): void {
    transaction.reply({ type: MarginCallView.code, ratioPpm: this.state.marginCallPpm(accountId) });
  }

  /**
   * Replies to a request whose reference was used before: with the first transfer if the request is the same, otherwise
   * with a refusal. Returns whether it did.
   */
  private repeats(
    transaction: Transaction,
    request: Pick<Transfer, "accountId" | "kind" | "amountQuanta" | "address" | "reference">,
  ): boolean {
    if (request.reference === "") return false;
    const first = this.state.transfers.ofReference(request);
    if (first === undefined) return false;
    if (first.amountQuanta === request.amountQuanta && first.address === request.address)
      transaction.reply({ type: TransferView.code, transfer: first, duplicate: 1 });
    else refuse(transaction, "REFERENCE_REUSED", "reference", { transferId: String(first.transferId) });
    return true;
  }

  /** In the sandbox no money leaves: a withdrawal waits, gets a made-up hash as SENT, waits again and is COMPLETED. */
  private tick(transaction: Transaction): void {
    this.checkBooks(transaction);
    this.beginSolvencyCheck(transaction);
    let events = 0;
    // Sessions first: many withdrawals could use up every tick. Sessions cannot, since logging in takes longer.
    for (;;) {
      const session = this.state.sessions.firstDue(transaction.time);
      if (session === undefined) break;
      if (++events > EVENTS_PER_TICK) return;
      this.closeSession(session, transaction);
    }
    const dueBefore = transaction.time - this.settings.withdrawalDelayMs;
    for (const transfer of this.state.transfers.pending.values()) {
      if (transfer.updatedAt > dueBefore) continue;
      if (transfer.status === "PENDING" && !this.maySend) continue;
      if (++events > EVENTS_PER_TICK) return;
      const { transferId, accountId } = transfer;
      if (transfer.status === "PENDING") {
        const seed = `${transferId}/${accountId}/${transfer.amountQuanta}/${transfer.createdAt}`;
        const txHash = `0x${createHash("sha256").update(seed).digest("hex")}`;
        this.applyAndEmit(transaction, { type: WithdrawalSent.code, transferId, accountId, txHash });
      } else this.applyAndEmit(transaction, { type: WithdrawalCompleted.code, transferId, accountId });
    }
  }

  /** Money that has not left waits for what refuses new withdrawals, and for the first check after the start. */
  private get maySend(): boolean {
    return this.state.gate === GATE.OPEN && this.solvency.isClean;
  }

  private beginSolvencyCheck(transaction: Transaction): void {
    if (transaction.time < this.nextSolvencyAt) return;
    this.nextSolvencyAt = transaction.time + SOLVENCY_INTERVAL_MS;
    this.solvency.begin();
    this.checkSolvency(transaction);
  }

  private checkSolvency(transaction: Transaction): void {
    const { state } = this;
    const verdict = this.solvency.proceed(state.nextAccountId, state.gate);
    if (verdict === null) return;
    const { gate, figures } = verdict;
    if (gate !== state.gate || figures.deficitQuanta !== state.deficitQuanta)
      this.applyAndEmit(transaction, { type: SolvencyChanged.code, gate, ...figures });
  }

  /** One page of accounts, sessions and keys each. The pages fit together only if nothing happens between them. */
  private describe(from: number, transaction: Transaction): void {
    const { addressOfAccount, sessions, keys } = this.state;
    const { accountRows, sessionRows, keyRows } = this;
    const to = from + ROWS_PER_PAGE;
    const largest = Math.max(addressOfAccount.size, sessions.size, keys.size);
    transaction.reply({
      type: LedgerDescription.code,
      state: {
        next: to < largest ? to : null,
        gate: this.state.gate,
        deficitQuanta: this.state.deficitQuanta,
        accounts: accountRows.between(from, to),
        sessions: sessionRows.between(from, to),
        keys: keyRows.between(from, to),
      },
    });
  }

  /** One page of withdrawals that are not complete. The pages fit together only if nothing happens between them. */
  private replyWithdrawals(from: number, transaction: Transaction): void {
    const to = from + ROWS_PER_PAGE;
    const withdrawals = this.withdrawalRows.between(from, to);
    const next = to < this.state.transfers.pending.size ? to : null;
    transaction.reply({ type: WithdrawalsPage.code, page: { withdrawals, next } });
  }

  /** Adds up the balances every CHECK_INTERVAL_MS, until it has found a difference. */
  private checkBooks(transaction: Transaction): void {
    if (this.isUnsound || transaction.time < this.nextCheckAt) return;
    this.nextCheckAt = transaction.time + CHECK_INTERVAL_MS;
    const fault = this.state.faultOfSums();
    if (fault === null) return;
    this.isUnsound = true;
    this.applyAndEmit(transaction, { type: LedgerUnsound.code, fault });
  }

  private audit(): ActorAudit {
    const { state } = this;
    const faults: string[] = [];
    const hash = createHash("sha256");
    let money = 0n;
    for (const accountId of state.accountIds()) {
      const balance = state.balance(accountId);
      money += BigInt(balance);
      if (state.contributedEquity(accountId) !== balance)
        faults.push(contributionFault(accountId, state.contributedEquity(accountId), balance));
      hash.update(`${accountId} ${state.addressOfAccount.get(accountId)} ${balance}\n`);
    }
    const net = state.depositedQuanta - state.withdrawnQuanta;
    if (money !== net) faults.push(`Σ balances is ${money} quanta but deposits − withdrawals are ${net}`);
    if (state.gate !== GATE.OPEN || state.deficitQuanta !== 0)
      hash.update(`gate ${state.gate} ${state.deficitQuanta}\n`);
    for (const line of state.marginCallLines()) hash.update(`${line}\n`);
    for (const line of state.withdrawalAddresses.lines()) hash.update(`${line}\n`);
    for (const token of Array.from(state.sessions.values(), ({ tokenHash }) => tokenHash).sort())
      hash.update(`${token}\n`);
    for (const key of [...state.keys.keys()].sort()) hash.update(`${key}\n`);
    for (const line of state.transfers.lines()) hash.update(line);
    return {
      actorId: LEDGER,
      sequence: 0,
      moneyQuanta: money.toString(),
      depositsMinusWithdrawalsQuanta: net.toString(),
      accounts: state.addressOfAccount.size,
      solvency: this.solvency.count(state.nextAccountId),
      faults,
      digest: hash.digest("hex"),
    };
  }

  private replyTransfer(transaction: Transaction, transferId: number): void {
    const transfer = this.state.transfers.get(transferId);
    if (transfer !== undefined) transaction.reply({ type: TransferView.code, transfer, duplicate: 0 });
  }

  private applyAndEmit(transaction: Transaction, event: LedgerEvent): void {
    this.state.apply(event, transaction.time);
    transaction.emit(event);
  }
}
