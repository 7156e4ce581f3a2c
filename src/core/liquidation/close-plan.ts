import { assert } from "../../assert.ts";
import { type LiquidationBid, NOT_IN_BOOK } from "../accounts/liquidation-bids.ts";
import { COST, NONE, SIZE } from "../base/columns.ts";
import { BUY, SELL } from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../base/units.ts";
import * as units from "../base/units.ts";
import { maintenanceMargin } from "../formulas/margin.ts";
import { positionMaintenance } from "../margin/position-margin.ts";
import { liquidationFee } from "../matching/fees.ts";
import { crosses } from "../matching/matching.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const { divCeil, proportion, QUANTA_PER_USDC } = units;

/** Positions up to this notional are closed in one step, larger ones a fifth at a time (Hyperliquid: 20 % above 100k). */
const WHOLE_STEP_QUANTA = 100_000 * QUANTA_PER_USDC;
export const STEPS = 5;
/** A step is enough when it brings equity to a tenth above maintenance margin: else the next small move would need another. */
const BUFFER_DIVISOR = 10;
/** Bids count costs in so many parts of the margin that is freed, so that rounding of fees decides nothing. */
const COST_PARTS = 1000;

/** The next step against a position of a cross account, and the bid that its symbol makes with it. */
export interface ClosePlan extends LiquidationBid {
  readonly equityShare: Quanta;
  /** The bankruptcy price, or NONE. */
  readonly limitTicks: PriceTicks;
  /** The lots of the step that the book takes, no worse than that. */
  readonly bookLots: QuantityLots;
  /** The most that the step closes. */
  readonly stepLots: QuantityLots;
  /** `bookLots` bring the equity back to maintenance margin: nothing else is to do. */
  readonly isEnough: boolean;
}

/** The most that one step closes: all of a small position, a fifth of a large one. */
export function stepLotsOf({ markTicks, instrument }: SymbolState, sizeLots: QuantityLots): QuantityLots {
  const lots = Math.abs(sizeLots);
  const notional = lots * markTicks * instrument.quantaPerTickLot;
  return notional <= WHOLE_STEP_QUANTA ? lots : Math.ceil(lots / STEPS);
}

/**
 * The part of the equity that a position takes along when it is closed: equity × the position's maintenance margin ÷ the
 * account's. So a part that is closed with its share leaves equity per maintenance margin unchanged. `equity` and
 * `maintenance` are those of the account, or of the isolated position. Below zero the share is 0, which closes at the mark
 * and costs nobody anything: the deficit is settled in the symbol whose step of the mark has caused it (MarkSettlement).
 */
export function equityShareOf(state: SymbolState, row: number, equity: Quanta, maintenance: Quanta): Quanta {
  const ownMaintenance = positionMaintenance(state, row);
  assert(ownMaintenance <= maintenance, "a position's margin is a part of its account's");
  return proportion(Math.max(0, equity), ownMaintenance, maintenance);
}

/**
 * The bankruptcy price of a position: the worst whole tick at which it loses no more than `equityShare` against the mark.
 * Rounded in favour of the account. Outside the range of prices it is NONE: then no order in the book is good enough.
 */
export function bankruptcyTicks(
  { markTicks, instrument }: SymbolState,
  sizeLots: QuantityLots,
  equityShare: Quanta,
): PriceTicks {
  const { quantaPerTickLot, maxPriceTicks } = instrument;
  const lossTicks = equityShare / (Math.abs(sizeLots) * quantaPerTickLot);
  const ticks =
    sizeLots > 0
      ? Math.max(1, Math.ceil(markTicks - lossTicks))
      : Math.min(maxPriceTicks, Math.floor(markTicks + lossTicks));
  return ticks >= 1 && ticks <= maxPriceTicks ? ticks : NONE;
}

/**
 * Plans a step against a row's position, given the account's equity and maintenance margin. It looks at price levels, not at
 * their orders: an order whose account cannot bear its fill is removed when the step meets it, and the next plan is right.
 */
