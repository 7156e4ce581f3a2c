import { LEDGER } from "../../src/core/base/enums.ts";
import type { Actor } from "../../src/core/protocol/actor.ts";
import { OrderClosed, Traded } from "../../src/core/protocol/events.ts";
import type { MessageOf } from "../../src/core/protocol/message-schema.ts";
import { ClientIdRow } from "../../src/core/protocol/snapshot-schema.ts";
import { SymbolActor } from "../../src/core/symbol.ts";
import type { Tampering } from "./machine.ts";

function withoutPast(actor: Actor): Actor {
  if (actor instanceof SymbolActor) actor.state.clientIds.past = null;
  return actor;
}

/** Deliberate faults that the auditor must find. Only tests can switch them on. */
export const MUTANTS: Record<string, Tampering> = {
  "the journal releases transactions before the log is synced": {
    log: (log) => changed(log, { sync: () => {} }),
  },
  "a new segment's name is never synced": {
    files: (disk) => changed(disk, { fsyncSync: () => {} }),
  },
  // Not an event whose loss can turn a list of orders into a circle: walking it would never end.
  "recovery drops some OrderClosed events": {
    actor(actor) {
      let ends = 0;
      return changed(actor, {
        apply: (event, time) => {
          if (event.type !== OrderClosed.code || ++ends % 5 !== 0) actor.apply(event, time);
        },
      });
    },
  },
  "recovery applies the last transactions of a snapshot twice": {
    snapshots: (real) =>
      changed(real, {
        load: (actorId, visit, through) =>
          Math.max(0, real.load(actorId, visit, through) - (actorId === LEDGER ? 10 : 0)),
      }),
  },
  "snapshots lose client order ids": {
    snapshots: (real) =>
      changed(real, {
        load: (actorId, visit) =>
          real.load(actorId, (table, key, row) => {
            if (row.type !== ClientIdRow.code) visit(table, key, row);
          }),
      }),
    actor: withoutPast,
  },
  "symbols do not find client order ids that the start left on disk": { actor: withoutPast },
  "the ledger does not find references that have left its memory": {
    snapshots: (real) => changed(real, { readerOf: () => ({ find: () => undefined }) }),
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
  "recovery does not fill the margin table": {
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
  "a read is answered before the state that it shows is durable": {
    control: (control) =>
      changed(control, {
        nextSequence: () => control.nextSequence(),
        storedSnapshotOf: (actorId) => control.storedSnapshotOf(actorId),
        lastSequence: 0,
      }),
  },
  "a recount ends before every worker has added its part": {
    rebuild: (parts) => ({
      ...parts,
      control: changed(parts.control, { recountedBy: () => parts.control.recountRound }),
    }),
  },
  "a thread is rebuilt before its transactions are in the log": {
    rebuild: (parts) => ({
      ...parts,
      control: changed(parts.control, { durable: Number.POSITIVE_INFINITY }),
      workers: parts.workers.map((worker) => ({ ...worker, out: new SharedArrayBuffer(128) })),
    }),
  },
  "requests to a thread that has died are never answered": {
    rebuild: (parts) => ({ ...parts, engine: changed(parts.engine, { failPending: () => {} }) }),
  },
  "time starts again with each process": {
    notBefore: () => 0,
  },
};

/** The same object with other methods. */
function changed<T extends object>(real: T, changes: Partial<T>): T {
  return new Proxy(real, {
    get(target, name) {
      if (name in changes) return changes[name as keyof T];
      const value = target[name as keyof T];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
