import type { MarginTable } from "../../core/accounts/margin-table.ts";
import { type Doorbell, RingGauge, type RingProducer } from "../../wire/ring.ts";
import type { EngineClient } from "../engine/engine-client.ts";
import type { Control } from "../threads/control.ts";

/** A worker, as a rebuild needs to know it. */
export interface RebuildWorker {
  readonly actorIds: readonly number[];
  /** Its ring to the journal. A replacement goes on writing to the same ring. */
  readonly out: SharedArrayBuffer;
  readonly doorbell: Doorbell;
}

export interface RebuildOptions {
  control: Control;
  marginTable: MarginTable;
  /** Where the workers add up their contributions in a recount. */
  sums: MarginTable;
  engine: Pick<EngineClient, "markDown" | "failPending" | "markUp">;
  /** The rings from the journal to the front and to the store. */
  front: SharedArrayBuffer;
  store: SharedArrayBuffer;
  workers: readonly RebuildWorker[];
  /**
   * Starts a replacement thread, which recovers the worker's actors (see WorkerOptions.joinTable). Call recovered() when it
   * has. Returns its command ring.
   */
  start(worker: number): RingProducer;
  /** The worker's actors can be used again. */
  onRebuilt?(worker: number): void;
}

const WORKING = 0;
/** Its thread has ended. Its last transactions are on their way through the journal. */
const DEAD = 1;
/** A replacement thread recovers its actors from their snapshots and the log. */
const RECOVERING = 2;
/** The replacement waits for a recount to join the others. */
const JOINING = 3;

interface Entry extends RebuildWorker {
  readonly number: number;
  readonly gauge: RingGauge;
  state: number;
  /** While DEAD: no transaction of the dead thread has a later sequence. */
  lastSequence: number;
  /** While DEAD: how far the journal's output rings were filled when the worker's own ring was empty. Null before. */
  marks: { front: number; store: number } | null;
  commands: RingProducer | null;
}

/**
 * Rebuilds a worker whose thread has died, in steps on the main thread, while the other workers go on:
 *
 * 1. Everything that the dead thread committed is journaled and handed out.
 * 2. Requests that still wait for it fail: they were not executed.
 * 3. A replacement thread recovers its actors as a start would.
 * 4. A recount of all workers replaces the contents of the margin table.
 * 5. Its actors take requests again.
 *
 * If any thread dies meanwhile, the replacement included, its rebuild begins at step 1.
 */
export class Rebuild {
  private readonly options: RebuildOptions;
  private readonly entries: Entry[];
  private readonly front: RingGauge;
  private readonly store: RingGauge;
  private rounds = 0;
  /** The workers of the recount in progress; empty = none. */
  private counting: Entry[] = [];
  /** One of them has died since: the sums may hold only a part of its contributions. */
  private isRecountInvalid = false;

  constructor(options: RebuildOptions) {
    this.options = options;
    this.front = new RingGauge(options.front);
    this.store = new RingGauge(options.store);
    this.entries = options.workers.map((worker, number) => ({
      ...worker,
      number,
      gauge: new RingGauge(worker.out),
      state: WORKING,
      lastSequence: 0,
      marks: null,
      commands: null,
    }));
  }

  /** The worker's thread has ended and can write nothing more. */
  died(worker: number): void {
    const { control, engine } = this.options;
    engine.markDown(worker);
    this.isRecountInvalid = true;
    Object.assign(this.entries[worker], {
      state: DEAD,
      lastSequence: control.lastSequence,
      marks: null,
      commands: null,
    });
  }

  /** The replacement thread has recovered the worker's actors. */
  recovered(worker: number): void {
    // It may have died in the meantime.
    if (this.entries[worker].state === RECOVERING) this.entries[worker].state = JOINING;
  }

  /** Every worker executes commands. */
  get isDone(): boolean {
    return this.counting.length === 0 && this.entries.every(({ state }) => state === WORKING);
  }

  /** A recount stops all workers: call step() again without delay. */
  get isUrgent(): boolean {
    return this.counting.length > 0;
  }

  /** The worker should execute commands: it neither recovers nor waits in a recount. */
  isWorking(worker: number): boolean {
    const hasCounted = this.counting.length > 0 && this.options.control.recountedBy(worker) === this.rounds;
    return this.entries[worker].state === WORKING && !hasCounted;
  }

  /** The worker has died and its last transactions are not released yet. */
  isDraining(worker: number): boolean {
    return this.entries[worker].state === DEAD;
  }

  /** Advances every rebuild that can advance. */
  step(): void {
    const { engine, start } = this.options;
    for (const entry of this.entries) {
      if (entry.state !== DEAD || !this.hasDrained(entry)) continue;
      engine.failPending(entry.number);
      entry.state = RECOVERING;
      entry.commands = start(entry.number);
    }
    if (this.counting.length > 0) this.endRecount();
    else this.beginRecount();
  }

  /** Everything that the dead worker committed is durable and handed out, and its last whole snapshot is stored. */
  private hasDrained(entry: Entry): boolean {
    const { control } = this.options;
    const { actorIds, gauge } = entry;
    if (control.durable < entry.lastSequence || !gauge.hasRead(gauge.written)) return false;
    entry.marks ??= { front: this.front.written, store: this.store.written };
    if (!this.front.hasRead(entry.marks.front) || !this.store.hasRead(entry.marks.store)) return false;
    return actorIds.every((actorId) => control.storedSnapshotOf(actorId) >= control.receivedSnapshotOf(actorId));
  }

  private beginRecount(): void {
    const { control, sums } = this.options;
    if (!this.entries.every(({ state }) => state === WORKING || state === JOINING)) return;
    if (!this.entries.some(({ state }) => state === JOINING)) return;
    sums.clear();
    this.counting = [...this.entries];
    this.isRecountInvalid = false;
    control.recountRound = ++this.rounds;
    this.wakeAll();
  }

  private endRecount(): void {
    const { control, marginTable, sums, engine, onRebuilt } = this.options;
    const hasContributed = ({ number, state }: Entry): boolean =>
      state === DEAD || state === RECOVERING || control.recountedBy(number) === this.rounds;
    if (!this.counting.every(hasContributed)) return;
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