export function planClose(state: SymbolState, row: number, equity: Quanta, maintenance: Quanta): ClosePlan {
  const { positions, instrument, markTicks } = state;
  const sizeLots = positions.numbers[row + SIZE];
  const ownMaintenance = positionMaintenance(state, row);
  const equityShare = equityShareOf(state, row, equity, maintenance);
  const limitTicks = bankruptcyTicks(state, sizeLots, equityShare);
  const stepLots = stepLotsOf(state, sizeLots);
  const { lots, lossQuanta, isEnough } = walkBook(state, sizeLots, stepLots, limitTicks, equity, maintenance);
  // A few lots at a time would keep a position open for as long as somebody offers a few.
  const takesIt = lots > 0 && (isEnough || lots * STEPS >= stepLots);
  const freed = ownMaintenance - maintenanceOf(state, Math.abs(sizeLots) - lots);
  const unrealized = sizeLots * markTicks * instrument.quantaPerTickLot - positions.numbers[row + COST];
  return {
    equity,
    maintenance: ownMaintenance,
    cost: takesIt ? Math.round((COST_PARTS * lossQuanta) / Math.max(1, freed)) : NOT_IN_BOOK,
    gain: unrealized / Math.max(1, ownMaintenance),
    equityShare,
    limitTicks,
    bookLots: lots,
    stepLots,
    isEnough,
  };
}

interface Walk {
  readonly lots: QuantityLots;
  readonly lossQuanta: Quanta;
  readonly isEnough: boolean;
}

/**
 * Goes through the book until the fills are enough, `stepLots` are reached, or the bankruptcy price. `lossQuanta`: against the
 * mark, with the liquidation fee.
 */
function walkBook(
  state: SymbolState,
  sizeLots: QuantityLots,
  stepLots: QuantityLots,
  limitTicks: PriceTicks,
  equity: Quanta,
  maintenance: Quanta,
): Walk {
  const { book } = state;
  const side = sizeLots > 0 ? SELL : BUY;
  const all = Math.abs(sizeLots);
  const ofOthers = maintenance - maintenanceOf(state, all);
  const levels = book.opposite(side);
  let lots = 0;
  let lossQuanta = 0;
  for (let price = limitTicks === NONE ? NONE : levels.best(); price !== NONE; price = levels.next(price)) {
    if (lots === stepLots || !crosses(side, limitTicks, price)) break;
    const levelLots = Math.min(book.executableLots(price), stepLots - lots);
    const perLot = lossPerLot(state, side, price, limitTicks);
    const isEnoughWith = (more: QuantityLots): boolean => {
      const left = ofOthers + maintenanceOf(state, all - lots - more);
      return equity - lossQuanta - more * perLot >= left + left / BUFFER_DIVISOR;
    };
    if (isEnoughWith(levelLots)) {
      const least = leastLots(state, all, lots + fewest(levelLots, isEnoughWith));
      const taken = Math.min(least, lots + levelLots);
      return { lots: taken, lossQuanta: lossQuanta + (taken - lots) * perLot, isEnough: true };
    }
    lots += levelLots;
    lossQuanta += levelLots * perLot;
  }
  return { lots, lossQuanta, isEnough: false };
}

/** The loss of a lot against the mark at `price`, with the liquidation fee. */
function lossPerLot(state: SymbolState, side: number, price: PriceTicks, limitTicks: PriceTicks): Quanta {
  const { instrument, markTicks } = state;
  const { quantaPerTickLot } = instrument;
  const ticks = side === SELL ? markTicks - price : price - markTicks;
  return ticks * quantaPerTickLot + liquidationFee(instrument, side, 1, price * quantaPerTickLot, limitTicks);
}

/** The fewest of 1 to `most` lots that are enough; `most` are. */
function fewest(most: QuantityLots, isEnough: (lots: QuantityLots) => boolean): QuantityLots {
  let low = 1;
  let high = most;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isEnough(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}

/** At least the smallest order, and all if the rest would be smaller than that. */
function leastLots({ instrument, markTicks }: SymbolState, all: QuantityLots, lots: QuantityLots): QuantityLots {
  const { minQuantityLots, minNotionalQuanta, quantaPerTickLot } = instrument;
  const least = Math.max(minQuantityLots, divCeil(minNotionalQuanta, markTicks * quantaPerTickLot));
  const closed = Math.max(lots, least);
  return all - closed < least ? all : closed;
}

const maintenanceOf = ({ instrument, markTicks }: SymbolState, lots: QuantityLots): Quanta =>
  maintenanceMargin(instrument, lots * markTicks * instrument.quantaPerTickLot);
