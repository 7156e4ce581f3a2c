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
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { Transfer, WithdrawalList } from "../../core/protocol/payloads.ts";
import { WithdrawalsPage } from "../../core/protocol/replies.ts";
import { replyOf, request } from "./request.ts";

type Listener = (transfer: Transfer, transaction: ReleasedTransaction) => void;

/** Tells of each deposit and withdrawal whose state changes: of a withdrawal that gets on, events say no more than its id. */
export class Transfers {
  /** Withdrawals that are not complete. */
  private readonly underWay = new Map<number, Transfer>();
  private readonly listeners: Listener[] = [];

  constructor(engine: Engine) {
    engine.onReleased((transaction) => this.fold(transaction));
  }

  /** Resolves when the ledger has told which withdrawals are under way. Nothing may happen there until then. */
  static async open(engine: Engine): Promise<Transfers> {
    const transfers = new Transfers(engine);
    for (let from: number | null = 0; from !== null; ) {
      const command: MessageOf<typeof ReadWithdrawals> = { type: ReadWithdrawals.code, from };
      const page: WithdrawalList = await request(engine, LEDGER, command, (transaction) => {
        return replyOf<MessageOf<typeof WithdrawalsPage>>(transaction, WithdrawalsPage.code).page;
      });
      for (const transfer of page.withdrawals) transfers.underWay.set(transfer.transferId, transfer);
      from = page.next;
    }
    return transfers;
  }

  /** The transfer as of the turn, which is being released. */
  onChanged(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** The withdrawal as of the last turn that was released; undefined when it is none, or complete. */
  withdrawalUnderWay(transferId: number): Transfer | undefined {
    return this.underWay.get(transferId);
  }

  private fold(transaction: ReleasedTransaction): void {
    if (transaction.actorId !== LEDGER) return;
    for (let i = 0; i < transaction.eventCount; i++) {
      const transfer = this.apply(transaction.messages[i] as LedgerEvent, transaction.time);
      if (transfer !== null) for (const listener of this.listeners) listener(transfer, transaction);
    }
  }

  /** Null: the event is of no transfer. */
  private apply(event: LedgerEvent, time: TimeMs): Transfer | null {
    switch (event.type) {
      case Deposited.code:
        return requestedTransfer(event, time);
      case WithdrawalRequested.code:
        return this.keep(requestedTransfer(event, time));
      case WithdrawalSent.code:
      case WithdrawalCompleted.code: {
        const { transferId } = event;
        const before = must(this.underWay.get(transferId), `withdrawal ${transferId}`);
        return this.keep(progressedTransfer(before, event, time));
      }
      default:
        return null;
    }
  }

  private keep(withdrawal: Transfer): Transfer {
    if (withdrawal.status === "COMPLETED") this.underWay.delete(withdrawal.transferId);
    else this.underWay.set(withdrawal.transferId, withdrawal);
    return withdrawal;
  }
}
