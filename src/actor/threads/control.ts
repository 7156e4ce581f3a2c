/**
 * Shared counters of the exchange, one cache line each. Sequences pass 2^32 and are BigInt64.
 */
const LAST_SEQUENCE = 0;
const DURABLE = 8;
const INDEXED = 16;
const PHASE = 24;
const RECOVERED = 32;
const RECOUNT = 40;
const RECOUNTED = 48;
/** Per actor id: the sequence through which its snapshot is in LMDB. */
const SNAPSHOTS = 64;
const ACTOR_IDS = 256;
/** Per actor id: that of its last snapshot that has come to the store, whole. */
const GATHERED = SNAPSHOTS + ACTOR_IDS;
/** Per worker: the recount that it has done its part in. */
const COUNTED = GATHERED + ACTOR_IDS;
const WORKERS = 256;

/** Threads stop in the order in which work flows: actors, then the journal, then the store. */
export const RUNNING = 0;
export const STOP_ACTORS = 1;
export const STOP_JOURNAL = 2;
export const STOP_STORE = 3;

export class Control {
  readonly buffer: SharedArrayBuffer;
  private readonly counters: BigInt64Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer((COUNTED + WORKERS) * 8)) {
    this.buffer = buffer;
    this.counters = new BigInt64Array(buffer);
  }

  /** Takes the next place in the log. */
  nextSequence(): number {
    return Number(Atomics.add(this.counters, LAST_SEQUENCE, 1n)) + 1;
  }
  /** The last place taken: all that any actor can have known. */
  get lastSequence(): number {
    return this.load(LAST_SEQUENCE);
  }
  /** Recovery: the log ends here. */
  startAt(sequence: number): void {
    this.store(LAST_SEQUENCE, sequence);
    this.durable = sequence;
  }

  /** Everything through this sequence is on disk. Written by the journal. */
  get durable(): number {
    return this.load(DURABLE);
  }
  set durable(sequence: number) {
    this.store(DURABLE, sequence);
  }

  /** The history index holds everything through this sequence. Written by the store. */
  get indexed(): number {
    return this.load(INDEXED);
  }
  set indexed(sequence: number) {
    this.store(INDEXED, sequence);
  }

  storedSnapshotOf(actorId: number): number {
    return this.load(SNAPSHOTS + actorId);
  }
  setStoredSnapshotOf(actorId: number, sequence: number): void {
    this.store(SNAPSHOTS + actorId, sequence);
  }

  /** The last snapshot of the actor that has come to the store, whole: it will be stored. Written by the store. */
  receivedSnapshotOf(actorId: number): number {
    return this.load(GATHERED + actorId);
  }
  setReceivedSnapshotOf(actorId: number, sequence: number): void {
    this.store(GATHERED + actorId, sequence);
  }

  /** The recount of the cells that is under way; 0 = none. Written by the front: see rebuild.ts. */
  get recountRound(): number {
    return this.load(RECOUNT);
  }
  set recountRound(round: number) {
    this.store(RECOUNT, round);
  }
  /** The last one whose sums have become the cells. */
  get appliedRecount(): number {
    return this.load(RECOUNTED);
  }
  set appliedRecount(round: number) {
    this.store(RECOUNTED, round);
  }
  /** The last one that the worker has added its share to; until it is over, the worker stands still. */
  recountedBy(worker: number): number {
    return this.load(COUNTED + worker);
  }
  setRecountedBy(worker: number, round: number): void {
    this.store(COUNTED + worker, round);
  }

  get phase(): number {
    return this.load(PHASE);
  }
  set phase(phase: number) {
    this.store(PHASE, phase);
  }

  /** Records folded so far while actors recover: for the progress line. */
  get recovered(): number {
    return this.load(RECOVERED);
  }
  addRecovered(records: number): void {
    Atomics.add(this.counters, RECOVERED, BigInt(records));
  }

  private load(at: number): number {
    return Number(Atomics.load(this.counters, at));
  }
  private store(at: number, value: number): void {
    Atomics.store(this.counters, at, BigInt(value));
  }
}
