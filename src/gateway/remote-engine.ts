import type { Engine, ReleasedTransaction } from "../actor/engine/engine.ts";
import { TransactionDecoder } from "../actor/engine/transaction-decoder.ts";
import { AssertionError } from "../assert.ts";
import type { MarginTable } from "../core/accounts/margin-table.ts";
import type { TimeMs } from "../core/base/units.ts";
import type { Instrument } from "../core/protocol/instrument.ts";
import { viewOf } from "../wire/record.ts";

/** Through which transaction an actor's state is known already. */
export interface KnownThrough {
  readonly sequence: number;
  readonly time: TimeMs;
}

/** The engine as a gateway in another process sees it: it hands out the transactions of the stream, and takes no command. */
export class RemoteEngine implements Engine {
  readonly instruments: readonly Instrument[];
  // The leader has these.
  readonly hasDiskRoom = true;
  readonly diskFreeBytes = 0;
  readonly isStalled = false;
  readonly isHistoryStalled = false;
  readonly inFlight = 0;
  readonly historyLag = 0;
  readonly historySince = 0;
  readonly rebuilds = 0;
  readonly replication = null;
  /** By actor id. Those that are missing have no state here, and all of their transactions are handed out. */
  private readonly known: ReadonlyMap<number, KnownThrough>;
  private readonly times: TimeMs[] = [];
  private readonly decoder = new TransactionDecoder();
  private readonly releasedListeners: ((transaction: ReleasedTransaction) => void)[] = [];
  private readonly drainedListeners: (() => void)[] = [];
  private sequence: number;

  constructor(instruments: readonly Instrument[], known: ReadonlyMap<number, KnownThrough>) {
    this.instruments = instruments;
    this.known = known;
    for (const [actorId, { time }] of known) this.times[actorId] = time;
    this.sequence = Math.max(0, ...[...known.values()].map(({ sequence }) => sequence));
  }

  /** Hands out a record of the stream. */
  receive(record: Uint8Array, sequence: number): void {
    const transaction = this.decoder.decode(viewOf(record), record, 0, record.length);
    const { actorId, time } = transaction;
    this.sequence = Math.max(this.sequence, sequence);
    const known = this.known.get(actorId);
    if (known !== undefined && sequence <= known.sequence) return;
    this.times[actorId] = time;
    for (const listener of this.releasedListeners) listener(transaction);
  }

  /** The stream has no more at the moment. */
  drained(): void {
    for (const listener of this.drainedListeners) listener();
  }

  onReleased(listener: (transaction: ReleasedTransaction) => void): void {
    this.releasedListeners.push(listener);
  }

  onDrained(listener: () => void): void {
    this.drainedListeners.push(listener);
  }

  releasedSequence(): number {
    return this.sequence;
  }

  releasedTime(actorId: number): TimeMs {
    return this.times[actorId] ?? 0;
  }

  request(): boolean {
    return false;
  }

  whenAllDurable(then: () => void): boolean {
    then();
    return true;
  }

  historyCaughtUp(): Promise<boolean> {
    return Promise.resolve(true);
  }

  isDown(): boolean {
    return false;
  }

  isUnresponsive(): boolean {
    return false;
  }

  get marginTable(): MarginTable {
    throw new AssertionError("a gateway has no margin table");
  }
}
