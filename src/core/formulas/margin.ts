import type { Contribution } from "../accounts/contribution.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta } from "../base/units.ts";
import * as units from "../base/units.ts";
import type { Instrument, RiskTier } from "../protocol/instrument.ts";

const {
  BUY_EXPOSURE,
  BUY_LOSS,
  BUY_LOTS,
  CASH,
  COST,
  ISOLATED_QUANTA,
  LEVERAGE,
  MARGIN_MODE,
  SELL_EXPOSURE,
  SELL_LOSS,
  SELL_LOTS,
  SIZE,
} = columns;
const { ISOLATED } = enums;
const { divCeil, mulDivCeil, PPM } = units;

/** The risk tier of a notional; the last tier when it is beyond all edges. */
export function tierOf(instrument: Instrument, notionalQuanta: Quanta): RiskTier {
  const { riskTiers } = instrument;
  let i = 0;
  while (i < riskTiers.length - 1 && notionalQuanta > riskTiers[i].maxNotionalQuanta) i++;
  return riskTiers[i];
}

/**
 * Initial margin of a notional in quanta: notional ÷ leverage, never below the tier's rate, rounded up (Binance USD-M:
 * notional ÷ leverage, with a maxLeverage per bracket).
 */
export function initialMargin(instrument: Instrument, notionalQuanta: Quanta, leverage: number): Quanta {
  const byLeverage = divCeil(notionalQuanta, leverage);
  const tier = tierOf(instrument, notionalQuanta);
  if (tier.maxLeverage >= leverage) return byLeverage;
  return mulDivCeil(notionalQuanta, tier.initialMarginPpm, PPM);
}

/** Maintenance margin in quanta: notional × rate − deduction, rounded up (Binance, Bybit). Continuous at the tier edges. */
export function maintenanceMargin(instrument: Instrument, notionalQuanta: Quanta): Quanta {
  if (notionalQuanta === 0) return 0;
  const tier = tierOf(instrument, notionalQuanta);
  return mulDivCeil(notionalQuanta, tier.maintenanceMarginPpm, PPM) - tier.maintenanceDeductionQuanta;
}

/** The price at which contribution() values an order, in ticks. */
export const marginPriceAt = (isBuy: boolean, limitTicks: PriceTicks, markTicks: PriceTicks): PriceTicks =>
  isBuy ? limitTicks : Math.max(limitTicks, markTicks);

/** The loss per lot against the mark if an order fills at its limit, in ticks; 0 unless its price is worse than the mark. */
export const lossTicksAt = (isBuy: boolean, limitTicks: PriceTicks, markTicks: PriceTicks): PriceTicks =>
  Math.max(0, isBuy ? limitTicks - markTicks : markTicks - limitTicks);

/**
 * Computes what a position and its resting orders contribute to the account's margin, in quanta, into `out`.
 *
 *     value    = size × mark;
 *     long     = value + open buys;
 *     short    = open sells − value;
 *     initial  = IM(max(long, short)) + open loss + taker fees;   // the last two for lots that increase the position
 *
 * Buys are valued at their limit, sells at max(limit, mark when they came to rest). The open loss is the loss of a fill
 * priced worse than the mark. The side that only reduces the position costs nothing.
 * Sources: the larger side counts (Binance, Bybit); open loss = qty · |min(0, dir · (mark − price))| (Binance).
 *
 * An open isolated position (isolated.ts) contributes only the margin set aside for it, and the margin of its orders.
 */
export function contribution(
  instrument: Instrument,
  row: Float64Array,
  at: number,
  markTicks: PriceTicks,
  out: Contribution,
): Contribution {
  const size = row[at + SIZE];
  const leverage = row[at + LEVERAGE];
  const value = size * markTicks * instrument.quantaPerTickLot;
  const notional = value < 0 ? -value : value;
  out.equity = row[at + CASH] + value;
  out.unrealized = value - row[at + COST];
  const positionInitial = notional === 0 ? 0 : initialMargin(instrument, notional, leverage);
  const buyLots = row[at + BUY_LOTS];
  const sellLots = row[at + SELL_LOTS];
  let orderInitial = 0;
  const isIsolated = size !== 0 && row[at + MARGIN_MODE] === ISOLATED;
  if (buyLots !== 0 || sellLots !== 0) {
    if (isIsolated) orderInitial = isolatedOrderMargin(instrument, row, at, notional, positionInitial);
    else {
      const long = value + row[at + BUY_EXPOSURE];
      const short = row[at + SELL_EXPOSURE] - value;
      const exposure = long > short ? long : short;
      orderInitial =
        (exposure > notional ? initialMargin(instrument, exposure, leverage) : positionInitial) - positionInitial;
    }
    const buyReduces = size < 0 ? -size : 0;
    const sellReduces = size > 0 ? size : 0;
    if (buyLots > buyReduces)
      orderInitial += sideCost(instrument, buyLots, buyLots - buyReduces, row[at + BUY_EXPOSURE], row[at + BUY_LOSS]);
    if (sellLots > sellReduces)
      orderInitial += sideCost(
        instrument,
        sellLots,
        sellLots - sellReduces,
        row[at + SELL_EXPOSURE],
        row[at + SELL_LOSS],
      );
  }
  out.positionInitial = isIsolated ? 0 : positionInitial;
  if (isIsolated) {
    out.equity = -row[at + ISOLATED_QUANTA];
    out.unrealized = 0;
    out.initial = orderInitial;
    out.maintenance = 0;
    return out;
  }
  out.initial = positionInitial + orderInitial;
  out.maintenance = maintenanceMargin(instrument, notional);
  return out;
}

