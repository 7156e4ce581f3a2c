/**
 * Every order in which the atomic steps of several actors can happen, on one thread.
 *
 * An actor is suspended by running it again from its start: the steps that it has made are answered from memory, the
 * next one is made for real, and at the one after it the run is thrown away. So an actor must do nothing but read and
 * write through Atomics, and be given afresh whatever else it changes.
 */
export interface Ending<T> {
  cells: BigInt64Array;
  results: T[];
  /** Which actor made which step: for messages. */
  schedule: number[];
}

const OPERATIONS = ["add", "sub", "load", "store", "exchange", "and", "or", "compareExchange"] as const;
type Operation = (cells: BigInt64Array, ...rest: never[]) => bigint;

class Suspended extends Error {}

/** Calls `check` with each ending that there is. Returns their number. */
export function everyInterleaving<T>(
  start: BigInt64Array,
  actors: readonly ((cells: BigInt64Array) => T)[],
  check: (ending: Ending<T>) => void,
): number {
  let endings = 0;
  const go = (cells: BigInt64Array, made: bigint[][], schedule: number[]): void => {
    const results: T[] = [];
    let running = false;
    for (const [i, actor] of actors.entries()) {
      const next = cells.slice();
      const step = runOneStep(actor, next, made[i]);
      if (step.finished) {
        results[i] = step.result;
        continue;
      }
      running = true;
      go(
        next,
        made.map((steps, j) => (j === i ? [...steps, step.answer] : steps)),
        [...schedule, i],
      );
    }
    if (running) return;
    endings++;
    check({ cells, results, schedule });
  };
  go(
    start,
    actors.map(() => []),
    [],
  );
  return endings;
}

type Step<T> = { finished: true; result: T } | { finished: false; answer: bigint };

function runOneStep<T>(actor: (cells: BigInt64Array) => T, cells: BigInt64Array, made: readonly bigint[]): Step<T> {
  const real = Object.fromEntries(OPERATIONS.map((name) => [name, Atomics[name]])) as Record<string, Operation>;
  const patched = Atomics as unknown as Record<string, Operation>;
  let at = 0;
  let answer = 0n;
  for (const name of OPERATIONS)
    patched[name] = (array, ...rest) => {
      if (at < made.length) return made[at++];
      if (at > made.length) throw new Suspended();
      at++;
      answer = real[name](array, ...rest);
      return answer;
    };
  try {
    const result = actor(cells);
    return at > made.length ? { finished: false, answer } : { finished: true, result };
  } catch (error) {
    if (error instanceof Suspended) return { finished: false, answer };
    throw error;
  } finally {
    Object.assign(Atomics, real);
  }
}
