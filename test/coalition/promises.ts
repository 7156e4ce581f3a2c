import type { Outcome } from "./run.ts";
import type { Scenario } from "./scenario.ts";

const QUANTA = 1e6;
const PPM = 1e6;
/** Parts of quanta are rounded in favour of an account in many places, but of less than this in a run. */
const ROUNDING_QUANTA = 1000;

const usdc = (quanta: number): string => (quanta / QUANTA).toFixed(2);

/** What the rules let the fund lose in a run, which is shorter than an hour: its allowance in each symbol. */
export const fundAllowance = ({ markets, fundUsdc }: Scenario): number =>
  markets.reduce((sum, { instrument }) => sum + (fundUsdc * QUANTA * instrument.fundLossPpm) / PPM, 0);

/** Whether the coalition takes more than what the fund may lose, be it a part of honest accounts' gains of a step. */
export const pays = (scenario: Scenario, { take }: Outcome): boolean =>
  take > fundAllowance(scenario) + ROUNDING_QUANTA;

/** What the exchange promises, whatever a coalition does, that a run has broken: in words. */
export function broken(scenario: Scenario, outcome: Outcome): string[] {
  const { take, haircut, haircutBeyondStep, fundLowest, lowestSettled } = outcome;
  const mostTake = fundAllowance(scenario) + haircut + ROUNDING_QUANTA;
  const faults: string[] = [];
  if (take > mostTake) faults.push(`the coalition takes ${usdc(take)}, more than ${usdc(mostTake)}`);
  if (fundLowest < 0) faults.push(`the fund falls to ${usdc(fundLowest)}`);
  if (lowestSettled < 0) faults.push(`an account is left at ${usdc(lowestSettled)} after a mark was settled`);
  if (haircutBeyondStep > ROUNDING_QUANTA)
    faults.push(`deleveraging takes ${usdc(haircutBeyondStep)} beyond a step's gain`);
  return faults;
}
