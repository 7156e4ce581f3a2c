import { RecentStream } from "./recent-stream.ts";

/** Rows of an account that never change, as JSON texts. */
export class AppendOnlyStream extends RecentStream<string> {
  protected override text(row: string): string {
    return row;
  }
}
