import { ApiError } from "../common/errors.ts";
import type { Call } from "./call.ts";

/** So a client of N connections gets at most 10 N of these answers a second. */
const LATE_BY_MS = 100;
const CHECK_EVERY_MS = 10;
/** Such an answer takes about 15 µs. */
const ANSWERS_PER_CHECK = 50;

/**
 * Answers RATE_LIMITED later than anything else. Some clients repeat a request as soon as it is refused. The server would
 * refuse them thousands of times a second, and the others would wait behind that work. A connection has one
 * unanswered call, so the number of connections bounds the number of calls that wait.
 */
export class LateRefusals {
  /** In the order in which they are due. */
  private readonly waiting: { readonly call: Call; readonly refusal: ApiError; readonly dueAt: number }[] = [];
  private timer: NodeJS.Timeout | undefined;

  /** Takes the refusal if it is one that comes late. Returns false if it is not. */
  take(call: Call, thrown: unknown): boolean {
    if (!(thrown instanceof ApiError) || thrown.code !== "RATE_LIMITED") return false;
    this.waiting.push({ call, refusal: thrown, dueAt: performance.now() + LATE_BY_MS });
    this.timer ??= setInterval(() => this.answerDue(), CHECK_EVERY_MS);
    return true;
  }

  private answerDue(): void {
    const now = performance.now();
    const firstLater = this.waiting.slice(0, ANSWERS_PER_CHECK).findIndex(({ dueAt }) => dueAt > now);
    const due = this.waiting.splice(0, firstLater < 0 ? ANSWERS_PER_CHECK : firstLater);
    for (const { call, refusal } of due) call.refuse(refusal);
    if (this.waiting.length > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
