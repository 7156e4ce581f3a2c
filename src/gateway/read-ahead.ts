import type { PlacedBatch } from "../replication/batch.ts";
import type { ReadableStream } from "../replication/stream.ts";

const MAX_AHEAD = 32;

/** Asks for messages before they are wanted, as long as there are some: a reader that is behind does not wait for each. */
export class ReadAhead implements ReadableStream {
  private readonly stream: ReadableStream;
  private readonly asked = new Map<number, Promise<PlacedBatch | null>>();
  private ahead = 0;

  constructor(stream: ReadableStream) {
    this.stream = stream;
  }

  bounds(): Promise<{ first: number; last: number }> {
    return this.stream.bounds();
  }

  wait(timeoutMs: number): Promise<void> {
    return this.stream.wait(timeoutMs);
  }

  async get(place: number): Promise<PlacedBatch | null> {
    const early = this.asked.get(place);
    this.asked.delete(place);
    const found = early === undefined ? null : await early;
    this.ahead = found === null ? 0 : Math.min(MAX_AHEAD, 2 * this.ahead);
    // It may be there by now, and an error is for the one who wants the message.
    const batch = found ?? (await this.stream.get(place));
    if (found === null) this.asked.clear();
    if (batch !== null) this.askAfter(place);
    return batch;
  }

  private askAfter(place: number): void {
    this.ahead = Math.max(1, this.ahead);
    for (let next = place + 1; next <= place + this.ahead; next++)
      if (!this.asked.has(next))
        this.asked.set(
          next,
          this.stream.get(next).catch(() => null),
        );
  }
}
