import { Buckets } from "../common/buckets.ts";
import { networkOf } from "../http/addresses.ts";
import type { OperatorLog } from "../http/answer.ts";
import type { Call } from "../http/call.ts";
import { type Limits, rateLimited } from "./limits.ts";

/** An address may make this many failed attempts at once, and then one every six seconds. */
const ATTEMPTS_AT_ONCE = 10;
const ATTEMPTS_PER_SECOND = 1 / 6;

/**
 * Logs and limits requests to the operator's endpoints that have no valid token. The limit bounds the log, too: attempts
 * beyond it are only counted. A valid token is never refused here. Otherwise a client that shares the operator's address
 * could keep the operator out.
 */
export class OperatorAttempts {
  private readonly buckets = new Buckets(ATTEMPTS_PER_SECOND, ATTEMPTS_AT_ONCE);
  private readonly limits: Limits | null;
  private readonly log: OperatorLog;
  private notLogged = 0;

  /** `limits` null: attempts are logged, but none is answered with 429. */
  constructor(limits: Limits | null, log: OperatorLog) {
    this.limits = limits;
    this.log = log;
  }

  /** Records a failed attempt. `path`: that of the route, since the call's own may hold a secret. Throws RATE_LIMITED. */
  refused(call: Call, path: string): void {
    const address = call.remoteAddress();
    const left = this.buckets.take(networkOf(address), 1, call.arrivedAt);
    if (left >= 0) {
      const { method, requestId } = call;
      const fields = { address, method, path, requestId, attemptsNotLogged: this.notLogged };
      this.log.warn(fields, "an operator request without a valid token was refused");
      this.notLogged = 0;
      return;
    }
    this.notLogged++;
    if (!this.limits?.covers(address)) return;
    call.showQuota({
      limit: ATTEMPTS_AT_ONCE,
      remaining: 0,
      resetMs: (ATTEMPTS_AT_ONCE - 1 - left) / this.buckets.perMs,
    });
    throw rateLimited("IP", { budget: "OPERATOR", weight: 1 }, this.buckets, left);
  }
}
