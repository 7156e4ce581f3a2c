import { randomUUID } from "node:crypto";
import { AT_TIME, viewOf } from "../wire/record.ts";
import { type Batch, partsOf, StreamFault } from "./batch.ts";
import { encodeLeaderBegan } from "./leader-began.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { LeaseWatch } from "./lease-watch.ts";
import type { ServerSettings } from "./nats.ts";
import { DeposedError, Publisher } from "./publisher.ts";
import { purgeOld } from "./retention.ts";
import { type BatchStream, type LeaseEntry, type LeaseStore, UnknownOutcomeError } from "./stream.ts";
import { StreamReader } from "./stream-reader.ts";

/** A standby acts when the leader's entry has stood still for this long. */
const LEASE_LAPSE_MS = 1000;
const LEASE_LOOK_MS = 100;
export const LEASE_RENEWAL_MS = 200;
/** A leader whose entry is older than this answers no reads: a standby may lead already. */
export const LEASE_VALID_MS = 750;
/** A message may be announced before it is stored. */
const POLL_MS = 20;
const RETRY_MS = 50;
/** A follower that finds nothing to read asks at this interval whether that is true. */
const CHECK_END_MS = 250;
/** A replica of the stream that lags for longer is worth a word. */
const MAX_REPLICA_LAG_MS = 5000;
const PURGE_INTERVAL_MS = 600_000;
/** Records are collected into messages of about this size. */
const TARGET_BYTES = 256 * 1024;

/** Records that follow each other. */
type Records = Pick<Batch, "first" | "last" | "bytes">;

/** The journal and the threads behind it, as the replicator sees them. */
export interface LocalSide {
  /** Transactions of a leader may come. Before, only the lease is watched. */
  readonly mayFollow: boolean;
  /** The disk has room and all threads work. */
  readonly isHealthy: boolean;
  /** At this time this machine had all of the stream: ms of the monotonic clock. */
  readWhole(atMs: number): void;
  /** The last sequence in this machine's log that may be published. */
  publishable(): number;
  /** The last sequence that counts on this machine. */
  released(): number;
  /**
   * Through which sequence the stream held this log at the start. In mode `async` this machine may have answered more, which
   * the next claim publishes.
   */
  readonly streamedThrough: number;
  /** Collects records after the last ones read. */
  read(through: number, targetBytes: number): Records | null;
  /** Begins to read after this sequence. */
  readAfter(sequence: number): void;
  /** Gives the journal a record of the stream. */
  deliver(record: Uint8Array, sequence: number): Promise<void>;
  /** The stream holds everything through this sequence. */
  replicated(sequence: number): void;
  /** Resolves when more was written, or after a while. */
  waitForMore(): Promise<void>;
  /** The first sequence that a snapshot or the history index of this machine still needs. */
  neededFrom(): number;
  /** This process leads: the lease holds for so long from `sentAtMs` on. */
  leased(sentAtMs: number): void;
  /** The time of the last record that was in the log at the start, in ms; 0 = none. */
  readonly lastRecordMs: number;
  readonly isStopping: boolean;
  /** Everything that will be written is in the log. */
  readonly isClosed: boolean;
}

/** Changes that the process acts on. */
export interface ReplicatorEvents {
  /** This process leads. Everything of the leaders before is in its log. */
  onLeading(epoch: number): void;
  /** Another process leads. */
  onFollowing(leader: LeaseEntry): void;
  /** The server does not answer. */
  onSilence(reason: string): void;
  /** In mode `async`: the leader before has answered these transactions, and they never came into the stream. */
  onLost(first: number, last: number): void;
  /**
   * In mode `async`: the leader before has not released its lease. Its answers after the last renewal are not known, and
   * may be lost. That is so much time at most.
   */
  onPossibleLoss(withinMs: number): void;
}

export interface ReplicatorOptions extends ReplicatorEvents {
  readonly settings: Pick<ServerSettings, "exchangeId" | "url" | "instruments" | "mode">;
  readonly stream: BatchStream;
  readonly lease: LeaseStore;
  readonly local: LocalSide;
  /** May lead an exchange that was never led: true of `start`, false of a standby. */
  readonly mayBegin: boolean;
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
  /** Messages of the stream are kept for this long, at least. */
  readonly retentionMs: number;
  readonly sleep: (ms: number) => Promise<void>;
}