/**
 * The margin that the orders of an isolated position may add: the larger of both sides. One side adds to the position. The
 * other side counts with the lots beyond closing the position, since closing frees the position's margin first (VEGA
 * 0019-MCAL: opposite orders up to the position's size cost nothing, the larger side counts).
 */
function isolatedOrderMargin(
  instrument: Instrument,
  row: Float64Array,
  at: number,
  notional: Quanta,
  positionInitial: Quanta,
): Quanta {
  const size = row[at + SIZE];
  const leverage = row[at + LEVERAGE];
  const addedExposure = row[at + (size > 0 ? BUY_EXPOSURE : SELL_EXPOSURE)];
  const added =
    addedExposure === 0 ? 0 : initialMargin(instrument, notional + addedExposure, leverage) - positionInitial;
  const against = at + (size > 0 ? SELL_LOTS : BUY_LOTS);
  const lots = row[against];
  const openingLots = lots - Math.abs(size);
  if (openingLots <= 0) return added;
  const opened = initialMargin(instrument, mulDivCeil(row[against + 1], openingLots, lots), leverage);
  return Math.max(added, opened);
}

/** Open loss and taker fees, in quanta, of the lots of a side that increase the position. */
function sideCost(instrument: Instrument, lots: number, increasing: number, exposure: Quanta, loss: Quanta): Quanta {
  const lossPart = increasing === lots ? loss : mulDivCeil(loss, increasing, lots);
  const exposurePart = increasing === lots ? exposure : mulDivCeil(exposure, increasing, lots);
  return lossPart + mulDivCeil(exposurePart + lossPart, instrument.takerFeePpm, PPM);
}

/**
 * The mark, in ticks, at which the account's equity equals its maintenance margin, with all other positions unchanged; 0 =
 * none in range. dYdX v4: p' = (e − s·p − MMR_other) ÷ (|s|·MMF − s), with the tier deduction added to the numerator
 * (Binance: + cum). Rounded to the tick that is reached first. In floating point: for display only.
 */
export function liquidationPrice(
  instrument: Instrument,
  sizeLots: number,
  markTicks: PriceTicks,
  equityQuanta: Quanta,
  maintenanceQuanta: Quanta,
): PriceTicks {
  if (sizeLots === 0) return 0;
  const q = instrument.quantaPerTickLot;
  const notionalNow = Math.abs(sizeLots) * markTicks * q;
  const others = maintenanceQuanta - maintenanceMargin(instrument, notionalNow);
  const lastTier = instrument.riskTiers[instrument.riskTiers.length - 1];
  // At the result, the notional may be in another tier. Equity and maintenance are equal at one price only: if not below a
  // tier's upper edge, then above it. So only that edge is tested, and rounding cannot lose a result between two tiers.
  for (const tier of instrument.riskTiers) {
    const rate = tier.maintenanceMarginPpm / PPM;
    const numerator = equityQuanta - sizeLots * markTicks * q - others + tier.maintenanceDeductionQuanta;
    const price = numerator / (q * (Math.abs(sizeLots) * rate - sizeLots));
    if (price <= 0) return 0;
    if (tier !== lastTier && Math.abs(sizeLots) * price * q > tier.maxNotionalQuanta) continue;
    const ticks = sizeLots > 0 ? Math.ceil(price) : Math.floor(price);
    return ticks > instrument.maxPriceTicks ? 0 : ticks;
  }
  return 0;
}

/**
 * The bankruptcy price in ticks, at which closing the position leaves the account's equity per maintenance margin the same:
 * BP = P·(1 − side·MMF·equity ÷ ΣMM) (dYdX v4, keeper/liquidations.go; Lighter's "zero price"). 0 = none in range. For display:
 * liquidations compute theirs for the lots of a step (close-step.ts).
 */
export function bankruptcyPrice(
  instrument: Instrument,
  sizeLots: number,
  markTicks: PriceTicks,
  equityQuanta: Quanta,
  maintenanceQuanta: Quanta,
): PriceTicks {
  if (sizeLots === 0 || maintenanceQuanta <= 0) return 0;
  const lots = Math.abs(sizeLots);
  const perLot = maintenanceMargin(instrument, lots * markTicks * instrument.quantaPerTickLot) / lots;
  const move = (perLot * equityQuanta) / maintenanceQuanta / instrument.quantaPerTickLot;
  const price = sizeLots > 0 ? Math.ceil(markTicks - move) : Math.floor(markTicks + move);
  return price < 1 || price > instrument.maxPriceTicks ? 0 : price;
}
