import assert from "node:assert/strict";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { LEDGER } from "../../../src/core/base/enums.ts";
import { LedgerActor, type LedgerSettings } from "../../../src/core/ledger/ledger.ts";
import type { Actor, SnapshotReader, SnapshotWriter, Transaction } from "../../../src/core/protocol/actor.ts";
import { Audit, Deposit, OpenSession } from "../../../src/core/protocol/commands.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf, type MessageSchema } from "../../../src/core/protocol/message-schema.ts";
import type { ActorAudit } from "../../../src/core/protocol/payloads.ts";
import type { AuditReport } from "../../../src/core/protocol/replies.ts";
import { SymbolActor } from "../../../src/core/symbol.ts";
import { decodeMessage, eachMessage, encodeMessage, maxMessageBytes } from "../../../src/wire/codec.ts";
import { viewOf } from "../../../src/wire/record.ts";

export const START = Date.UTC(2026, 0, 5, 12);
export const DAY_MS = 24 * 60 * 60 * 1000;
export const MAX_ACCOUNTS = 64;
/** Short, so that random traffic reaches stale indexes. */
export const SHORT_INDEX_AGE_MS = 15_000;

/** A message with these fields, and all others zero. */
export const make = <S extends MessageSchema>(of: S, fields: Partial<MessageOf<S>> = {}): MessageOf<S> =>
  Object.assign(blank(of), fields);

/** Events and replies of a transaction. Copies, since actors fill in the same objects again. */
export interface Said {
  readonly sequence: number;
  readonly time: number;
  readonly events: Message[];
  readonly replies: Message[];
}

/** A transaction in the log. */
export interface Logged {
  readonly actorId: number;
  readonly sequence: number;
  readonly time: number;
  readonly bytes: Uint8Array;
}

export const LEDGER_SETTINGS: LedgerSettings = { faucetCapQuanta: 1e15, withdrawalDelayMs: 1000 };

/** The real ledger and symbols on one thread. Each command is a transaction, and its events go into a log in memory. */
export class Exchange {
  readonly marginTable: MarginTable;
  readonly actors = new Map<number, Actor>();
  readonly ledger: LedgerActor;
  readonly log: Logged[] = [];
  time = START;
  sequence = 0;
  /** How many events the settlement of marks has had: accounts were bankrupt. */
  settlementEvents = 0;

  constructor(
    instruments: readonly Instrument[],
    settings: LedgerSettings = LEDGER_SETTINGS,
    maxAccounts: number = MAX_ACCOUNTS,
    maxIndexAgeMs: number = Number.POSITIVE_INFINITY,
    stored?: SnapshotReader,
  ) {
    this.marginTable = MarginTable.allocate(maxAccounts);
    this.ledger = new LedgerActor(settings, this.marginTable, stored);
    this.actors.set(LEDGER, this.ledger);
    for (const instrument of instruments)
      this.actors.set(instrument.id, new SymbolActor(instrument, this.marginTable, { maxIndexAgeMs }));
  }

  symbol(id: number): SymbolActor {
    return this.actors.get(id) as SymbolActor;
  }

  /** Opens the next account, with this balance. The first one is FIRST_CUSTOMER_ACCOUNT. Returns its id. */
  openAccount(amountQuanta: number): number {
    const accountId = this.ledger.state.nextAccountId;
    this.do(LEDGER, make(OpenSession, { address: `0x${accountId}`, tokenHash: `${accountId}`, expiresAt: 2 ** 50 }));
    this.do(LEDGER, make(Deposit, { accountId, amountQuanta }));
    return accountId;
  }

  do(actorId: number, command: Message): Said {
    this.settleMark(actorId);
    return this.transaction(actorId, (actor, transaction) => actor.decide(command, transaction));
  }

  /** Settles the actor's mark, as its worker does before each command. Returns the events. */
  settleMark(actorId: number): Message[] {
    return this.settleInParts(actorId).flatMap(({ events }) => events);
  }

