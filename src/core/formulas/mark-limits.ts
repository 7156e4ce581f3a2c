import * as enums from "../base/enums.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import * as units from "../base/units.ts";
import type { Instrument } from "../protocol/instrument.ts";

const { BUY, SELL } = enums;
const { PPM } = units;

/** The worst price that an aggressive order may trade at, in ticks: mark × (1 ± band), rounded into the band. */
export function bandEdge({ priceBandPpm, maxPriceTicks }: Instrument, side: number, mark: PriceTicks): PriceTicks {
  if (side === BUY) return Math.min(maxPriceTicks, Math.floor((mark * (PPM + priceBandPpm)) / PPM));
  return Math.max(1, Math.ceil((mark * (PPM - priceBandPpm)) / PPM));
}

/** Whether the price is worse for an order of this side than the edge. */
export const isBeyond = (side: number, priceTicks: PriceTicks, edgeTicks: PriceTicks): boolean =>
  side === BUY ? priceTicks > edgeTicks : priceTicks < edgeTicks;

/** The largest position in lots: the last risk tier's notional at mark, and never beyond exact arithmetic. */
function positionLimit({ riskTiers, quantaPerTickLot, maxPositionLots }: Instrument, mark: PriceTicks): QuantityLots {
  const lastTier = riskTiers[riskTiers.length - 1];
  return Math.min(maxPositionLots, Math.floor(lastTier.maxNotionalQuanta / (mark * quantaPerTickLot)));
}

/** The limits of orders at a mark, computed once per mark because every order needs them. */
export class MarkLimits {
  private readonly instrument: Instrument;
  private markTicks: PriceTicks = 0;
  private bidEdgeTicks: PriceTicks = 0;
  private askEdgeTicks: PriceTicks = 0;
  private limitLots: QuantityLots = 0;
  private interestLots: QuantityLots = 0;

  constructor(instrument: Instrument) {
    this.instrument = instrument;
  }

  /** As bandEdge(). */
  edgeTicks(side: number, mark: PriceTicks): PriceTicks {
    this.moveTo(mark);
    return side === BUY ? this.bidEdgeTicks : this.askEdgeTicks;
  }

  /** The largest allowed position in lots, with the orders that would increase it. */
  positionLots(mark: PriceTicks): QuantityLots {
    this.moveTo(mark);
    return this.limitLots;
  }

  /** The most open interest in lots; Infinity = no limit. */
  openInterestLots(mark: PriceTicks): QuantityLots {
    this.moveTo(mark);
    return this.interestLots;
  }

  private moveTo(mark: PriceTicks): void {
    if (mark === this.markTicks) return;
    this.markTicks = mark;
    this.bidEdgeTicks = bandEdge(this.instrument, BUY, mark);
    this.askEdgeTicks = bandEdge(this.instrument, SELL, mark);
    this.limitLots = positionLimit(this.instrument, mark);
    const { openInterestCapQuanta, quantaPerTickLot } = this.instrument;
    this.interestLots = Math.floor(openInterestCapQuanta / (mark * quantaPerTickLot));
  }
}
