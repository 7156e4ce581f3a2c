import { SequenceBell } from "../../wire/sequence-bell.ts";

/** Indexes into the shared counters. Each global counter has a cache line (8 counters) of its own. */
const LAST_SEQUENCE = 0;
const DURABLE = 8;
const INDEXED = 16;
const PHASE = 24;
const RECOVERED = 32;
const RECOUNT_ROUND = 40;
const APPLIED_RECOUNT = 48;
const HISTORY_SINCE = 56;
const WRITTEN = 64;
const REPLICATED = 72;
const LEASED_UNTIL = 80;
const FOLLOWING = 88;
const MAY_FOLLOW = 96;
const READ_WHOLE_AT = 104;
const HEALTHY = 112;
/** By actor id. */
const STORED_SNAPSHOTS = 120;
const ACTOR_IDS = 256;
const RECEIVED_SNAPSHOTS = STORED_SNAPSHOTS + ACTOR_IDS;
/** By worker. */
const RECOUNTED = RECEIVED_SNAPSHOTS + ACTOR_IDS;
const WORKERS = 256;
const APPLIED = RECOUNTED + WORKERS;
const LINGER_BELL = APPLIED + WORKERS;
const COUNTERS = LINGER_BELL + 8;

/** Threads stop in the order in which data flows: actors, then the journal, then the store. */
export const RUNNING = 0;
export const STOP_ACTORS = 1;
export const STOP_JOURNAL = 2;
export const STOP_STORE = 3;

/** Counters that all threads share. They are BigInt64, since sequences pass 2^32. */
export class Control {
  readonly buffer: SharedArrayBuffer;
  /** The journal waits on it for more transactions of the actors: see linger.ts. */
  readonly lingerBell: SequenceBell;
  private readonly counters: BigInt64Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(COUNTERS * 8)) {
    this.buffer = buffer;
    this.counters = new BigInt64Array(buffer);
    this.lingerBell = new SequenceBell(buffer, LINGER_BELL * 8);
  }

  /** Takes the next sequence of the log. */
  nextSequence(): number {
    return Number(Atomics.add(this.counters, LAST_SEQUENCE, 1n)) + 1;
  }
  /** The last sequence taken. No actor can know of anything later. */
  get lastSequence(): number {
    return this.load(LAST_SEQUENCE);
  }
  /** At a start: the log ends with this sequence. */
  startAt(sequence: number): void {
    this.store(LAST_SEQUENCE, sequence);
    this.written = sequence;
    this.durable = sequence;
  }

  /** Counts a transaction of another process, which this one follows. */
  follow(sequence: number): void {
    this.store(LAST_SEQUENCE, sequence);
  }

  /** Everything through this sequence is released: on disk, and in the stream if each is to be there. Written by the journal. */
  get durable(): number {
    return this.load(DURABLE);
  }
  set durable(sequence: number) {
    this.store(DURABLE, sequence);
  }

  /** Everything through this sequence is in the log's files, though perhaps not on disk. Written by the journal. */
  get written(): number {
    return this.load(WRITTEN);
  }
  set written(sequence: number) {
    this.store(WRITTEN, sequence);
  }

  /** Everything through this sequence is in the replicated stream. Written by the replicator. */
  get replicated(): number {
    return this.load(REPLICATED);
  }
  set replicated(sequence: number) {
    this.store(REPLICATED, sequence);
  }

  /** Until then this process may answer reads as the leader: ms of the monotonic clock (process.hrtime). */
  get leasedUntilMs(): number {
    return this.load(LEASED_UNTIL);
  }
  set leasedUntilMs(timeMs: number) {
    this.store(LEASED_UNTIL, timeMs);
  }

  /** Another process leads: this one applies its transactions and decides nothing. */
  get isFollowing(): boolean {
    return this.load(FOLLOWING) === 1;
  }
  set isFollowing(isFollowing: boolean) {
    this.store(FOLLOWING, isFollowing ? 1 : 0);
  }

  /** Transactions of the leader may come: the gateway's caches hold what the log held at the start. */
  get mayFollow(): boolean {
    return this.load(MAY_FOLLOW) === 1;
  }
  set mayFollow(mayFollow: boolean) {
    this.store(MAY_FOLLOW, mayFollow ? 1 : 0);
  }

  /** When this process last had all of the stream: ms of the monotonic clock. Written by the replicator. */
  get readWholeAtMs(): number {
    return this.load(READ_WHOLE_AT);
  }
  set readWholeAtMs(timeMs: number) {
    this.store(READ_WHOLE_AT, timeMs);
  }

  /** The disk has room and all threads work, as far as the main thread has seen. Not before its first look. */
  get isHealthy(): boolean {
    return this.load(HEALTHY) === 1;
  }
  set isHealthy(isHealthy: boolean) {
    this.store(HEALTHY, isHealthy ? 1 : 0);
  }

  /** A worker that follows has applied everything through this sequence. */
  appliedBy(worker: number): number {
    return this.load(APPLIED + worker);
  }
  setAppliedBy(worker: number, sequence: number): void {
    this.store(APPLIED + worker, sequence);
  }

  /** The history index holds everything through this sequence. Written by the store. */
  get indexed(): number {
    return this.load(INDEXED);
  }
  set indexed(sequence: number) {
    this.store(INDEXED, sequence);
  }

  /** Since when the history is kept, in ms; 0 = from the beginning. Written by the store. */
  get historySince(): number {
    return this.load(HISTORY_SINCE);
  }
  set historySince(time: number) {
    this.store(HISTORY_SINCE, time);
  }

  /** The sequence of the actor's snapshot in LMDB. Written by the store. */
  storedSnapshotOf(actorId: number): number {
    return this.load(STORED_SNAPSHOTS + actorId);
  }
  setStoredSnapshotOf(actorId: number, sequence: number): void {
    this.store(STORED_SNAPSHOTS + actorId, sequence);
  }

  /** The sequence of the actor's last snapshot that the store has received whole and will store. Written by the store. */
  receivedSnapshotOf(actorId: number): number {
    return this.load(RECEIVED_SNAPSHOTS + actorId);
  }
  setReceivedSnapshotOf(actorId: number, sequence: number): void {
    this.store(RECEIVED_SNAPSHOTS + actorId, sequence);
  }

  /** The recount of the margin table that is in progress; 0 = none. Written by the main thread: see rebuild.ts. */
  get recountRound(): number {
    return this.load(RECOUNT_ROUND);
  }
  set recountRound(round: number) {
    this.store(RECOUNT_ROUND, round);
  }
  /** The last recount whose sums were copied into the margin table. */
  get appliedRecount(): number {
    return this.load(APPLIED_RECOUNT);
  }
  set appliedRecount(round: number) {
    this.store(APPLIED_RECOUNT, round);
  }
  /** The last recount that the worker has added its contributions to. It stands still until that one is over. */
  recountedBy(worker: number): number {
    return this.load(RECOUNTED + worker);
  }
  setRecountedBy(worker: number, round: number): void {
    this.store(RECOUNTED + worker, round);
  }

  get phase(): number {
    return this.load(PHASE);
  }
  set phase(phase: number) {
    this.store(PHASE, phase);
  }

  /** Records that recovery has read so far, for the progress line. */
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
