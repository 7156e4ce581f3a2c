import { LiquidationBids } from "../../../src/core/accounts/liquidation-bids.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";

/**
 * Runs the steps of several actors on shared memory in every possible order, on one thread. A step is one read or
 * write of a value, or one atomic operation.
 *
 * To suspend an actor, it is run again from its start: earlier steps get their recorded answers, one new step is made for
 * real, and the next step aborts the run. So an actor may change only this memory, and what it creates itself.
 */
export interface Ending<T> {
  buffer: ArrayBuffer;
  results: T[];
  /** The actor of each step: for messages. */
  schedule: number[];
}

/** Consistent reads step through equity and maintenance margin only: with all columns there are too many orders. */
const STEPPED_COLUMNS = [0, 4];

/** The margin table as one actor has it. With more than two stripes, adding them up is one step: there are too many orders. */
class SteppedMarginTable extends MarginTable {
  /** Each further attempt would double the number of orders. */
  protected override readonly maxReadAttempts = 1;

  protected override total(accountId: number, column: number): number {
    if (this.stripeCount <= 2) return super.total(accountId, column);
    return step(() => super.total(accountId, column));
  }

  protected override totalOfOthers(accountId: number, column: number): number {
    if (!STEPPED_COLUMNS.includes(column)) return 0;
    return step(() => super.totalOfOthers(accountId, column));
  }

  protected override consistentTotal(accountId: number, column: number): number {
    if (!STEPPED_COLUMNS.includes(column)) return 0;
    return step(() => super.consistentTotal(accountId, column));
  }

  protected override versionOfOthers(accountId: number): number {
    return step(() => super.versionOfOthers(accountId));
  }

  protected override saveBeforeImage(start: number): void {
    step(() => {
      super.saveBeforeImage(start);
      return 0;
    });
  }

  protected override load(index: number): number {
    return step(() => super.load(index));
  }

  protected override addTo(index: number, delta: number): void {
    step(() => {
      super.addTo(index, delta);
      return 0;
    });
  }
}

/** The table of liquidation bids as one actor has it. */
export class SteppedBids extends LiquidationBids {
  protected override load(index: number): number {
    return step(() => super.load(index));
  }

  protected override store(index: number, value: number): void {
    step(() => {
      super.store(index, value);
      return 0;
    });
  }
}

const OPERATIONS = ["store", "compareExchange"] as const;
type Operation = (words: Int32Array, ...rest: never[]) => number;

class Suspended extends Error {}

/** The run in progress: the recorded answers of its steps, and how far it is. */
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

/** As everyInterleavingOf(), on a margin table. The n-th actor has the n-th stripe. */
export const everyInterleaving = <T>(
  start: ArrayBuffer,
  actors: readonly ((marginTable: MarginTable) => T)[],
  check: (ending: Ending<T>) => void,
): number => everyInterleavingOf(start, (buffer, i) => new SteppedMarginTable(buffer, actors.length, i), actors, check);

/**
 * Calls `check` once for each possible ending, however many orders lead to it. `view`: the memory as the n-th actor has it.
 * Returns the number of orders.
 */
export function everyInterleavingOf<M, T>(
  start: ArrayBuffer,
  view: (buffer: SharedArrayBuffer, actor: number) => M,
  actors: readonly ((memory: M) => T)[],
  check: (ending: Ending<T>) => void,
): number {
  /** Keyed by the memory and the answers of each actor, which decide everything that can still happen. */
  const ordersFrom = new Map<string, number>();
  const go = (buffer: ArrayBuffer, made: number[][], schedule: number[]): number => {
    const state = `${Buffer.from(buffer).toString("latin1")} ${made.join(" ")}`;
    const known = ordersFrom.get(state);
    if (known !== undefined) return known;
    const results: T[] = [];
    let orders = 0;
    for (const [i, actor] of actors.entries()) {
      const next = buffer.slice(0);
      const memory = view(next as unknown as SharedArrayBuffer, i);
      const end = runOneStep(() => actor(memory), made[i]!);
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
