import type { Control } from "../threads/control.ts";

/** Looks that the log may stand still for: two seconds, twenty times what a slow disk takes for a sync. */
const MAX_STILL_LOOKS = 8;

/**
 * Notices a disk that does not answer: turns have their places in the log, and look after look none of them is on disk.
 * Looks are counted, not time: while the whole process is held up nobody looks.
 */
export class StallWatch {
  private readonly control: Control;
  private durable = 0;
  private stillLooks = 0;

  constructor(control: Control) {
    this.control = control;
  }

  /** To be called four times a second. Returns whether the log stands still. */
  check(): boolean {
    const { durable, lastSequence } = this.control;
    this.stillLooks = lastSequence > durable && durable === this.durable ? this.stillLooks + 1 : 0;
    this.durable = durable;
    return this.stillLooks >= MAX_STILL_LOOKS;
  }
}
