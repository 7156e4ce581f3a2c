import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, FEE_ACCOUNT, LEDGER, LIMIT, SELL } from "../../../src/core/base/enums.ts";
import {
  CancelOrder,
  Deposit,
  Describe,
  OpenSession,
  PlaceOrder,
  ReadOrder,
  ReadOrders,
  ReadPosition,
  SetIndexPrice,
  SetLeverage,
} from "../../../src/core/protocol/commands.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import {
  Done,
  OrderView,
  type PositionView,
  Refused,
  type SessionView,
  type SymbolDescription,
} from "../../../src/core/protocol/replies.ts";
import { maxMessageBytes } from "../../../src/wire/codec.ts";
import { Exchange, make, START } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { TwoAccounts } from "../support/two-accounts.ts";

test("a book of many prices is described in pages", () => {
  const tier = { maxNotional: "1000000000", maxLeverage: 10, maintenanceMarginRate: "0.01" };
  const deep = { ...PLAIN, tickSize: "0.01", maxOpenOrders: 100_000, riskTiers: [tier] };
  const exchange = new Exchange([instrument(deep)]);
  const session = make(OpenSession, { address: "0x1", tokenHash: "t", expiresAt: 2 ** 50 });
  const { accountId } = exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
  exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 1e14 }));
  exchange.do(deep.id, make(SetIndexPrice, { indexTicks: 10_000 }));
  const order = make(PlaceOrder, { accountId, orderType: LIMIT, quantityLots: 1 });
  const place = (side: number, priceTicks: number): [number, number] => {
    const [view] = exchange.do(deep.id, Object.assign(order, { side, priceTicks })).replies;
    assert.equal(view.type, OrderView.code);
    return [priceTicks, 1];
  };
  const bids = [9_999, 9_998].map((priceTicks) => place(BUY, priceTicks));
  const asks = Array.from({ length: 60_000 }, (_, i) => place(SELL, 10_001 + i));
  const told: { bids: [number, number][]; asks: [number, number][] } = { bids: [], asks: [] };
  let pages = 0;
  for (let from: number | null = 0; from !== null; pages++) {
    const page = exchange.ask(deep.id, make(Describe, { from })) as MessageOf<typeof SymbolDescription>;
    assert.ok(maxMessageBytes(page) < 2 ** 20);
    told.bids.push(...page.state.bids);
    told.asks.push(...page.state.asks);
    from = page.state.next;
  }
  assert.equal(pages, 2);
  assert.deepEqual(told, { bids, asks });
});

test("reads and refused commands write nothing to the log", () => {
  const market = new TwoAccounts();
  const { sequence } = market;
  for (const command of [
    make(ReadOrders, { accountId: market.alice }),
    make(ReadOrder, { accountId: market.alice, orderId: 257 }),
    make(ReadPosition, { accountId: market.alice }),
    make(Describe),
    make(CancelOrder, { accountId: market.alice, orderId: 257 }),
    make(PlaceOrder, { accountId: market.alice, orderType: LIMIT, priceTicks: 200, quantityLots: 1 }),
    make(SetLeverage, { accountId: market.alice, leverage: 10 }), // as it is
  ]) {
    const said = market.at(50, command);
    assert.deepEqual(said.events, [], JSON.stringify(command));
    assert.ok(said.replies.length > 0);
  }
  assert.equal(market.sequence, sequence);
});

test("an order is found by its id or client order id, by its own account only", () => {
  const market = new TwoAccounts();
  const order = { accountId: market.alice, orderType: LIMIT, priceTicks: 99, quantityLots: 5 };
  market.at(1, make(PlaceOrder, { ...order, clientOrderId: "mine" }));
  const answer = (fields: { accountId: number; orderId?: number; clientOrderId?: string }): number =>
    market.read(make(ReadOrder, fields))[0].type;
  assert.equal(answer({ accountId: market.alice, orderId: 257 }), OrderView.code);
  assert.equal(answer({ accountId: market.alice, clientOrderId: "mine" }), OrderView.code);
  assert.equal(answer({ accountId: market.bob, orderId: 257 }), Refused.code);
  assert.equal(answer({ accountId: market.bob, clientOrderId: "mine" }), Refused.code);
  // Unknown ids, ids of another symbol, and numbers that are no ids.
  for (const orderId of [0, 1, 258, 513, 256, -257, 257.5, 2 ** 53, Number.NaN])
    assert.equal(answer({ accountId: market.alice, orderId }), Refused.code, String(orderId));
});

test("a position is read by its account", () => {
  const market = new TwoAccounts();
  const views = (accountId: number): MessageOf<typeof PositionView>[] => {
    const replies = market.read(make(ReadPosition, { accountId }));
    assert.equal(replies.at(-1)?.type, Done.code);
    return replies.slice(0, -1) as MessageOf<typeof PositionView>[];
  };
  assert.deepEqual(views(market.alice), [], "nothing is known of it");
  market.place(1, market.alice, BUY, 10, 100);
  market.place(2, market.bob, SELL, 10, 100);
  const [alice] = views(market.alice);
  assert.deepEqual([alice.accountId, alice.sizeLots], [market.alice, 10]);
  assert.deepEqual([alice.cashQuanta, alice.costQuanta, alice.realizedQuanta], [-1000.2e6, 1000e6, -0.2e6]);
  assert.deepEqual([alice.initialQuanta, alice.maintenanceQuanta, alice.leverage], [100e6, 10e6, 10]);
  // The fee account has no position, only cash.
  const [fees] = views(FEE_ACCOUNT);
  assert.deepEqual([fees.sizeLots, fees.cashQuanta], [0, 0.7e6]);
});

test("a description has prices, levels and open interest, from which the front folds on", () => {
  const market = new TwoAccounts();
  market.place(1, market.alice, BUY, 10, 99);
  market.place(2, market.alice, BUY, 5, 99);
  market.place(3, market.alice, BUY, 5, 97);
  market.place(4, market.alice, SELL, 3, 101);
  market.place(5, market.bob, SELL, 4, 99);
  const [reply] = market.read(make(Describe)) as MessageOf<typeof SymbolDescription>[];
  const { bids, asks, indexTicks, markTicks, lastTicks, openInterestLots, priceTime } = reply.state;
  assert.deepEqual(
    { bids, asks, indexTicks, markTicks, lastTicks, openInterestLots, priceTime },
    {
      bids: [
        [99, 11],
        [97, 5],
      ],
      asks: [[101, 3]],
      indexTicks: 100,
      markTicks: 100,
      lastTicks: 99,
      openInterestLots: 4,
      priceTime: START,
    },
  );
});
