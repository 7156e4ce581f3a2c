import { createHash } from "node:crypto";
import { must } from "../../assert.ts";
import type { Quanta, TimeMs } from "../base/units.ts";
import type { SnapshotReader } from "../protocol/actor.ts";
import { blank, type Message, type MessageOf } from "../protocol/message-schema.ts";
import type { Transfer } from "../protocol/payloads.ts";
import { type LedgerRow, SettledTransferRow, TransferRow } from "../protocol/snapshot-schema.ts";

/**
 * The last transfers stay in memory, those with the highest ids. The digest lists them and adds up the older ones. So another
 * number would give another digest of the same log: it stays for ever.
 */
export const RECENT_TRANSFERS = 1000;
/**
 * The table of settled transfers with a reference that are no longer recent, by referenceKey(). A start does not load tables
 * whose names begin so: see Snapshots.load().
 */
const SETTLED_TRANSFERS = "~transfers";
const DAY_MS = 24 * 60 * 60 * 1000;
const SUM_BITS = 256;

interface DayOfDeposits {
  /** UTC days since the epoch. */
  day: number;
  quanta: Quanta;
}

/** Marks a row for the next snapshot. `row` is called when it is handed over; null = the row is removed. */
type Touch = (table: string, key: number | string, row: (() => Message) | null) => void;

/**
 * Deposits and withdrawals. In memory are the withdrawals in progress and the last RECENT_TRANSFERS. An older settled transfer
 * leaves memory when a snapshot has stored its row. From then on a repeated reference finds it in the database.
 *
 * Which transfers are recent follows from the events alone, so the digest does not depend on when rows were stored.
 */
export class TransferBook {
  /** Withdrawals that are not completed, oldest first. */
  readonly pending = new Map<number, Transfer>();
  nextTransferId = 1;
  /** By transfer id, in ascending order: the pending and the recent ones. */
  private readonly transfers = new Map<number, Transfer>();
  /** By referenceKey(): these, and those whose row is not stored yet. */
  private readonly byReference = new Map<string, Transfer>();
  private readonly pendingOfAccount = new Map<number, number>();
  /** Each account's deposits on its latest UTC day with a deposit. */
  private readonly deposits = new Map<number, DayOfDeposits>();
  /** Transfers in `byReference` that are no longer in `transfers`. */
  private unstored = 0;
  /** The keys of those whose rows the snapshot in progress has. */
  private handedOver: string[] = [];
  /** Settled transfers that are no longer recent: how many, and the sum of their hashes. */
  private olderCount = 0;
  private olderSum = 0n;
  /** The snapshot is of an older version: its accounts do not have their deposits of the day. */
  private countsDepositsOfRows = false;
  private readonly recentCount: number;
  private readonly stored: SnapshotReader;
  private readonly touch: Touch;

  constructor(touch: Touch, stored: SnapshotReader, recentCount = RECENT_TRANSFERS) {
    this.touch = touch;
    this.stored = stored;
    this.recentCount = recentCount;
  }

  /** How many are in memory. */
  get size(): number {
    return this.transfers.size + this.unstored;
  }

  /** The transfer, if it is pending or recent. */
  get(transferId: number): Transfer | undefined {
    return this.transfers.get(transferId);
  }

  /** The account's transfer with this reference, however old it is. May read the database. */
  ofReference(request: { accountId: number; kind: string; reference: string }): Transfer | undefined {
    const key = referenceKey(request);
    const transfer = this.byReference.get(key);
    if (transfer !== undefined) return transfer;
    return (this.stored.find(SETTLED_TRANSFERS, key) as MessageOf<typeof SettledTransferRow> | undefined)?.transfer;
  }

  /** How many withdrawals of the account are not completed. */
  pendingCount(accountId: number): number {
    return this.pendingOfAccount.get(accountId) ?? 0;
  }

  /** Deposits of the account on the UTC day of `time`. */
  depositedOnDay(accountId: number, time: TimeMs): Quanta {
    const entry = this.deposits.get(accountId);
    return entry !== undefined && entry.day === dayOf(time) ? entry.quanta : 0;
  }

  /** The account's latest UTC day with a deposit, and the deposits of that day. */
  depositsOf(accountId: number): Readonly<DayOfDeposits> {
    return this.deposits.get(accountId) ?? NO_DEPOSITS;
  }

  /** A new transfer. Ids follow one another. */
  add(transfer: Transfer): void {
    this.keep(transfer);
    this.countDeposit(transfer);
    this.touchTransfer(transfer.transferId);
    const leaving = this.transfers.get(this.nextTransferId - 1 - this.recentCount);
    if (leaving !== undefined) this.leave(leaving);
  }

