import { must } from "../../assert.ts";
import { CONTRIBUTION_FIELDS } from "../accounts/contribution.ts";
import type { MarginTable } from "../accounts/margin-table.ts";
import { FEE_ACCOUNT, FIRST_CUSTOMER_ACCOUNT, GATE, INSURANCE_ACCOUNT, isCustomer } from "../base/enums.ts";
import { ExactSum } from "../base/exact-sum.ts";
import { SettingTooLowError } from "../base/setting-too-low.ts";
import type { Quanta, RatePpm, TimeMs } from "../base/units.ts";
import type { SnapshotReader, SnapshotWriter } from "../protocol/actor.ts";
import {
  AccountOpened,
  Deposited,
  KeyCreated,
  KeyRevoked,
  LeaderBegan,
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
import { blank, type Message, type MessageOf } from "../protocol/message-schema.ts";
import type { KeyRecord } from "../protocol/payloads.ts";
import {
  AccountRow,
  KeyRow,
  LedgerRow,
  SessionRow,
  type TransferRow,
  WithdrawalAddressRow,
} from "../protocol/snapshot-schema.ts";
import { type Session, Sessions } from "./sessions.ts";
import { TransferBook } from "./transfer-book.ts";
import { progressedTransfer, requestedTransfer, type TransferProgress, type TransferRequest } from "./transfers.ts";
import { addressKey, WithdrawalAddresses } from "./withdrawal-addresses.ts";

export interface Key {
  readonly apiKey: string;
  readonly accountId: number;
  readonly record: KeyRecord;
}

/** The margin ratio of a margin call, for accounts that have not set one. */
const DEFAULT_MARGIN_CALL_PPM = 800_000;

/** The ledger's accounts, balances, sessions, keys and transfers, and how each event changes them. */
export class LedgerState {
  readonly marginTable: MarginTable;
  readonly accountOfAddress = new Map<string, number>();
  readonly addressOfAccount = new Map<number, string>();
  readonly sessions = new Sessions();
  readonly keys = new Map<string, Key>();
  readonly withdrawalAddresses = new WithdrawalAddresses();
  readonly transfers: TransferBook;
  nextAccountId = FIRST_CUSTOMER_ACCOUNT;
  depositedQuanta = 0n;
  withdrawnQuanta = 0n;
  /** Why withdrawals are refused: see GATE. */
  gate: number = GATE.OPEN;
  /** The debts of customers below zero when they last changed. Deficits of milliseconds do not count. */
  deficitQuanta: Quanta = 0;

  /** Accounts whose balance the transaction under way has changed. */
  readonly changedAccounts: number[] = [];

  private balances = new Float64Array(1024);
  /** The ledger's contribution to the margin table, CONTRIBUTION_FIELDS numbers for each account. */
  private contributed = new Float64Array(1024 * CONTRIBUTION_FIELDS);
  private readonly contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
  private readonly keysOfAccount = new Map<number, Map<string, Key>>();
  /** The margin ratio of a margin call, of accounts that have set one. */
  private readonly marginCalls = new Map<number, RatePpm>();
  private readonly dirty = new Map<string, () => { table: string; key: number | string; row: Message | null }>();

  constructor(marginTable: MarginTable, stored: SnapshotReader, recentTransfers?: number) {
    this.marginTable = marginTable;
    this.transfers = new TransferBook((table, key, row) => this.touch(table, key, row), stored, recentTransfers);
  }

  /** Rows that the next snapshot will have. */
  get changedRows(): number {
    return this.dirty.size;
  }

  /** Every account that can have a balance: the two accounts of the house, then those of customers. */
  *accountIds(): Generator<number> {
    yield FEE_ACCOUNT;
    yield INSURANCE_ACCOUNT;
    yield* this.addressOfAccount.keys();
  }

  balance(accountId: number): Quanta {
    return accountId < this.balances.length ? this.balances[accountId] : 0;
  }

  keyCount(accountId: number): number {
    return this.keysOfAccount.get(accountId)?.size ?? 0;
  }

  /** The account's API key that expired first; undefined when none has expired. */
  firstExpiredKey(accountId: number, now: TimeMs): Key | undefined {
    const keys = [...(this.keysOfAccount.get(accountId)?.values() ?? [])];
    const expired = keys.filter(({ record }) => record.expiresAt !== 0 && record.expiresAt <= now);
    return expired.sort((a, b) => a.record.expiresAt - b.record.expiresAt).at(0);
  }

  /** The margin ratio at which the account gets a margin call. */
  marginCallPpm(accountId: number): RatePpm {
    return this.marginCalls.get(accountId) ?? DEFAULT_MARGIN_CALL_PPM;
  }

  /** For the audit: an account and the ratio that it has set on each line, by account. */
  marginCallLines(): string[] {
    const sorted = [...this.marginCalls].sort(([a], [b]) => a - b);
    return sorted.map(([accountId, ratioPpm]) => `${accountId} margin call ${ratioPpm}`);
  }

  apply(event: LedgerEvent, time: TimeMs): void {
    switch (event.type) {
      case AccountOpened.code:
        this.openAccount(event.accountId, event.address, 0);
        this.touchAccount(event.accountId);
        this.touchTotals();
        break;
      case SessionOpened.code:
        this.sessions.add(event);
        this.touch("sessions", event.tokenHash, sessionRow(must(this.sessions.get(event.tokenHash), "session")));
        break;
      case SessionClosed.code:
        this.sessions.remove(event.tokenHash);
        this.touch("sessions", event.tokenHash, null);
        break;
      case KeyCreated.code:
        this.addKey(event);
        this.touch("keys", event.apiKey, keyRow(must(this.keys.get(event.apiKey), "key")));
        break;
      case KeyRevoked.code:
        this.keys.delete(event.apiKey);
        this.keysOfAccount.get(event.accountId)?.delete(event.apiKey);
        this.touch("keys", event.apiKey, null);
        break;
      case Deposited.code:
        this.depositedQuanta += BigInt(event.amountQuanta);
        this.requested(event, event.amountQuanta, time);
        break;
      case WithdrawalRequested.code:
        this.withdrawnQuanta += BigInt(event.amountQuanta);
        this.requested(event, -event.amountQuanta, time);
        break;
      case WithdrawalSent.code:
      case WithdrawalCompleted.code:
        this.progressed(event, time);
        break;
      case MarginCallSet.code:
        this.marginCalls.set(event.accountId, event.ratioPpm);
        this.touchAccount(event.accountId);
        break;
      case WithdrawalAddressAdded.code:
      case WithdrawalAddressRemoved.code:
        this.changeAddress(event, time);
        break;
      case SolvencyChanged.code:
        this.gate = event.gate;
        this.deficitQuanta = event.deficitQuanta;
        this.touchTotals();
        break;
      case LedgerUnsound.code:
        break; // The gateway acts on it.
      case LeaderBegan.code:
        break; // It ends the epoch of the leader before.
    }
  }

  /** MarginTable.debit() has taken `quanta` from the account's equity: the contribution follows. */
  noteDebited(accountId: number, quanta: Quanta): void {
    this.contributed[accountId * CONTRIBUTION_FIELDS] -= quanta;
  }

  /** Brings the margin table to the account's balance. */
  refresh(accountId: number): void {
    this.contribution.equity = this.balance(accountId);
    this.marginTable.setContribution(accountId, this.contributed, accountId * CONTRIBUTION_FIELDS, this.contribution);
  }

  refreshAll(): void {
    for (const accountId of this.accountIds()) this.refresh(accountId);
  }

  /** See Actor.contribute. */
  contribute(sums: MarginTable): void {
    for (const accountId of this.accountIds())
      sums.addAll(accountId, this.contributed, accountId * CONTRIBUTION_FIELDS);
  }

  /** The first difference in the balances, in words; null when there is none. Plain numbers, so that all accounts are quick. */
  faultOfSums(): string | null {
    const money = new ExactSum();
    for (let accountId = 0; accountId < this.balances.length; accountId++) {
      const balance = this.balances[accountId];
      const contributed = this.contributedEquity(accountId);
      if (contributed !== balance) return contributionFault(accountId, contributed, balance);
      if (balance !== 0) money.add(balance);
    }
    const net = this.depositedQuanta - this.withdrawnQuanta;
    return money.total === net ? null : `Σ balances is ${money.total} quanta but deposits − withdrawals are ${net}`;
  }

  /** The account's equity in the margin table from the ledger. Between transactions it equals the balance. */
  contributedEquity(accountId: number): Quanta {
    return this.contributed[accountId * CONTRIBUTION_FIELDS];
  }

  /** See Actor.snapshot. */
  snapshot(writer: SnapshotWriter, most = Number.POSITIVE_INFINITY): boolean {
    let left = most;
    for (const [name, entry] of this.dirty) {
      if (left-- === 0) return false;
      this.dirty.delete(name);
      const { table, key, row } = entry();
      if (row === null) writer.remove(table, key);
      else writer.put(table, key, row);
    }
    return true;
  }

  load(table: string, row: Message): void {
    switch (table) {
      case "ledger": {
        const totals = row as MessageOf<typeof LedgerRow>;
        this.nextAccountId = totals.nextAccountId;
        if (this.transfers.loadTotals(totals)) this.touchTotals();
        this.depositedQuanta = BigInt(totals.depositedQuanta);
        this.withdrawnQuanta = BigInt(totals.withdrawnQuanta);
        this.gate = totals.gate;
        this.deficitQuanta = totals.deficitQuanta;
        break;
      }
      case "accounts": {
        const account = row as MessageOf<typeof AccountRow>;
        if (isCustomer(account.accountId)) this.openAccount(account.accountId, account.address, account.balanceQuanta);
        else this.balances[account.accountId] = account.balanceQuanta;
        this.transfers.loadDeposits(account.accountId, account.depositDay, account.dayDepositsQuanta);
        if (account.marginCallPpm !== 0) this.marginCalls.set(account.accountId, account.marginCallPpm);
        break;
      }
      case "sessions":
        this.sessions.add(row as MessageOf<typeof SessionRow>);
        break;
      case "keys":
        this.addKey(row as MessageOf<typeof KeyRow>);
        break;
      case "withdrawalAddresses": {
        const { accountId, address, label, addedAt, usableAt } = row as MessageOf<typeof WithdrawalAddressRow>;
        this.withdrawalAddresses.add(accountId, { address, label, addedAt, usableAt });
        break;
      }
      case "transfers": {
        const { transfer } = row as MessageOf<typeof TransferRow>;
        if (this.transfers.loadTransfer(transfer)) this.touchAccount(transfer.accountId);
        break;
      }
      default:
        throw new Error(`a snapshot of the ledger holds an unknown table: ${table}`);
    }
  }

  private openAccount(accountId: number, address: string, balanceQuanta: Quanta): void {
    const { maxAccounts } = this.marginTable;
    if (accountId >= maxAccounts)
      throw new SettingTooLowError(`maxAccounts: ${maxAccounts} is too low for the accounts of the data folder`);
    if (accountId >= this.balances.length) this.grow(accountId + 1);
    this.accountOfAddress.set(address, accountId);
    this.addressOfAccount.set(accountId, address);
    this.balances[accountId] = balanceQuanta;
    this.nextAccountId = Math.max(this.nextAccountId, accountId + 1);
  }

  private requested(event: TransferRequest, credit: Quanta, time: TimeMs): void {
    this.transfers.add(requestedTransfer(event, time));
    this.credit(event.accountId, credit);
  }

  private progressed(event: TransferProgress, time: TimeMs): void {
    const { transferId } = event;
    const transfer = must(this.transfers.get(transferId), `transfer ${transferId}`);
    this.transfers.update(progressedTransfer(transfer, event, time));
    this.touchTotals();
  }

  private changeAddress(
    event: MessageOf<typeof WithdrawalAddressAdded> | MessageOf<typeof WithdrawalAddressRemoved>,
    time: TimeMs,
  ): void {
    const { accountId, address } = event;
    const key = addressKey(accountId, address);
    if (event.type === WithdrawalAddressRemoved.code) {
      this.withdrawalAddresses.remove(accountId, address);
      return this.touch("withdrawalAddresses", key, null);
    }
    const entry = { address, label: event.label, addedAt: time, usableAt: event.usableAt };
    this.withdrawalAddresses.add(accountId, entry);
    this.touch("withdrawalAddresses", key, Object.assign(blank(WithdrawalAddressRow), { accountId, ...entry }));
  }

  private addKey({ apiKey, accountId, record }: Key): void {
    const key = { apiKey, accountId, record };
    this.keys.set(apiKey, key);
    const keys = this.keysOfAccount.get(accountId) ?? new Map<string, Key>();
    this.keysOfAccount.set(accountId, keys.set(apiKey, key));
  }

  private credit(accountId: number, quanta: Quanta): void {
    this.balances[accountId] += quanta;
    this.changedAccounts.push(accountId);
    this.touchAccount(accountId);
    this.touchTotals();
  }

  private grow(accounts: number): void {
    const size = Math.max(accounts, this.balances.length * 2);
    const balances = new Float64Array(size);
    balances.set(this.balances);
    this.balances = balances;
    const larger = new Float64Array(size * CONTRIBUTION_FIELDS);
    larger.set(this.contributed);
    this.contributed = larger;
  }

  /** The row is made at the snapshot, when the object of the event holds another event. So this takes only the number. */
  private touchAccount(accountId: number): void {
    this.touch("accounts", accountId, () => this.accountRow(accountId));
  }

  private touchTotals(): void {
    this.touch("ledger", 0, () => {
      const row = blank(LedgerRow);
      row.nextAccountId = this.nextAccountId;
      this.transfers.describe(row);
      row.depositedQuanta = this.depositedQuanta.toString();
      row.withdrawnQuanta = this.withdrawnQuanta.toString();
      row.gate = this.gate;
      row.deficitQuanta = this.deficitQuanta;
      return row;
    });
  }

  private accountRow(accountId: number): Message {
    const row = blank(AccountRow);
    row.accountId = accountId;
    row.address = this.addressOfAccount.get(accountId) ?? "";
    row.balanceQuanta = this.balance(accountId);
    row.marginCallPpm = this.marginCalls.get(accountId) ?? 0;
    const { day, quanta } = this.transfers.depositsOf(accountId);
    row.depositDay = day;
    row.dayDepositsQuanta = quanta;
    return row;
  }

  private touch(table: string, key: number | string, row: Message | null | (() => Message)): void {
    this.dirty.set(`${table}/${key}`, () => ({ table, key, row: typeof row === "function" ? row() : row }));
  }
}

export const contributionFault = (accountId: number, contributed: Quanta, balance: Quanta): string =>
  `account ${accountId}: contributed ${contributed} to the margin table, but its balance is ${balance}`;

function sessionRow(session: Session): Message {
  return Object.assign(blank(SessionRow), session);
}

function keyRow(key: Key): Message {
  return Object.assign(blank(KeyRow), key);
}