/**
 * Follows the stream until this process may lead; claims; then publishes what the journal writes. The claim is a message
 * like all others, added by compare-and-set: the stream lets one process lead, and fences the one before.
 */
export class Replicator {
  private readonly options: ReplicatorOptions;
  private readonly node = randomUUID();
  private readonly watch = new LeaseWatch(LEASE_LAPSE_MS);
  private readonly reader: StreamReader;
  private followed = "";
  /** The epoch whose leader the lease is watched for. */
  private watchedEpoch = 0;
  /** The lease's revision when it was found free: lapsed, released or never taken (0). */
  private freeRevision = -1;
  /** The last transaction that the leader before had answered, as far as its lease says it. */
  private answeredBefore = 0;
  /** The leader before had published everything that it answered. */
  private isReleased = false;
  private lookedAtMs = Number.NEGATIVE_INFINITY;
  private checkedAtMs = Number.NEGATIVE_INFINITY;
  /** Since when the stream has had a message that could not be read; Infinity = it has none. */
  private behindSinceMs = Number.POSITIVE_INFINITY;
  /** Time in the log never goes back, even when the machine's clock does. */
  private lastRecordMs = 0;
  private epoch = 0;
  /** How publish() has ended. */
  private ending: "published" | "given up" | null = null;
  private endNap: () => void = () => {};

  constructor(options: ReplicatorOptions) {
    this.options = options;
    const { stream, settings, local } = options;
    this.reader = new StreamReader(stream, settings.exchangeId, local.streamedThrough + 1);
  }

  /** Resolves when the process stops. Throws DeposedError or StreamFault: the process must end at once. */
  async run(): Promise<void> {
    const publisher = await this.follow();
    if (publisher === null) return;
    const keeper = new LeaseKeeper(this.options.lease, this.entry(), () => this.options.local.released());
    await Promise.all([this.publish(publisher), this.keepLease(keeper)]);
  }

  /** Applies the stream until this process leads. Returns null when the process stops. */
  private async follow(): Promise<Publisher | null> {
    const { local, stream, sleep } = this.options;
    await this.begin();
    while (!local.isStopping) {
      const { mayFollow } = local;
      const step = mayFollow ? await this.quietly(() => this.reader.read(this.deliver)) : false;
      if (step === true) continue;
      if (step === false && mayFollow) await this.quietly(() => this.checkEnd());
      const mayClaim = step === false && (await this.quietly(() => this.mayClaim())) === true;
      const publisher = mayClaim && mayFollow ? await this.claim() : null;
      if (publisher !== null) return publisher;
      if (step === null) {
        this.watch.reset();
        await sleep(RETRY_MS);
      } else await stream.wait(POLL_MS);
    }
    return null;
  }

  private async begin(): Promise<void> {
    const { reader } = this;
    const { sleep, local } = this.options;
    let begin = await this.quietly(() => reader.seek());
    for (; begin === null; begin = await this.quietly(() => reader.seek())) {
      if (local.isStopping) return;
      await sleep(RETRY_MS);
    }
    if (begin > reader.next)
      throw new StreamFault(
        `the stream begins with transaction ${begin}, but the log in this folder ends with ${reader.next - 1}; restore a newer backup of the leader's folder`,
      );
    local.replicated(reader.next - 1);
  }

  private readonly deliver = async (record: Uint8Array, sequence: number): Promise<void> => {
    const { local } = this.options;
    if (sequence <= local.released())
      throw new DeposedError(
        `another process leads: it has claimed the place of transaction ${sequence}. This one answered it before, and it never came into the stream; a start cuts it off and keeps it in a file`,
      );
    this.lastRecordMs = viewOf(record).getFloat64(AT_TIME, true);
    local.replicated(sequence);
    await local.deliver(record, sequence);
  };

  /**
   * Asks where the stream ends. The answer to a read does not say it: a replica that is cut off from the others knows of nothing
   * more. The next message may also be gone, since the stream purges what is old: then another one may go on.
   */
  private async checkEnd(): Promise<void> {
    const { stream, local, monotonicMs } = this.options;
    const { reader } = this;
    const nowMs = monotonicMs();
    if (nowMs - this.checkedAtMs < CHECK_END_MS) return;
    this.checkedAtMs = nowMs;
    const { first, last } = await stream.bounds();
    const isWhole = last <= reader.place;
    if (isWhole) local.readWhole(nowMs);
    if (isWhole || (await reader.read(this.deliver))) {
      this.behindSinceMs = Number.POSITIVE_INFINITY;
      return;
    }
    if (first > reader.place + 1) return this.begin();
    this.behindSinceMs = Math.min(this.behindSinceMs, nowMs);
    if (nowMs - this.behindSinceMs > MAX_REPLICA_LAG_MS)
      throw new UnknownOutcomeError(`message ${reader.place + 1} of the stream cannot be read yet`);
  }

