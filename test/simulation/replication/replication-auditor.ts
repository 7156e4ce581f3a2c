import type { Batch } from "../../../src/replication/batch.ts";
import { decodeTransaction, digestAfter, eachRecord } from "./transactions.ts";

interface Entry {
  readonly digest: number;
  readonly command: number;
}

/**
 * Knows the stream's server from within, and nothing of the program: it reads each message as it is stored. What the stream
 * holds is the history. Everything that a node answers is compared with it.
 */
export class ReplicationAuditor {
  readonly findings: string[] = [];
  acknowledged = 0;
  reads = 0;
  /** The highest epoch in the stream. */
  epoch = 0;
  /** Messages of an earlier epoch than the one before. */
  outdated = 0;
  /** Messages of several parts, of which some are missing. */
  incomplete = 0;
  private entries: Entry[] = [];
  private lastTimeMs = 0;
  private sequences = new Map<number, number>();
  private parts: Uint8Array[] = [];
  /** By command: the sequence with which a client was answered. */
  private readonly answered = new Map<number, number>();
  private lastAnswered = 0;
  /** The digests of what any node has released, by sequence − 1. */
  private readonly released: number[] = [];
  private story = 0;

  /** The last sequence of the history. */
  get last(): number {
    return this.entries.length;
  }

  digestAt(sequence: number): number {
    return sequence === 0 ? 0 : (this.entries[sequence - 1]?.digest ?? Number.NaN);
  }

  sequenceOf(command: number): number {
    return this.sequences.get(command) ?? 0;
  }

  isAnswered(command: number): boolean {
    return this.answered.has(command);
  }

  /** A digest of the run. The names of processes are random, so that digests of records are not part of it. */
  digest(): string {
    return `${this.story}/${this.entries.map(({ command }) => command).join(" ")}`;
  }

  /** A message is in the stream. */
  appended(batch: Batch): void {
    if (batch.epoch < this.epoch) {
      this.outdated++;
      return;
    }
    this.epoch = batch.epoch;
    if (batch.part === 1) {
      if (this.parts.length > 0) this.incomplete++;
      this.parts = [];
    }
    if (batch.first !== this.last + 1) this.report(`the stream takes ${batch.first} after ${this.last}`);
    this.parts.push(batch.bytes);
    if (batch.part < batch.parts) return;
    eachRecord(Buffer.concat(this.parts), (record) => this.add(record));
    this.parts = [];
  }

  /** The server has lost messages: these are left. */
  lost(messages: readonly Batch[]): void {
    this.entries = [];
    this.sequences = new Map();
    this.parts = [];
    this.epoch = 0;
    this.lastTimeMs = 0;
    for (const batch of messages) this.appended(batch);
    for (const [command, sequence] of this.answered)
      if (this.sequences.get(command) !== sequence) this.report(`${command} was acknowledged and is lost`);
  }

  /** A node counts a transaction: it shows it, and everything before it. */
  onReleased(node: string, sequence: number, digest: number): void {
    this.note(node, "released", sequence);
    if (digest !== this.digestAt(sequence)) this.report(`${node} releases another ${sequence} than the stream has`);
    this.released[sequence - 1] ??= digest;
    if (this.released[sequence - 1] !== digest) this.report(`two nodes release different transactions as ${sequence}`);
  }

  onAnswered(node: string, command: number, sequence: number): void {
    this.note(node, `answered ${command}`, sequence);
    const before = this.answered.get(command);
    if (before !== undefined && before !== sequence) this.report(`${command} was answered with ${before}, ${sequence}`);
    if (this.entries[sequence - 1]?.command !== command)
      this.report(`${node} acknowledges ${command} as ${sequence}, which the stream does not hold`);
    if (before === undefined) this.acknowledged++;
    this.answered.set(command, sequence);
    this.lastAnswered = Math.max(this.lastAnswered, sequence);
  }

  /** A node answers a read, with its state after `sequence`. */
  onRead(node: string, sequence: number): void {
    this.reads++;
    if (sequence < this.lastAnswered)
      this.report(`${node} answers a read as of ${sequence}, after ${this.lastAnswered} was acknowledged`);
  }

  /** A node has compared its log with the stream, and opened it. `through`: through which sequence both were the same. */
  onOpened(node: string, last: number, same: { before: number; after: number }): void {
    this.note(node, "opened", last);
    if (last < same.before) this.report(`${node} has cut off ${last + 1}, which the stream holds`);
    if (last > same.after) this.report(`${node} has kept ${last}, which the stream does not hold`);
  }

  note(node: string, what: string, value: number): void {
    const text = `${node} ${what} ${value}`;
    for (let i = 0; i < text.length; i++) this.story = (Math.imul(this.story, 31) + text.charCodeAt(i)) | 0;
  }

  report(finding: string): void {
    if (this.findings.length < 20) this.findings.push(finding);
  }

  private add(record: Uint8Array): void {
    const before = this.digestAt(this.last);
    const { sequence, timeMs, command, base } = decodeTransaction(record, before);
    if (sequence !== this.last + 1) this.report(`the stream holds ${sequence} after ${this.last}`);
    if (base !== before) this.report(`${sequence} was decided on another history than that of the stream`);
    if (timeMs < this.lastTimeMs) this.report(`the time of ${sequence} is earlier than that of the one before`);
    if (command !== 0 && this.sequences.has(command))
      this.report(`${command} is in the stream twice: ${this.sequences.get(command)} and ${sequence}`);
    this.lastTimeMs = timeMs;
    this.sequences.set(command, sequence);
    this.entries.push({ digest: digestAfter(record, before), command });
  }
}