  /** As settleMark(). Returns the transactions. */
  settleInParts(actorId: number): Said[] {
    const parts: Said[] = [];
    while (this.isSettlingMark(actorId)) parts.push(this.settlePart(actorId));
    return parts;
  }

  /** One transaction of the settlement. */
  settlePart(actorId: number): Said {
    const said = this.transaction(actorId, (actor, transaction) => actor.settleMark(transaction));
    this.settlementEvents += said.events.length;
    return said;
  }

  /** Runs a command and all transactions that follow from it. Returns its replies and the events of all. */
  carryOut(actorId: number, command: Message): Said {
    const said = this.do(actorId, command);
    for (let more = true; more; ) {
      const next = this.proceed(actorId);
      said.events.push(...next.events);
      more = next.more;
    }
    return { ...said, sequence: this.sequence };
  }

  /** One runBackground() of the actor. `more`: its result. */
  proceed(actorId: number): Said & { more: boolean } {
    let more = false;
    const settled = this.settleMark(actorId);
    const said = this.transaction(actorId, (actor, transaction) => {
      more = actor.runBackground(transaction);
    });
    return { ...said, events: [...settled, ...said.events], more: more || this.isSettlingMark(actorId) };
  }

  private isSettlingMark(actorId: number): boolean {
    return (this.actors.get(actorId) as Actor).isSettlingMark;
  }

  /** One fire() of the actor, as after a command. */
  fire(actorId: number): Said {
    this.settleMark(actorId);
    return this.transaction(actorId, (actor, transaction) => actor.fire(transaction));
  }

  private transaction(actorId: number, run: (actor: Actor, transaction: Transaction) => void): Said {
    const actor = this.actors.get(actorId) as Actor;
    const events: Message[] = [];
    const replies: Message[] = [];
    run(actor, {
      time: this.time,
      emit: (event) => void events.push({ ...event }),
      reply: (reply) => void replies.push({ ...reply }),
    });
    if (events.length > 0) {
      this.sequence++;
      actor.settle(this.sequence, this.time);
      this.log.push({ actorId, sequence: this.sequence, time: this.time, bytes: encode(events) });
    }
    this.marginTable.commit();
    return { sequence: this.sequence, time: this.time, events, replies };
  }

  /** Of a command with exactly one reply. */
  ask(actorId: number, command: Message): Message {
    const { replies } = this.do(actorId, command);
    if (replies.length !== 1) throw new Error(`${replies.length} replies: ${JSON.stringify(replies)}`);
    return replies[0];
  }

  audit(actorId: number): ActorAudit {
    return (this.ask(actorId, make(Audit)) as MessageOf<typeof AuditReport>).report;
  }

  /** Applies logged transactions, as recovery does. Call restored() after the last. */
  replay(transactions: Iterable<Logged>): void {
    for (const logged of transactions) this.apply(logged).settle(logged.sequence, logged.time);
  }

  /** Applies logged transactions, as a process does that follows the one that decided them. Call restored() before and after. */
  follow(transactions: Iterable<Logged>): void {
    for (const logged of transactions) {
      const actor = this.apply(logged);
      actor.settleFollowed(logged.sequence, logged.time);
      while (actor.followMark());
    }
  }

  private apply({ actorId, sequence, time, bytes }: Logged): Actor {
    const actor = this.actors.get(actorId) as Actor;
    eachMessage(viewOf(bytes), bytes, 0, bytes.length, (event) => actor.apply(event, time));
    this.sequence = sequence;
    this.time = Math.max(this.time, time);
    return actor;
  }

  restored(): void {
    for (const actor of this.actors.values()) actor.restored();
  }

  /** The margin table of every account, for comparison. */
  marginTableOf(accountId: number): Record<string, number> {
    const { marginTable } = this;
    return {
      equity: marginTable.equity(accountId),
      unrealized: marginTable.unrealized(accountId),
      gains: marginTable.usableGains(accountId),
      reserved: marginTable.usableReserved(accountId),
      initial: marginTable.initial(accountId),
      positionInitial: marginTable.positionInitial(accountId),
      maintenance: marginTable.maintenance(accountId),
    };
  }

