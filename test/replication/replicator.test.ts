import assert from "node:assert/strict";
import { test } from "node:test";
import type { Batch } from "../../src/replication/batch.ts";
import { encodeLeaderBegan } from "../../src/replication/leader-began.ts";
import { DeposedError } from "../../src/replication/publisher.ts";
import { type LocalSide, Replicator, type ReplicatorOptions } from "../../src/replication/replicator.ts";
import { UnknownOutcomeError } from "../../src/replication/stream.ts";
import { until } from "../e2e/support/wait.ts";
import { batchOf, EXCHANGE, leaseOf, MemoryLease, MemoryStream } from "./support.ts";

/** A journal in memory that counts whatever the stream has, or at once in mode `async`. */
class MemoryJournal implements LocalSide {
  readonly mayFollow = true;
  isHealthy = true;
  readonly lastRecordMs = 0;
  readonly streamedThrough: number;
  isStopping = false;
  isClosed = false;
  private last: number;
  private inStream: number;
  private at = 1;
  private readonly isAsync: boolean;

  constructor(last: number, streamedThrough = last, isAsync = false) {
    this.last = last;
    this.streamedThrough = streamedThrough;
    this.inStream = streamedThrough;
    this.isAsync = isAsync;
  }

  write(count: number): void {
    this.last += count;
  }

  wholeAtMs = -1;

  readWhole(atMs: number): void {
    this.wholeAtMs = atMs;
  }
  publishable = () => this.last;
  released = () => (this.isAsync ? this.last : Math.min(this.last, this.inStream));

  read(through: number): Pick<Batch, "first" | "last" | "bytes"> | null {
    if (this.at > through) return null;
    const { first, last, bytes } = batchOf(this.at, through);
    this.at = through + 1;
    return { first, last, bytes };
  }

  readAfter(sequence: number): void {
    this.at = sequence + 1;
  }

  async deliver(_bytes: Uint8Array, sequence: number): Promise<void> {
    this.last = sequence;
  }

  replicated(sequence: number): void {
    this.inStream = sequence;
  }

  waitForMore = () => new Promise<void>((resolve) => setImmediate(resolve));
  neededFrom = () => 1;
  leased(): void {}

  stop(): void {
    this.isStopping = true;
    this.isClosed = true;
  }
}

const noAnswer = async (): Promise<never> => {
  throw new UnknownOutcomeError("timeout");
};

interface Parts {
  readonly stream?: MemoryStream;
  readonly lease?: MemoryLease;
  readonly journal?: MemoryJournal;
  readonly mode?: "sync" | "async";
  readonly mayBegin?: boolean;
}

/** A replicator in a time that passes whenever it waits. `lost`: what it reports. */
function open({ stream = new MemoryStream(), lease = new MemoryLease(), mode = "sync", ...parts }: Parts) {
  const { journal = new MemoryJournal(0), mayBegin = true } = parts;
  let nowMs = 0;
  const lost: [number, number][] = [];
  const possiblyLostMs: number[] = [];
  const state = { isLeading: false, ledAtMs: 0 };
  const sleep = (ms: number): Promise<void> => {
    nowMs += ms;
    return new Promise((resolve) => setImmediate(resolve));
  };
  stream.wait = sleep;
  const options: ReplicatorOptions = {
    settings: { exchangeId: EXCHANGE, url: "me", instruments: "", mode },
    ...{ stream, lease, local: journal, mayBegin, retentionMs: 0, sleep },
    monotonicMs: () => nowMs,
    wallMs: () => 1000,
    onLeading: () => {
      state.isLeading = true;
      state.ledAtMs = nowMs;
    },
    onFollowing: () => {},
    onSilence: () => {},
    onLost: (first, last) => void lost.push([first, last]),
    onPossibleLoss: (withinMs) => void possiblyLostMs.push(withinMs),
  };
  return { stream, lease, journal, lost, possiblyLostMs, state, ended: new Replicator(options).run() };
}

test("a renewal that is on its way does not undo the release of the lease", async () => {
  const { lease, journal, state, ended } = open({});
  await until("the leader", () => state.isLeading);
  let arrive = (): void => {};
  let isHeld = false;
  lease.delay = () => {
    if (isHeld) return Promise.resolve();
    isHeld = true;
    return new Promise((resolve) => {
      arrive = resolve;
    });
  };
  await until("a renewal", () => isHeld);
  journal.stop();
  for (let i = 0; i < 20; i++) await journal.waitForMore();
  arrive();
  await ended;
  for (let i = 0; i < 20; i++) await journal.waitForMore();
  assert.equal(lease.entry?.isReleased, true);
});

