/**
 * Shared counters of the exchange, one cache line each. Sequences pass 2^32 and are BigInt64.
 */
const TICKET = 0;
const DURABLE = 8;
const INDEXED = 16;
const PHASE = 24;
const RECOVERED = 32;
/** Per actor id: the sequence through which its snapshot is in LMDB. */
const SNAPSHOTS = 64;
const ACTOR_IDS = 256;

/** Threads stop in the order in which work flows: actors, then the journal, then the store. */
export const RUNNING = 0;
export const STOP_ACTORS = 1;
export const STOP_JOURNAL = 2;
export const STOP_STORE = 3;

export class Control {
  readonly buffer: SharedArrayBuffer;
  private readonly cells: BigInt64Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer((SNAPSHOTS + ACTOR_IDS) * 8)) {
    this.buffer = buffer;
    this.cells = new BigInt64Array(buffer);
  }

  /** Takes the next place in the log. */
  takeTicket(): number {
    return Number(Atomics.add(this.cells, TICKET, 1n)) + 1;
  }
  /** The last place taken: all that any actor can have known. */
  get lastTicket(): number {
    return Number(Atomics.load(this.cells, TICKET));
  }
  /** Recovery: the log ends here. */
  startAt(sequence: number): void {
    Atomics.store(this.cells, TICKET, BigInt(sequence));
    this.durable = sequence;
  }

  /** Everything through this sequence is on disk. Written by the journal. */
  get durable(): number {
    return Number(Atomics.load(this.cells, DURABLE));
  }
  set durable(sequence: number) {
    Atomics.store(this.cells, DURABLE, BigInt(sequence));
  }

  /** The history index holds everything through this sequence. Written by the store. */
  get indexed(): number {
    return Number(Atomics.load(this.cells, INDEXED));
  }
  set indexed(sequence: number) {
    Atomics.store(this.cells, INDEXED, BigInt(sequence));
  }

  snapshotOf(actorId: number): number {
    return Number(Atomics.load(this.cells, SNAPSHOTS + actorId));
  }
  setSnapshotOf(actorId: number, sequence: number): void {
    Atomics.store(this.cells, SNAPSHOTS + actorId, BigInt(sequence));
  }

  get phase(): number {
    return Number(Atomics.load(this.cells, PHASE));
  }
  set phase(phase: number) {
    Atomics.store(this.cells, PHASE, BigInt(phase));
  }

  /** Records folded so far while actors recover: for the progress line. */
  get recovered(): number {
    return Number(Atomics.load(this.cells, RECOVERED));
  }
  addRecovered(records: number): void {
    Atomics.add(this.cells, RECOVERED, BigInt(records));
  }
}
