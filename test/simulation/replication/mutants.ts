import type { LocalSide } from "../../../src/replication/replicator.ts";
import { type BatchStream, type LeaseStore, UnknownOutcomeError } from "../../../src/replication/stream.ts";
import type { NodeProcess, ReplicationTampering } from "./node.ts";
import { ANYWHERE } from "./stream-server.ts";

/** Deliberate faults that the auditor must find: each breaks one rule of the protocol. Only tests can switch them on. */
export const REPLICATION_MUTANTS: Record<string, ReplicationTampering> = {
  "two messages are in flight": twoInFlight(),
  "readers take messages of an earlier epoch": {
    server(server) {
      server.strayChance = 1;
    },
    stream(stream) {
      let epoch = 0;
      return changed(stream, {
        async get(place) {
          const batch = await stream.get(place);
          if (batch === null) return null;
          epoch = Math.max(epoch, batch.epoch);
          return { ...batch, epoch };
        },
      });
    },
  },
  "a leader answers before the stream has the transaction": { skipsStream: true },
  "the stream's server answers before its disk has the message": {
    server(server) {
      server.answersUnsynced = true;
    },
  },
  "a leader trusts its lease instead of the stream": {
    stream: (stream) => changed(stream, { append: (batch) => stream.append(batch, ANYWHERE) }),
  },
  "a message without an answer counts as published": {
    stream: (stream) =>
      changed(stream, {
        append: (batch, place) => stream.append(batch, place).catch((error) => unlessUnknown(error, true)),
      }),
  },
  "a refused message counts as published": {
    stream: (stream) =>
      changed(stream, { append: async (batch, place) => (await stream.append(batch, place)) || true }),
  },
  "a message that was stored and not answered counts as refused": {
    stream: (stream) => changed(stream, { get: async (place) => withOtherNode(await stream.get(place)) }),
  },
  "a start keeps the tail of its log that the stream does not hold": { skipsReconcile: true },
  "a leader answers reads without a lease": { ignoresLease: true },
  "a lease is valid for longer than a standby waits": {
    local: (local) => changed(local, { leased: (sentAtMs) => local.leased(sentAtMs + 750) }),
  },
  "a lease counts from its answer instead of its request": {
    partitionsOnly: true,
    lease: withSlowAnswers,
    local: (local, process) => changed(local, { leased: () => local.leased(process.node.monotonicMs) }),
  },
  "a renewal counts that standbys have seen a while ago": {
    partitionsOnly: true,
    lease: (lease) =>
      changed(lease, {
        async update(entry, revision) {
          const updated = await lease.update(entry, revision);
          if (updated !== null) return updated;
          const there = await lease.read();
          return there?.entry.node === entry.node ? there.revision : null;
        },
      }),
  },
  "a leader releases its lease while it still answers": {
    lease: (lease) =>
      changed(lease, { update: (entry, revision) => lease.update({ ...entry, isReleased: true }, revision) }),
  },
  "a leader answers before its own disk has the transaction": { skipsSync: true },
  "a new leader does not wait until the one before answers no more reads": {
    partitionsOnly: true,
    lease: (lease, process) =>
      changed(lease, {
        async update(entry, revision) {
          const taken = await lease.update(entry, revision);
          if (taken !== null) process.isLeading = true;
          return taken;
        },
      }),
  },
  "a stop waits until the stream answers": {
    local: (local) =>
      changed(local, {
        get isClosed() {
          return local.isClosed && local.released() >= local.publishable();
        },
      }),
  },
  "time begins again with each process": {
    local: (local) => changed(local, { lastRecordMs: 0 }),
  },
};

const SLOW_ANSWER_MS = 600;

/** The answers to renewals are slow. That alone is no fault. */
function withSlowAnswers(lease: LeaseStore, process: NodeProcess): LeaseStore {
  return changed(lease, {
    async update(entry, revision) {
      const updated = await lease.update(entry, revision);
      if (process.isLeading) await new Promise<void>((resolve) => void process.post(SLOW_ANSWER_MS, resolve));
      return updated;
    },
  });
}

/** Trap 1 of the protocol: of two messages in flight the server refuses the first one and takes the second one. */
function twoInFlight(): ReplicationTampering {
  const flights = new WeakMap<NodeProcess, { before: Promise<unknown>; through: Promise<boolean> }>();
  return {
    stream: (stream, process) =>
      changed(stream, {
        async append(batch, place) {
          await flights.get(process)?.before;
          const through = send(stream, batch, place);
          flights.set(process, { before: flights.get(process)?.through ?? Promise.resolve(), through });
          return true;
        },
      }),
    local: (local, process) =>
      changed(local, {
        replicated(sequence) {
          const flight = flights.get(process);
          if (flight === undefined) local.replicated(sequence);
          else void flight.through.then((isThere) => isThere && local.replicated(sequence));
        },
      }),
  };
}

async function send(...[stream, batch, place]: [BatchStream, ...Parameters<BatchStream["append"]>]): Promise<boolean> {
  for (;;)
    try {
      return (await stream.append(batch, place)) || (await stream.get(place + 1))?.node === batch.node;
    } catch (error) {
      unlessUnknown(error, false);
    }
}

function unlessUnknown<T>(error: unknown, value: T): T {
  if (!(error instanceof UnknownOutcomeError)) throw error;
  return value;
}

function withOtherNode<T extends { node: string } | null>(batch: T): T {
  return batch === null ? batch : { ...batch, node: "another" };
}

/** The same object with other members. */
function changed<T extends BatchStream | LeaseStore | LocalSide>(real: T, changes: Partial<T>): T {
  return new Proxy(real, {
    get(target, name) {
      if (name in changes) return changes[name as keyof T];
      const value = target[name as keyof T];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
