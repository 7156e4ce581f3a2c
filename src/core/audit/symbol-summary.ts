import { BUY, SELL, type Side } from "../base/enums.ts";
import type { Levels, SymbolSummary } from "../protocol/payloads.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** Levels of each side in one reply to Describe: about 15 bytes each, and a transaction must fit into a ring. */
const LEVELS_PER_PAGE = 50_000;

/**
 * The state from which a gateway thread begins to apply the symbol's events, with one page of each side's levels: those
 * from the `from`-th on. The pages belong together only while no event happens between them.
 */
export function summarizeSymbol(state: SymbolState, from = 0): SymbolSummary {
  const bids = levels(state, BUY, from);
  const asks = levels(state, SELL, from);
  const isFull = bids.length === LEVELS_PER_PAGE || asks.length === LEVELS_PER_PAGE;
  return {
    next: isFull ? from + LEVELS_PER_PAGE : null,
    indexTicks: state.indexTicks,
    markTicks: state.markTicks,
    lastTicks: state.lastTicks,
    openInterestLots: state.openInterestLots,
    priceTime: state.priceTime,
    indexRange: state.indexRange.figures,
    fundingRatePpb: state.funding.intervalRatePpb(),
    nextFundingTime: state.funding.nextTime,
    haltMode: state.haltMode,
    haltReason: state.haltReason,
    haltUntil: state.haltUntil,
    fault: state.fault,
    isIndexStale: state.isIndexStale,
    pendingIndexTicks: state.pendingIndexTicks,
    bids,
    asks,
  };
}

function levels({ book }: SymbolState, side: Side, from: number): Levels {
  const out: Levels = [];
  const bitmap = book.side(side);
  let at = 0;
  for (let price = bitmap.best(); price >= 0 && out.length < LEVELS_PER_PAGE; price = bitmap.next(price))
    if (at++ >= from) out.push([price, book.levelLots(price)]);
  return out;
}
