/** `make test` uses the same seed each time, so that it passes everywhere or nowhere. `make test SEED=7` uses another one. */
const USUAL_SEED = 1;

/** A test's seed. Prints it, so that a failure can be repeated. */
export function takeSeed(of: string): number {
  const seed = Number(process.env.SEED || USUAL_SEED);
  console.log(`${of} SEED=${seed}`);
  return seed;
}

/** Another seed each time, for fuzzing: SEED=7 make fuzz repeats a run. */
export const newSeed = (): number => Number(process.env.SEED || Math.floor(Math.random() * 2 ** 31));

const MAX_RUNS = 8;

/**
 * Runs with the seed, and with the next ones until every required case was reached. No one knows how far one seed reaches.
 * `missing` names the cases that no run has reached yet.
 */
export function runUntilReached(seed: number, run: (seed: number) => void, missing: () => string[]): void {
  for (let i = 0; i < MAX_RUNS; i++) {
    run(seed + i);
    if (missing().length === 0) return;
  }
  throw new Error(`never came up: ${missing().join(", ")}`);
}
