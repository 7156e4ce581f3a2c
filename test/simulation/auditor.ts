import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ReleasedTransaction } from "../../src/actor/engine/engine.ts";
import type { LedgerSettings } from "../../src/core/ledger/ledger.ts";
import type { Actor } from "../../src/core/protocol/actor.ts";
import {
  Deposited,
  FundingPaid,
  MarginMoved,
  OrderPlaced,
  WithdrawalRequested,
} from "../../src/core/protocol/events.ts";
import type { Instrument } from "../../src/core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../src/core/protocol/message-schema.ts";
import { AuditReport, PositionView } from "../../src/core/protocol/replies.ts";
import { LogReader } from "../../src/store/log/log-reader.ts";
import { listSegments, SEGMENT_HEADER_BYTES } from "../../src/store/log/log-segment.ts";
import { eachMessage } from "../../src/wire/codec.ts";
import {
  AT_ACTOR_ID,
  AT_KIND,
  AT_LOG_BYTES,
  AT_REQUEST_ID,
  AT_SEQUENCE,
  AT_TIME,
  KIND_TRANSACTION,
  RECORD_HEADER_BYTES,
  viewOf,
} from "../../src/wire/record.ts";
import { Exchange, encode } from "../core/support/exchange.ts";
import type { SimDisk } from "./disk.ts";
import { LOG_FOLDER, type Machine } from "./machine.ts";

/** A request that waits for its answer. */
interface Asked {
  readonly actorId: number;
  readonly command: Message;
  /** The last sequence that its sender had seen when it was sent. */
  readonly afterSequence: number;
}

/** A transaction as clients have seen it, or as it was found in the log after a crash. */
interface Seen {
  readonly sequence: number;
  readonly actorId: number;
  readonly time: number;
  readonly events: readonly Message[];
  command: Message | null;
  /** Null when no client has seen them. */
  replies: readonly Message[] | null;
}

/**
 * Checks the exchange against a simple model without rings, threads, snapshots or crashes. It runs the same commands one
 * after the other, in the order that the exchange reports. The exchange's events and replies must be the same. And each
 * transaction that a client has seen must be in the log after a restart, once.
 */
export class Auditor {
  readonly findings: string[] = [];
  transactions = 0;
  replies = 0;
  /** Transactions that were in the log after a crash, and that no client had seen. */
  unseen = 0;
  private readonly shadow: Exchange;
  private readonly disk: SimDisk;
  private readonly trace = createHash("sha256");
  private seen: Seen[] = [];
  /** Requests of this process, by request id. */
  private asked = new Map<number, Asked>();
  private released = 0;
  private durable = 0;
  /** How many bytes of each log file have been read. */
  private readonly read = new Map<string, number>();
  /** Records, by sequence, that no client had seen when they were synced. */
  private readonly synced = new Map<number, Uint8Array>();
  private readonly lastTime = new Map<number, number>();
  /** Ids of orders by account and client order id, and of transfers and margin moves by reference. */
  private readonly used = new Map<string, number>();
  private dueQuanta = 0n;

  constructor(instruments: readonly Instrument[], ledger: LedgerSettings, maxAccounts: number, disk: SimDisk) {
    this.shadow = new Exchange(instruments, ledger, maxAccounts);
    this.disk = disk;
    disk.onSynced = (path, bytes) => this.noteDurable(path, bytes);
  }

  /** The hash of everything that clients saw, in order. Two runs of one seed have the same. */
  digest(): string {
    return this.trace.copy().digest("hex");
  }

  onAsk(requestId: number, actorId: number, command: Message): void {
    this.asked.set(requestId, { actorId, command, afterSequence: this.released });
  }

  /** The request was not sent: it must have no effect. */
  onTurnedAway(requestId: number): void {
    this.asked.delete(requestId);
  }

  onReleased(transaction: ReleasedTransaction): void {
    this.check(transaction.sequence === this.released + 1, `released ${transaction.sequence} after ${this.released}`);
    this.checkDurable(transaction);
    this.released = transaction.sequence;
    this.transactions++;
    this.see({
      ...transaction,
      events: copy(transaction.messages.slice(0, transaction.eventCount)),
      command: null,
      replies: null,
    });
  }

  onReply(requestId: number, transaction: ReleasedTransaction): void {
    const asked = this.asked.get(requestId);
    if (!this.check(asked !== undefined, `request ${requestId} was answered twice`)) return;
    this.asked.delete(requestId);
    this.replies++;
    this.checkDurable(transaction);
    const { command, afterSequence } = asked as Asked;
    this.check(
      transaction.sequence >= afterSequence,
      `an answer as of ${transaction.sequence} to a client that had seen ${afterSequence}`,
    );
    const replies = copy(transaction.messages.slice(transaction.eventCount));
    if (transaction.eventCount === 0) this.see({ ...transaction, events: [], command, replies });
    else {
      const last = this.seen.at(-1);
      if (
        !this.check(
          last?.sequence === transaction.sequence,
          `transaction ${transaction.sequence} was answered but not released`,
        )
      )
        return;
      Object.assign(last as Seen, { command, replies });
    }
    this.trace.update(JSON.stringify(replies));
  }