  /** The transfer in its next status. */
  update(transfer: Transfer): void {
    this.keep(transfer);
    this.touchTransfer(transfer.transferId);
    this.leave(transfer);
  }

  /** See Actor.snapshotStored. */
  snapshotStored(): void {
    for (const key of this.handedOver) this.byReference.delete(key);
    this.unstored -= this.handedOver.length;
    this.handedOver = [];
  }

  /** Fills in the fields of the ledger's row. */
  describe(row: MessageOf<typeof LedgerRow>): void {
    row.nextTransferId = this.nextTransferId;
    row.olderTransfers = this.olderCount;
    row.olderTransfersSum = this.olderSum.toString(16);
  }

  /** Before the rows of accounts and transfers. Returns whether the row must be written anew. */
  loadTotals(row: MessageOf<typeof LedgerRow>): boolean {
    this.nextTransferId = row.nextTransferId;
    this.olderCount = row.olderTransfers;
    this.countsDepositsOfRows = row.olderTransfersSum === "";
    this.olderSum = BigInt(`0x${row.olderTransfersSum || "0"}`);
    return this.countsDepositsOfRows;
  }

  loadDeposits(accountId: number, day: number, quanta: Quanta): void {
    if (day !== 0) this.deposits.set(accountId, { day, quanta });
  }

  /** Returns whether the account's row must be written anew. */
  loadTransfer(transfer: Transfer): boolean {
    this.keep(transfer);
    // Folders of older versions have a row of each transfer in this table.
    this.leave(transfer);
    if (this.countsDepositsOfRows) this.countDeposit(transfer);
    return this.countsDepositsOfRows;
  }

  /** For the audit, on each line: the pending and the recent transfers by id, then the sum of all others. */
  *lines(): Generator<string> {
    for (const transfer of this.transfers.values()) yield lineOf(transfer);
    if (this.olderCount > 0) yield `${this.olderCount} older ${this.olderSum.toString(16)}\n`;
  }

  private keep(transfer: Transfer): void {
    const { transferId, accountId } = transfer;
    this.transfers.set(transferId, transfer);
    if (transfer.reference !== "") this.byReference.set(referenceKey(transfer), transfer);
    this.nextTransferId = Math.max(this.nextTransferId, transferId + 1);
    const wasPending = this.pending.has(transferId);
    if (isSettled(transfer)) this.pending.delete(transferId);
    else this.pending.set(transferId, transfer);
    const change = Number(this.pending.has(transferId)) - Number(wasPending);
    if (change === 0) return;
    const count = this.pendingCount(accountId) + change;
    if (count === 0) this.pendingOfAccount.delete(accountId);
    else this.pendingOfAccount.set(accountId, count);
  }

  /** Takes the transfer out, if it is settled and no longer recent. */
  private leave(transfer: Transfer): void {
    const { transferId, reference } = transfer;
    if (!isSettled(transfer) || transferId >= this.nextTransferId - this.recentCount) return;
    this.transfers.delete(transferId);
    this.touch("transfers", transferId, null);
    this.olderCount++;
    this.olderSum = BigInt.asUintN(SUM_BITS, this.olderSum + hashOf(lineOf(transfer)));
    if (reference === "") return;
    const key = referenceKey(transfer);
    this.unstored++;
    this.touch(SETTLED_TRANSFERS, key, () => {
      this.handedOver.push(key);
      return { ...blank(SettledTransferRow), transfer };
    });
  }

  private countDeposit({ accountId, kind, amountQuanta, createdAt }: Transfer): void {
    if (kind !== "DEPOSIT") return;
    const day = dayOf(createdAt);
    const entry = this.deposits.get(accountId);
    if (entry !== undefined && entry.day === day) entry.quanta += amountQuanta;
    else if (entry === undefined || entry.day < day) this.deposits.set(accountId, { day, quanta: amountQuanta });
  }

  private touchTransfer(transferId: number): void {
    this.touch("transfers", transferId, () => {
      return { ...blank(TransferRow), transfer: must(this.transfers.get(transferId), "transfer") };
    });
  }
}

const NO_DEPOSITS: DayOfDeposits = { day: 0, quanta: 0 };

/** Deposits and withdrawals have separate references. */
export function referenceKey(transfer: { accountId: number; kind: string; reference: string }): string {
  return `${transfer.accountId}/${transfer.kind}/${transfer.reference}`;
}

const dayOf = (time: TimeMs): number => Math.floor(time / DAY_MS);
const isSettled = ({ status }: Transfer): boolean => status === "COMPLETED" || status === "FAILED";
const lineOf = ({ transferId, accountId, amountQuanta, status }: Transfer): string =>
  `${transferId} ${accountId} ${amountQuanta} ${status}\n`;
const hashOf = (text: string): bigint => BigInt(`0x${createHash("sha256").update(text).digest("hex")}`);
