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

// Filled in again for each event: a turn hands it on before it goes on (see Turn).
const set = blank(CancelAfterSet);

/** Arms, arms again or disarms the account's switch in this symbol. To disarm what is not armed changes nothing. */
export function setCancelAfter(
  state: SymbolState,
  command: MessageOf<typeof CancelAfter>,
  transaction: Transaction,
): void {
  const { accountId, timeoutMs } = command;
  // By the clock that it will be compared with: the log's may be ahead of the machine's (see ActorWorker).
  const cancelAt = timeoutMs === 0 ? 0 : transaction.time + timeoutMs;
  if (state.cancelSwitches.of(accountId) !== cancelAt) setSwitch(state, accountId, cancelAt, transaction);
  transaction.reply({ type: Done.code });
}

/**
 * Fires the switches whose time has come, before anything else of a turn: cancels all open orders of their accounts,
 * also those that wait for a price (as Binance's countdownCancelAll), and disarms them. Those that a long turn has no
 * room for come in the next ones; until then nothing trades, see refuseWhileHalted.
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
