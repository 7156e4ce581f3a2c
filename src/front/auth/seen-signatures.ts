import { HashFifo, NO_ROW } from "../../core/base/hash-fifo.ts";
import type { TimeMs } from "../../core/base/units.ts";

/** 66,000 signed requests a second for one minute. Takes about 200 MB. */
const MAX_SIGNATURES = 4_000_000;
/** Removed with each new one: more than one, so the memory shrinks, and few, so no request waits long. */
const FORGOTTEN_PER_ADD = 2;

// The numbers of a row.
const DIGITS = 0;
const SIGNED_AT = 1;
const WIDTH = 2;

/**
 * Remembers the signatures of all keys while they are fresh enough to be sent again, in the order of their arrival. It keeps
 * 13 hex digits (52 bits) of each.
 */
export class SeenSignatures {
  private readonly windowMs: number;
  private readonly most: number;
  private readonly rows = new HashFifo(WIDTH);

  /** The caller must refuse signatures older than `windowMs`, because they are forgotten here. */
  constructor(windowMs: number, most = MAX_SIGNATURES) {
    this.windowMs = windowMs;
    this.most = most;
  }

  /** "SEEN": it was added before, or collides with another (1 in 10^15). "FULL": it cannot be remembered. */
  add(signature: string, signedAt: TimeMs, now: TimeMs): "NEW" | "SEEN" | "FULL" {
    const { rows } = this;
    this.forgetBefore(now - this.windowMs);
    const digits = digitsOf(signature);
    for (let row = rows.find(digits); row !== NO_ROW; row = rows.findNext(row)) {
      const known = rows.get(row, DIGITS);
      if (known === digits) return "SEEN";
      if (known !== removed(digits)) continue;
      rows.set(row, DIGITS, digits);
      return "NEW";
    }
    if (rows.length >= this.most) return "FULL";
    const row = rows.append(digits);
    rows.set(row, DIGITS, digits);
    rows.set(row, SIGNED_AT, signedAt);
    return "NEW";
  }

  /** It may be added again. Its row stays and is used then, so that repeated attempts take no more memory. */
  remove(signature: string): void {
    const { rows } = this;
    const digits = digitsOf(signature);
    for (let row = rows.find(digits); row !== NO_ROW; row = rows.findNext(row))
      if (rows.get(row, DIGITS) === digits) rows.set(row, DIGITS, removed(digits));
  }

  /** Number of remembered signatures. */
  get size(): number {
    return this.rows.length;
  }

  /** Goes by arrival, so a signature with a later time keeps the ones after it a little longer. */
  private forgetBefore(time: TimeMs): void {
    const { rows } = this;
    for (let i = 0; i < FORGOTTEN_PER_ADD && rows.length > 0; i++) {
      if (rows.get(rows.first, SIGNED_AT) >= time) return;
      rows.dropFirst();
    }
  }
}

const digitsOf = (signature: string): number => Number.parseInt(signature.slice(0, 13), 16);

/** Stands in a row for digits that were removed. No digits are below 0. */
const removed = (digits: number): number => -1 - digits;
