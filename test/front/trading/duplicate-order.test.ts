import assert from "node:assert/strict";
import { test } from "node:test";
import type { Context } from "../../../src/front/routing/context.ts";
import { duplicateJson } from "../../../src/front/trading/order-replies.ts";
import { FillRecord, OrderRecord } from "../../../src/store/database/history-schema.ts";
import type { Page, PageQuery } from "../../../src/store/database/pages.ts";
import { make, ScriptedEngine } from "../support/scripted-engine.ts";

const BEYOND = 1_000_000;

/** The trade ids in a duplicate, and the number of pages read. The order has `fills` fills of one lot. */
async function show(fills: number, scan = 1000, filledLots = fills): Promise<{ ids: number[]; pages: number }> {
  const engine = new ScriptedEngine();
  let pages = 0;
  /** Newest first, from trade `fills` down to 1. The cursor is the next id. A page reads at most `scan` rows. */
  const fillsOfOrder = (_: OrderRecord, { limit, cursor }: PageQuery): Page<FillRecord> => {
    pages++;
    const from = Number(cursor ?? fills);
    const length = Math.min(limit, scan, from);
    const data = Array.from({ length }, (_, i) => make(FillRecord, { tradeId: from - i, quantityLots: 1 }));
    return { data, nextCursor: from === length && filledLots === fills ? null : String(from - length) };
  };
  const orderById = (orderId: number) => make(OrderRecord, { orderId, filledLots, priceTicks: 1 });
  const context = { engine, history: { orderById, fillsOfOrder } } as unknown as Context;
  const { fills: shown, duplicate } = JSON.parse(await duplicateJson(context, engine.instruments[0]!, 257)) as {
    fills: { tradeId: string }[];
    duplicate: boolean;
  };
  assert.equal(duplicate, true);
  return { ids: shown.map(({ tradeId }) => Number(tradeId)), pages };
}

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

test("a duplicate has all fills of its order, oldest first, read over several pages", async () => {
  assert.deepEqual(await show(0), { ids: [], pages: 0 });
  assert.deepEqual(await show(3), { ids: [1, 2, 3], pages: 1 });
  assert.deepEqual(await show(2500), { ids: upTo(2500), pages: 3 });
  assert.deepEqual(await show(90, 3), { ids: upTo(90), pages: 30 });
});

test("a duplicate of an order that retention has removed is refused: nothing is placed, and the id is taken", async () => {
  const engine = new ScriptedEngine();
  const answer = (keptSince: number) => {
    const history = { orderById: () => undefined, keptSince: () => keptSince };
    return duplicateJson({ engine, history } as unknown as Context, engine.instruments[0]!, 257);
  };
  await assert.rejects(answer(3_600_000), { code: "CLIENT_ORDER_ID_REUSED", details: { orderId: "257" } });
  await assert.rejects(answer(0), /order 257 is not in the history/);
});

test("a duplicate reads no more pages than needed, within a bound", async () => {
  assert.deepEqual(await show(12_000), { ids: upTo(12_000, 2001), pages: 10 });
  assert.equal((await show(5, 0, BEYOND)).pages, 40);
});
