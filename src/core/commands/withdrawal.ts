import { CONTRIBUTED_INITIAL, NONE } from "../base/columns.ts";
import { payFunding } from "../margin/funding-payment.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { PrepareWithdrawal } from "../protocol/commands.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import { Done } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/**
 * Lets the cells say what the account may withdraw, as far as it lies with this symbol: at the last mark, and without the
 * funding that it owes. Where the account has margin in use, for a cross position or for orders in the book, it is refused
 * as long as no new risk is taken: nobody vouches for the mark by which the rest would be free. An isolated position does
 * not count: what it may lose is set aside.
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
