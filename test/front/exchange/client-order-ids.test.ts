import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT, ORDER_TYPES } from "../../../src/core/base/enums.ts";
import { ConditionalOrderPlaced, OrderPlaced } from "../../../src/core/protocol/events.ts";
import type { ClientIdList as Page } from "../../../src/core/protocol/payloads.ts";
import { BatchItemEnd, ClientIdsPage, Done, Refused } from "../../../src/core/protocol/replies.ts";
import type { ApiError } from "../../../src/front/common/errors.ts";
import { ClientOrderIds, type PastUses } from "../../../src/front/exchange/client-order-ids.ts";
import type { Principal } from "../../../src/front/exchange/credentials.ts";
import type { Answer } from "../../../src/front/http/answer.ts";
import { type Context, Symbols } from "../../../src/front/routing/context.ts";
import { createTradingHandler } from "../../../src/front/trading/operations.ts";
import { make, ScriptedEngine } from "../support/scripted-engine.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

const principal: Principal = { accountId: 16, permissions: ["TRADE"], credential: "", expiresAt: 0, record: null };
const order = { side: "BUY", type: ORDER_TYPES[LIMIT], price: "65000", quantity: "0.1", clientOrderId: "mine" };

/** The ids of an engine whose symbols remember only these, and trading on that engine. */
async function open(
  most?: number,
  remembered: readonly Page["ids"][] = [],
  past: PastUses = { find: () => null },
  isOpen: (orderId: number) => boolean = () => false,
) {
  const engine = new ScriptedEngine();
  const opening = ClientOrderIds.open(engine, past, isOpen, most);
  for (const i of engine.instruments.keys()) {
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(engine.answer(() => [make(ClientIdsPage, { page: { ids: remembered[i] ?? [], next: null } })]));
  }
  const clientOrderIds = await opening;
  const context = { engine, symbols: new Symbols(engine.instruments), clientOrderIds } as unknown as Context;
  return { engine, clientOrderIds, trade: createTradingHandler(context) };
}

test("a clientOrderId whose order could not be sent is free for another symbol, also in a batch", async () => {
  const { engine, clientOrderIds, trade } = await open();
  const refusals: string[] = [];
  const answer: Answer = {
    done: false,
    reply: () => assert.fail("nothing was sent"),
    refuse: (error) => void refusals.push(error.code),
    fail: (thrown) => void refusals.push((thrown as ApiError).code),
  };
  engine.full = true;
  trade("order.place", { symbol: "BTC-PERP", ...order }, principal, answer);
  assert.equal(clientOrderIds.ownerOf(principal.accountId, "mine"), 0);
  trade("order.batch", { symbol: "BTC-PERP", items: [{ action: "PLACE", ...order }] }, principal, answer);
  assert.equal(clientOrderIds.ownerOf(principal.accountId, "mine"), 0);
  engine.full = false;
  trade("order.place", { symbol: "BTC-PERP", ...order }, principal, answer);
  assert.notEqual(clientOrderIds.ownerOf(principal.accountId, "mine"), 0);
  trade("order.place", { symbol: "ETH-PERP", ...order }, principal, answer);
  assert.equal(refusals.at(-1), "CLIENT_ORDER_ID_REUSED");
  assert.equal(refusals.length, 3);
});

test("an id belongs to its order from the transaction on that placed it, triggered or not", async () => {
  const { engine, clientOrderIds } = await open();
  for (const [i, placed] of [OrderPlaced, ConditionalOrderPlaced].entries()) {
    engine.transaction(2, make(placed, { accountId: 16, orderId: 256 * i + 2, clientOrderId: `${i}` }));
    assert.equal(clientOrderIds.ownerOf(16, `${i}`), 2);
  }
});

test("when two symbols report an id at the start, it belongs to the later use", async () => {
  for (const [btcUsedAt, ethUsedAt, owner] of [
    [1e12 + DAY_MS + 1, 1e12, 1],
    [1e12, 1e12 + DAY_MS + 1, 2],
  ]) {
    // The older order has been open for more than a day, or its end is not in the snapshot yet.
    const ids = [btcUsedAt, ethUsedAt].map((time, i): Page["ids"] => [[16, "mine", 256 + i + 1, time]]);
    const { clientOrderIds } = await open(undefined, ids);
    assert.equal(clientOrderIds.ownerOf(16, "mine"), owner);
  }
});

