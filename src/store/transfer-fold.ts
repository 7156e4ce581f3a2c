import { must, unreachable } from "../assert.ts";
import {
  Deposited,
  type Transfer,
  type TransferKind,
  type TransferStatus,
  WithdrawalCompleted,
  WithdrawalRequested,
  WithdrawalSent,
} from "../core/messages.ts";
import type { MessageOf } from "../core/shape.ts";
import type { Database } from "./database.ts";
import { REFERENCES_PER_CHUNK, type ReferenceRecord, referenceTo, TransferRecord } from "./rows.ts";
import { type Place, SeriesWriter } from "./series.ts";
import type { WriteBatch } from "./write-batch.ts";

type Request = MessageOf<typeof Deposited> | MessageOf<typeof WithdrawalRequested>;
type TransferEvent = Request | MessageOf<typeof WithdrawalSent> | MessageOf<typeof WithdrawalCompleted>;

/** Deposits and withdrawals, as far as they have come, and every account's lists of them. */
export class TransferFold {
  private readonly database: Database;
  private readonly lists: Record<TransferKind, SeriesWriter<ReferenceRecord>>;
  /** Transfers of this batch. */
  private readonly touched = new Map<number, TransferRecord>();

  constructor(database: Database) {
    this.database = database;
    this.lists = {
      DEPOSIT: new SeriesWriter(database.deposits, REFERENCES_PER_CHUNK),
      WITHDRAWAL: new SeriesWriter(database.withdrawals, REFERENCES_PER_CHUNK),
    };
  }

  apply(batch: WriteBatch, event: TransferEvent, place: Place, timeMs: number): void {
    switch (event.type) {
      case Deposited.code:
        this.requested(batch, event, place, timeMs, { kind: "DEPOSIT", status: "COMPLETED", address: "" });
        break;
      case WithdrawalRequested.code:
        this.requested(batch, event, place, timeMs, { kind: "WITHDRAWAL", status: "PENDING", address: event.address });
        break;
      case WithdrawalSent.code:
        this.progressed(event.transferId, "SENT", timeMs).txHash = event.txHash;
        break;
      case WithdrawalCompleted.code:
        this.progressed(event.transferId, "COMPLETED", timeMs);
        break;
      default:
        unreachable(event);
    }
  }

  flush(batch: WriteBatch): void {
    for (const [transferId, record] of this.touched) batch.put(this.database.transfers, transferId, record);
    this.touched.clear();
    this.lists.DEPOSIT.flush(batch);
    this.lists.WITHDRAWAL.flush(batch);
  }

  private requested(
    batch: WriteBatch,
    { transferId, accountId, amountQuanta, reference }: Request,
    place: Place,
    timeMs: number,
    nature: Pick<Transfer, "kind" | "status" | "address">,
  ): void {
    const times = { createdAt: timeMs, updatedAt: timeMs };
    const transfer = { transferId, accountId, amountQuanta, reference, txHash: "", ...nature, ...times };
    this.touched.set(transferId, { type: TransferRecord.code, transfer, sequence: place.sequence });
    this.lists[nature.kind].append(batch, accountId, place, referenceTo(transferId, timeMs));
  }

  /** The transfer, which has come further. */
  private progressed(transferId: number, status: TransferStatus, timeMs: number): Transfer {
    const known = this.touched.get(transferId) ?? this.database.transfers.get(transferId);
    const record = must(known, `withdrawal ${transferId} in the history index`);
    this.touched.set(transferId, record);
    const { transfer } = record;
    transfer.status = status;
    transfer.updatedAt = timeMs;
    return transfer;
  }
}
