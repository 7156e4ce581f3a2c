import type { Engine } from "../../actor/engine/engine.ts";
import type { AccountMargin } from "../../core/accounts/contribution.ts";
import type { Answer, Log } from "../http/answer.ts";

/**
 * Number of waits of 1 ms for a transaction that changes the account. A long transaction takes about 100 ms; a thread that
 * takes longer than this hangs.
 */
const MAX_WAITS = 1000;

/**
 * Reads the balance of an account between two transactions that change it. Calls `then` once all transactions that the
 * figures include are durable. The figures include everything up to `sequence`, and may include later transactions. Returns
 * false, without a call of `then`, when too many readers wait.
 */
export function readFigures(
  engine: Engine,
  accountId: number,
  then: (figures: Readonly<AccountMargin>, sequence: number) => void,
): boolean {
  const read = (waitsLeft: number): boolean => {
    const sequence = engine.releasedSequence();
    if (!engine.marginTable.readConsistent(accountId) && waitsLeft > 0) {
      setTimeout(read, 1, waitsLeft - 1);
      return true;
    }
    const figures = { ...engine.marginTable.consistent(accountId) };
    return engine.whenAllDurable(() => then(figures, sequence));
  };
  return read(MAX_WAITS);
}

/** Answers with what `print` makes of the figures. */
export function replyFigures(
  { engine, log }: { readonly engine: Engine; readonly log: Log },
  answer: Answer,
  accountId: number,
  print: (figures: Readonly<AccountMargin>, sequence: number) => string,
): void {
  readFigures(engine, accountId, (figures, sequence) => {
    try {
      answer.reply(200, print(figures, sequence));
    } catch (thrown) {
      answer.fail(thrown, log);
    }
  });
}
