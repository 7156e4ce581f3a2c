import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./folder.ts";
import { type Latency, latencyOf, newHistogram } from "./latency.ts";

const FILE_BYTES = 16 * 2 ** 20;

/** The limit of anything durable: writes and syncs a preallocated file from start to end, again and again. */
export class BareLog {
  private readonly folder = temporaryFolder();
  private readonly fd = openSync(join(this.folder.path, "log"), "w");
  private readonly bytes = Buffer.alloc(FILE_BYTES, 1);
  private at = 0;

  constructor() {
    writeSync(this.fd, this.bytes, 0, FILE_BYTES, 0);
    fdatasyncSync(this.fd);
  }

  /** Writes and syncs `batches` batches. Returns the total time and the latency of each. */
  append(batches: number, batchBytes: number): { seconds: number; latency: Latency } {
    const histogram = newHistogram();
    const start = performance.now();
    for (let i = 0; i < batches; i++) {
      const from = performance.now();
      if (this.at + batchBytes > FILE_BYTES) this.at = 0;
      writeSync(this.fd, this.bytes, 0, batchBytes, this.at);
      fdatasyncSync(this.fd);
      this.at += batchBytes;
      histogram.recordValue((performance.now() - from) * 1e6);
    }
    return { seconds: (performance.now() - start) / 1e3, latency: latencyOf(histogram) };
  }

  remove(): void {
    closeSync(this.fd);
    this.folder.remove();
  }
}
