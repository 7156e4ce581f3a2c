/** `make test` throws the same each time, so what has passed here passes anywhere; `make test SEED=7` throws something else. */
const USUAL_SEED = 1;

/** A test's seed; printed first, so that there is something to repeat. */
export function takeSeed(of: string): number {
  const seed = Number(process.env.SEED || USUAL_SEED);
  console.log(`${of} SEED=${seed}`);
  return seed;
}

/** Another one each time, for what is run to find something: SEED=7 make fuzz repeats a run. */
export const newSeed = (): number => Number(process.env.SEED || Math.floor(Math.random() * 2 ** 31));

const MAX_RUNS = 8;

/**
 * Runs with the seed and, as long as some of what must come up has not, with those behind it: random traffic is worth
 * nothing where it does not reach, and nobody knows how far a seed does. `missing` names what no run has reached yet.
 */
export function runUntilReached(seed: number, run: (seed: number) => void, missing: () => string[]): void {
  for (let i = 0; i < MAX_RUNS; i++) {
    run(seed + i);
    if (missing().length === 0) return;
  }
  throw new Error(`never came up: ${missing().join(", ")}`);
}
