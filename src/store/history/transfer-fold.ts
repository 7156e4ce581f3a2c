import { must, unreachable } from "../../assert.ts";
import {
  progressedTransfer,
  requestedTransfer,
  type TransferProgress,
  type TransferRequest,
} from "../../core/ledger/transfers.ts";
import { Deposited, WithdrawalCompleted, WithdrawalRequested, WithdrawalSent } from "../../core/protocol/events.ts";
import type { Transfer, TransferKind } from "../../core/protocol/payloads.ts";
import type { Database } from "../database/database.ts";
import { REFERENCES_PER_CHUNK, type ReferenceRecord, referenceTo, TransferRecord } from "../database/history-schema.ts";
import { type SeriesPosition, SeriesWriter } from "../database/series.ts";
import type { WriteBatch } from "../database/write-batch.ts";

/** Maintains deposits and withdrawals with their status, and each account's lists of them. */
export class TransferFold {
  private readonly database: Database;
  private readonly lists: Record<TransferKind, SeriesWriter<ReferenceRecord>>;
  /** Transfers that this batch has changed. */
  private readonly changed = new Map<number, TransferRecord>();

  constructor(database: Database) {
    this.database = database;
    this.lists = {
      DEPOSIT: new SeriesWriter(database.deposits, REFERENCES_PER_CHUNK),
      WITHDRAWAL: new SeriesWriter(database.withdrawals, REFERENCES_PER_CHUNK),
    };
  }

  apply(batch: WriteBatch, event: TransferRequest | TransferProgress, place: SeriesPosition, timeMs: number): void {
    switch (event.type) {
      case Deposited.code:
      case WithdrawalRequested.code:
        this.requested(batch, requestedTransfer(event, timeMs), place);
        break;
      case WithdrawalSent.code:
      case WithdrawalCompleted.code:
        this.progressed(event, timeMs);
        break;
      default:
        unreachable(event);
    }
  }

  flush(batch: WriteBatch): void {
    for (const [transferId, record] of this.changed) batch.put(this.database.transfers, transferId, record);
    this.changed.clear();
    this.lists.DEPOSIT.flush(batch);
    this.lists.WITHDRAWAL.flush(batch);
  }

  private requested(batch: WriteBatch, transfer: Transfer, place: SeriesPosition): void {
    const { transferId, kind, accountId, createdAt } = transfer;
    this.changed.set(transferId, { type: TransferRecord.code, transfer, sequence: place.sequence });
    this.lists[kind].append(batch, accountId, place, referenceTo(transferId, createdAt));
  }

  private progressed(event: TransferProgress, timeMs: number): void {
    const { transferId } = event;
    const known = this.changed.get(transferId) ?? this.database.transfers.get(transferId);
    const record = must(known, `withdrawal ${transferId} in the history index`);
    this.changed.set(transferId, { ...record, transfer: progressedTransfer(record.transfer, event, timeMs) });
  }
}
