import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { must } from "../../assert.ts";
import { LEDGER } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { progressedTransfer, requestedTransfer } from "../../core/ledger/transfers.ts";
import { ReadWithdrawals } from "../../core/protocol/commands.ts";
import {
  Deposited,
  type LedgerEvent,
  WithdrawalCompleted,
  WithdrawalRequested,
  WithdrawalSent,
} from "../../core/protocol/events.ts";
import { blank } from "../../core/protocol/message-schema.ts";
import type { Transfer } from "../../core/protocol/payloads.ts";
import { WithdrawalsPage } from "../../core/protocol/replies.ts";
import { replyOf, requestPages } from "./request.ts";

type Listener = (transfer: Transfer, transaction: ReleasedTransaction) => void;

/** Reports each deposit and withdrawal that changes. It keeps pending withdrawals, because later events only have their id. */
export class Transfers {
  /** Withdrawals that are not completed, by transfer id. */
  private readonly pending = new Map<number, Transfer>();
  private readonly listeners: Listener[] = [];

  constructor(engine: Engine) {
    engine.onReleased((transaction) => this.fold(transaction));
  }

  /** Resolves when the pending withdrawals of the ledger were read. No transfer may happen there until then. */
  static async open(engine: Engine): Promise<Transfers> {
    const transfers = new Transfers(engine);
    const command = (from: number) => ({ ...blank(ReadWithdrawals), from });
    await requestPages(engine, LEDGER, command, (transaction) => {
      const { page } = replyOf(transaction, WithdrawalsPage);
      for (const transfer of page.withdrawals) transfers.pending.set(transfer.transferId, transfer);
      return page.next;
    });
    return transfers;
  }

  /** `listener` gets the transfer as of the transaction that is being released. */
  onChanged(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** The withdrawal as of the last released transaction. Undefined when it is completed or does not exist. */
  pendingWithdrawal(transferId: number): Transfer | undefined {
    return this.pending.get(transferId);
  }

  private fold(transaction: ReleasedTransaction): void {
    if (transaction.actorId !== LEDGER) return;
    for (let i = 0; i < transaction.eventCount; i++) {
      const transfer = this.apply(transaction.messages[i] as LedgerEvent, transaction.time);
      if (transfer !== null) for (const listener of this.listeners) listener(transfer, transaction);
    }
  }

  /** Null: the event concerns no transfer. */
  private apply(event: LedgerEvent, time: TimeMs): Transfer | null {
    switch (event.type) {
      case Deposited.code:
        return requestedTransfer(event, time);
      case WithdrawalRequested.code:
        return this.keep(requestedTransfer(event, time));
      case WithdrawalSent.code:
      case WithdrawalCompleted.code: {
        const { transferId } = event;
        const before = must(this.pending.get(transferId), `withdrawal ${transferId}`);
        return this.keep(progressedTransfer(before, event, time));
      }
      default:
        return null;
    }
  }

  private keep(withdrawal: Transfer): Transfer {
    if (withdrawal.status === "COMPLETED") this.pending.delete(withdrawal.transferId);
    else this.pending.set(withdrawal.transferId, withdrawal);
    return withdrawal;
  }
}
