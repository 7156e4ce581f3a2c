import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Fill, NewOrder, Order, Page, Transfer } from "../../../src/client/types.ts";
import { decimal, millionths } from "../support/decimal.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

let server: TestServer;
let operator: Operator;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

/** All pages of a list, which must be of this size but for the last. */
async function allPages<T>(trader: Trader, path: string, limit: number): Promise<T[]> {
  const rows: T[] = [];
  let cursor = "";
  for (;;) {
    const page: Page<T> = await trader.get(`${path}${path.includes("?") ? "&" : "?"}limit=${limit}${cursor}`);
    rows.push(...page.data);
    if (page.nextCursor === null) return rows;
    assert.equal(page.data.length, limit);
    cursor = `&cursor=${page.nextCursor}`;
  }
}

test("order history pages are newest first, without duplicates or gaps", async () => {
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  const closed: string[] = [];
  for (let i = 0; i < 25; i++) {
    const symbol = i % 3 === 0 ? "ETH-PERP" : "BTC-PERP";
    const order = await alice.place({
      symbol,
      side: "BUY",
      type: "LIMIT",
      price: symbol === "ETH-PERP" ? "2900" : "64000",
      quantity: "0.1",
    });
    await bob.buy("0.001", "60000");
    await alice.cancel(order.orderId);
    closed.unshift(order.orderId);
  }
  const ids = async (query: string, limit: number) =>
    (await allPages<Order>(alice, `/orders/history${query}`, limit)).map((order) => order.orderId);
  for (const limit of [1, 7, 10, 25, 1000]) assert.deepEqual(await ids("", limit), closed, `limit ${limit}`);
  const ofSymbol = (instrumentId: number) => closed.filter((orderId) => Number(orderId) % 256 === instrumentId);
  assert.deepEqual(await ids("?symbol=BTC-PERP", 4), ofSymbol(1));
  assert.deepEqual(await ids("?symbol=ETH-PERP", 4), ofSymbol(2));
  assert.deepEqual(await ids("?symbol=SOL-PERP", 4), []);

  // By time of closing, both ends included.
  const all = (await alice.history("?limit=1000")).data;
  const [from, to] = [all[19]?.updatedAt ?? 0, all[5]?.updatedAt ?? 0];
  const inside = all.filter((order) => order.updatedAt >= from && order.updatedAt <= to);
  assert.deepEqual(
    await ids(`?startTime=${from}&endTime=${to}`, 3),
    inside.map((order) => order.orderId),
  );
  assert.deepEqual(await ids(`?startTime=${Date.now() + 60_000}`, 3), []);

  // From the other end, and by how they ended.
  for (const limit of [4, 1000]) assert.deepEqual(await ids("?sort=ASC", limit), closed.toReversed());
  assert.deepEqual(
    await ids(`?sort=ASC&startTime=${from}&endTime=${to}`, 3),
    inside.map((order) => order.orderId).toReversed(),
  );
  assert.deepEqual(await ids("?status=CANCELED,EXPIRED", 7), closed);
  assert.deepEqual(await ids("?status=FILLED", 7), []);

  // A cursor keeps its place while newer orders come.
  const first = await alice.history("?limit=10");
  const late = await alice.buy("0.1", "64000");
  await alice.cancel(late.orderId);
  const second = await alice.history(`?limit=10&cursor=${first.nextCursor}`);
  assert.deepEqual(
    [...first.data, ...second.data].map((order) => order.orderId),
    closed.slice(0, 20),
  );

  for (const query of [
    "limit=0",
    "limit=1001",
    "limit=x",
    "cursor=x",
    "cursor=1",
    "cursor=1.2.3.4.5",
    "since=1",
    "status=NEW",
    "sort=1",
  ])
    assert.equal((await alice.request("GET", `/orders/history?${query}`)).status, 400, query);
  await bob.cancelAll();
});

test("open orders are paged", async () => {
  const alice = await openTrader(server);
  const placed: string[] = [];
  for (let i = 0; i < 23; i++) {
    const symbol = i % 2 === 0 ? "ETH-PERP" : "BTC-PERP";
    const price = symbol === "ETH-PERP" ? "2900" : "64000";
    const order = await alice.place({ symbol, side: "BUY", type: "LIMIT", price, quantity: "0.01" });
    placed.push(order.orderId);
  }
  for (const limit of [5, 23, 1000]) {
    const seen = await allPages<Order>(alice, "/orders", limit);
    assert.deepEqual(seen.map((order) => order.orderId).sort(), [...placed].sort(), `limit ${limit}`);
    const times = seen.map((order) => order.createdAt);
    assert.deepEqual(
      times,
      [...times].sort((a, b) => b - a),
      "newest first",
    );
  }
  await alice.cancelAll();
});

test("fills and transfers are paged", async () => {
  const [alice, bob] = await Promise.all([openTrader(server, "0"), openTrader(server)]);
  const deposits: string[] = [];
  for (let i = 1; i <= 23; i++) deposits.unshift((await alice.deposit(`${1000 + i}`)).transferId);
  const listed = await allPages<Transfer>(alice, "/account/deposits", 10);
  assert.deepEqual(
    listed.map((transfer) => transfer.transferId),
    deposits,
  );
  const trades: string[] = [];
  for (let i = 0; i < 23; i++) {
    await bob.sell("0.001", "65000");
    const { fills } = await alice.buy("0.001", "65000");
    trades.unshift(fills[0]?.tradeId ?? "");
  }
  for (const trader of [alice, bob]) {
    const fills = await allPages<Fill>(trader, "/account/trades", 10);
    assert.deepEqual(
      fills.map((fill) => fill.tradeId),
      trades,
    );
  }
  assert.deepEqual((await alice.fills("?symbol=ETH-PERP")).data, []);
  const forwards = await allPages<Fill>(alice, "/account/trades?sort=ASC&execType=TRADE", 4);
  assert.deepEqual(forwards.toReversed(), (await alice.fills("?limit=1000")).data);
  assert.deepEqual((await alice.fills("?execType=LIQUIDATION")).data, []);
});