  /** Call it when all requests are answered and all work has drained. */
  settled(machine: Machine): void {
    this.check(this.asked.size === 0, `${this.asked.size} requests were never answered`);
    this.predict();
    // The last price of a symbol may have had a settlement without events.
    for (const actorId of this.shadow.actors.keys())
      this.check(this.shadow.settleMark(actorId).length === 0, `actor ${actorId} did not settle its last mark`);
    for (let accountId = 0; accountId < machine.marginTable.maxAccounts; accountId++) {
      const { marginTable } = machine;
      const real = {
        equity: marginTable.equity(accountId),
        unrealized: marginTable.unrealized(accountId),
        gains: marginTable.usableGains(accountId),
        reserved: marginTable.usableReserved(accountId),
        initial: marginTable.initial(accountId),
        positionInitial: marginTable.positionInitial(accountId),
        maintenance: marginTable.maintenance(accountId),
      };
      const due = this.shadow.marginTableOf(accountId);
      this.check(isDeepStrictEqual(real, due), `margin of ${accountId}: ${text(real)} instead of ${text(due)}`);
    }
  }

  /** Checks the actors' own audits, taken after settled(). predict() has compared them with those of the model already. */
  balanced(reports: readonly Message[]): void {
    let money = 0n;
    for (const message of reports) {
      if (!this.check(message.type === AuditReport.code, `an audit was answered ${text(message)}`)) return;
      const { report } = message as MessageOf<typeof AuditReport>;
      money += BigInt(report.moneyQuanta);
      this.check(report.faults.length === 0, `actor ${report.actorId}: ${report.faults.join("; ")}`);
      this.check((report.sizeLots ?? 0) === 0, `actor ${report.actorId}: Σ size is ${report.sizeLots}`);
    }
    this.check(money === this.dueQuanta, `all money is ${money} quanta, deposits − withdrawals are ${this.dueQuanta}`);
  }

  /** A new process has recovered from a log that ends with `lastSequence`. Open requests are never answered. */
  restarted(lastSequence: number): void {
    this.check(lastSequence >= this.released, `${this.released} was shown, but the log ends with ${lastSequence}`);
    this.predict();
    const from = this.shadow.sequence + 1;
    // Transactions that no client has seen may have been indexed and removed from the log already.
    const begin = Math.max(from, listSegments(LOG_FOLDER, this.disk)[0] ?? from);
    for (let sequence = from; sequence < begin; sequence++) {
      const record = this.synced.get(sequence);
      if (
        this.check(record !== undefined, `transaction ${sequence} was removed from the log without having been on disk`)
      )
        this.find(record as Uint8Array);
    }
    if (begin <= lastSequence) {
      const reader = new LogReader(LOG_FOLDER, begin, this.disk);
      reader.read(lastSequence, (bytes, _view, offset, logBytes) =>
        this.find(bytes.subarray(offset, offset + logBytes)),
      );
      reader.close();
    }
    this.predict();
    this.released = lastSequence;
    this.asked.clear();
    this.read.clear();
    this.synced.clear();
  }

  /** Takes a transaction of the log that no client has seen. */
  private find(record: Uint8Array): void {
    const view = viewOf(record);
    const events: Message[] = [];
    eachMessage(view, record, RECORD_HEADER_BYTES, record.length, (event) => events.push({ ...event }));
    const requestId = view.getUint32(AT_REQUEST_ID, true);
    const actorId = view.getUint16(AT_ACTOR_ID, true);
    const sequence = view.getFloat64(AT_SEQUENCE, true);
    const time = view.getFloat64(AT_TIME, true);
    const asked = this.asked.get(requestId);
    const isKnown = requestId === 0 || asked?.actorId === actorId;
    this.check(isKnown, `transaction ${sequence} is of a request ${requestId} that was not open`);
    this.asked.delete(requestId);
    this.unseen++;
    this.see({ sequence, actorId, time, events, command: asked?.command ?? null, replies: null });
  }

  private see(transaction: Seen): void {
    const { sequence, actorId, time, events } = transaction;
    this.seen.push({ sequence, actorId, time, events, command: transaction.command, replies: transaction.replies });
    if (events.length === 0) return;
    this.trace.update(`${sequence} ${actorId} ${time} ${JSON.stringify(events)}`);
    const before = this.lastTime.get(actorId) ?? 0;
    this.check(
      time >= before,
      `transaction ${sequence}: the time of actor ${actorId} goes back from ${before} to ${time}`,
    );
    this.lastTime.set(actorId, time);
    for (const event of events) this.count(event as Message, actorId);
  }

