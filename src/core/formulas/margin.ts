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

/** The tier that a notional falls into; past the last edge, the last tier. */
export function tierOf(instrument: Instrument, notionalQuanta: Quanta): RiskTier {
  const { riskTiers } = instrument;
  let i = 0;
  while (i < riskTiers.length - 1 && notionalQuanta > riskTiers[i].maxNotionalQuanta) i++;
  return riskTiers[i];
}

/**
 * Initial margin of a notional: notional ÷ leverage, never below the tier's rate, rounded up.
 * Binance USD-M: IM = notional ÷ leverage; the tier bound is each exchange's own maxLeverage per bracket.
 */
export function initialMargin(instrument: Instrument, notionalQuanta: Quanta, leverage: number): Quanta {
  const byLeverage = divCeil(notionalQuanta, leverage);
  const tier = tierOf(instrument, notionalQuanta);
  if (tier.maxLeverage >= leverage) return byLeverage;
  return mulDivCeil(notionalQuanta, tier.initialMarginPpm, PPM);
}

/** Maintenance margin: notional × rate − deduction (Binance, Bybit), rounded up; continuous at tier edges. */
export function maintenanceMargin(instrument: Instrument, notionalQuanta: Quanta): Quanta {
  if (notionalQuanta === 0) return 0;
  const tier = tierOf(instrument, notionalQuanta);
  return mulDivCeil(notionalQuanta, tier.maintenanceMarginPpm, PPM) - tier.maintenanceDeductionQuanta;
}

/** The price that an order counts at in contribution(). */
export const marginPriceAt = (isBuy: boolean, limitTicks: PriceTicks, markTicks: PriceTicks): PriceTicks =>
  isBuy ? limitTicks : Math.max(limitTicks, markTicks);

/** What each of its lots would lose against the mark, in ticks; 0 unless it is priced through it. */
export const lossTicksAt = (isBuy: boolean, limitTicks: PriceTicks, markTicks: PriceTicks): PriceTicks =>
  Math.max(0, isBuy ? limitTicks - markTicks : markTicks - limitTicks);

/**
 * What a position and its resting orders contribute to the account's cells, into `out`.
 *
 *     value    = size × mark
 *     long     = value + open buys          short = open sells − value
 *     initial  = IM(max(long, short)) + open loss + taker fees of what increases the position
 *
 * Buys are valued at their limit, sells at max(limit, mark) as it was when they came to rest; the open loss is what an
 * order priced through the mark would lose on its fill. The side that only reduces the position costs nothing.
 * Binance, Bybit: the larger side counts; Binance: open loss = qty · |min(0, dir · (mark − price))|.
 *
 * An open isolated position (isolated.ts) takes part with what it holds back, and with the margin of its orders only.
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
 * The larger of what the two sides would add to the margin of isolated positions: one side on top of the position, the
 * other with what it has beyond closing it, since the position's margin comes free only as it closes (VEGA 0019-MCAL:
 * orders up to the position's size on the other side cost nothing, the larger side counts).
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

/** Open loss and taker fees of the part of a side that increases the position. */
function sideCost(instrument: Instrument, lots: number, increasing: number, exposure: Quanta, loss: Quanta): Quanta {
  const lossPart = increasing === lots ? loss : mulDivCeil(loss, increasing, lots);
  const exposurePart = increasing === lots ? exposure : mulDivCeil(exposure, increasing, lots);
  return lossPart + mulDivCeil(exposurePart + lossPart, instrument.takerFeePpm, PPM);
}

/**
 * The mark at which the account's equity meets its maintenance margin, all other positions held still; 0 = none in
 * range. dYdX v4: p' = (e − s·p − MMR_other) ÷ (|s|·MMF − s), here with the tier deduction d added to the numerator
 * (Binance: + cum). Rounded towards the side that is reached first. Display and reference only: floating point.
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
  // The notional at the answer may lie in another tier. Equity and maintenance meet once: if not below a tier's upper
  // edge, then above it. So only that edge is looked at, and rounding cannot lose an answer between two tiers.
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
 * The price at which closing the position leaves the account's equity per maintenance margin unchanged:
 * BP = P·(1 − side·MMF·equity ÷ ΣMM) (dYdX v4, keeper/liquidations.go; Lighter's "zero price"). 0 = none in range.
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
