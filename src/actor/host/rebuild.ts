import type { MarginTable } from "../../core/accounts/margin-table.ts";
import { type Doorbell, RingGauge, type RingProducer } from "../../wire/ring.ts";
import type { EngineClient } from "../engine/engine-client.ts";
import type { Control } from "../threads/control.ts";

/** What a rebuild needs to know of a worker. */
export interface RebuildWorker {
  readonly actorIds: readonly number[];
  /** Its ring to the journal, which the next thread goes on with. */
  readonly out: SharedArrayBuffer;
  readonly doorbell: Doorbell;
}

export interface RebuildOptions {
  control: Control;
  marginTable: MarginTable;
  /** Where the workers add up their shares in a recount. */
  sums: MarginTable;
  engine: Pick<EngineClient, "markDown" | "failPending" | "markUp">;
  /** The rings from the journal to the front and to the store. */
  front: SharedArrayBuffer;
  store: SharedArrayBuffer;
  workers: readonly RebuildWorker[];
  /**
   * Starts another thread for the worker's actors, which recovers them and joins (WorkerOptions.joins); recovered() is to be
   * called then. Returns its command ring.
   */
  start(worker: number): RingProducer;
  /** Its actors are there again. */
  onRebuilt?(worker: number): void;
}

const WORKING = 0;
/** Its thread has ended; what it had committed is on its way. */
const DEAD = 1;
/** Another thread recovers its actors from their snapshots and the log. */
const RECOVERING = 2;
/** It waits for a recount to join the others. */
const JOINING = 3;

interface Entry extends RebuildWorker {
  readonly number: number;
  readonly gauge: RingGauge;
  state: number;
  /** While DEAD: all that it may have done has its place in the log before this. */
  lastSequence: number;
  /** While DEAD: how far the rings behind the journal were filled when its own was found empty; null before. */
  marks: { front: number; store: number } | null;
  commands: RingProducer | null;
}

/**
 * What becomes of a worker whose thread has died, step by step on the main thread, while the other workers go on: what it
 * had committed is journaled and handed out; whoever still waits for it is told that nothing was done; another thread
 * recovers its actors as a start would; a recount makes the account cells anew; its actors can be asked again. A thread
 * that dies at any of these points, this one's successor or another, begins anew at the first.
 */
export class Rebuild {
  private readonly parts: RebuildOptions;
  private readonly entries: Entry[];
  private readonly front: RingGauge;
  private readonly store: RingGauge;
  private rounds = 0;
  /** Who takes part in the recount that is under way. */
  private counting: Entry[] = [];
  /** One of them has died since: its share may be in the sums in part. */
  private isRecountInvalid = false;

  constructor(parts: RebuildOptions) {
    this.parts = parts;
    this.front = new RingGauge(parts.front);
    this.store = new RingGauge(parts.store);
    this.entries = parts.workers.map((worker, number) => ({
      ...worker,
      number,
      gauge: new RingGauge(worker.out),
      state: WORKING,
      lastSequence: 0,
      marks: null,
      commands: null,
    }));
  }

  /** The worker's thread has ended: it writes nowhere any more. */
  died(worker: number): void {
    const { control, engine } = this.parts;
    engine.markDown(worker);
    this.isRecountInvalid = true;
    Object.assign(this.entries[worker], {
      state: DEAD,
      lastSequence: control.lastSequence,
      marks: null,
      commands: null,
    });
  }

  /** The thread that was started for it has recovered its actors. */
  recovered(worker: number): void {
    // It may have died since.
    if (this.entries[worker].state === RECOVERING) this.entries[worker].state = JOINING;
  }

  /** Every worker works. */
  get isDone(): boolean {
    return this.counting.length === 0 && this.entries.every(({ state }) => state === WORKING);
  }

  /** All workers stand still, or are about to: call step() again without delay. */
  get isUrgent(): boolean {
    return this.counting.length > 0;
  }

  /** The worker is to take its commands: it neither recovers nor stands still for the others in a recount. */
  isWorking(worker: number): boolean {
    const hasCounted = this.counting.length > 0 && this.parts.control.recountedBy(worker) === this.rounds;
    return this.entries[worker].state === WORKING && !hasCounted;
  }

  /** The worker has died, and its last turns have not come through yet. */
  isDraining(worker: number): boolean {
    return this.entries[worker].state === DEAD;
  }

  /** Goes on where it can. */
  step(): void {
    const { engine, start } = this.parts;
    for (const entry of this.entries) {
      if (entry.state !== DEAD || !this.hasComeThrough(entry)) continue;
      engine.failPending(entry.number);
      entry.state = RECOVERING;
      entry.commands = start(entry.number);
    }
    if (this.counting.length > 0) this.endRecount();
    else this.callRecount();
  }

  /** All that the dead worker had committed is durable and handed out, and its last whole snapshot is stored. */
  private hasComeThrough(entry: Entry): boolean {
    const { control } = this.parts;
    const { actorIds, gauge } = entry;
    if (control.durable < entry.lastSequence || !gauge.hasRead(gauge.written)) return false;
    entry.marks ??= { front: this.front.written, store: this.store.written };
    if (!this.front.hasRead(entry.marks.front) || !this.store.hasRead(entry.marks.store)) return false;
    return actorIds.every((actorId) => control.storedSnapshotOf(actorId) >= control.receivedSnapshotOf(actorId));
  }

  private callRecount(): void {
    const { control, sums } = this.parts;
    if (!this.entries.every(({ state }) => state === WORKING || state === JOINING)) return;
    if (!this.entries.some(({ state }) => state === JOINING)) return;
    sums.clear();
    this.counting = [...this.entries];
    this.isRecountInvalid = false;
    control.recountRound = ++this.rounds;
    this.wakeAll();
  }

  private endRecount(): void {
    const { control, marginTable, sums, engine, onRebuilt } = this.parts;
    const isIn = ({ number, state }: Entry): boolean =>
      state === DEAD || state === RECOVERING || control.recountedBy(number) === this.rounds;
    if (!this.counting.every(isIn)) return;
    if (!this.isRecountInvalid) {
      marginTable.copyFrom(sums);
      control.appliedRecount = this.rounds;
    }
    this.counting = [];
    control.recountRound = 0;
    this.wakeAll();
    if (this.isRecountInvalid) return;
    for (const entry of this.entries) {
      if (entry.state !== JOINING || entry.commands === null) continue;
      engine.markUp(entry.number, entry.commands);
      entry.state = WORKING;
      onRebuilt?.(entry.number);
    }
  }

  private wakeAll(): void {
    for (const { doorbell } of this.entries) doorbell.wake();
  }
}
