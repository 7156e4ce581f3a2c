import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { Actor } from "../../core/protocol/actor.ts";
import type { Control } from "./control.ts";

export interface RecountOptions {
  control: Control;
  /** The worker's number: see Control.recountedBy. */
  worker: number;
  actors: readonly Actor[];
  /** All workers add their contributions to this table. */
  sums: MarginTable;
}

/**
 * A worker's part in a recount of the margin table. The contributions of a dead thread cannot be told apart
 * from the rest. So all workers stop between two transactions and add up the contributions of their actors. They go on
 * when the sums have replaced the table, after some milliseconds. rebuild.ts starts and ends a recount.
 */
export class RecountParticipant {
  private readonly options: RecountOptions;
  /** The last recount that this worker has contributed to. */
  private done = 0;

  constructor(options: RecountOptions) {
    this.options = options;
  }

  /** Between transactions: contributes to a recount in progress. Returns whether the worker must stand still for one. */
  participate(): boolean {
    const { control, worker, actors, sums } = this.options;
    const round = control.recountRound;
    if (round === 0) return false;
    if (round !== this.done) {
      for (const actor of actors) actor.contribute(sums);
      this.done = round;
      control.setRecountedBy(worker, round);
    }
    return true;
  }

  /** The sums of the last recount that this worker contributed to are in the margin table. */
  get hasTakenEffect(): boolean {
    return this.done !== 0 && this.options.control.appliedRecount === this.done;
  }
}
