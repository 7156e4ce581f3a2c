import type { MarginTable } from "../../core/accounts/margin-table.ts";
import type { Actor } from "../../core/protocol/actor.ts";
import type { Control } from "./control.ts";

export interface RecountOptions {
  control: Control;
  /** The worker's number: see Control.countedBy. */
  worker: number;
  actors: readonly Actor[];
  /** What all workers add their shares to. */
  sums: MarginTable;
}

/**
 * A worker's part in a recount of the account cells: what a dead thread has left in them cannot be told from the rest, so
 * all workers stop between two turns, add up anew what each of their actors has given, and go on when the sums have
 * become the cells. Milliseconds; see rebuild.ts for who calls it.
 */
export class RecountParticipant {
  private readonly parts: RecountOptions;
  /** The recount that this worker has last done its part in. */
  private done = 0;

  constructor(parts: RecountOptions) {
    this.parts = parts;
  }

  /** To be asked between turns: does the worker's part, and answers whether it must stand still until it is over. */
  participate(): boolean {
    const { control, worker, actors, sums } = this.parts;
    const round = control.recountRound;
    if (round === 0) return false;
    if (round !== this.done) {
      for (const actor of actors) actor.contribute(sums);
      this.done = round;
      control.setRecountedBy(worker, round);
    }
    return true;
  }

  /** The sums that this worker had its part in are the cells. */
  get hasTakenEffect(): boolean {
    return this.done !== 0 && this.parts.control.appliedRecount === this.done;
  }
}