  /** Looks at the lease at its interval. */
  private async mayClaim(): Promise<boolean> {
    const { lease, monotonicMs, mayBegin, settings } = this.options;
    const nowMs = monotonicMs();
    if (nowMs - this.lookedAtMs < LEASE_LOOK_MS) return false;
    this.lookedAtMs = nowMs;
    const found = await lease.read();
    const { epoch } = this.reader;
    if (epoch !== this.watchedEpoch) {
      // A rival has claimed, and will take the lease in a moment. It would be deposed as soon as it leads.
      this.watchedEpoch = epoch;
      this.watch.reset();
    }
    if (found === null) {
      this.freeRevision = 0;
      this.isReleased = false;
      // An exchange that was led has lost it. Its leader may answer reads until the end of the lease that it had.
      return epoch === 0 ? mayBegin : this.watch.observe(0, monotonicMs());
    }
    const { entry, revision } = found;
    // A leader that has ended may come back with another configuration, but no standby may take over with one.
    const mayChangeInstruments = mayBegin && entry.isReleased && entry.epoch >= epoch;
    if (entry.epoch > 0 && entry.instruments !== settings.instruments && !mayChangeInstruments)
      throw new StreamFault(
        `the leader ${entry.url} has other instruments than this process: give both the same configuration. To change them, stop all processes, the leader last, and start the leader first`,
      );
    if (entry.epoch > 0 && !entry.isReleased && entry.node !== this.followed) {
      this.followed = entry.node;
      this.options.onFollowing(entry);
    }
    // One that could not serve lets the others go first. If there is none, it leads all the same when the lease has lapsed.
    const isReleased = entry.isReleased && entry.epoch >= epoch;
    const isFree = this.watch.observe(revision, monotonicMs()) || (isReleased && this.options.local.isHealthy);
    if (isFree) {
      this.freeRevision = revision;
      this.isReleased = isReleased;
      this.answeredBefore = entry.sequence ?? 0;
    }
    return isFree;
  }

  /** Returns null if the stream has more to read, a rival was faster, or the process stops. */
  private async claim(): Promise<Publisher | null> {
    const { stream, local, sleep, settings } = this.options;
    const { reader } = this;
    const end = await this.quietly(() => stream.bounds());
    if (end === null || end.last > reader.place) return null;
    if (end.last < reader.place)
      throw new StreamFault(`the stream ends with message ${end.last}, but it held message ${reader.place}`);
    const isOver = (): boolean => (this.epoch === 0 ? local.isStopping : local.isClosed);
    const pause = (): Promise<void> => sleep(RETRY_MS);
    const { onSilence } = this.options;
    const publisher = new Publisher({ stream, place: reader.place, pause, isOver, onSilence });
    const epoch = reader.epoch + 1;
    const sequence = Math.max(reader.next, local.released() + 1);
    if (this.answeredBefore >= sequence && settings.mode === "sync")
      throw new StreamFault(
        `the stream ends with transaction ${sequence - 1}, but the leader before had answered transaction ${this.answeredBefore}: the stream has lost acknowledged transactions. Start that leader's machine again, or restore the stream`,
      );
    if (!(await this.publishTail(publisher, epoch))) return null;
    const bytes = this.encodeBegan(sequence, epoch);
    if ((await this.send(publisher, { first: sequence, last: sequence, bytes }, epoch)) !== true) return null;
    this.epoch = epoch;
    if (this.answeredBefore >= sequence) this.options.onLost(sequence, this.answeredBefore);
    if (settings.mode === "async" && epoch > 1 && !this.isReleased) this.options.onPossibleLoss(LEASE_VALID_MS);
    await this.deliver(bytes, sequence);
    while (local.released() < sequence && !local.isStopping) await sleep(1);
    local.readAfter(sequence);
    return publisher;
  }

