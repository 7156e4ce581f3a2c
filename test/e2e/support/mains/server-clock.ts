import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MODULE = new URL("./settable-clock.js", import.meta.url).href;

/** The clock of a server that is started with its environment. The test sets it at any time: see settable-clock.ts. */
export class ServerClock {
  readonly environment: Readonly<Record<string, string>>;
  private readonly file: string;
  private aheadMs = 0;

  /** `aheadMs`: of the machine's clock. */
  constructor(aheadMs = 0) {
    const folder = mkdtempSync(join(tmpdir(), "perpd-clock-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    this.file = join(folder, "clock");
    this.environment = { NODE_OPTIONS: `--import=${MODULE}`, CLOCK_FILE: this.file };
    this.set(aheadMs);
  }

  /** The time that the server has. */
  get time(): number {
    return Date.now() + this.aheadMs;
  }

  /** `aheadMs`: of the machine's clock. */
  set(aheadMs: number): void {
    this.aheadMs = aheadMs;
    // The server reads all of it or the one before.
    writeFileSync(`${this.file}.new`, String(aheadMs));
    renameSync(`${this.file}.new`, this.file);
  }

  /** Goes on by so much at once. */
  pass(ms: number): void {
    this.set(this.aheadMs + ms);
  }
}
