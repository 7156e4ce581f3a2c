import type { TimeMs } from "../base/units.ts";
import { Deposited, type WithdrawalCompleted, type WithdrawalRequested, WithdrawalSent } from "../protocol/events.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import type { Transfer } from "../protocol/payloads.ts";

export type TransferRequest = MessageOf<typeof Deposited> | MessageOf<typeof WithdrawalRequested>;
export type TransferProgress = MessageOf<typeof WithdrawalSent> | MessageOf<typeof WithdrawalCompleted>;

/** The new transfer. A deposit is COMPLETED at once. */
export function requestedTransfer(event: TransferRequest, time: TimeMs): Transfer {
  const { transferId, accountId, amountQuanta, reference } = event;
  const isDeposit = event.type === Deposited.code;
  return {
    transferId,
    accountId,
    kind: isDeposit ? "DEPOSIT" : "WITHDRAWAL",
    amountQuanta,
    address: isDeposit ? "" : event.address,
    reference,
    status: isDeposit ? "COMPLETED" : "PENDING",
    txHash: "",
    createdAt: time,
    updatedAt: time,
  };
}

/** The withdrawal in its next status. */
export function progressedTransfer(transfer: Transfer, event: TransferProgress, time: TimeMs): Transfer {
  if (event.type === WithdrawalSent.code) return { ...transfer, status: "SENT", txHash: event.txHash, updatedAt: time };
  return { ...transfer, status: "COMPLETED", updatedAt: time };
}