  private count(event: Message, actorId: number): void {
    const once = (key: string, id: number): void => {
      this.check(!this.used.has(key), `${key} happened twice: ${this.used.get(key)} and ${id}`);
      this.used.set(key, id);
    };
    if (event.type === OrderPlaced.code) {
      const { accountId, clientOrderId, orderId } = event as MessageOf<typeof OrderPlaced>;
      if (clientOrderId !== "") once(`order ${clientOrderId} of ${accountId} at ${actorId}`, orderId);
    } else if (event.type === Deposited.code) {
      const { accountId, amountQuanta, reference, transferId } = event as MessageOf<typeof Deposited>;
      if (reference !== "") once(`deposit ${reference} of ${accountId}`, transferId);
      this.dueQuanta += BigInt(amountQuanta);
    } else if (event.type === WithdrawalRequested.code) {
      const { accountId, amountQuanta, reference, transferId } = event as MessageOf<typeof WithdrawalRequested>;
      if (reference !== "") once(`withdrawal ${reference} of ${accountId}`, transferId);
      this.dueQuanta -= BigInt(amountQuanta);
    } else if (event.type === MarginMoved.code) {
      const { accountId, reference, amountQuanta } = event as MessageOf<typeof MarginMoved>;
      once(`move ${reference} of ${accountId} at ${actorId}`, amountQuanta);
    }
  }

  /** Runs the seen transactions on the model, by sequence. A read carries the sequence of the state that it shows. */
  private predict(): void {
    const { shadow } = this;
    const transactions = this.seen.splice(0);
    transactions.sort((a, b) => a.sequence - b.sequence || Math.sign(b.events.length) - Math.sign(a.events.length));
    for (const { sequence, actorId, time, events, command, replies } of transactions) {
      if (this.findings.length > 0) return;
      const actor = shadow.actors.get(actorId) as Actor;
      if (command === null) {
        // A tick: the exchange decides when it comes, so the model applies its events.
        shadow.replay([{ actorId, sequence, time, bytes: encode(events) }]);
        actor.restored();
        continue;
      }
      shadow.time = time;
      const said = shadow.do(actorId, command);
      const where = `transaction ${sequence} of actor ${actorId}, ${text(command)}`;
      this.check(said.sequence === sequence, `${where}: it should be ${said.sequence}`);
      this.check(
        isDeepStrictEqual(inOrder(said.events), inOrder(events)),
        `${where}: ${text(events)} instead of ${text(said.events)}`,
      );
      if (replies !== null)
        this.check(
          isDeepStrictEqual(inOrder(said.replies), inOrder(replies)),
          `${where}: answered ${text(replies)} instead of ${text(said.replies)}`,
        );
    }
  }

  private checkDurable({ sequence }: ReleasedTransaction): void {
    this.check(sequence <= this.durable, `${sequence} was shown when only ${this.durable} was on disk`);
  }

  /** Reads the records of the log at each sync, with code of its own. */
  private noteDurable(path: string, bytes: Uint8Array): void {
    if (!path.endsWith(".seg")) return;
    const view = viewOf(bytes);
    let at = this.read.get(path) ?? SEGMENT_HEADER_BYTES;
    while (at + RECORD_HEADER_BYTES <= bytes.length) {
      const logBytes = view.getUint32(at + AT_LOG_BYTES, true);
      if (logBytes === 0) break;
      if (view.getUint8(at + AT_KIND) === KIND_TRANSACTION) {
        const sequence = view.getFloat64(at + AT_SEQUENCE, true);
        this.durable = Math.max(this.durable, sequence);
        if (sequence > this.released) this.synced.set(sequence, bytes.slice(at, at + logBytes));
      }
      at += logBytes;
    }
    this.read.set(path, at);
  }

  private check(isSound: boolean, finding: string): boolean {
    if (!isSound && this.findings.length < 20) this.findings.push(finding);
    return isSound;
  }
}

/**
 * Sorts what has no defined order: positions in a reply, and funding payments. Drops positions that nothing has happened
 * to (their order was refused): one of the two sides may not have them.
 */
function inOrder(messages: readonly Message[]): Message[] {
  const known = messages.filter((message) => message.type !== PositionView.code || sequenceOf(message) !== 0);
  const isAnywhere = ({ type }: Message): boolean => type === PositionView.code || type === FundingPaid.code;
  const sorted = known.filter(isAnywhere).sort((a, b) => accountOf(a) - accountOf(b));
  return known.map((message) => (isAnywhere(message) ? (sorted.shift() as Message) : message));
}
const sequenceOf = (message: Message): number => (message as MessageOf<typeof PositionView>).sequence;
const accountOf = (message: Message): number => (message as MessageOf<typeof PositionView>).accountId;
const copy = (messages: readonly Message[]): Message[] => messages.map((message) => ({ ...message }));
const text = (value: unknown): string => JSON.stringify(value);