test("the id of an open order belongs to its symbol after a day too, also after a restart", async () => {
  const now = Date.now();
  const usedAt = now - DAY_MS - 60_000;
  const openOrders = new Set<number>();
  const isOpen = (orderId: number) => openOrders.has(orderId);
  const starts = {
    running: async () => {
      const { engine, ...opened } = await open(undefined, [], undefined, isOpen);
      engine.time = usedAt;
      engine.transaction(1, make(OrderPlaced, { accountId: 16, orderId: 257, clientOrderId: "mine" }));
      return opened;
    },
    restarted: () => open(undefined, [[[16, "mine", 257, usedAt]]], undefined, isOpen),
    "left on disk": () => open(undefined, [], { find: () => ({ orderId: 257, time: usedAt }) }, isOpen),
  };
  for (const [name, start] of Object.entries(starts)) {
    openOrders.add(257);
    const { clientOrderIds: ids, trade } = await start();
    const codes: string[] = [];
    const note = (error: unknown) => void codes.push((error as ApiError).code);
    const answer: Answer = { done: false, reply: () => assert.fail(), refuse: note, fail: note };
    for (let i = 0; i < 10; i++) ids.keep(17, `other-${i}`, 2, now);
    trade("order.place", { symbol: "ETH-PERP", ...order }, principal, answer);
    assert.deepEqual(codes, ["CLIENT_ORDER_ID_REUSED"], name);
    assert.equal(ids.ownerOf(16, "mine"), 1, name);
    openOrders.delete(257);
    assert.equal(ids.ownerOf(16, "mine"), 0, name);
    assert.equal(ids.hold(16, "mine", 2, now), true, name);
  }
});

test("ids of open orders stay, also beyond the capacity, and are forgotten when their orders have ended", async () => {
  let isOpen = true;
  const { clientOrderIds: ids } = await open(100, [], undefined, (orderId) => isOpen && orderId < 256 * 50);
  for (let i = 1; i < 1000; i++) {
    ids.keep(16, `${i}`, 256 * i + 1, 1e12 + i);
    assert.ok(ids.size <= 150, `${ids.size} ids`);
  }
  for (let i = 1; i < 50; i++) assert.equal(ids.ownerOf(16, `${i}`), 1, `${i}`);
  isOpen = false;
  for (let i = 0; i < 300; i++) ids.keep(16, `later ${i}`, 256 * 2000 + 1, 1e12 + 2 * DAY_MS);
  assert.ok(ids.size <= 100, `${ids.size} ids`);
  for (let i = 1; i < 50; i++) assert.equal(ids.ownerOf(16, `${i}`), 0, `${i}`);
});

test("beyond the capacity the oldest ids are forgotten, those of refused orders too", async () => {
  const { clientOrderIds: ids } = await open(100);
  for (let i = 0; i < 1000; i++) {
    if (i % 2 === 1) ids.keep(16, `${i}`, 1, 1e12 + i);
    else if (ids.hold(16, `${i}`, 1, 1e12 + i)) ids.release(16, `${i}`);
  }
  for (let i = 0; i < 1000; i++) assert.equal(ids.ownerOf(16, `${i}`), i >= 900 && i % 2 === 1 ? 1 : 0, `${i}`);
});

test("a clientOrderId is free again when its order was refused after the client left, or died with its thread", async () => {
  const { engine, clientOrderIds, trade } = await open();
  const owner = () => clientOrderIds.ownerOf(principal.accountId, "mine");
  const answer = { done: false, reply: () => {}, refuse: () => {}, fail: () => {} };
  const refused = make(Refused, { code: "INSUFFICIENT_MARGIN" });
  const asks = [
    { op: "order.place", params: { symbol: "BTC-PERP", ...order }, refusal: [refused] },
    {
      op: "order.batch",
      params: { symbol: "BTC-PERP", items: [{ action: "PLACE", ...order }] },
      refusal: [refused, make(BatchItemEnd)],
    },
  ] as const;
  for (const { op, params, refusal } of asks) {
    trade(op, params, principal, answer);
    assert.notEqual(owner(), 0);
    engine.lose();
    assert.equal(owner(), 0, `${op}, its thread has died`);
    const gone = { ...answer };
    trade(op, params, principal, gone);
    assert.notEqual(owner(), 0);
    gone.done = true;
    assert.ok(engine.answer(() => [...refusal]));
    assert.equal(owner(), 0, `${op}, its client has gone`);
  }
});

