import { MarginTable } from "../../../src/core/accounts/margin-table.ts";

/**
 * Every order in which the steps of several actors on shared cells can happen, on one thread: each reading and each
 * writing of a cell, and each atomic operation.
 *
 * An actor is suspended by running it again from its start: the steps that it has made are answered from memory, the
 * next one is made for real, and at the one after it the run is thrown away. So an actor must do nothing but work on the
 * cells, and be given afresh whatever else it changes.
 */
export interface Ending<T> {
  buffer: ArrayBuffer;
  results: T[];
  /** Which actor made which step: for messages. */
  schedule: number[];
}

/** Equity and maintenance margin, which decide what is done to an account. Of the others nothing is observed: too many orders. */
const OBSERVED = [0, 4];

/** The cells as one of the actors has them. Of more than two there are too many orders, unless lanes are added up in one step. */
class SteppedMarginTable extends MarginTable {
  /** Whoever looks again could do so in any number of steps. */
  protected override readonly maxReadAttempts = 1;

  protected override read(accountId: number, cell: number): number {
    if (this.stripeCount <= 2) return super.read(accountId, cell);
    return step(() => super.read(accountId, cell));
  }

  protected override readOtherStripes(accountId: number, cell: number): number {
    if (!OBSERVED.includes(cell)) return 0;
    return step(() => super.readOtherStripes(accountId, cell));
  }

  protected override consistentColumn(accountId: number, cell: number): number {
    if (!OBSERVED.includes(cell)) return 0;
    return step(() => super.consistentColumn(accountId, cell));
  }

  protected override versionOfOthers(accountId: number): number {
    return step(() => super.versionOfOthers(accountId));
  }

  protected override saveBefore(at: number): void {
    step(() => {
      super.saveBefore(at);
      return 0;
    });
  }

  protected override load(cell: number): number {
    return step(() => super.load(cell));
  }

  protected override addTo(cell: number, delta: number): void {
    step(() => {
      super.addTo(cell, delta);
      return 0;
    });
  }
}

const OPERATIONS = ["store", "compareExchange"] as const;
type Operation = (words: Int32Array, ...rest: never[]) => number;

class Suspended extends Error {}

/** The run that is under way: what its steps were answered before, and how far it is. */
interface Run {
  readonly made: readonly number[];
  at: number;
  answer: number;
}
let run: Run | null = null;

function step(make: () => number): number {
  if (run === null) return make();
  if (run.at < run.made.length) return run.made[run.at++]!;
  if (run.at > run.made.length) throw new Suspended();
  const current = run;
  current.at++;
  run = null;
  current.answer = make();
  run = current;
  return current.answer;
}

/**
 * Calls `check` with each ending that there is, once, however many orders lead to it. The n-th actor has the n-th lane. Returns
 * the number of orders.
 */
export function everyInterleaving<T>(
  start: ArrayBuffer,
  actors: readonly ((marginTable: MarginTable) => T)[],
  check: (ending: Ending<T>) => void,
): number {
  /** By what the memory holds and what each actor has been answered: all that decides what can still happen. */
  const ordersFrom = new Map<string, number>();
  const go = (buffer: ArrayBuffer, made: number[][], schedule: number[]): number => {
    const state = `${Buffer.from(buffer).toString("latin1")} ${made.join(" ")}`;
    const known = ordersFrom.get(state);
    if (known !== undefined) return known;
    const results: T[] = [];
    let orders = 0;
    for (const [i, actor] of actors.entries()) {
      const next = buffer.slice(0);
      const marginTable = new SteppedMarginTable(next as unknown as SharedArrayBuffer, actors.length, i);
      const end = runOneStep(() => actor(marginTable), made[i]!);
      if (end.finished) {
        results[i] = end.result;
        continue;
      }
      orders += go(
        next,
        made.map((steps, j) => (j === i ? [...steps, end.answer] : steps)),
        [...schedule, i],
      );
    }
    if (orders === 0) {
      orders = 1;
      check({ buffer, results, schedule });
    }
    ordersFrom.set(state, orders);
    return orders;
  };
  return go(
    start,
    actors.map(() => []),
    [],
  );
}

type Step<T> = { finished: true; result: T } | { finished: false; answer: number };

function runOneStep<T>(actor: () => T, made: readonly number[]): Step<T> {
  const real = Object.fromEntries(OPERATIONS.map((name) => [name, Atomics[name]])) as Record<string, Operation>;
  const patched = Atomics as unknown as Record<string, Operation>;
  for (const name of OPERATIONS) patched[name] = (words, ...rest) => step(() => real[name]!(words, ...rest));
  const begun: Run = { made, at: 0, answer: 0 };
  run = begun;
  try {
    const result = actor();
    return begun.at > made.length ? { finished: false, answer: begun.answer } : { finished: true, result };
  } catch (error) {
    if (error instanceof Suspended) return { finished: false, answer: begun.answer };
    throw error;
  } finally {
    run = null;
    Object.assign(Atomics, real);
  }
}
