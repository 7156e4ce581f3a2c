import assert from "node:assert/strict";
import { test } from "node:test";
import { STATUS_FILLED } from "../../../src/core/base/enums.ts";
import { CancelOrder, ReadOrder } from "../../../src/core/protocol/commands.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import { ClientIdsPage, OrderView, Refused } from "../../../src/core/protocol/replies.ts";
import { ClientOrderIds } from "../../../src/front/exchange/client-order-ids.ts";
import type { Principal } from "../../../src/front/exchange/credentials.ts";
import type { Answer } from "../../../src/front/http/answer.ts";
import { type Context, Symbols } from "../../../src/front/routing/context.ts";
import { FastPathReader } from "../../../src/front/trading/fast-path/fast-path-reader.ts";
import { findOpenOrder, listOpenOrders } from "../../../src/front/trading/find-orders.ts";
import { createTradingHandler } from "../../../src/front/trading/operations.ts";
import { type Asked, make, ScriptedEngine } from "../support/scripted-engine.ts";

const ALICE = 17;
const BOB = 18;
const [A, B, C] = [1, 2, 3];
const NAME = "my-order";

/** Finds Alice's order by its clientOrderId, which she used on `owner` (0: on none) within a day and has open on `open`. */
async function look(owner: number, open: readonly number[]): Promise<{ asked: number[]; found: number | undefined }> {
  const engine = new ScriptedEngine(["A", "B", "C"]);
  const asked: number[] = [];
  const answerAll = (reply: (asked: Asked) => Message[]): void => {
    while (engine.answer(reply));
  };
  const opening = ClientOrderIds.open(engine, { find: () => null }, () => false);
  while (engine.asked.length > 0) {
    answerAll(() => [make(ClientIdsPage, { page: { ids: [], next: null } })]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const clientOrderIds = await opening;
  if (owner !== 0) clientOrderIds.keep(ALICE, NAME, owner, engine.time);
  const finding = findOpenOrder(
    { engine, symbols: new Symbols(engine.instruments), clientOrderIds },
    { done: false },
    ALICE,
    `client:${NAME}`,
  );
  for (let i = 0; i < 10; i++) {
    answerAll(({ actorId, command }) => {
      assert.deepEqual(command, make(ReadOrder, { accountId: ALICE, clientOrderId: NAME }));
      asked.push(actorId);
      return open.includes(actorId) ? [make(OrderView, { orderId: 256 + actorId, clientOrderId: NAME })] : [];
    });
    await Promise.resolve();
  }
  return { asked, found: (await finding)?.orderId };
}

test("an order is searched by clientOrderId on the symbol that used it last, and nowhere else if it is there", async () => {
  assert.deepEqual(await look(C, [C]), { asked: [C], found: 256 + C });
  assert.deepEqual(await look(C, [A, C]), { asked: [C], found: 256 + C });
});

test("an order that is not open on the symbol that used its clientOrderId last may be open on another", async () => {
  assert.deepEqual(await look(C, [B]), { asked: [C, A, B], found: 256 + B });
  assert.deepEqual(await look(C, []), { asked: [C, A, B], found: undefined });
});

test("an order whose clientOrderId was used more than a day ago is searched on every symbol", async () => {
  assert.deepEqual(await look(0, [B]), { asked: [A, B, C], found: 256 + B });
});

test("a cancel by clientOrderId goes to the symbol that used it last, and if the order is not there to the symbol that has it", async () => {
  const engine = new ScriptedEngine(["A", "B", "C"]);
  const opening = ClientOrderIds.open(engine, { find: () => null }, () => false);
  while (engine.asked.length > 0) {
    engine.answer(() => [make(ClientIdsPage, { page: { ids: [], next: null } })]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const clientOrderIds = await opening;
  clientOrderIds.keep(ALICE, NAME, C, Date.now());
  const context = { engine, symbols: new Symbols(engine.instruments), clientOrderIds } as unknown as Context;
  const principal: Principal = {
    accountId: ALICE,
    permissions: ["TRADE"],
    credential: "",
    expiresAt: 0,
    record: null,
  };
  const said: unknown[] = [];
  const answer: Answer = {
    done: false,
    reply: (status, json) => void said.push(status, JSON.parse(json).orderId),
    refuse: (error) => assert.fail(error.code),
    fail: assert.fail,
  };
  createTradingHandler(context)("order.cancel", { clientOrderId: NAME }, principal, answer);
  const [first] = engine.asked;
  assert.deepEqual(first?.command, make(CancelOrder, { accountId: ALICE, clientOrderId: NAME }));
  assert.equal(first?.actorId, C);
  const view = make(OrderView, { orderId: 256 + B, clientOrderId: NAME });
  for (let i = 0; i < 10; i++) {
    while (
      engine.answer(({ actorId, command }) => {
        if (actorId === B) return [view];
        return command.type === CancelOrder.code ? [make(Refused, { code: "ORDER_NOT_FOUND" })] : [];
      })
    );
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(said, [200, String(256 + B)]);
});

test("a cancel of a closed order gets ORDER_NOT_OPEN, also among many cancels; other accounts get ORDER_NOT_FOUND", async () => {
  const engine = new ScriptedEngine(["A", "B", "C"]);
  const symbols = new Symbols(engine.instruments);
  const orderId = 256 + A;
  const history = { orderById: () => ({ accountId: ALICE, orderId, status: STATUS_FILLED }) };
  const trade = createTradingHandler({ engine, symbols, history } as unknown as Context);
  const reader = new FastPathReader(symbols);
  const said: string[] = [];
  for (const op of ["order.cancel", "order.amend"])
    for (const accountId of [ALICE, BOB]) {
      const principal: Principal = { accountId, permissions: ["TRADE"], credential: "", expiresAt: 0, record: null };
      const answer: Answer = {
        done: false,
        reply: () => assert.fail("it has ended"),
        refuse: ({ code }) => void said.push(`${accountId} ${op} ${code}`),
        fail: assert.fail,
      };
      const params = { orderId: String(orderId), ...(op === "order.amend" && { quantity: "1" }) };
      const request = reader.readMessage(new TextEncoder().encode(JSON.stringify({ op, params })));
      assert.ok(request !== null);
      trade(reader.op, request, principal, answer);
    }
  while (engine.answer(() => [make(Refused, { code: "ORDER_NOT_FOUND", field: "id" })]));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(said, [
    `${ALICE} order.cancel ORDER_NOT_OPEN`,
    `${BOB} order.cancel ORDER_NOT_FOUND`,
    `${ALICE} order.amend ORDER_NOT_OPEN`,
    `${BOB} order.amend ORDER_NOT_FOUND`,
  ]);
});

test("only the open orders that a page may need are printed", async () => {
  const engine = new ScriptedEngine(["A", "B"]);
  let printed = 0;
  const viewOf = (actorId: number, createdAt: number): Message =>
    Object.defineProperty(make(OrderView, { orderId: createdAt * 256 + actorId, createdAt }), "clientOrderId", {
      get: () => {
        printed++;
        return "";
      },
    });
  const finding = listOpenOrders(
    { engine },
    { done: false },
    ALICE,
    engine.instruments,
    11,
    ({ createdAt }) => createdAt <= 900,
  );
  while (engine.answer(({ actorId }) => Array.from({ length: 1000 }, (_, i) => viewOf(actorId, 1000 - i))));
  const rows = await finding;
  const newest = Array.from({ length: 11 }, (_, i) => [(900 - i) * 256 + B, (900 - i) * 256 + A]).flat();
  assert.deepEqual(
    rows.map(({ orderId }) => orderId),
    newest,
  );
  assert.equal(printed, rows.length);
});