test("a process stops although the stream does not answer: what it has not published does not count", async () => {
  const { stream, lease, journal, state, ended } = open({});
  await until("the leader", () => state.isLeading);
  stream.append = noAnswer;
  journal.write(3);
  for (let i = 0; i < 20; i++) await journal.waitForMore();
  journal.stop();
  await ended;
  assert.deepEqual([journal.released(), lease.entry?.isReleased], [1, false]);

  const standby = open({ stream: new MemoryStream([batchOf(1, 2)]), journal: new MemoryJournal(2) });
  standby.stream.bounds = noAnswer;
  for (let i = 0; i < 20; i++) await journal.waitForMore();
  standby.journal.stop();
  await standby.ended;
  assert.equal(standby.state.isLeading, false);
});

test("in mode async a claim publishes what the machine had answered before", async () => {
  const stream = new MemoryStream([batchOf(1, 4)]);
  const journal = new MemoryJournal(9, 4, true);
  const { state, ended, lost } = open({ stream, journal, mode: "async" });
  await until("the leader", () => state.isLeading);
  journal.stop();
  await ended;
  const { last } = await stream.bounds();
  const placed = await Promise.all(Array.from({ length: last }, (_, i) => stream.get(i + 1)));
  assert.deepEqual(
    placed.map((batch) => [batch?.epoch, batch?.first, batch?.last]),
    [
      [1, 1, 4],
      [2, 5, 9],
      [2, 10, 10],
    ],
  );
  assert.deepEqual(lost, []);
});

test("in mode async a machine whose answers a rival has replaced ends, and says so", async () => {
  const stream = new MemoryStream([batchOf(1, 4), batchOf(5, 5, { epoch: 2, node: "rival" })]);
  const { ended } = open({ stream, journal: new MemoryJournal(9, 4, true), mode: "async" });
  await assert.rejects(ended, {
    name: DeposedError.name,
    message: /claimed the place of transaction 5\. .*answered it/,
  });
});

test("a new leader compares the stream with what the one before had answered", async () => {
  const opened = (mode: "sync" | "async", sequence: number) => {
    const lease = new MemoryLease();
    lease.entry = { ...leaseOf("dead", 1), isReleased: true, sequence };
    lease.revision = 1;
    const stream = new MemoryStream([batchOf(1, 4)]);
    return open({ stream, lease, mode, journal: new MemoryJournal(4, 4, mode === "async") });
  };
  await assert.rejects(opened("sync", 7).ended, /ends with transaction 4, but the leader before had answered .* 7/);
  for (const [mode, sequence, expected] of [
    ["sync", 4, []],
    ["async", 4, []],
    ["async", 7, [[5, 7]]],
  ] as const) {
    const { state, journal, ended, lost } = opened(mode, sequence);
    await until("the leader", () => state.isLeading);
    journal.stop();
    await ended;
    assert.deepEqual(lost, expected, `${mode} ${sequence}`);
  }
});

test("in mode async a leader that has not released its lease may have answered more than the lease says", async () => {
  for (const [mode, isReleased, last, expected] of [
    ["async", false, 4, [750]],
    ["async", true, 4, []],
    ["sync", false, 4, []],
    // Nobody led before.
    ["async", false, 0, []],
  ] as const) {
    const lease = new MemoryLease();
    if (last > 0) {
      lease.entry = { ...leaseOf("dead", 1), isReleased, sequence: last };
      lease.revision = 1;
    }
    const stream = new MemoryStream(last > 0 ? [batchOf(1, last)] : []);
    const parts = { stream, lease, mode, journal: new MemoryJournal(last, last, mode === "async") };
    const { state, journal, ended, possiblyLostMs } = open(parts);
    await until("the leader", () => state.isLeading);
    journal.stop();
    await ended;
    assert.deepEqual(possiblyLostMs, expected, `${mode} ${isReleased} ${last}`);
  }
});

