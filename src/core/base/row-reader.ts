/**
 * Reads rows in order, page by page. A page that follows the last one continues where that ended: skipping all rows before
 * each page would take seconds for a million rows.
 */
export class RowReader<T> {
  private readonly open: () => Iterable<T>;
  private rows: Iterator<T> = [].values();
  /** The number of the next row. */
  private at = 0;

  constructor(open: () => Iterable<T>) {
    this.open = open;
  }

  between(from: number, to: number): T[] {
    if (from === 0 || from !== this.at) {
      this.rows = this.open()[Symbol.iterator]();
      this.at = 0;
    }
    const found: T[] = [];
    for (; this.at < to; this.at++) {
      const { done, value } = this.rows.next();
      if (done === true) break;
      if (this.at >= from) found.push(value);
    }
    return found;
  }
}
