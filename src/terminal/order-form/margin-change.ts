import type { Position } from "../../client/types.ts";

/** The effect of another leverage or margin mode on a position, by the page's own arithmetic. Pure. */

export type MarginTerms = Pick<Position, "leverage" | "marginMode">;

interface Terms {
  /** In USDC: initial margin, or the isolated margin with the unrealized profit. */
  readonly margin: number;
  /** How much of the account's available balance the position takes, in USDC. */
  readonly bound: number;
  /** Null where all equity backs the position, so that only the exchange can compute it, and where there is none. */
  readonly liquidationPrice: string | null;
}

export function termsAfter(position: Position, { leverage, marginMode }: MarginTerms): Terms {
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
  // The exchange fills up what isolated margin lacks, where losses count and gains do not. It releases none.
  const bound = Math.max(held, initial + Math.max(0, -pnl));
  const margin = bound + pnl;
  if (isIsolated && bound === held) return { margin, bound, liquidationPrice: position.liquidationPrice };
  const size = Number(position.size);
  const direction = position.side === "SHORT" ? -1 : 1;
  const rate = Number(position.maintenanceMargin) / Number(position.notional);
  const price = (direction * Number(position.markPrice) * size - margin) / (size * (direction - rate));
  return { margin, bound, liquidationPrice: price > 0 && Number.isFinite(price) ? String(price) : null };
}
