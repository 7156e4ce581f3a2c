import type { Batch, PlacedBatch } from "../../../src/replication/batch.ts";
import {
  type BatchStream,
  type LeaseEntry,
  type LeaseStore,
  UnknownOutcomeError,
} from "../../../src/replication/stream.ts";
import type { ReplicationAuditor } from "./replication-auditor.ts";
import type { World } from "./world.ts";

/** As in nats.ts. */
const REQUEST_TIMEOUT_MS = 1000;
/** In an append: after whichever message is the last. Only mutants ask for it. */
export const ANYWHERE = -1;

interface Stored {
  readonly batch: Batch;
  readonly atMs: number;
}

/** The stream's server: a second disk, beyond a network. */
export class StreamServer {
  isUp = true;
  /** It takes no more messages. */
  isFull = false;
  /** A mutant: it answers before its disk has a message, and writes to its disk at times. */
  answersUnsynced = false;
  /** A replica that lags answers reads of single messages. */
  lagMs = 0;
  /** The probability that a refused message of a deposed leader comes in later, as if that leader had sent several at once. */
  strayChance = 0;
  strays = 0;
  refused = 0;
  readonly maxBytes: number;
  lease: { entry: LeaseEntry; revision: number } | null = null;
  onAppended: () => void = () => {};
  private readonly world: World;
  private readonly auditor: ReplicationAuditor;
  private readonly messages: Stored[] = [];
  private revision = 0;
  private first = 1;
  private synced = 0;

  constructor(world: World, auditor: ReplicationAuditor, maxBytes: number) {
    this.world = world;
    this.auditor = auditor;
    this.maxBytes = maxBytes;
  }

  append(batch: Batch, place: number): boolean {
    if (this.isFull) throw new UnknownOutcomeError("maximum bytes exceeded");
    if (place !== this.messages.length && place !== ANYWHERE) {
      this.refused++;
      this.mayStray(batch);
      return false;
    }
    this.store(batch);
    return true;
  }

  bounds(): { first: number; last: number } {
    return { first: this.first, last: this.messages.length };
  }

  get(place: number): PlacedBatch | null {
    const stored = this.messages[place - 1];
    if (
      stored === undefined ||
      place < this.first ||
      this.world.nowMs < stored.atMs + this.lagMs * this.world.random.next()
    )
      return null;
    return { ...stored.batch, place };
  }

  purgeThrough(place: number): void {
    this.first = Math.max(this.first, place + 1);
  }

  update(entry: LeaseEntry, revision: number): number | null {
    if (revision !== (this.lease?.revision ?? 0)) return null;
    this.lease = { entry, revision: ++this.revision };
    return this.revision;
  }

  crash(): void {
    this.isUp = false;
    if (!this.answersUnsynced) return;
    this.messages.length = this.world.random.between(Math.min(this.synced, this.messages.length), this.messages.length);
    this.auditor.lost(this.messages.map(({ batch }) => batch));
  }

  /** What the auditor compares logs with. */
  sync(): void {
    this.synced = this.messages.length;
  }

  private store(batch: Batch): void {
    const copy = { ...batch, bytes: Buffer.from(batch.bytes) };
    this.messages.push({ batch: copy, atMs: this.world.nowMs });
    this.auditor.appended(copy);
    this.onAppended();
  }

  /** One message between two others: no leader has ever more than that in flight twice. */
  private mayStray(batch: Batch): void {
    const { world, auditor } = this;
    if (world.random.next() >= this.strayChance) return;
    const copy = { ...batch, bytes: Buffer.from(batch.bytes) };
    world.after(world.random.between(0, 500), () => {
      const last = this.messages.at(-1)?.batch;
      if (!this.isUp || last === undefined || copy.epoch >= auditor.epoch || last.epoch < auditor.epoch) return;
      this.strays++;
      this.store(copy);
    });
  }
}

/** The process at this end of a link. */
export interface Caller {
  readonly isAlive: boolean;
  /** Does the work later, unless the process has ended by then; while it is stopped, after it goes on. */
  post(delayMs: number, work: () => void): () => void;
}

