import { HashFifo, NO_ROW } from "../../core/base/hash-fifo.ts";
import type { TimeMs } from "../../core/base/units.ts";

/** Sixty-six thousand signed requests a second for a minute; about 200 MB. */
const MAX_SIGNATURES = 4_000_000;
/** With each one that comes: so they go sooner than they come, and no request waits for many to go. */
const FORGET_AT_ONCE = 2;

// The numbers of a row.
const DIGITS = 0;
const SIGNED_AT = 1;
const WIDTH = 2;

/**
 * The signatures of all keys that were received and are still fresh enough to be sent again, at 13 hex digits (52 bits)
 * each, in the order in which they came.
 */
export class SeenSignatures {
  private readonly windowMs: number;
  private readonly rows = new HashFifo(WIDTH);

  /** What was signed longer ago than `windowMs` is refused by whoever asks. */
  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  /** "SEEN" when it was there already; "FULL" when it cannot be remembered. Two different ones collide once in 10^15. */
  add(signature: string, signedAt: TimeMs, now: TimeMs): "NEW" | "SEEN" | "FULL" {
    const { rows } = this;
    this.forgetBefore(now - this.windowMs);
    const digits = Number.parseInt(signature.slice(0, 13), 16);
    for (let row = rows.find(digits); row !== NO_ROW; row = rows.findNext(row))
      if (rows.get(row, DIGITS) === digits) return "SEEN";
    if (rows.length >= MAX_SIGNATURES) return "FULL";
    const row = rows.append(digits);
    rows.set(row, DIGITS, digits);
    rows.set(row, SIGNED_AT, signedAt);
    return "NEW";
  }

  /** How many are remembered. */
  get size(): number {
    return this.rows.length;
  }

  /** One that came with a later time keeps those behind it a while longer. */
  private forgetBefore(time: TimeMs): void {
    const { rows } = this;
    for (let i = 0; i < FORGET_AT_ONCE && rows.length > 0; i++) {
      if (rows.get(rows.first, SIGNED_AT) >= time) return;
      rows.dropFirst();
    }
  }
}
