import type { Instrument } from "../../../../src/core/protocol/instrument.ts";
import { initialMarginOf } from "./reference-formulas.ts";
import type { ReferenceFill, ReferencePosition } from "./reference-outcome.ts";

/** Isolated margin as margin/isolated.ts documents it. The wallet is the isolated margin at the entry price. */

/** The unrealised profit of the position. */
export function unrealizedOf(instrument: Instrument, markTicks: number, position: ReferencePosition): number {
  return position.sizeLots * markTicks * instrument.quantaPerTickLot - position.costQuanta;
}

export function positionMarginOf(
  instrument: Instrument,
  markTicks: number,
  { sizeLots, leverage }: ReferencePosition,
): number {
  return initialMarginOf(instrument, Math.abs(sizeLots) * markTicks * instrument.quantaPerTickLot, leverage);
}

/**
 * The wallet after a fill. `position` has traded already, and its wallet has not changed yet. `crossQuanta`: the account's
 * cross equity above maintenance margin before the fill. The wallet takes no more than that.
 */
export function walletAfter(
  instrument: Instrument,
  markTicks: number,
  position: ReferencePosition,
  fill: ReferenceFill,
  crossQuanta: number,
): number {
  const { sizeLots, walletQuanta } = position;
  const before = { ...position, sizeLots: sizeLots - fill.lots };
  const margin = positionMarginOf(instrument, markTicks, position);
  const loss = Math.max(0, -unrealizedOf(instrument, markTicks, position));
  const closes = before.sizeLots !== 0 && Math.sign(before.sizeLots) !== Math.sign(fill.lots);
  if (sizeLots === 0) return 0;
  if (before.sizeLots === 0) return Math.min(margin + loss, Math.max(0, crossQuanta) - fill.feeQuanta);
  if (!closes) {
    const perTick = instrument.quantaPerTickLot;
    const spent = fill.lots > 0 ? fill.quanta : -fill.quanta;
    const worse = Math.max(0, spent - fill.lots * markTicks * perTick);
    const wanted = margin - positionMarginOf(instrument, markTicks, before) + worse;
    return walletQuanta + Math.min(wanted, Math.max(0, crossQuanta) - fill.feeQuanta);
  }
  const gained = fill.realizedQuanta - fill.feeQuanta;
  // Turned around: the old wallet comes back first.
  if (Math.sign(sizeLots) === Math.sign(fill.lots))
    return Math.min(margin + loss, Math.max(0, crossQuanta) + walletQuanta + gained);
  const closedShare = BigInt(walletQuanta) * BigInt(Math.abs(fill.lots));
  const share = Number(closedShare / BigInt(Math.abs(before.sizeLots)));
  // The rest pays for a part that lost more than its share.
  return share + gained >= 0 ? walletQuanta - share : walletQuanta + gained;
}

/**
 * The worst price at which the position can be closed, with the taker's fee, and its equity stays at zero or above.
 */
export function closingEdgeOf(instrument: Instrument, sizeLots: number, heldQuanta: number): number {
  const million = 1_000_000n;
  const fee = BigInt(instrument.takerFeePpm);
  const perTick = BigInt(Math.abs(sizeLots) * instrument.quantaPerTickLot);
  const held = BigInt(heldQuanta);
  if (sizeLots > 0) {
    const divisor = perTick * (million - fee);
    return held >= 0n ? 1 : Math.min(instrument.maxPriceTicks + 1, Number((-held * million + divisor - 1n) / divisor));
  }
  return held <= 0n ? 0 : Math.min(instrument.maxPriceTicks, Number((held * million) / (perTick * (million + fee))));
}
