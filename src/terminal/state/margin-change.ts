import type { Instrument, Position } from "../../client/types.ts";

/** The effect of another leverage, margin mode or isolated margin on a position, by the page's own arithmetic. Pure. */

export type MarginTerms = Pick<Position, "leverage" | "marginMode">;

type Rates = Pick<Instrument, "openingMarginRate" | "transferMarginRate">;

interface Terms {
  /** In USDC: initial margin, or the isolated margin with the unrealized profit. */
  readonly margin: number;
  /** How much of the account's available balance the position takes, in USDC. */
  readonly bound: number;
  /** Null where all equity backs the position, so that only the exchange can compute it, and where there is none. */
  readonly liquidationPrice: string | null;
}

export function termsAfter(position: Position, { leverage, marginMode }: MarginTerms, rates: Rates): Terms {
  const pnl = Number(position.unrealizedPnl);
  const initial = Number(position.notional) / leverage;
  const isIsolated = position.marginMode === "ISOLATED";
  if (marginMode === "CROSS")
    return {
      margin: initial,
      bound: initial - pnl,
      liquidationPrice: isIsolated ? null : position.liquidationPrice,
    };
  const held = isIsolated ? Number(position.isolatedMargin ?? 0) - pnl : 0;
  // A position that becomes isolated takes along what must stay with it.
  const needed = isIsolated ? initial : Number(position.notional) * keptRate(leverage, rates);
  // The exchange fills up what isolated margin lacks, where losses count and gains do not. It releases none.
  const bound = Math.max(held, needed + Math.max(0, -pnl));
  const margin = bound + pnl;
  if (isIsolated && bound === held) return { margin, bound, liquidationPrice: position.liquidationPrice };
  return { margin, bound, liquidationPrice: liquidationPriceAt(position, margin) };
}

/** The liquidation price of an isolated position with this margin, in USDC with the unrealized profit. Null: none above 0. */
export function liquidationPriceAt(position: Position, margin: number): string | null {
  const size = Number(position.size);
  const direction = position.side === "SHORT" ? -1 : 1;
  const rate = Number(position.maintenanceMargin) / Number(position.notional);
  const price = (direction * Number(position.markPrice) * size - margin) / (size * (direction - rate));
  return price > 0 && Number.isFinite(price) ? String(price) : null;
}

/** The share of the notional that stays with an isolated position when margin is taken out. */
const keptRate = (leverage: number, { openingMarginRate, transferMarginRate }: Rates): number =>
  Math.max(Number(openingMarginRate), Number(transferMarginRate), 1 / leverage);

/** How much isolated margin may be taken out, in USDC. Losses count and gains do not. About: the opening rate moves. */
export function removableMargin(position: Position, rates: Rates): number {
  const margin = Number(position.isolatedMargin);
  const kept = Number(position.notional) * keptRate(position.leverage, rates);
  return Math.max(0, margin - Math.max(0, Number(position.unrealizedPnl)) - kept);
}
