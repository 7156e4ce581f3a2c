import { CONTRIBUTED_INITIAL, NONE } from "../base/columns.ts";
import { payFunding } from "../margin/funding-payment.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { PrepareWithdrawal } from "../protocol/commands.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import { Done } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/**
 * Brings the account's part of the margin table up to date before the ledger checks a withdrawal: at the current mark,
 * with owed funding paid. While the symbol takes no new risk, its mark may be wrong. Then it refuses if the account uses
 * margin here, for a cross position or open orders. An isolated position does not count: its loss is set aside already.
 */
export function prepareWithdrawal(
  state: SymbolState,
  { accountId }: MessageOf<typeof PrepareWithdrawal>,
  transaction: Transaction,
): void {
  const row = state.positions.find(accountId);
  if (row !== NONE) {
    state.contributions.refreshMark(row);
    const initialQuanta = state.positions.numbers[row + CONTRIBUTED_INITIAL];
    if (initialQuanta !== 0 && refuseWhileHalted(state, transaction, false)) return;
    payFunding(state, transaction, row);
  }
  transaction.reply({ type: Done.code });
}
