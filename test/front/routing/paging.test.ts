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
