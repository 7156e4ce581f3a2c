import { SIZE } from "../base/columns.ts";
import type { QuantityLots, TimeMs } from "../base/units.ts";
import type { TracedCounterparties } from "../liquidation/position-transfer.ts";
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

/** The lots of a bankrupt row on their way, by the row where they wait. */
interface Count {
  readonly row: number;
  readonly lots: QuantityLots;
  readonly waiting: Map<number, QuantityLots>;
}

/**
 * For each trade so many counts are passed on at most: trades in a circle would pass one on for ever. A coalition must not use
 * that up with circles of single lots while its large count is on its way through a chain. An account passes on one count at a
 * time. So with half of the least number a hundred accounts need a chain of 700 trades of the whole position, and pay fees for
 * each. A hundred thousand passes take some hundredths of a second.
 */
const PASSES_PER_TRADE = 4;
const LEAST_PASSES = 200_000;

/**
 * From whom bankrupt accounts of one side took their positions since `since`, the latest trades first.
 *
 * The lots that a bankrupt account holds, and took in this time, count against its counterparties. Each of them keeps what it
 * has sold beyond what it bought, and passes the rest on to those from whom it took lots, before that trade or after it. So a
 * market maker in between is not charged, and neither side can put a count on others by a round trip. An account that traded
 * with nobody in this chain is never charged.
 *
 * Each bankrupt account has counterparties of its own, and the largest comes first. It may use half of the passes that are
 * left, so many small ones do not use up those of a large one.
 *
 * A bankrupt account cannot pay. It passes counts on like the others, and its own part falls on nobody here.
 *
 * Two accounts of one owner that know the next price gain nothing by it: the one that wins is settled against the one that
 * cannot pay. `isLong`: the bankrupt accounts are long. Returns those of them that took lots.
 */
export function traceCounterparties(
  state: SymbolState,
  bankruptRows: ReadonlyMap<number, unknown>,
  isLong: boolean,
  since: TimeMs,
): Map<number, TracedCounterparties> {
  const flows = new Flows(state, isLong, since);
  const counts: Count[] = [];
  for (const row of bankruptRows.keys()) {
    const sizeLots = state.positions.numbers[row + SIZE];
    const lots = Math.min(isLong ? sizeLots : -sizeLots, flows.of(row).netLots);
    if (lots <= 0) continue;
    const waiting = new Map<number, QuantityLots>();
    flows.pass(row, lots, waiting);
    counts.push({ row, lots, waiting });
  }
  counts.sort((a, b) => b.lots - a.lots);
  const traced = new Map<number, TracedCounterparties>();
  for (const { row, lots, waiting } of counts) {
    const kept = [...flows.follow(waiting)].filter(([keeper]) => !bankruptRows.has(keeper));
    const [rows, keptLots] = [kept.map(([keeper]) => keeper), kept.map(([, each]) => each)];
    traced.set(row, { countedLots: lots, rows, lots: keptLots, next: 0 });
  }
  return traced;
}

/** The trades of all rows, which counts use up on their way. */
class Flows {
  private readonly flows = new Map<number, Flow>();
  private passesLeft: number;

  constructor(state: SymbolState, isLong: boolean, since: TimeMs) {
    let trades = 0;
    state.recentFills.eachSince(since, (buyerRow, sellerRow, lots) => {
      const giver = isLong ? sellerRow : buyerRow;
      const taker = this.of(isLong ? buyerRow : sellerRow);
      trades++;
      taker.takings.push({ giver, lots });
      taker.netLots += lots;
      this.of(giver).netLots -= lots;
    });
    this.passesLeft = Math.max(LEAST_PASSES, trades * PASSES_PER_TRADE);
  }

  of(row: number): Flow {
    let flow = this.flows.get(row);
    if (flow === undefined) {
      flow = { takings: [], netLots: 0 };
      this.flows.set(row, flow);
    }
    return flow;
  }

  /** Passes up to `lots` on to those from whom the row took them last: they wait there. Returns what is left. */
  pass(row: number, lots: QuantityLots, waiting: Map<number, QuantityLots>): QuantityLots {
    const { takings } = this.of(row);
    let left = lots;
    for (; left > 0 && takings.length > 0 && this.passesLeft > 0; this.passesLeft--) {
      const latest = takings[takings.length - 1];
      const passed = Math.min(left, latest.lots);
      waiting.set(latest.giver, (waiting.get(latest.giver) ?? 0) + passed);
      left -= passed;
      latest.lots -= passed;
      if (latest.lots === 0) takings.pop();
    }
    return left;
  }

  /**
   * Passes a count on until each lot has found the row that keeps it. First in, first out: a part of it that goes round in a
   * circle moves by one trade while each other part does, too. Parts that are set here come last, also those of a row that was
   * here before. Returns the lots that each row keeps.
   */
  follow(waiting: Map<number, QuantityLots>): Map<number, QuantityLots> {
    const kept = new Map<number, QuantityLots>();
    const passesForOthers = Math.floor(this.passesLeft / 2);
    this.passesLeft -= passesForOthers;
    for (const [row, lots] of waiting) {
      waiting.delete(row);
      const flow = this.of(row);
      const sold = Math.min(lots, Math.max(0, -flow.netLots));
      flow.netLots += sold;
      const keptLots = sold + this.pass(row, lots - sold, waiting);
      if (keptLots > 0) kept.set(row, (kept.get(row) ?? 0) + keptLots);
    }
    this.passesLeft += passesForOthers;
    return kept;
  }
}
