import type { Doorbell } from "../../wire/ring.ts";
import type { ReleasedTransactions } from "./released-transactions.ts";

/**
 * The most that one event-loop iteration hands out: a few hundred transactions, or one account's open orders in a symbol,
 * which take some milliseconds to print. Sockets and timers get their turn in between.
 */
const MAX_BYTES_PER_ITERATION = 1 << 18;

/** Reads what the journal releases when the gateway is woken. `doorbell` wakes its thread. */
export class ReleaseDrain {
  private readonly released: ReleasedTransactions;
  private readonly doorbell: Doorbell;
  private willContinue = false;

  constructor(released: ReleasedTransactions, doorbell: Doorbell) {
    this.released = released;
    this.doorbell = doorbell;
  }

  /** Hands out what was released, over several event-loop iterations if need be. Sleeps when nothing is left. */
  drain(maxBytes = MAX_BYTES_PER_ITERATION): void {
    const { released, doorbell } = this;
    let bytes = 0;
    do {
      doorbell.cancelSleep();
      bytes += released.read(maxBytes - bytes);
      if (bytes >= maxBytes) return this.drainLater();
      doorbell.prepareSleep();
      // The journal may have written before it could see that the gateway sleeps.
    } while (!released.isEmpty);
  }

  private drainLater(): void {
    if (this.willContinue) return;
    this.willContinue = true;
    setImmediate(() => {
      this.willContinue = false;
      this.drain();
    });
  }
}
