import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { StreamFault } from "../../replication/batch.ts";
import { LocalLog } from "../../replication/local-log.ts";
import { openServer, type ReplicationServer, type ServerSettings } from "../../replication/nats.ts";
import { DeposedError } from "../../replication/publisher.ts";
import { type CutTail, reconcile } from "../../replication/reconcile.ts";
import { readMarker, writeMarker } from "../../replication/replication-marker.ts";
import { LEASE_VALID_MS, type LocalSide, Replicator } from "../../replication/replicator.ts";
import { requireSyncLater } from "../../replication/server-sync.ts";
import type { LeaseEntry, StandbyNote } from "../../replication/stream.ts";
import { untilAnswered } from "../../replication/until-answered.ts";
import { logOf } from "../../store/files/data-folder.ts";
import { LogCorruptError } from "../../store/log/log-segment.ts";
import { AT_ACTOR_ID, AT_REQUEST_ID, AT_TIME, viewOf } from "../../wire/record.ts";
import { Doorbell, RingProducer } from "../../wire/ring.ts";
import { SharedBatch } from "../../wire/shared-batch.ts";
import { Control, STOP_ACTORS, STOP_STORE } from "./control.ts";
import type { ThreadTask } from "./thread-task.ts";

export interface ReplicatorTask extends ThreadTask {
  settings: ServerSettings;
  dataDir: string;
  actorIds: number[];
  /** The last sequence that the database holds. */
  storedThrough: number;
  /** See ReplicatorOptions. */
  mayBegin: boolean;
  /** The ring to the journal. */
  input: SharedArrayBuffer;
  journalDoorbell: SharedArrayBuffer;
  /**
   * In mode `sync`: the batch that the journal has written last. Until the stream has it the journal writes no other one. Null in
   * mode `async`, where the journal goes on.
   */
  batch: SharedArrayBuffer | null;
  /** The journal waits on it for `control.replicated`. */
  replicatedDoorbell: SharedArrayBuffer;
}

/** Answered by the leader before, and not in the stream. */
export interface LostTransactions {
  readonly first: number;
  readonly last: number;
}

/** `cut`: the log agrees with the stream, so that the journal may open it. The host then posts "begin". */
export type ReplicatorMessage =
  | { readonly cut: CutTail | null }
  | { readonly leading: number }
  | { readonly following: LeaseEntry }
  | { readonly lost: LostTransactions }
  | { readonly mayHaveLostMs: number }
  | { readonly standby: StandbyNote }
  | { readonly unchecked: readonly string[] }
  /** Another process leads, for this reason. It is the last message. */
  | { readonly deposed: string }
  | { readonly silent: string };

/** It looks for more at this interval, whatever the journal says. */
const LOOK_MS = 250;
const NOTE_INTERVAL_MS = 1000;

/** Milliseconds of a clock that nobody sets and that all threads share. */
const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);

export async function runReplicator(task: ReplicatorTask): Promise<void> {
  const { settings, dataDir, storedThrough, mayBegin, port } = task;
  const post = (message: ReplicatorMessage): void => port.postMessage(message);
  const onSilence = (reason: string): void => post({ silent: reason });
  const marker = readMarker(dataDir);
  const missing = marker !== null ? "lost" : mayBegin ? "new" : "awaited";
  const server = await untilAnswered(() => openServer(settings, missing), onSilence);
  const { stream, lease, uncheckedMonitors } = server;
  if (uncheckedMonitors.length > 0) post({ unchecked: uncheckedMonitors });
  const wasReplicated = marker !== null;
  const { exchangeId, mode } = settings;
  const { cut, streamedThrough } = await untilAnswered(
    () => reconcile({ dataDir, exchangeId, stream, storedThrough, wasReplicated, mode }),
    onSilence,
  );
  const begun = new Promise((resolve) => port.once("message", resolve));
  post({ cut });
  await begun;
  const change = (message: ReplicatorMessage): void => {
    // From now on transactions may count that this folder alone does not hold.
    writeMarker(dataDir, settings);
    post(message);
  };
  const replicator = new Replicator({
    ...{ settings, stream, lease, mayBegin, monotonicMs },
    local: new JournalSide(task, streamedThrough),
    wallMs: Date.now,
    retentionMs: settings.retentionMs,
    sleep,
    onLeading: (epoch) => change({ leading: epoch }),
    onFollowing: (leader) => change({ following: leader }),
    onLost: (first, last) => change({ lost: { first, last } }),
    onPossibleLoss: (withinMs) => post({ mayHaveLostMs: withinMs }),
    onSilence,
  });
  const endNotes = exchangeNotes(server, settings, new Control(task.control), post);
  const bell = new Doorbell(task.doorbell);
  const looks = setInterval(() => bell.wake(), LOOK_MS);
  let isOver = false;
  try {
    await Promise.all([
      replicator.run().finally(() => {
        isOver = true;
      }),
      requireSyncLater(uncheckedMonitors, { sleep, isOver: () => isOver }),
    ]);
  } catch (error) {
    if (!(error instanceof DeposedError)) throw error;
    post({ deposed: error.message });
  } finally {
    endNotes();
    clearInterval(looks);
    await server.close();
  }
  port.close();
}