test("an order that fills against many makers shows all fills in its reply, its history and its duplicate", async () => {
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  for (let i = 0; i < 30; i++) await bob.sell("0.001", `${65000 + i}`);
  const body: NewOrder = {
    symbol: "BTC-PERP",
    side: "BUY",
    type: "LIMIT",
    price: "65100",
    quantity: "0.03",
    clientOrderId: "sweep",
  };
  const order = await alice.place(body);
  assert.equal(order.fills.length, 30);
  const again = await alice.call<Order>(200, "POST", "/orders", body);
  assert.deepEqual(again, { ...order, duplicate: true });
  const fills = await allPages<Fill>(alice, "/account/trades", 7);
  assert.deepEqual([...fills].reverse(), order.fills);

  await bob.sell("0.002", "65050");
  const later = await alice.buy("0.001", "65050");
  const rest = await bob.buy("0.001", "64000");
  const fillsOf = (of: Order, more = "") => allPages<Fill>(alice, `/account/trades?orderId=${of.orderId}${more}`, 7);
  assert.deepEqual(await fillsOf(order), fills);
  assert.deepEqual(await fillsOf(order, "&symbol=BTC-PERP"), fills);
  assert.deepEqual(await fillsOf(later), later.fills);
  assert.deepEqual(await fillsOf(order, "&symbol=ETH-PERP"), []);
  assert.deepEqual(await fillsOf(order, `&startTime=${order.createdAt + 1}`), []);
  assert.deepEqual((await bob.fills(`?orderId=${rest.orderId}`)).data, []);
  await alice.refused("ORDER_NOT_FOUND", "GET", `/account/trades?orderId=${rest.orderId}`);
  await alice.refused("ORDER_NOT_FOUND", "GET", "/account/trades?orderId=999999999");
});

test("a read after a reply sees what the reply acknowledged", async () => {
  const [alice, bob] = await Promise.all([openTrader(server, "500000"), openTrader(server, "500000")]);
  let wallet = millionths("500000");
  let trades = 0;
  for (let i = 0; i < 150; i++) {
    const quantity = `0.00${1 + (i % 9)}`;
    const clientOrderId = `rw-${i}`;
    switch (i % 5) {
      case 0: {
        const { fills, ...order } = await alice.buy(quantity, "60000", { clientOrderId });
        assert.deepEqual(fills, []);
        assert.deepEqual((await alice.openOrders("?limit=1")).data, [order]);
        const canceled = await alice.cancel(order.orderId);
        const [first] = (await alice.history("?limit=1")).data;
        assert.deepEqual(first, canceled);
        break;
      }
      case 1: {
        await bob.sell(quantity, "65000");
        const { fills, ...order } = await alice.buy(quantity, "65000", { clientOrderId });
        trades++;
        assert.deepEqual((await alice.fills("?limit=1")).data, fills);
        assert.deepEqual((await alice.history("?limit=1")).data, [order]);
        assert.deepEqual(await alice.order(`client:${clientOrderId}`), order);
        const [trade] = (await alice.get<Page<{ tradeId: string }>>("/market/trades?symbol=BTC-PERP&limit=1")).data;
        assert.equal(trade?.tradeId, fills[0]?.tradeId);
        const [other] = (await bob.fills("?limit=1")).data;
        assert.equal(other?.tradeId, fills[0]?.tradeId);
        wallet -= millionths(fills[0]?.fee ?? "0");
        assert.equal((await alice.position())?.sequence, order.sequence);
        break;
      }
      case 2: {
        const transfer = await alice.deposit("1", `deposit-${i}`);
        wallet += millionths("1");
        assert.deepEqual((await alice.get<Page<Transfer>>("/account/deposits?limit=1")).data, [transfer]);
        break;
      }
      case 3: {
        const transfer = await alice.call<Transfer>(201, "POST", "/account/withdraw", {
          asset: "USDC",
          amount: "2",
          address: "0x0000000000000000000000000000000000000001",
        });
        wallet -= millionths("2");
        const [first] = (await alice.get<Page<Transfer>>("/account/withdrawals?limit=1")).data;
        assert.equal(first?.transferId, transfer.transferId);
        break;
      }
      default: {
        const leverage = 5 + (i % 20);
        await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage });
        assert.equal((await alice.position())?.leverage, leverage);
      }
    }
    assert.equal((await alice.balance()).walletBalance, decimal(wallet));
  }
  assert.equal((await alice.fills("?limit=1000")).data.length, trades);
});

test("read-your-writes holds for many concurrent clients", async () => {
  const traders = await Promise.all(Array.from({ length: 8 }, () => openTrader(server)));
  await Promise.all(
    traders.map(async (trader) => {
      for (let i = 0; i < 40; i++) {
        const order = await trader.buy("0.001", "60000");
        const canceled = await trader.cancel(order.orderId);
        assert.deepEqual((await trader.history("?limit=1")).data, [canceled]);
        assert.deepEqual((await trader.openOrders()).data, []);
      }
    }),
  );
});
