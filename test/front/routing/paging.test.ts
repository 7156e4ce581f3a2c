import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiError } from "../../../src/front/common/errors.ts";
import type { Context } from "../../../src/front/routing/context.ts";
import { MAX_WAITING_READS, readPage } from "../../../src/front/routing/paging.ts";
import { ScriptedEngine } from "../support/scripted-engine.ts";
import { nextTurn } from "../support/scripted-exchange.ts";

test("very many page reads are spread over several event-loop iterations", async () => {
  const context = { engine: new ScriptedEngine() } as unknown as Context;
  let read = 0;
  const readOne = () =>
    readPage(context, { done: false }, {}, () => {
      read++;
      return { data: [], nextCursor: null };
    });
  const pages = Promise.all(Array.from({ length: 100 }, readOne));
  for (let transactions = 0; read < 100; transactions++) {
    const before = read;
    await nextTurn();
    assert.ok(read - before < 10, `${read - before} in one turn`);
    assert.ok(transactions < 1000, "they get on");
  }
  assert.equal((await pages).length, 100);
});

test("a long page is read in parts, between which other requests run, and is the same", async () => {
  const context = { engine: new ScriptedEngine() } as unknown as Context;
  const ROWS = 950;
  const limits: number[] = [];
  /** The rows after the cursor. Reads end early at `stopAt`, as if a filter had dropped too many rows. */
  const read = (stopAt: number) => (query: { limit: number; cursor?: string }) => {
    const from = Number(query.cursor ?? 0);
    const to = Math.min(from + query.limit, ROWS, from < stopAt ? stopAt : ROWS);
    limits.push(query.limit);
    const data = Array.from({ length: to - from }, (_, i) => from + i);
    return { data, nextCursor: to === ROWS ? null : String(to) };
  };
  const page = (query: object, stopAt = ROWS) => readPage(context, { done: false }, query, read(stopAt));
  const all = Array.from({ length: ROWS }, (_, i) => i);
  assert.deepEqual(await page({ limit: 1000 }), { data: all, nextCursor: null });
  assert.ok(limits.every((limit) => limit <= 100) && limits.length === 10, limits.join());
  assert.deepEqual(await page({ limit: 250 }), { data: all.slice(0, 250), nextCursor: "250" });
  assert.deepEqual(await page({ limit: 250, cursor: "900" }), { data: all.slice(900), nextCursor: null });
  assert.deepEqual(await page({ limit: 1000 }, 130), { data: all.slice(0, 130), nextCursor: "130" });
  assert.deepEqual(await page({ limit: 100 }), { data: all.slice(0, 100), nextCursor: "100" });

  const answer = { done: false };
  const gone = readPage(context, answer, { limit: 1000 }, (query: { limit: number; cursor?: string }) => {
    answer.done = true;
    return read(ROWS)(query);
  });
  await assert.rejects(gone, { code: "TIMEOUT" });
});

test("a page is not read for a request that is already answered or gone", async () => {
  const context = { engine: new ScriptedEngine() } as unknown as Context;
  const read: number[] = [];
  const answers = Array.from({ length: 10 }, () => ({ done: false }));
  const pages = answers.map((answer, i) =>
    readPage(context, answer, {}, () => {
      read.push(i);
      return { data: [], nextCursor: null };
    }),
  );
  for (const i of [3, 4, 8]) (answers[i] as { done: boolean }).done = true;
  const results = await Promise.allSettled(pages);
  assert.deepEqual(read, [0, 1, 2, 5, 6, 7, 9]);
  for (const i of [3, 4, 8]) {
    const result = results[i] as PromiseRejectedResult;
    assert.equal((result.reason as ApiError).code, "TIMEOUT");
  }
});

test("the number of reads that wait is limited, and those of answered requests use up no turn", async () => {
  const context = { engine: new ScriptedEngine() } as unknown as Context;
  const answer = { done: false };
  const page = () => readPage(context, answer, {}, () => ({ data: [], nextCursor: null }));
  const waiting = Array.from({ length: MAX_WAITING_READS + 100 }, page);
  const settled = Promise.allSettled(waiting);
  await nextTurn();
  answer.done = true;
  const codes = new Map<string, number>();
  for (const result of await settled) {
    const code = result.status === "rejected" ? (result.reason as ApiError).code : "read";
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
  assert.ok((codes.get("OVERLOADED") ?? 0) >= 90);
  assert.ok((codes.get("TIMEOUT") ?? 0) > MAX_WAITING_READS - 100);
  answer.done = false;
  assert.deepEqual((await page()).data, []);
});

test("a time range of one millisecond is allowed; a page waits for the history or is refused", async () => {
  const engine = new ScriptedEngine();
  const context = { engine } as unknown as Context;
  const page = (query: object) => readPage(context, { done: false }, query, () => ({ data: [1], nextCursor: null }));
  assert.deepEqual((await page({ startTime: 5, endTime: 5 })).data, [1]);
  await assert.rejects(page({ startTime: 6, endTime: 5 }), { code: "BAD_COMBINATION" });
  assert.equal(engine.historyAsked, 1);
  engine.crowded = true;
  await assert.rejects(page({}), { code: "TIMEOUT" });
});
