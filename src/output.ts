import { constants, fstatSync, openSync, write, writeSync } from "node:fs";

/** Lines that cannot be written wait up to this many bytes. Further ones are dropped. */
const MAX_WAITING_BYTES = 1_048_576;
/** How soon a write is tried again that found no room. */
const RETRY_MS = 20;
const NOTHING = Buffer.alloc(0);
/** How pino begins a fatal line. */
const FATAL = '{"level":60';

/**
 * Writes lines to standard output or error, and never blocks the thread. With blocking writes a full pipe or a stopped
 * terminal would stop the exchange. So would a log file on a disk that does not answer.
 */
export class Output {
  /** Lines dropped since the start. */
  droppedLines = 0;
  /** Called with the number of lines that were dropped in a row, when everything before them is written. */
  onDropped: (lines: number) => void = () => {};
  private readonly fd: number;
  private readonly isFile: boolean;
  private waiting: Buffer[] = [];
  private waitingBytes = 0;
  /** The rest of what is being written. */
  private chunk = NOTHING;
  /** A write is on its way, or is tried again later. */
  private isBusy = false;
  private droppedNow = 0;

  constructor(fd: 1 | 2) {
    this.isFile = fstatSync(fd).isFile();
    this.fd = this.isFile ? fd : openNonBlocking(fd);
  }

  /** Everything is written. */
  get isEmpty(): boolean {
    return this.waitingBytes === 0;
  }

  /** Writes the line at once or later, or drops it. A fatal line is never dropped: the process ends after it. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    // After one was dropped all are, until there is room for all: the count then stands where they are missing.
    const isFull = this.droppedNow > 0 || this.waitingBytes + bytes.length > MAX_WAITING_BYTES;
    if (isFull && !line.startsWith(FATAL)) {
      this.droppedNow++;
      this.droppedLines++;
      return;
    }
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
    if (!this.isBusy) this.writeWaiting();
  }

  /** Resolves when everything is written, or when the time is over. */
  async flush(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (!this.isEmpty && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  private writeWaiting(): void {
    while (!this.isEmpty) {
      if (this.chunk.length === 0) {
        this.chunk = Buffer.concat(this.waiting);
        this.waiting = [];
      }
      if (this.isFile) {
        this.isBusy = true;
        write(this.fd, this.chunk, this.onWritten);
        return;
      }
      try {
        this.advance(writeSync(this.fd, this.chunk));
      } catch {
        this.retryLater();
        return;
      }
    }
    if (this.droppedNow === 0) return;
    const lines = this.droppedNow;
    this.droppedNow = 0;
    this.onDropped(lines);
  }

  /** A file is written by a thread of libuv, since no file can be opened so that a write does not wait for the disk. */
  private readonly onWritten = (error: Error | null, bytes: number): void => {
    if (error !== null) {
      this.retryLater();
      return;
    }
    this.isBusy = false;
    this.advance(bytes);
    this.writeWaiting();
  };

  private advance(bytes: number): void {
    this.chunk = this.chunk.subarray(bytes);
    this.waitingBytes -= bytes;
  }

  /** The pipe is full, its reader has gone or the disk is full: each may change. */
  private retryLater(): void {
    this.isBusy = true;
    const retry = (): void => {
      this.isBusy = false;
      this.writeWaiting();
    };
    setTimeout(retry, RETRY_MS).unref();
  }
}

/**
 * A descriptor for the same pipe or terminal whose writes fail with EAGAIN instead of blocking. It is opened again, since
 * O_NONBLOCK on the given one would also concern the programs that share it.
 */
function openNonBlocking(fd: 1 | 2): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // A socket cannot be opened again, nor a pipe of another user. Node sets O_NONBLOCK on these when it opens its stream.
    void (fd === 1 ? process.stdout : process.stderr).writableLength;
    return fd;
  }
}
