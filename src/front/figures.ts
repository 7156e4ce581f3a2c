import type { Road } from "../actor/road.ts";
import type { Contribution } from "../core/cells.ts";

/** Turns of the event loop in which an account may be in the middle of a turn of an actor's: more is a thread that hangs. */
const MOST_TURNS = 100;

/**
 * Reads what an account has once everything that was done up to now is durable, between two turns that change it. Calls
 * `then` with the figures, which are good during the call. Returns false, and never does, when too many wait for theirs.
 */
export function readFigures(road: Road, accountId: number, then: (figures: Readonly<Contribution>) => void): boolean {
  const look = (turnsLeft: number): void => {
    if (road.cells.observe(accountId) || turnsLeft === 0) then(road.cells.observed(accountId));
    else setImmediate(look, turnsLeft - 1);
  };
  return road.afterEverything(() => look(MOST_TURNS));
}