test("clientOrderIds of a batch are free again if no item has used them", async () => {
  const { engine, clientOrderIds, trade } = await open();
  engine.time = Date.now();
  clientOrderIds.keep(principal.accountId, "before", 1, engine.time);
  const ids = ["placed", "refused", "second-try", "second-try", "before"];
  const items = ids.map((clientOrderId) => ({ action: "PLACE", ...order, clientOrderId }));
  const gone: Answer = { done: false, reply: () => {}, refuse: (error) => assert.fail(error.code), fail: assert.fail };
  trade("order.batch", { symbol: "BTC-PERP", items }, principal, gone);
  Object.assign(gone, { done: true });
  const refused = make(Refused, { code: "INSUFFICIENT_MARGIN" });
  const replies = [make(Done), refused, refused, make(Done), refused];
  const placed = (clientOrderId: string) =>
    make(OrderPlaced, { accountId: principal.accountId, orderId: 257, clientOrderId });
  engine.transaction(1, placed("placed"), placed("second-try"));
  assert.ok(engine.answer(() => replies.flatMap((reply) => [reply, make(BatchItemEnd)])));
  assert.deepEqual(
    ids.map((id) => clientOrderIds.ownerOf(principal.accountId, id)),
    [1, 0, 1, 1, 1],
  );
});

test("an id stays with its symbol while any order with it is on its way", async () => {
  const { engine, clientOrderIds, trade } = await open();
  engine.time = Date.now();
  const { accountId } = principal;
  const owner = () => clientOrderIds.ownerOf(accountId, "mine");
  const codes: string[] = [];
  const note = (error: unknown) => void codes.push((error as ApiError).code);
  const answer: Answer = { done: false, reply: () => {}, refuse: note, fail: note };
  const place = (symbol: string) => trade("order.place", { symbol, ...order }, principal, answer);
  const refuse = () => assert.ok(engine.answer(() => [make(Refused, { code: "INSUFFICIENT_MARGIN" })]));
  const batch = { symbol: "BTC-PERP", items: [{ action: "PLACE", ...order }] };
  place("BTC-PERP");
  trade("order.batch", batch, principal, answer);
  place("BTC-PERP");
  refuse();
  assert.equal(owner(), 1, "two are on their way");
  place("ETH-PERP");
  assert.deepEqual(codes, ["INSUFFICIENT_MARGIN", "CLIENT_ORDER_ID_REUSED"]);
  engine.lose();
  assert.equal(owner(), 1, "one is on its way");
  refuse();
  assert.equal(owner(), 0, "none was placed");
  place("ETH-PERP");
  place("ETH-PERP");
  engine.transaction(2, make(OrderPlaced, { accountId, orderId: 258, clientOrderId: "mine" }));
  engine.lose();
  refuse();
  assert.equal(owner(), 2, "one was placed");
});

test("an id that a symbol has left on disk belongs to it for a day, and an unknown one is searched for once", async () => {
  const searches: string[] = [];
  const now = Date.now();
  const left = new Map([
    ["young", { orderId: 256 + 2, time: now - 1000 }],
    ["old", { orderId: 512 + 2, time: now - DAY_MS - 1000 }],
  ]);
  const find = (accountId: number, clientOrderId: string) => {
    searches.push(clientOrderId);
    return accountId === 16 ? (left.get(clientOrderId) ?? null) : null;
  };
  const { clientOrderIds: ids } = await open(undefined, [], { find });
  assert.equal(ids.ownerOf(16, "young"), 2);
  assert.equal(ids.ownerOf(17, "young"), 0);
  assert.equal(ids.hold(16, "young", 1, now), false);
  assert.equal(ids.hold(16, "old", 1, now), true);
  assert.equal(ids.ownerOf(16, "new"), 0);
  assert.equal(ids.hold(16, "new", 1, now), true);
  assert.deepEqual(searches, ["young", "young", "old", "new"]);
});
