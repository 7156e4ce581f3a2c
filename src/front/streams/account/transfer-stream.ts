import type { Transfer } from "../../../core/protocol/payloads.ts";
import { transferJson } from "../../json/json-writers.ts";
import { RecentStream } from "./recent-stream.ts";

/** An account's deposits and withdrawals: the last ones in their current state, then each new or changed one. */
export class TransferStream extends RecentStream<Transfer> {
  protected override merge(before: readonly Transfer[], after: readonly Transfer[]): Transfer[] {
    const latest = new Map([...before, ...after].map((transfer) => [transfer.transferId, transfer]));
    return [...latest.values()].sort((a, b) => a.transferId - b.transferId);
  }

  protected override text(transfer: Transfer): string {
    return transferJson(transfer);
  }
}
