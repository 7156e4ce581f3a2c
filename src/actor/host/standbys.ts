import type { StandbyNote } from "../../replication/stream.ts";
import type { StandbyStatus } from "../engine/engine.ts";

/** A standby that is not heard for so long is gone. It says every second how far it is. */
const GONE_AFTER_MS = 3500;
/** No exchange has more. Others may send such notes, too. */
const MAX_STANDBYS = 32;

/** The standbys that the leader hears. */
export class Standbys {
  private readonly now: () => number;
  private readonly heard = new Map<string, StandbyNote & { readonly atMs: number; readonly lagTransactions: number }>();

  /** `now`: ms of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** `leaderSequence`: the last transaction that counts at the leader. */
  hear(note: StandbyNote, leaderSequence: number): void {
    if (this.heard.size >= MAX_STANDBYS && !this.heard.has(note.id)) this.forget();
    if (this.heard.size >= MAX_STANDBYS && !this.heard.has(note.id)) return;
    const lagTransactions = Math.max(0, leaderSequence - note.sequence);
    this.heard.set(note.id, { ...note, atMs: this.now(), lagTransactions });
  }

  /** The furthest ahead first. */
  list(): StandbyStatus[] {
    this.forget();
    const nowMs = this.now();
    return [...this.heard.values()]
      .sort((a, b) => b.sequence - a.sequence)
      .map(({ url, sequence, lagTransactions, isHealthy = true, atMs }) => {
        return { url, sequence, lagTransactions, healthy: isHealthy, heardMsAgo: Math.round(nowMs - atMs) };
      });
  }

  private forget(): void {
    const nowMs = this.now();
    for (const [id, { atMs }] of this.heard) if (nowMs - atMs > GONE_AFTER_MS) this.heard.delete(id);
  }
}