/** The network between a node and the server. */
export class Link {
  /** Nothing gets to the server. */
  isCutOut = false;
  /** Nothing comes back. */
  isCutIn = false;
  /** The probability that a message is lost, which a broken connection does. */
  lossChance = 0;
  /** The probability that a message takes up to `slowMs`. */
  slowChance = 0;
  slowMs = 0;
  lost = 0;
  timeouts = 0;
  private readonly world: World;
  private readonly server: StreamServer;
  private lastArrivalMs = 0;

  constructor(world: World, server: StreamServer) {
    this.world = world;
    this.server = server;
  }

  /** `isOrdered`: not before an earlier request of that kind. */
  request<T>(caller: Caller, work: () => T, isOrdered = false): Promise<T> {
    const { world } = this;
    return new Promise<T>((resolve, reject) => {
      const giveUp = caller.post(REQUEST_TIMEOUT_MS, () => {
        this.timeouts++;
        reject(new UnknownOutcomeError("timeout"));
      });
      const arrive = (): void => {
        const reply = this.serve(work, resolve, reject);
        if (reply === null || this.isLost(this.isCutIn)) return;
        caller.post(this.delayMs(), () => {
          giveUp();
          reply();
        });
      };
      let delayMs = this.delayMs();
      if (isOrdered) {
        delayMs = Math.max(delayMs, this.lastArrivalMs - world.nowMs);
        this.lastArrivalMs = world.nowMs + delayMs;
      }
      if (!this.isLost(this.isCutOut)) world.after(delayMs, arrive);
      // A resent packet may bring the same request a second time.
      if (world.random.next() < this.lossChance) world.after(delayMs + this.delayMs(), arrive);
    });
  }

  /** Null: there is no answer. */
  private serve<T>(work: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): (() => void) | null {
    if (!this.server.isUp || this.isCutOut) return null;
    try {
      const value = work();
      return () => resolve(value);
    } catch (error) {
      return () => reject(error);
    }
  }

  private isLost(isCut: boolean): boolean {
    const isLost = isCut || this.world.random.next() < this.lossChance;
    if (isLost) this.lost++;
    return isLost;
  }

  private delayMs(): number {
    const { random } = this.world;
    return random.next() < this.slowChance ? this.slowMs * random.next() : 0.2 + 3 * random.next();
  }
}

/** The stream and the lease, as a process sees them over its link. */
export class RemoteStream implements BatchStream, LeaseStore {
  readonly maxBytes: number;
  private readonly caller: Caller;
  private readonly server: StreamServer;
  private readonly link: Link;
  private wake: () => void = () => {};

  constructor(caller: Caller, server: StreamServer, link: Link) {
    this.caller = caller;
    this.server = server;
    this.link = link;
    this.maxBytes = server.maxBytes;
  }

  bounds(): Promise<{ first: number; last: number }> {
    return this.link.request(this.caller, () => this.server.bounds());
  }

  get(place: number): Promise<PlacedBatch | null> {
    return this.link.request(this.caller, () => this.server.get(place));
  }

  append(batch: Batch, place: number): Promise<boolean> {
    // The caller's buffer is its own again when it has stopped waiting.
    const sent = { ...batch, bytes: Buffer.from(batch.bytes) };
    return this.link.request(this.caller, () => this.server.append(sent, place), true);
  }

  wait(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      // A busy machine's timers are late. That also makes a run shorter.
      const cancel = this.caller.post(4 * timeoutMs, resolve);
      this.wake = () => {
        cancel();
        this.caller.post(this.link.isCutIn ? 4 * timeoutMs : 1, resolve);
        this.wake = () => {};
      };
    });
  }

  /** A message was added: a hint, which may be lost. */
  hint(): void {
    this.wake();
  }

  purgeThrough(place: number): Promise<void> {
    return this.link.request(this.caller, () => this.server.purgeThrough(place));
  }

  read(): Promise<{ entry: LeaseEntry; revision: number } | null> {
    return this.link.request(this.caller, () => this.server.lease);
  }

  update(entry: LeaseEntry, revision: number): Promise<number | null> {
    return this.link.request(this.caller, () => this.server.update(entry, revision));
  }
}
