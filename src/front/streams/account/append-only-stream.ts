import type { Instrument } from "../../../core/protocol/instrument.ts";
import type { Publish } from "../base/stream.ts";
import { type LoadRecent, RecentStream } from "./recent-stream.ts";

/** Rows of an account that never change, as JSON texts. */
export class AppendOnlyStream extends RecentStream<string> {
  private readonly instrument: Instrument | null;

  /** `instrument` null: all of them. */
  constructor(
    topic: string,
    head: string,
    instrument: Instrument | null,
    loadRecent: LoadRecent<string>,
    publish: Publish,
    onFailure: (thrown: unknown) => void,
  ) {
    super(topic, head, loadRecent, publish, onFailure);
    this.instrument = instrument;
  }

  covers(instrument: Instrument): boolean {
    return this.instrument === null || this.instrument === instrument;
  }

  protected override text(row: string): string {
    return row;
  }
}
