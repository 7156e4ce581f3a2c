import { signal } from "@preact/signals";
import { forgetWithAccount } from "./account.ts";
import { settings } from "./settings.ts";

/** A question before something is traded, for those who want to be asked. */

interface Question {
  /** The action, in one line. */
  readonly what: string;
  answer(isYes: boolean): void;
}

export const question = signal<Question | null>(null);

forgetWithAccount(() => question.peek()?.answer(false));

/** Resolves with true at once for a person who does not want to be asked. A second question answers the first with no. */
export function askFirst(what: string): Promise<boolean> {
  if (!settings.peek().confirmsOrders) return Promise.resolve(true);
  question.peek()?.answer(false);
  return new Promise((resolve) => {
    question.value = {
      what,
      answer(isYes) {
        question.value = null;
        resolve(isYes);
      },
    };
  });
}
