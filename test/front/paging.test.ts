import assert from "node:assert/strict";
import { test } from "node:test";
import type { Context } from "../../src/front/context.ts";
import { readPage } from "../../src/front/paging.ts";
import { nextTurn } from "./scripted-exchange.ts";
import { ScriptedRoad } from "./scripted-road.ts";

test("very many who read a page of the history at once do so in several turns of the event loop", async () => {
  const context = { road: new ScriptedRoad() } as unknown as Context;
  let read = 0;
  const readOne = () =>
    readPage(context, {}, () => {
      read++;
      return { data: [], nextCursor: null };
    });
  const pages = Promise.all(Array.from({ length: 100 }, readOne));
  for (let turns = 0; read < 100; turns++) {
    const before = read;
    await nextTurn();
    assert.ok(read - before < 10, `${read - before} in one turn`);
    assert.ok(turns < 1000, "they get on");
  }
  assert.equal((await pages).length, 100);
});