  allMarginTables(): Record<string, number>[] {
    return Array.from({ length: this.marginTable.maxAccounts }, (_, accountId) => this.marginTableOf(accountId));
  }
}

/** Snapshots in memory: rows as bytes, read back in the order of LMDB. */
export class SnapshotStore implements SnapshotReader {
  private readonly tables = new Map<string, Map<number | string, Uint8Array>>();
  /** The snapshot holds the state through this sequence. */
  sequence = 0;
  /** Handed over ahead of the next snapshot. */
  private ahead: (() => void)[] = [];
  private readonly writer: SnapshotWriter = {
    put: (table, key, row) => {
      const bytes = encode([row]);
      this.ahead.push(() => this.table(table).set(key, bytes));
    },
    remove: (table, key) => this.ahead.push(() => this.table(table).delete(key)),
  };

  /** Takes about so many rows. Returns whether that was the end of them. */
  takeShare(exchange: Exchange, actorId: number, most: number): boolean {
    return exchange.actors.get(actorId)?.snapshot(this.writer, most) ?? true;
  }

  take(exchange: Exchange, actorId: number): void {
    exchange.actors.get(actorId)?.snapshot(this.writer);
    for (const change of this.ahead) change();
    this.ahead = [];
    this.sequence = exchange.sequence;
  }

  find(table: string, key: number | string): Message | undefined {
    const bytes = this.table(table).get(key);
    return bytes === undefined ? undefined : decodeMessage(viewOf(bytes), bytes, 0);
  }

  /** Drops the rows of an unfinished snapshot, as when the actor's thread dies. */
  load(actor: Actor): void {
    this.ahead = [];
    for (const name of [...this.tables.keys()].sort()) {
      if (name.startsWith("~")) continue;
      const rows = [...this.table(name)].sort(([a], [b]) =>
        typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1,
      );
      for (const [key, bytes] of rows) actor.load(name, key, decodeMessage(viewOf(bytes), bytes, 0));
    }
  }

  /** Rows of a table, for tests that count what is written. */
  keys(table: string): (number | string)[] {
    return [...this.table(table).keys()];
  }

  private table(name: string): Map<number | string, Uint8Array> {
    let table = this.tables.get(name);
    if (table === undefined) {
      table = new Map();
      this.tables.set(name, table);
    }
    return table;
  }
}

export function encode(messages: readonly Message[]): Uint8Array {
  const bytes = new Uint8Array(messages.reduce((sum, message) => sum + maxMessageBytes(message), 0));
  let at = 0;
  for (const message of messages) at = encodeMessage(viewOf(bytes), bytes, at, message);
  return bytes.subarray(0, at);
}

/** Brings `again`, which is new, to the state of `exchange`: by its whole log, or by a snapshot of each actor. */
export function recover(again: Exchange, exchange: Exchange, from: "log" | "snapshots"): void {
  if (from === "log") again.replay(exchange.log);
  else
    for (const [actorId, actor] of again.actors) {
      const store = new SnapshotStore();
      store.take(exchange, actorId);
      store.load(actor);
    }
  again.restored();
}

/** Restores an exchange from its snapshots and from its log. Both must equal it. */
export function recoveriesOf(exchange: Exchange, instrument: Instrument): Exchange[] {
  const { id } = instrument;
  const store = new SnapshotStore();
  store.take(exchange, id);
  const [loaded, replayed] = [new Exchange([instrument]), new Exchange([instrument])];
  store.load(loaded.symbol(id));
  replayed.replay(exchange.log);
  const { digest } = exchange.audit(id);
  for (const again of [loaded, replayed]) {
    again.restored();
    assert.equal(again.audit(id).digest, digest);
  }
  return [loaded, replayed];
}
