import { ExpiryQueue } from "../base/expiry-queue.ts";
import type { TimeMs } from "../base/units.ts";

/** Whoever opens another one ends the one that would end first. */
export const MAX_SESSIONS_PER_ACCOUNT = 100;

export interface Session {
  readonly tokenHash: string;
  readonly accountId: number;
  readonly expiresAt: TimeMs;
}

/** Every open session, by its token's hash. */
export class Sessions {
  private readonly byToken = new Map<string, Session>();
  /** When each of an account's ends. */
  private readonly ofAccount = new Map<number, ExpiryQueue<string>>();
  private readonly ends = new ExpiryQueue<string>();

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
    this.ends.add(tokenHash, expiresAt);
    const own = this.ofAccount.get(accountId) ?? new ExpiryQueue<string>();
    own.add(tokenHash, expiresAt);
    this.ofAccount.set(accountId, own);
  }

  remove(tokenHash: string): void {
    const session = this.byToken.get(tokenHash);
    if (session === undefined) return;
    this.byToken.delete(tokenHash);
    this.ends.remove(tokenHash);
    const own = this.ofAccount.get(session.accountId);
    own?.remove(tokenHash);
    if (own?.size === 0) this.ofAccount.delete(session.accountId);
  }

  countOf(accountId: number): number {
    return this.ofAccount.get(accountId)?.size ?? 0;
  }

  /** The account's session that ends before its others. */
  firstOf(accountId: number): Session | undefined {
    return this.firstIn(this.ofAccount.get(accountId), Number.POSITIVE_INFINITY);
  }

  /** The one whose time has come first. */
  firstDue(now: TimeMs): Session | undefined {
    return this.firstIn(this.ends, now);
  }

  private firstIn(ends: ExpiryQueue<string> | undefined, now: TimeMs): Session | undefined {
    const tokenHash = ends?.firstDue(now);
    return tokenHash === undefined ? undefined : this.byToken.get(tokenHash);
  }
}