/** A standby says how far it is, and the leader listens. Returns what ends that. */
function exchangeNotes(
  server: ReplicationServer,
  { url }: ServerSettings,
  control: Control,
  post: (message: ReplicatorMessage) => void,
): () => void {
  const id = randomUUID();
  server.hear((note) => {
    if (!control.isFollowing && note.id !== id) post({ standby: note });
  });
  const timer = setInterval(() => {
    if (!control.isFollowing) return;
    server.announce({ id, url, sequence: control.durable, isHealthy: control.isHealthy, timeMs: Date.now() });
  }, NOTE_INTERVAL_MS);
  return () => clearInterval(timer);
}

class JournalSide implements LocalSide {
  readonly lastRecordMs: number;
  readonly streamedThrough: number;
  private readonly control: Control;
  private readonly logDir: string;
  private readonly isSync: boolean;
  private readonly input: RingProducer;
  private readonly doorbell: Doorbell;
  private readonly replicatedDoorbell: Doorbell;
  private readonly actorIds: readonly number[];
  private readonly batch: SharedBatch | null;
  private log: LocalLog | null = null;
  /** The sequence of the next record to read. */
  private next = 1;

  constructor(task: ReplicatorTask, streamedThrough: number) {
    this.control = new Control(task.control);
    this.streamedThrough = Math.min(streamedThrough, this.control.durable);
    this.actorIds = task.actorIds;
    this.logDir = logOf(task.dataDir);
    this.isSync = task.settings.mode === "sync";
    this.batch = task.batch === null ? null : new SharedBatch(task.batch);
    this.input = new RingProducer(task.input, new Doorbell(task.journalDoorbell));
    this.doorbell = new Doorbell(task.doorbell);
    this.replicatedDoorbell = new Doorbell(task.replicatedDoorbell);
    this.lastRecordMs = this.readLastTime();
  }

  get mayFollow(): boolean {
    return this.control.mayFollow;
  }

  readWhole(atMs: number): void {
    this.control.readWholeAtMs = atMs;
  }

  get isHealthy(): boolean {
    return this.control.isHealthy;
  }

  publishable(): number {
    return this.isSync ? this.control.written : this.control.durable;
  }

  released(): number {
    return this.control.durable;
  }

  readAfter(sequence: number): void {
    this.next = sequence + 1;
  }

  read(through: number, targetBytes: number): ReturnType<LocalLog["read"]> {
    if (this.next > through) return null;
    const records = this.batch?.from(this.next) ?? this.logFrom(this.next).read(through, targetBytes);
    if (records !== null) this.next = records.last + 1;
    return records;
  }

  async deliver(record: Uint8Array, sequence: number): Promise<void> {
    const { input, control } = this;
    let at = input.reserve(record.length);
    for (; at < 0; at = input.reserve(record.length)) {
      input.wake();
      await sleep(1);
    }
    input.bytes.set(record, at);
    const actorId = input.view.getUint16(at + AT_ACTOR_ID, true);
    // Nothing here would apply it, and this process would lead without it.
    if (!this.actorIds.includes(actorId))
      throw new StreamFault(
        `the stream has transactions of the instrument ${actorId}, which this configuration lacks; give this process the leader's configuration`,
      );
    // The request was the leader's.
    input.view.setUint32(at + AT_REQUEST_ID, 0, true);
    control.follow(sequence);
    input.commit(record.length);
    input.wake();
  }

  replicated(sequence: number): void {
    this.control.replicated = sequence;
    this.replicatedDoorbell.wake();
  }

  neededFrom(): number {
    const { control, actorIds } = this;
    return Math.min(control.indexed, ...actorIds.map((actorId) => control.storedSnapshotOf(actorId))) + 1;
  }

  async waitForMore(): Promise<void> {
    const { doorbell } = this;
    doorbell.prepareSleep();
    if (this.next > this.publishable() && !this.isClosed) await doorbell.waitAsync();
    doorbell.cancelSleep();
  }

  leased(sentAtMs: number): void {
    this.control.leasedUntilMs = sentAtMs + LEASE_VALID_MS;
  }

  get isStopping(): boolean {
    return this.control.phase >= STOP_ACTORS;
  }

  get isClosed(): boolean {
    return this.control.phase >= STOP_STORE;
  }

  private logFrom(sequence: number): LocalLog {
    if (this.log?.next === sequence) return this.log;
    this.log?.close();
    this.log = new LocalLog(this.logDir, sequence);
    return this.log;
  }

  private readLastTime(): number {
    const last = this.control.durable;
    if (last === 0) return 0;
    const log = new LocalLog(this.logDir, last);
    try {
      const batch = log.read(last, 1);
      return batch === null ? 0 : viewOf(batch.bytes).getFloat64(AT_TIME, true);
    } catch (error) {
      // Its segment may have been removed, because snapshots hold it.
      if (error instanceof LogCorruptError) return 0;
      throw error;
    } finally {
      log.close();
    }
  }
}
