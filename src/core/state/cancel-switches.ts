import { ExpiryQueue } from "../base/expiry-queue.ts";
import type { TimeMs } from "../base/units.ts";

/** The armed CancelAfter of each account: when its open orders are canceled. */
export class CancelSwitches {
  private readonly expiryQueue = new ExpiryQueue();
  /** Since the last snapshot. 0 = disarmed. */
  private readonly changed = new Map<number, TimeMs>();

  /** Infinity when none is armed. */
  get earliest(): TimeMs {
    return this.expiryQueue.earliest;
  }

  /** 0 = not armed. */
  of(accountId: number): TimeMs {
    return this.expiryQueue.timeOf(accountId) ?? 0;
  }

  /** 0 disarms. */
  set(accountId: number, cancelAt: TimeMs): void {
    this.load(accountId, cancelAt);
    this.changed.set(accountId, cancelAt);
  }

  /** As `set`, from a snapshot. */
  load(accountId: number, cancelAt: TimeMs): void {
    if (cancelAt === 0) this.expiryQueue.remove(accountId);
    else this.expiryQueue.add(accountId, cancelAt);
  }

  /** The account whose switch is due first; undefined when none is due. The switch stays armed. */
  firstDue(now: TimeMs): number | undefined {
    return this.expiryQueue.firstDue(now);
  }

  /** Hands over each switch that has changed since the last call; 0 = disarmed. */
  takeChanges(take: (accountId: number, cancelAt: TimeMs) => void): void {
    for (const [accountId, cancelAt] of this.changed) take(accountId, cancelAt);
    this.changed.clear();
  }

  /** Every armed switch. */
  entries(): Iterable<[accountId: number, cancelAt: TimeMs]> {
    return this.expiryQueue.entries();
  }
}
