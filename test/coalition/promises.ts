import type { Outcome } from "./run.ts";
import { RUN_SLOTS, type Scenario } from "./scenario.ts";
import { SLOT_MS } from "./world.ts";

const QUANTA = 1e6;
const PPM = 1e6;
/** Parts of quanta are rounded in favour of an account in many places, but of less than this in a run. */
const ROUNDING_QUANTA = 1000;

const usdc = (quanta: number): string => (quanta / QUANTA).toFixed(2);

/** What the rules let the fund lose in a run: its allowance in each symbol and in each clock hour that the run touches. */
export function fundAllowance({ markets, fundUsdc, fundingAtMs }: Scenario): number {
  const hours = fundingAtMs < RUN_SLOTS * SLOT_MS ? 2 : 1;
  return markets.reduce((sum, { instrument }) => sum + (hours * fundUsdc * QUANTA * instrument.fundLossPpm) / PPM, 0);
}

/** Whether the coalition takes more than what the fund may lose, be it a part of honest accounts' gains of a step. */
export const pays = (scenario: Scenario, { take }: Outcome): boolean =>
  take > fundAllowance(scenario) + ROUNDING_QUANTA;

/** What the exchange promises, whatever a coalition does, that a run has broken: in words. */
export function broken(scenario: Scenario, outcome: Outcome): string[] {
  const { take, haircut, haircutBeyondStep, fundLowest, fundLowestSettled, lowestSettled } = outcome;
  const allowance = fundAllowance(scenario) + ROUNDING_QUANTA;
  const mostTake = allowance + haircut;
  const fundLoss = scenario.fundUsdc * QUANTA - fundLowestSettled;
  const faults: string[] = [];
  if (take > mostTake) faults.push(`the coalition takes ${usdc(take)}, more than ${usdc(mostTake)}`);
  if (fundLoss > allowance) faults.push(`the fund loses ${usdc(fundLoss)}, more than ${usdc(allowance)}`);
  if (fundLowest < 0) faults.push(`the fund falls to ${usdc(fundLowest)}`);
  if (lowestSettled < 0) faults.push(`an account is left at ${usdc(lowestSettled)} after a mark was settled`);
  if (haircutBeyondStep > ROUNDING_QUANTA)
    faults.push(`deleveraging takes ${usdc(haircutBeyondStep)} beyond a step's gain`);
  return faults;
}
