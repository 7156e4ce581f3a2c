import type { Doorbell } from "../../wire/ring.ts";
import type { ReleasedTransactions } from "./released-transactions.ts";
import type { RequestTable } from "./request-table.ts";

/**
 * The gateway polls only with this many requests on their way. With one, polling takes the processor from the threads
 * that work on it. With more than the maximum the gateway always has work.
 */
const MIN_POLLED_REQUESTS = 2;
const MAX_POLLED_REQUESTS = 64;

/**
 * The most that one event-loop iteration hands out: a few hundred transactions, or one account's open orders in a symbol,
 * which take some milliseconds to print. Sockets and timers get their turn in between.
 */
const MAX_BYTES_PER_ITERATION = 1 << 18;

export interface ReleaseDrainOptions {
  readonly released: ReleasedTransactions;
  readonly requests: RequestTable;
  /** Wakes the gateway thread. */
  readonly doorbell: Doorbell;
  readonly pollMs: number;
}

/** Decides when the gateway reads what the journal releases: when it is woken, or by polling for a short time. */
export class ReleaseDrain {
  private readonly options: ReleaseDrainOptions;
  /** While this is set the journal need not wake the gateway. */
  private isPolling = false;
  private pollUntil = 0;
  private willContinue = false;

  constructor(options: ReleaseDrainOptions) {
    this.options = options;
  }

  /** Polls for `pollMs` after each command sent and each transaction read. Saves the cost of a wake. */
  startPolling(): void {
    const { doorbell, pollMs } = this.options;
    if (pollMs === 0 || !this.isWorthPolling) return;
    this.pollUntil = performance.now() + pollMs;
    if (this.isPolling) return;
    this.isPolling = true;
    doorbell.cancelSleep();
    setImmediate(this.poll);
  }

  /** Hands out what was released, over several event-loop iterations if need be. Sleeps when nothing is left. */
  drain(maxBytes = MAX_BYTES_PER_ITERATION): void {
    const { released, doorbell } = this.options;
    let bytes = 0;
    do {
      doorbell.cancelSleep();
      bytes += released.read(maxBytes - bytes);
      if (this.isPolling) return;
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

  private get isWorthPolling(): boolean {
    const { size } = this.options.requests;
    return size >= MIN_POLLED_REQUESTS && size <= MAX_POLLED_REQUESTS;
  }

  private readonly poll = (): void => {
    const { released, pollMs } = this.options;
    if (released.read(MAX_BYTES_PER_ITERATION) > 0) this.pollUntil = performance.now() + pollMs;
    if (this.isWorthPolling && performance.now() < this.pollUntil) {
      setImmediate(this.poll);
      return;
    }
    this.isPolling = false;
    this.drain();
  };
}