test("a lease that is gone counts as one that stands still, when the exchange was led before", async () => {
  for (const mayBegin of [true, false]) {
    const lease = new MemoryLease();
    // Nobody sees it again.
    lease.read = async () => null;
    const { state, journal, ended } = open({
      ...{ stream: new MemoryStream([batchOf(1, 4)]), lease, mayBegin, journal: new MemoryJournal(4) },
    });
    await until("the leader", () => state.isLeading);
    // The leader before may have answered reads until the end of its lease.
    assert.ok(state.ledAtMs >= 1000, String(state.ledAtMs));
    journal.stop();
    await ended;
  }
  const empty = open({ lease: new MemoryLease(), mayBegin: false });
  for (let i = 0; i < 100; i++) await empty.journal.waitForMore();
  assert.equal(empty.state.isLeading, false);
  empty.journal.stop();
  await empty.ended;
  assert.equal(empty.stream.appends, 0);
});

test("only a start may change the instruments, and only when the leader has released the lease", async () => {
  const opened = (isReleased: boolean, mayBegin: boolean) => {
    const lease = new MemoryLease();
    lease.entry = { ...leaseOf("before", 1), instruments: "other", isReleased };
    lease.revision = 1;
    return open({ stream: new MemoryStream([batchOf(1, 4)]), lease, mayBegin, journal: new MemoryJournal(4) });
  };
  for (const [isReleased, mayBegin] of [
    [false, false],
    [false, true],
    [true, false],
  ] as const)
    await assert.rejects(opened(isReleased, mayBegin).ended, /other instruments .*stop all processes, the leader last/);
  const { state, journal, ended, lease } = opened(true, true);
  await until("the leader", () => state.isLeading);
  assert.equal(lease.entry?.instruments, "");
  journal.stop();
  await ended;
});

test("a standby knows that it has all of the stream only from the server that knows the end", async () => {
  const lease = new MemoryLease();
  lease.entry = leaseOf("leader", 1);
  // Its leader renews it before each look.
  lease.read = async () => ({ entry: leaseOf("leader", 1), revision: ++lease.revision });
  const { stream, journal, ended } = open({ stream: new MemoryStream([batchOf(1, 4)]), lease, mayBegin: false });
  await until("all of the stream", () => journal.wholeAtMs >= 0);
  // A replica of the stream that is cut off from the others says that there is no more.
  stream.readableThrough = 1;
  stream.add(batchOf(5, 5));
  const { wholeAtMs } = journal;
  for (let i = 0; i < 2000; i++) await journal.waitForMore();
  assert.equal(journal.wholeAtMs, wholeAtMs);
  stream.bounds = noAnswer;
  for (let i = 0; i < 2000; i++) await journal.waitForMore();
  assert.deepEqual([journal.wholeAtMs, journal.released()], [wholeAtMs, 4]);
  journal.stop();
  await ended;
});

test("a process that could not serve takes a released lease only when nobody else does", async () => {
  for (const isHealthy of [true, false]) {
    const lease = new MemoryLease();
    lease.entry = { ...leaseOf("before", 1), isReleased: true };
    lease.revision = 1;
    const journal = new MemoryJournal(4);
    journal.isHealthy = isHealthy;
    const { state, ended } = open({ stream: new MemoryStream([batchOf(1, 4)]), lease, journal, mayBegin: false });
    await until("the leader", () => state.isLeading);
    assert.equal(state.ledAtMs < 1000, isHealthy, String(state.ledAtMs));
    journal.stop();
    await ended;
  }
});

test("a standby lets a rival that has claimed take the lease", async () => {
  for (const isReleased of [true, false]) {
    const lease = new MemoryLease();
    lease.entry = { ...leaseOf("dead", 1), isReleased };
    lease.revision = 1;
    const stream = new MemoryStream([batchOf(1, 4)]);
    const bytes = encodeLeaderBegan({ sequence: 5, epoch: 2, node: "rival", timeMs: 0 });
    const claim = { ...batchOf(5, 5), epoch: 2, node: "rival", bytes };
    // It claims when this one was about to.
    const { append } = stream;
    let hasClaimed = false;
    stream.append = (batch, place) => {
      if (!hasClaimed) stream.add(claim);
      hasClaimed = true;
      return append.call(stream, batch, place);
    };
    const { state, journal, ended } = open({ stream, lease, journal: new MemoryJournal(4), mayBegin: false });
    await until("the leader", () => state.isLeading);
    assert.ok(state.ledAtMs >= (isReleased ? 1000 : 2000), `${isReleased} ${state.ledAtMs}`);
    journal.stop();
    await ended;
  }
});
