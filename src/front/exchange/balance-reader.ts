import type { Engine } from "../../actor/engine/engine.ts";
import type { Contribution } from "../../core/accounts/contribution.ts";

/**
 * So often a millisecond is waited for the end of an actor's turn that changes the account: a long one takes a hundred,
 * and more than this is a thread that hangs.
 */
const MOST_WAITS = 1000;

/**
 * Reads what an account has between two turns that change it, and calls `then` with it once all that it rests on is
 * durable. `sequence`: everything up to it is in the figures, and what came with the turns behind it may be. Returns false,
 * and never does, when too many wait for theirs.
 */
export function readFigures(
  engine: Engine,
  accountId: number,
  then: (figures: Readonly<Contribution>, sequence: number) => void,
): boolean {
  const look = (waitsLeft: number): boolean => {
    const sequence = engine.releasedSequence();
    if (!engine.marginTable.readConsistent(accountId) && waitsLeft > 0) {
      setTimeout(look, 1, waitsLeft - 1);
      return true;
    }
    const figures = { ...engine.marginTable.consistent(accountId) };
    return engine.whenAllDurable(() => then(figures, sequence));
  };
  return look(MOST_WAITS);
}