  /** In mode `async`: what this machine answered before its last end, and what never came into the stream. */
  private async publishTail(publisher: Publisher, epoch: number): Promise<boolean> {
    const { local } = this.options;
    const through = local.released();
    if (through < this.reader.next) return true;
    local.readAfter(this.reader.next - 1);
    for (let batch = local.read(through, TARGET_BYTES); batch !== null; batch = local.read(through, TARGET_BYTES))
      if ((await this.send(publisher, batch, epoch)) !== true) return false;
    return true;
  }

  private encodeBegan(sequence: number, epoch: number): Buffer {
    const { wallMs, local } = this.options;
    const timeMs = Math.max(wallMs(), this.lastRecordMs, local.lastRecordMs);
    return encodeLeaderBegan({ sequence, epoch, node: this.node, timeMs });
  }

  /** As Publisher.publish(), in as many messages as it takes. */
  private async send(publisher: Publisher, batch: Records, epoch: number): Promise<boolean | null> {
    const { settings, stream } = this.options;
    const { first, last, bytes } = batch;
    const whole = { exchangeId: settings.exchangeId, epoch, node: this.node, first, last, bytes };
    for (const part of partsOf(whole, stream.maxBytes)) {
      const isThere = await publisher.publish(part);
      if (isThere !== true) return isThere;
    }
    return true;
  }

  private entry(): LeaseEntry {
    const { url, instruments } = this.options.settings;
    return { node: this.node, epoch: this.epoch, url, instruments, isReleased: false };
  }

  /** Publishes what the journal writes. Resolves when the process stops: with everything published, or without an answer. */
  private async publish(publisher: Publisher): Promise<void> {
    const { local } = this.options;
    while (this.ending === null) {
      const isClosed = local.isClosed;
      const batch = local.read(local.publishable(), TARGET_BYTES);
      if (batch === null) {
        if (isClosed) this.ending = "published";
        else await local.waitForMore();
        continue;
      }
      const isThere = await this.send(publisher, batch, this.epoch);
      if (isThere === false)
        throw new DeposedError(
          `another process leads: it has claimed the place of transaction ${batch.first} in the stream. Nothing of it was answered`,
        );
      if (isThere === true) local.replicated(batch.last);
      else this.ending = "given up";
    }
    this.endNap();
  }

  /** Renews the lease. Releases it when everything is published: a standby need not wait. */
  private async keepLease(keeper: LeaseKeeper): Promise<void> {
    const { monotonicMs, wallMs, sleep, local, stream, onLeading, retentionMs } = this.options;
    const write = async (work: () => Promise<boolean>): Promise<boolean> => {
      const sentAtMs = monotonicMs();
      const isMine = await this.quietly(work);
      if (isMine === false) throw new DeposedError("another process leads: it has taken the lease");
      if (isMine === true) local.leased(sentAtMs);
      return isMine === true;
    };
    while (!(await write(() => keeper.take()))) {
      if (this.ending !== null) return;
      await sleep(RETRY_MS);
    }
    // The leader before may have renewed the lease after it was found free. Then it answers reads until that ends.
    const isFree = keeper.replaced === this.freeRevision;
    const mayLeadAtMs = isFree ? Number.NEGATIVE_INFINITY : monotonicMs() + LEASE_LAPSE_MS;
    let isLeading = false;
    let purgedAtMs = monotonicMs();
    while (this.ending === null) {
      if (!isLeading && !local.isStopping && monotonicMs() >= mayLeadAtMs) {
        isLeading = true;
        onLeading(this.epoch);
      }
      await this.nap();
      if (this.ending !== null) break;
      await write(() => keeper.renew());
      if (monotonicMs() - purgedAtMs < PURGE_INTERVAL_MS) continue;
      purgedAtMs = monotonicMs();
      // Beside the renewals, which must not wait for it.
      void this.quietly(() => purgeOld(stream, local.neededFrom(), wallMs() - retentionMs));
    }
    if (this.ending === "published") await this.quietly(() => keeper.release());
  }

  /** Until the next renewal, or until publish() has ended. */
  private nap(): Promise<void> {
    return new Promise((resolve) => {
      this.endNap = resolve;
      void this.options.sleep(LEASE_RENEWAL_MS).then(resolve);
    });
  }

  /** Null if the server did not answer. */
  private async quietly<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnknownOutcomeError)) throw error;
      this.options.onSilence(error.message);
      return null;
    }
  }
}
