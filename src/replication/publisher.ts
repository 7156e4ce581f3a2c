import { type Batch, isSameBatch, StreamFault } from "./batch.ts";
import { type BatchStream, UnknownOutcomeError } from "./stream.ts";

/** Another process leads. Nothing more may be answered. */
export class DeposedError extends Error {
  override name = "DeposedError";
}

export interface PublisherOptions {
  readonly stream: BatchStream;
  /** The place of the last message. */
  readonly place: number;
  /** Waits before the same message is sent again. */
  readonly pause: () => Promise<void>;
  /** The process stops: a message without an answer is not sent again. */
  readonly isOver: () => boolean;
  /** Called each time that the outcome is unknown. */
  readonly onSilence: (reason: string) => void;
}

/**
 * Publishes one message after the other. Exactly one is in flight: of several, the stream would refuse the first one and
 * take those behind it, once a rival had claimed a place.
 */
export class Publisher {
  private readonly options: PublisherOptions;
  private at: number;

  constructor(options: PublisherOptions) {
    this.options = options;
    this.at = options.place;
  }

  /** The place of the last message. */
  get place(): number {
    return this.at;
  }

  /**
   * Resolves when the message is in the stream. An unknown outcome makes it send the same message again. Returns false if a
   * rival's message is in its place, and null if the process stops before the outcome is known. Throws StreamFault if the
   * stream has lost messages that it had confirmed.
   */
  async publish(batch: Batch): Promise<boolean | null> {
    for (;;) {
      const isThere = await this.attempt(batch);
      if (isThere === true) this.at++;
      if (isThere !== null || this.options.isOver()) return isThere;
      await this.options.pause();
    }
  }

  /** Null: the outcome is unknown. */
  private async attempt(batch: Batch): Promise<boolean | null> {
    const { stream } = this.options;
    try {
      if (await stream.append(batch, this.at)) return true;
      const { last } = await stream.bounds();
      if (last < this.at)
        throw new StreamFault(`the stream ends with message ${last}, but it had confirmed message ${this.at}`);
      // Perhaps it is this message, and the answer to an earlier attempt was lost.
      const there = await stream.get(this.at + 1);
      if (there !== null) return isSameBatch(there, batch);
      throw new UnknownOutcomeError(`message ${this.at + 1} of the stream cannot be read yet`);
    } catch (error) {
      if (!(error instanceof UnknownOutcomeError)) throw error;
      this.options.onSilence(error.message);
      return null;
    }
  }
}
