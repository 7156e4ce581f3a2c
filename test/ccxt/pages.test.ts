import assert from "node:assert/strict";
import { test } from "node:test";
import type { Dict } from "ccxt";
import { perpd } from "../../src/ccxt/index.ts";

/** A list of the numbers up to 2500, as the exchange would page it from either end; empty pages included. */
const COUNT = 2500;

class Counted extends perpd {
  readonly asked: number[] = [];

  override async request(_path: string, _api?: unknown, _method?: unknown, params: Dict = {}): Promise<Dict> {
    const { limit, cursor, sort } = params;
    this.asked.push(limit);
    return sort === "ASC" ? this.ascending(params) : this.descending(limit, cursor ?? COUNT);
  }

  private ascending({ limit, cursor, startTime }: Dict): Dict {
    if (cursor === undefined) return { data: [], nextCursor: startTime };
    const count = Math.max(0, Math.min(limit, COUNT - cursor + 1));
    const data = Array.from({ length: count }, (_, i) => cursor + i);
    return { data, nextCursor: cursor + count <= COUNT ? cursor + count : null };
  }

  private descending(limit: number, cursor: number): Dict {
    if (cursor === COUNT) return { data: [], nextCursor: COUNT - 0.5 };
    const newest = Math.floor(cursor + 0.5);
    const rows = Array.from({ length: limit }, (_, i) => newest - i).filter((row) => row >= 1);
    return { data: rows, nextCursor: newest - limit >= 1 ? newest - limit - 0.5 : null };
  }

  list(since: number | undefined, limit?: number): Promise<number[]> {
    return this.pages<number>("private", "list", this.timeRange(since, {}), { since, limit });
  }
}

test("without `since` the newest rows are read, in as few pages as possible", async () => {
  const exchange = new Counted();
  assert.deepEqual(await exchange.list(undefined, 3), [2498, 2499, 2500]);
  assert.deepEqual(exchange.asked, [3, 3]);
  assert.equal((await exchange.list(undefined)).length, 100);
  const rows = await exchange.list(undefined, 1500);
  assert.deepEqual([rows.length, rows[0], rows.at(-1)], [1500, 1001, 2500]);
});

test("with `since` the first rows from that time on are read, in as few pages as possible", async () => {
  const exchange = new Counted();
  assert.deepEqual(await exchange.list(7, 3), [7, 8, 9]);
  assert.deepEqual(exchange.asked, [3, 3]);
  assert.deepEqual(await exchange.list(2499, 3), [2499, 2500]);
  assert.deepEqual(await exchange.list(2501, 3), []);
  const rows = await exchange.list(7);
  assert.deepEqual([rows.length, rows[0], rows.at(-1)], [100, 7, 106]);
});
