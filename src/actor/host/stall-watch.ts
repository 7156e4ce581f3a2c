import type { Control } from "../threads/control.ts";

/** Checks without progress until the log counts as stalled: two seconds, twenty times as long as a sync on a slow disk. */
const MAX_STILL_CHECKS = 8;

/**
 * Notices a disk that does not answer: transactions have sequences, and none of them becomes durable. It counts checks
 * instead of time, because nothing is checked while the whole process is suspended.
 */
export class StallWatch {
  private readonly control: Control;
  private durable = 0;
  private stillChecks = 0;

  constructor(control: Control) {
    this.control = control;
  }

  /** Call it four times a second. Returns whether the log is stalled. */
  check(): boolean {
    const { durable, lastSequence } = this.control;
    this.stillChecks = lastSequence > durable && durable === this.durable ? this.stillChecks + 1 : 0;
    this.durable = durable;
    return this.stillChecks >= MAX_STILL_CHECKS;
  }
}
