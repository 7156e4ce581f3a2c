import { ExpiryQueue } from "../base/expiry-queue.ts";
import type { TimeMs } from "../base/units.ts";

/** A further session closes the one that would expire first. */
export const MAX_SESSIONS_PER_ACCOUNT = 100;

export interface Session {
  readonly tokenHash: string;
  readonly accountId: number;
  readonly expiresAt: TimeMs;
}

/** Every open session, by its token's hash. */
export class Sessions {
  private readonly byToken = new Map<string, Session>();
  /** Expiry times of each account's sessions. */
  private readonly ofAccount = new Map<number, ExpiryQueue<string>>();
  private readonly expiries = new ExpiryQueue<string>();

  get size(): number {
    return this.byToken.size;
  }

  get(tokenHash: string): Session | undefined {
    return this.byToken.get(tokenHash);
  }

  values(): Iterable<Session> {
    return this.byToken.values();
  }

  add({ tokenHash, accountId, expiresAt }: Session): void {
    this.byToken.set(tokenHash, { tokenHash, accountId, expiresAt });
    this.expiries.add(tokenHash, expiresAt);
    const queue = this.ofAccount.get(accountId) ?? new ExpiryQueue<string>();
    queue.add(tokenHash, expiresAt);
    this.ofAccount.set(accountId, queue);
  }

  remove(tokenHash: string): void {
    const session = this.byToken.get(tokenHash);
    if (session === undefined) return;
    this.byToken.delete(tokenHash);
    this.expiries.remove(tokenHash);
    const queue = this.ofAccount.get(session.accountId);
    queue?.remove(tokenHash);
    if (queue?.size === 0) this.ofAccount.delete(session.accountId);
  }

  countOf(accountId: number): number {
    return this.ofAccount.get(accountId)?.size ?? 0;
  }

  /** The account's session that expires first. */
  firstOf(accountId: number): Session | undefined {
    return this.firstIn(this.ofAccount.get(accountId), Number.POSITIVE_INFINITY);
  }

  /** The session that expired first; undefined when none has expired. */
  firstDue(now: TimeMs): Session | undefined {
    return this.firstIn(this.expiries, now);
  }

  private firstIn(expiries: ExpiryQueue<string> | undefined, now: TimeMs): Session | undefined {
    const tokenHash = expiries?.firstDue(now);
    return tokenHash === undefined ? undefined : this.byToken.get(tokenHash);
  }
}
