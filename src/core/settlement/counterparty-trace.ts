import { SIZE } from "../base/columns.ts";
import type { QuantityLots, TimeMs } from "../base/units.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** Lots that a row took from another one: its counterparty in a trade. */
interface Taking {
  readonly giver: number;
  lots: QuantityLots;
}

/** The trades of a row. */
interface Flow {
  /** The latest trades last. */
  readonly takings: Taking[];
  /** Lots that it took, less those that it gave. */
  netLots: QuantityLots;
}

/** For each trade so many counts are passed on at most: trades in a circle would pass one on for ever. */
const PASSES_PER_TRADE = 4;

/**
 * From whom bankrupt accounts of one side took their positions since `since`: lots by row of positions, the latest trades
 * first.
 *
 * The lots that a bankrupt account holds, and took in this time, count against its counterparties. Each of them keeps what it
 * has sold beyond what it bought, and passes the rest on to those from whom it took lots, before that trade or after it. So a
 * market maker in between is not charged, and neither side can put a count on others by a round trip. An account that traded
 * with nobody in this chain is never charged.
 *
 * A bankrupt account cannot pay. It passes counts on like the others, and its own part falls on nobody here.
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
  const flows = new Map<number, Flow>();
  const flowOf = (row: number): Flow => {
    let flow = flows.get(row);
    if (flow === undefined) {
      flow = { takings: [], netLots: 0 };
      flows.set(row, flow);
    }
    return flow;
  };
  let passesLeft = 0;
  state.recentFills.eachSince(since, (buyerRow, sellerRow, lots) => {
    const giver = isLong ? sellerRow : buyerRow;
    const taker = flowOf(isLong ? buyerRow : sellerRow);
    passesLeft += PASSES_PER_TRADE;
    taker.takings.push({ giver, lots });
    taker.netLots += lots;
    flowOf(giver).netLots -= lots;
  });
  const traced = new Map<number, QuantityLots>();
  const waiting = new Map<number, QuantityLots>();
  /** Passes up to `lots` on to those from whom the row took them last. Returns what is left. */
  const pass = ({ takings }: Flow, lots: QuantityLots): QuantityLots => {
    let left = lots;
    for (; left > 0 && takings.length > 0 && passesLeft > 0; passesLeft--) {
      const latest = takings[takings.length - 1];
      const passed = Math.min(left, latest.lots);
      waiting.set(latest.giver, (waiting.get(latest.giver) ?? 0) + passed);
      left -= passed;
      latest.lots -= passed;
      if (latest.lots === 0) takings.pop();
    }
    return left;
  };
  for (const row of bankruptRows.keys()) {
    const flow = flows.get(row);
    const sizeLots = state.positions.numbers[row + SIZE];
    if (flow !== undefined) pass(flow, Math.min(isLong ? sizeLots : -sizeLots, flow.netLots));
  }
  // First in, first out: a count that goes round in a circle moves by one trade while each other one does, too. Counts that
  // are set here come last, also those of a row that was here before.
  for (const [row, lots] of waiting) {
    waiting.delete(row);
    const flow = flowOf(row);
    const sold = Math.min(lots, Math.max(0, -flow.netLots));
    flow.netLots += sold;
    const kept = sold + pass(flow, lots - sold);
    if (kept > 0 && !bankruptRows.has(row)) traced.set(row, (traced.get(row) ?? 0) + kept);
  }
  return traced;
}
