import { LEDGER } from "../../src/core/base/enums.ts";
import { OrderClosed, Traded } from "../../src/core/protocol/events.ts";
import type { MessageOf } from "../../src/core/protocol/message-schema.ts";
import { ClientIdRow } from "../../src/core/protocol/snapshot-schema.ts";
import type { Tampering } from "./machine.ts";

/**
 * Faults of the kind that the auditor exists for, built in on purpose. Each must be found; nothing outside the tests can
 * switch one on.
 */
export const MUTANTS: Record<string, Tampering> = {
  "the journal hands on before the log is synced": {
    log: (log) => changed(log, { sync: () => {} }),
  },
  "a new segment's name is never synced": {
    files: (disk) => changed(disk, { fsyncSync: () => {} }),
  },
  // Nothing that leaves a symbol's lists of orders in disorder: going through one that is a circle never ends.
  "recovery drops an order's end now and then": {
    actor(actor) {
      let ends = 0;
      return changed(actor, {
        apply: (event, time) => {
          if (event.type !== OrderClosed.code || ++ends % 5 !== 0) actor.apply(event, time);
        },
      });
    },
  },
  "recovery folds the last turns of a snapshot once more": {
    snapshots: (real) =>
      changed(real, {
        load: (actorId, visit) => Math.max(0, real.load(actorId, visit) - (actorId === LEDGER ? 10 : 0)),
      }),
  },
  "snapshots forget the ids that clients gave their orders": {
    snapshots: (real) =>
      changed(real, {
        load: (actorId, visit) =>
          real.load(actorId, (table, key, row) => {
            if (row.type !== ClientIdRow.code) visit(table, key, row);
          }),
      }),
  },
  "a quantum of a fee is lost on its way into the log": {
    actor: (actor) =>
      changed(actor, {
        decide: (command, transaction) =>
          actor.decide(command, {
            time: transaction.time,
            reply: (reply) => transaction.reply(reply),
            emit(event) {
              const { takerFeeQuanta } = event as MessageOf<typeof Traded>;
              transaction.emit(event.type === Traded.code ? { ...event, takerFeeQuanta: takerFeeQuanta - 1 } : event);
            },
          }),
      }),
  },
  "recovery does not fill the cells": {
    actor: (actor) => changed(actor, { restored: () => {} }),
  },
  "an actor takes a command twice": {
    commands(commands) {
      let taken = 0;
      return changed(commands, {
        next: () => {
          if (++taken % 50 !== 0) commands.next();
        },
        peek: () => commands.peek(),
        release: () => commands.release(),
      });
    },
  },
  "answers without events do not wait for what they rest on": {
    control: (control) =>
      changed(control, {
        nextSequence: () => control.nextSequence(),
        storedSnapshotOf: (actorId) => control.storedSnapshotOf(actorId),
        lastSequence: 0,
      }),
  },
  "a recount ends before every worker has added its share": {
    rebuild: (parts) => ({
      ...parts,
      control: changed(parts.control, { recountedBy: () => parts.control.recountRound }),
    }),
  },
  "a thread is rebuilt before what it had done is in the log": {
    rebuild: (parts) => ({
      ...parts,
      control: changed(parts.control, { durable: Number.POSITIVE_INFINITY }),
      workers: parts.workers.map((worker) => ({ ...worker, out: new SharedArrayBuffer(128) })),
    }),
  },
  "whoever waits for a thread that has died is not told": {
    rebuild: (parts) => ({ ...parts, engine: changed(parts.engine, { failPending: () => {} }) }),
  },
  "time begins anew with each start": {
    notBefore: () => 0,
  },
};

/** The same object, but for these. */
function changed<T extends object>(real: T, changes: Partial<T>): T {
  return new Proxy(real, {
    get(target, name) {
      if (name in changes) return changes[name as keyof T];
      const value = target[name as keyof T];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
