import type { Road } from "../actor/road.ts";
import type { Contribution } from "../core/cells.ts";

/** Turns of the event loop in which an account may be in the middle of a turn of an actor's: more is a thread that hangs. */
const MOST_TURNS = 100;

/**
 * Reads what an account has between two turns that change it, and calls `then` with it once all that it rests on is
 * durable. `sequence`: everything up to it is in the figures, and what came with the turns behind it may be. Returns false,
 * and never does, when too many wait for theirs.
 */
export function readFigures(
  road: Road,
  accountId: number,
  then: (figures: Readonly<Contribution>, sequence: number) => void,
): boolean {
  const look = (turnsLeft: number): boolean => {
    const sequence = road.releasedSequence();
    if (!road.cells.observe(accountId) && turnsLeft > 0) {
      setImmediate(look, turnsLeft - 1);
      return true;
    }
    const figures = { ...road.cells.observed(accountId) };
    return road.afterEverything(() => then(figures, sequence));
  };
  return look(MOST_TURNS);
}
