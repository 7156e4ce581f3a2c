import type { Engine } from "../../actor/engine/engine.ts";
import { ApiError } from "../common/errors.ts";

/** Longer than a standby lags behind its leader, and shorter than a client waits. */
const MAX_WAIT_MS = 1000;
/** More would only wait longer than their clients do. */
const MAX_WAITING = 10_000;

interface Waiting {
  readonly sequence: number;
  readonly reached: () => void;
}

/** Reads that wait until this process has released a sequence: their clients have seen it, perhaps at another process. */
export class SequenceWaits {
  /** Clients compare processes only if there are several. */
  readonly isReplicated: boolean;
  private readonly engine: Pick<Engine, "releasedSequence">;
  private readonly waiting = new Set<Waiting>();

  constructor(engine: Pick<Engine, "releasedSequence" | "onDrained">, isReplicated: boolean) {
    this.engine = engine;
    this.isReplicated = isReplicated;
    engine.onDrained(() => this.look());
  }

  /** The last sequence that was released here. */
  get sequence(): number {
    return this.engine.releasedSequence();
  }

  /** Resolves when the sequence is reached. Rejects with SEQUENCE_NOT_REACHED after MAX_WAIT_MS. */
  wait(sequence: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (): void => {
        this.waiting.delete(waiting);
        reject(new ApiError("SEQUENCE_NOT_REACHED", { field: "minSequence", details: { sequence: this.sequence } }));
      };
      const timer = setTimeout(fail, MAX_WAIT_MS);
      const reached = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const waiting = { sequence, reached };
      if (this.waiting.size < MAX_WAITING) this.waiting.add(waiting);
      else {
        clearTimeout(timer);
        fail();
      }
    });
  }

  private look(): void {
    if (this.waiting.size === 0) return;
    const { sequence } = this;
    for (const waiting of this.waiting) {
      if (waiting.sequence > sequence) continue;
      this.waiting.delete(waiting);
      waiting.reached();
    }
  }
}
