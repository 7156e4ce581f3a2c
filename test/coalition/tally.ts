import { COUNTED, type Counts } from "./measure.ts";
import { broken } from "./promises.ts";
import type { Found } from "./search.ts";

const QUANTA = 1e6;

/** What many runs came to. Amounts are quanta. */
export class Tally {
  runs = 0;
  readonly counts = Object.fromEntries(COUNTED.map((name) => [name, 0])) as Counts;
  /** By the attack that a strategy began as: the largest take. */
  readonly takes: Record<string, number> = {};
  /** The largest part of what it has that the fund has lost after a mark was settled. */
  fundLossShare = 0;
  fundLowest = Number.POSITIVE_INFINITY;
  lowestSettled = 0;
  haircutBeyondStep = 0;
  /** Each run that broke a promise, in words. */
  readonly broken: string[] = [];

  note(found: Found): void {
    const { outcome, scenario, strategy, seed } = found;
    const [origin] = strategy.origin.split("+");
    const before = scenario.fundUsdc * QUANTA;
    this.runs++;
    for (const name of COUNTED) this.counts[name] += outcome.counts[name];
    this.takes[origin] = Math.max(this.takes[origin] ?? 0, outcome.take);
    if (before > 0) this.fundLossShare = Math.max(this.fundLossShare, (before - outcome.fundLowestSettled) / before);
    this.fundLowest = Math.min(this.fundLowest, outcome.fundLowest);
    this.lowestSettled = Math.min(this.lowestSettled, outcome.lowestSettled);
    this.haircutBeyondStep = Math.max(this.haircutBeyondStep, outcome.haircutBeyondStep);
    const faults = broken(scenario, outcome);
    if (faults.length > 0) this.broken.push(`seed ${seed}, ${strategy.origin}: ${faults.join("; ")}`);
  }
}
