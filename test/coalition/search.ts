import { must } from "../../src/assert.ts";
import { Random } from "../../src/sandbox/random.ts";
import { type Mutant, mutated } from "./mutants.ts";
import { broken, pays } from "./promises.ts";
import { type Outcome, runCoalition, type Tamper } from "./run.ts";
import { makeScenario, type Scenario } from "./scenario.ts";
import { mutate, randomStrategy, type Strategy } from "./strategy.ts";
import { TEMPLATES } from "./templates.ts";

/** So many strategies are kept to be mutated. */
const KEPT = 5;
const NEW_SHARE = 0.15;
const DEFICIT_SHARE = 0.1;

export interface Found {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly strategy: Strategy;
  readonly outcome: Outcome;
}

export interface Campaign {
  readonly best: Found;
  /** The last run; `isEnough` ended the search with it. */
  readonly last: Found;
  readonly isEnough: boolean;
  readonly runs: number;
}

const tamperingOf = (mutant: Mutant | null): Tamper | null => {
  const change = mutant?.symbol;
  if (change === undefined) return null;
  return (world) => {
    for (const symbol of world.symbols) change(symbol);
  };
};

/**
 * Searches one scenario for a strategy that pays: the templates, random strategies, and mutations of what paid best. All of
 * it follows from the seed. `isEnough` sees each run, and may end the search early.
 */
export function search(
  seed: number,
  runs: number,
  mutant: Mutant | null = null,
  isEnough: (found: Found) => boolean = () => false,
): Campaign {
  const scenario = mutant === null ? makeScenario(seed) : mutated(makeScenario(seed), mutant);
  const tamper = tamperingOf(mutant);
  const random = new Random(seed, "search");
  let kept: Found[] = [];
  let best: Found | null = null;
  let last: Found | null = null;
  let done = 0;
  for (; done < runs; done++) {
    const strategy = next(random, scenario, kept, done);
    const found = { seed, scenario, strategy, outcome: runCoalition(scenario, strategy, tamper) };
    kept = [...kept, found].sort((a, b) => score(b) - score(a)).slice(0, KEPT);
    if (best === null || found.outcome.take > best.outcome.take) best = found;
    last = found;
    if (isEnough(found)) return { best, last, isEnough: true, runs: done + 1 };
  }
  const name = "a run";
  return { best: must(best, name), last: must(last, name), isEnough: false, runs: done };
}

/**
 * What the search climbs. A deficit that the coalition has left to others is the larger part of an attack, although it does
 * not pay yet: without it, to do nothing would beat every strategy that is one change away from paying.
 */
function score({ outcome }: Found): number {
  return outcome.take + DEFICIT_SHARE * (outcome.allHaircut - outcome.lowestSettled + Math.max(0, outcome.fundLoss));
}

/**
 * Searches for a strategy that pays, or breaks a promise, only because a rule is switched off: with the rule, the same
 * strategy in the same scenario does neither. Returns it, with the number of runs, or null after `mostRuns`.
 */
export function huntMutant(
  seed: number,
  mutant: Mutant,
  mostRuns: number,
  runsPerScenario: number,
): { found: Found; runs: number; faults: string[] } | null {
  let runs = 0;
  for (let own = seed; runs < mostRuns; own++) {
    const scenario = makeScenario(own);
    if (mutant.suits !== undefined && !mutant.suits(scenario)) continue;
    let faults: string[] = [];
    const isCaught = (found: Found): boolean => {
      faults = faultsOf(scenario, found.outcome);
      return faults.length > 0 && faultsOf(scenario, runCoalition(scenario, found.strategy)).length === 0;
    };
    const campaign = search(own, Math.min(runsPerScenario, mostRuns - runs), mutant, isCaught);
    runs += campaign.runs;
    if (campaign.isEnough) return { found: campaign.last, runs, faults };
  }
  return null;
}

/** Stricter than the promises: a rule that keeps honest accounts' gains for them must be missed, too. */
function faultsOf(scenario: Scenario, outcome: Outcome): string[] {
  const faults = broken(scenario, outcome);
  if (faults.length === 0 && pays(scenario, outcome)) faults.push(`the coalition takes ${usdc(outcome.take)}`);
  return faults;
}

const usdc = (quanta: number): string => (quanta / 1e6).toFixed(2);

function next(random: Random, scenario: Scenario, kept: readonly Found[], done: number): Strategy {
  if (done < TEMPLATES.length) return TEMPLATES[done](random, scenario);
  if (random.chance(NEW_SHARE))
    return random.chance(0.5) ? randomStrategy(random, scenario) : random.pick(TEMPLATES)(random, scenario);
  return mutate(random, scenario, random.pick(kept).strategy, random.pick(kept).strategy);
}

/** A finding in words: how to repeat it, what was done, and what it paid. */
export function report({ seed, scenario, strategy, outcome }: Found, mutant: Mutant | null = null): string {
  const again = runCoalition(scenario, strategy, tamperingOf(mutant), true);
  const markets = scenario.markets.map(({ kind, instrument, maker, stopPpm }) => {
    const hints = `${kind} ${instrument.maxLeverage}x${maker === null ? "" : " maker"}${stopPpm === 0 ? "" : " stop"}`;
    return hints;
  });
  return [
    `seed ${seed}, ${strategy.origin}: take ${usdc(outcome.take)}, profit ${usdc(outcome.profit)}`,
    `honest loss ${usdc(outcome.honestLoss)}, fund loss ${usdc(outcome.fundLoss)}, lowest ${usdc(outcome.fundLowest)}`,
    `haircut ${usdc(outcome.haircut)}, beyond the step ${usdc(outcome.haircutBeyondStep)}`,
    `funding ${usdc(outcome.fundingBeyondInterest)}, settled equity ${usdc(outcome.lowestSettled)}`,
    `${scenario.workers} workers, fund ${scenario.fundUsdc}, ${scenario.accounts} accounts, capital ${scenario.capitalUsdc}`,
    `markets: ${markets.join("; ")}`,
    `refused: ${JSON.stringify([...outcome.refusals])}`,
    JSON.stringify(strategy),
    ...again.trace,
  ].join("\n");
}
