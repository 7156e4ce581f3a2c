import { decodeTransaction, digestAfter, encodeTransaction } from "./transactions.ts";

/** The state of the exchange in a database: it replaces the log through `through`. */
export interface Snapshot {
  readonly through: number;
  readonly digest: number;
  readonly timeMs: number;
  /** By command: the sequence of its transaction. */
  readonly commands: ReadonlyMap<number, number>;
}

export const EMPTY: Snapshot = { through: 0, digest: 0, timeMs: 0, commands: new Map() };

/** The actors of a process, all in one: what was decided or delivered, released or not. */
export class Engine {
  /** The last sequence. */
  last: number;
  private digest: number;
  private timeMs: number;
  private readonly commands: Map<number, number>;
  /** By sequence. */
  private readonly states = new Map<number, { digest: number; timeMs: number }>();

  constructor({ through, digest, timeMs, commands }: Snapshot) {
    this.last = through;
    this.digest = digest;
    this.timeMs = timeMs;
    this.commands = new Map(commands);
    this.states.set(through, { digest, timeMs });
  }

  /** 0 = the command is new. */
  sequenceOf(command: number): number {
    return this.commands.get(command) ?? 0;
  }

  digestAt(sequence: number): number {
    return this.states.get(sequence)?.digest ?? Number.NaN;
  }

  timeAt(sequence: number): number {
    return this.states.get(sequence)?.timeMs ?? 0;
  }

  snapshotAt(through: number): Snapshot {
    const { digest, timeMs } = this.states.get(through) as { digest: number; timeMs: number };
    return { through, digest, timeMs, commands: new Map([...this.commands].filter(([, at]) => at <= through)) };
  }

  /** Returns the record of the command's transaction. Time never goes back. */
  decide(command: number, wallMs: number, extraBytes: number): Buffer {
    const timeMs = Math.max(wallMs, this.timeMs);
    const record = encodeTransaction({ sequence: this.last + 1, timeMs, command, base: this.digest }, extraBytes);
    this.apply(record);
    return record;
  }

  apply(record: Uint8Array): void {
    const { sequence, timeMs, command } = decodeTransaction(record, this.digest);
    if (sequence !== this.last + 1) throw new Error(`the engine gets ${sequence} after ${this.last}`);
    this.last = sequence;
    this.timeMs = timeMs;
    this.digest = digestAfter(record, this.digest);
    this.states.set(sequence, { digest: this.digest, timeMs });
    if (command !== 0) this.commands.set(command, sequence);
  }
}
