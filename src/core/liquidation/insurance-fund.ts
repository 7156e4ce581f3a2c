import { COST, NONE, SIZE } from "../base/columns.ts";
import { BUY, INSURANCE_ACCOUNT, SELL } from "../base/enums.ts";
import { PPM, type PriceTicks, type Quanta, type QuantityLots } from "../base/units.ts";
import { breakEvenTicks } from "../margin/bankruptcy-price.ts";
import { refreshFund } from "../margin/deficit.ts";
import { TRADE_TERMS } from "../matching/matching.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { STEPS } from "./close-plan.ts";
import type { DeleveragingQueue } from "./deleveraging.ts";
import { lotsBeyondLimits } from "./fund-limits.ts";
import { closeInBook } from "./house-order.ts";
import { transferPosition } from "./position-transfer.ts";

/** The fund sells at most this part of the price band away from the mark: a tenth. */
const BAND_DIVISOR = 10;

/**
 * Closes a fifth of the fund's position, once a scan. The fund keeps what nobody bids for near the mark, within its limits.
 */
export function unwindFund(state: SymbolState, transaction: Transaction, queue: DeleveragingQueue): void {
  const { positions, marginTable } = state;
  const row = positions.find(INSURANCE_ACCOUNT);
  const sizeLots = row === NONE ? 0 : positions.numbers[row + SIZE];
  if (sizeLots === 0) return;
  refreshFund(state);
  if (!marginTable.readConsistent(INSURANCE_ACCOUNT)) return;
  // Past its limits the fund is no counterparty any more: the other side closes at the mark, which costs nobody anything.
  const excessLots = lotsBeyondLimits(state, sizeLots);
  if (excessLots > 0) {
    transferPosition(state, transaction, queue, row, excessLots, 0);
    return;
  }
  const limitTicks = worstUnwindTicks(state, sizeLots, positions.numbers[row + COST]);
  const best = state.book.opposite(sizeLots > 0 ? SELL : BUY).best();
  // An order that cannot trade would only fill the log.
  if (best < 0 || (sizeLots > 0 ? best < limitTicks : best > limitTicks)) return;
  closeInBook(state, transaction, row, Math.ceil(Math.abs(sizeLots) / STEPS), limitTicks, TRADE_TERMS);
}

/**
 * The worst price at which the fund closes a position of `costQuanta`: where it gets back its cost, near the mark. It does not
 * sell at a loss. So an attacker who lets accounts fail cannot buy back from the fund for less than these accounts lost.
 */
function worstUnwindTicks(
  { instrument, markTicks }: SymbolState,
  sizeLots: QuantityLots,
  costQuanta: Quanta,
): PriceTicks {
  const { maxPriceTicks, priceBandPpm } = instrument;
  const costTicks = breakEvenTicks(instrument, sizeLots, costQuanta);
  const farTicks = Math.floor((markTicks * priceBandPpm) / BAND_DIVISOR / PPM);
  return sizeLots > 0
    ? Math.max(1, markTicks - farTicks, costTicks)
    : Math.min(maxPriceTicks, markTicks + farTicks, costTicks);
}
