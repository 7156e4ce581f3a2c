import { DISK, type Files } from "../store/files/files.ts";
import { LogReader } from "../store/log/log-reader.ts";
import type { Batch } from "./batch.ts";

/** Collects records of this machine's log into batches. */
export class LocalLog {
  private readonly reader: LogReader;
  private buffer = Buffer.allocUnsafeSlow(1 << 20);
  private bytes = 0;

  constructor(dir: string, fromSequence: number, files: Files = DISK) {
    this.reader = new LogReader(dir, fromSequence, files);
    this.next = fromSequence;
  }

  /** The sequence of the next record to read. */
  next: number;

  /**
   * Reads records through `through`, until they have `targetBytes`. Returns null if there is none. The bytes are valid until
   * the next call.
   */
  read(through: number, targetBytes: number): Pick<Batch, "first" | "last" | "bytes"> | null {
    if (this.next > through) return null;
    this.bytes = 0;
    const first = this.next;
    while (this.next <= through && this.bytes < targetBytes) {
      this.reader.read(through, this.add, 1);
      this.next++;
    }
    return { first, last: this.next - 1, bytes: this.buffer.subarray(0, this.bytes) };
  }

  close(): void {
    this.reader.close();
  }

  private readonly add = (from: Buffer, _view: DataView, offset: number, logBytes: number): void => {
    if (this.bytes + logBytes > this.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.bytes + logBytes));
      this.buffer.copy(larger, 0, 0, this.bytes);
      this.buffer = larger;
    }
    from.copy(this.buffer, this.bytes, offset, offset + logBytes);
    this.bytes += logBytes;
  };
}
