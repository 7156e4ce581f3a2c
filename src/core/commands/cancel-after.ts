import { applyCancelAfterSet } from "../apply/order-events.ts";
import { NONE } from "../base/columns.ts";
import { REASON_CANCEL_AFTER } from "../base/enums.ts";
import type { TimeMs } from "../base/units.ts";
import { closeAllOrders } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { CancelAfter } from "../protocol/commands.ts";
import { CancelAfterSet } from "../protocol/events.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { Done } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const set = blank(CancelAfterSet);

/** Sets, renews or (timeoutMs 0) clears the account's cancel-after timer in this symbol. */
export function setCancelAfter(
  state: SymbolState,
  command: MessageOf<typeof CancelAfter>,
  transaction: Transaction,
): void {
  const { accountId, timeoutMs } = command;
  // Transaction time, because the timer is compared with it: it may be ahead of the machine's clock (see ActorWorker).
  const cancelAt = timeoutMs === 0 ? 0 : transaction.time + timeoutMs;
  if (state.cancelSwitches.of(accountId) !== cancelAt) setSwitch(state, accountId, cancelAt, transaction);
  transaction.reply({ type: Done.code });
}

/**
 * Fires the timers whose time has come: cancels all open orders of their accounts, untriggered ones included (as Binance's
 * countdownCancelAll), and clears the timers. Runs before the rest of a transaction. If one transaction has no room for
 * all, the next ones go on; until then nothing trades, see refuseWhileHalted().
 */
export function fireCancelSwitches(state: SymbolState, transaction: Transaction): void {
  while (!state.progress.isLong) {
    const accountId = state.cancelSwitches.firstDue(transaction.time);
    if (accountId === undefined) break;
    const row = state.positions.find(accountId);
    if (row !== NONE) closeAllOrders(state, transaction, row, REASON_CANCEL_AFTER);
    setSwitch(state, accountId, 0, transaction);
  }
  state.contributions.trackDirty();
}

function setSwitch(state: SymbolState, accountId: number, cancelAt: TimeMs, transaction: Transaction): void {
  set.accountId = accountId;
  set.cancelAt = cancelAt;
  applyCancelAfterSet(state, set);
  transaction.emit(set);
}
