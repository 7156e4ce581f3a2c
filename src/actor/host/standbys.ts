import type { StandbyNote } from "../../replication/stream.ts";
import type { StandbyStatus } from "../engine/engine.ts";

/** A standby that is not heard for so long is gone. It says every second how far it is. */
const GONE_AFTER_MS = 3500;
/** No exchange has more. Others may send such notes, too. */
const MAX_STANDBYS = 32;

/** Time of the log goes on by the clock of the machine that leads, so a take-over makes it jump by the difference. */
const MAX_CLOCK_DIFFERENCE_MS = 1000;
/** A note may be late, and seem to be of a clock that is behind. Rarely two are in a row. */
const NOTES_OF_WRONG_CLOCK = 2;

interface Heard extends StandbyNote {
  readonly atMs: number;
  readonly lagTransactions: number;
  /** So many of the last notes had a time that differs too much. */
  readonly wrongTimes: number;
}

export interface StandbysOptions {
  /** Ms of a monotonic clock. */
  readonly now?: () => number;
  /** The clock of this machine. */
  readonly wallMs?: () => number;
  /** Called once when the clock of a standby is so far ahead of this machine's; below 0 = behind it. */
  readonly onWrongClock: (url: string, aheadMs: number) => void;
}

/** The standbys that the leader hears. */
export class Standbys {
  private readonly options: Required<StandbysOptions>;
  private readonly heard = new Map<string, Heard>();

  constructor(options: StandbysOptions) {
    this.options = { now: () => performance.now(), wallMs: Date.now, ...options };
  }

  /** `leaderSequence`: the last transaction that counts at the leader. */
  hear(note: StandbyNote, leaderSequence: number): void {
    if (this.heard.size >= MAX_STANDBYS && !this.heard.has(note.id)) this.forget();
    if (this.heard.size >= MAX_STANDBYS && !this.heard.has(note.id)) return;
    const { now, wallMs, onWrongClock } = this.options;
    const lagTransactions = Math.max(0, leaderSequence - note.sequence);
    const aheadMs = note.timeMs === undefined ? 0 : note.timeMs - wallMs();
    const isWrong = Math.abs(aheadMs) > MAX_CLOCK_DIFFERENCE_MS;
    const wrongTimes = isWrong ? (this.heard.get(note.id)?.wrongTimes ?? 0) + 1 : 0;
    this.heard.set(note.id, { ...note, atMs: now(), lagTransactions, wrongTimes });
    if (wrongTimes === NOTES_OF_WRONG_CLOCK) onWrongClock(note.url, aheadMs);
  }

  /** The furthest ahead first. */
  list(): StandbyStatus[] {
    this.forget();
    const nowMs = this.options.now();
    return [...this.heard.values()]
      .sort((a, b) => b.sequence - a.sequence)
      .map(({ url, sequence, lagTransactions, isHealthy = true, atMs }) => {
        return { url, sequence, lagTransactions, healthy: isHealthy, heardMsAgo: Math.round(nowMs - atMs) };
      });
  }

  private forget(): void {
    const nowMs = this.options.now();
    for (const [id, { atMs }] of this.heard) if (nowMs - atMs > GONE_AFTER_MS) this.heard.delete(id);
  }
}
