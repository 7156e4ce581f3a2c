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

/** The result of traceCounterparties(): lots by row of positions. */
export interface Trace {
  /** The lots of each bankrupt row that count against others. */
  readonly counted: Map<number, QuantityLots>;
  /** The lots that each counterparty keeps of these counts. */
  readonly kept: Map<number, QuantityLots>;
}

/**
 * For each trade so many counts are passed on at most: trades in a circle would pass one on for ever. A coalition must not use
 * that up with circles of single lots while its large count is on its way through a chain. An account passes on one count at a
 * time. So with the least number a hundred accounts need a chain of a thousand trades of the whole position, and pay fees for each.
 * So many passes take some hundredths of a second.
 */
const PASSES_PER_TRADE = 4;
const LEAST_PASSES = 100_000;

/**
 * From whom bankrupt accounts of one side took their positions since `since`, the latest trades first.
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
): Trace {
  const flows = new Map<number, Flow>();
  const flowOf = (row: number): Flow => {
    let flow = flows.get(row);
    if (flow === undefined) {
      flow = { takings: [], netLots: 0 };
      flows.set(row, flow);
    }
    return flow;
  };
  let trades = 0;
  state.recentFills.eachSince(since, (buyerRow, sellerRow, lots) => {
    const giver = isLong ? sellerRow : buyerRow;
    const taker = flowOf(isLong ? buyerRow : sellerRow);
    trades++;
    taker.takings.push({ giver, lots });
    taker.netLots += lots;
    flowOf(giver).netLots -= lots;
  });
  let passesLeft = Math.max(LEAST_PASSES, trades * PASSES_PER_TRADE);
  const counted = new Map<number, QuantityLots>();
  const kept = new Map<number, QuantityLots>();
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
    if (flow === undefined) continue;
    const lots = Math.min(isLong ? sizeLots : -sizeLots, flow.netLots);
    if (lots <= 0) continue;
    pass(flow, lots);
    counted.set(row, lots);
  }
  // First in, first out: a count that goes round in a circle moves by one trade while each other one does, too. Counts that
  // are set here come last, also those of a row that was here before.
  for (const [row, lots] of waiting) {
    waiting.delete(row);
    const flow = flowOf(row);
    const sold = Math.min(lots, Math.max(0, -flow.netLots));
    flow.netLots += sold;
    const keptLots = sold + pass(flow, lots - sold);
    if (keptLots > 0 && !bankruptRows.has(row)) kept.set(row, (kept.get(row) ?? 0) + keptLots);
  }
  return { counted, kept };
}
