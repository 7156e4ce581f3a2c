import type { QuantityLots, TimeMs } from "../base/units.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** Lots that a row took from another one: its counterparty in a trade. */
interface Taking {
  readonly giver: number;
  lots: QuantityLots;
}

/** For each trade so many counts are passed on at most: trades in a circle would pass one on for ever. */
const PASSES_PER_TRADE = 4;

/**
 * From whom bankrupt accounts of one side took their positions since `since`: lots by row of positions, the latest trades
 * first.
 *
 * A trade with a bankrupt account counts against its counterparty. A counterparty that took lots from others meanwhile, before
 * that trade or after it, passes the count on to them. So a market maker in between is not charged, and the count ends at
 * those who have sold more than they bought. An account that traded with nobody in this chain is never charged.
 *
 * Two accounts of one owner that know the next price gain nothing by it: the one that wins is settled against the one that
 * cannot pay. `isLong`: the bankrupt accounts are long.
 */
export function traceCounterparties(
  state: SymbolState,
  bankruptRows: ReadonlyMap<number, unknown>,
  isLong: boolean,
  since: TimeMs,
): Map<number, QuantityLots> {
  const takings = new Map<number, Taking[]>();
  let passesLeft = 0;
  state.recentFills.eachSince(since, (buyerRow, sellerRow, lots) => {
    const taker = isLong ? buyerRow : sellerRow;
    const giver = isLong ? sellerRow : buyerRow;
    if (bankruptRows.has(giver)) return;
    passesLeft += PASSES_PER_TRADE;
    const known = takings.get(taker);
    if (known === undefined) takings.set(taker, [{ giver, lots }]);
    else known.push({ giver, lots });
  });
  const traced = new Map<number, QuantityLots>();
  const waiting: number[] = [];
  /** Passes up to `lots` on to those from whom the row took them last. Returns what it keeps. */
  const pass = (row: number, lots: QuantityLots): QuantityLots => {
    const taken = takings.get(row) ?? [];
    let left = lots;
    for (; left > 0 && taken.length > 0 && passesLeft > 0; passesLeft--) {
      const latest = taken[taken.length - 1];
      const passed = Math.min(left, latest.lots);
      traced.set(latest.giver, (traced.get(latest.giver) ?? 0) + passed);
      waiting.push(latest.giver);
      left -= passed;
      latest.lots -= passed;
      if (latest.lots === 0) taken.pop();
    }
    return left;
  };
  for (const row of bankruptRows.keys()) pass(row, Number.POSITIVE_INFINITY);
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    const lots = traced.get(row);
    if (lots === undefined) continue;
    traced.delete(row);
    const kept = pass(row, lots);
    if (kept > 0) traced.set(row, (traced.get(row) ?? 0) + kept);
  }
  return traced;
}
