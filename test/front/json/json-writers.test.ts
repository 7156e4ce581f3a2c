import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import {
  BUY,
  EXEC_ADL,
  EXEC_LIQUIDATION,
  ISOLATED,
  LIMIT,
  LIQUIDATION_ORDER,
  MARKET,
  POST_ONLY,
  REASON_USER,
  REDUCE_ONLY,
  STATUS_CANCELED,
  STATUS_FILLED,
  STATUS_PARTIALLY_FILLED,
} from "../../../src/core/base/enums.ts";
import { Traded } from "../../../src/core/protocol/events.ts";
import { printPrice } from "../../../src/core/protocol/instrument.ts";
import type { AttachedLegs, Transfer as TransferRow } from "../../../src/core/protocol/payloads.ts";
import { OrderView, PositionView } from "../../../src/core/protocol/replies.ts";
import {
  balanceJson,
  fillJson,
  orderJson,
  orderJsonWith,
  positionJson,
  printId,
  projectionJson,
  takerFillJson,
  transferJson,
} from "../../../src/front/json/json-writers.ts";
import { FillRecord } from "../../../src/store/database/history-schema.ts";
import { Balance, Position, RequestedTransfer, Transfer } from "../../../src/wire/schema/account.ts";
import { Fill, Order, PlacedOrder } from "../../../src/wire/schema/orders.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { exampleOf } from "../support/examples.ts";
import { instrument, make } from "../support/scripted-engine.ts";

fc.configureGlobal({ seed: takeSeed("views.test") });

/** Prices to 0.1, quantities to 0.001: a tick times a lot is 100 quanta. */
const BTC = instrument(1, "BTC-PERP");

/** The parsed value. Fails unless it fits the schema. */
function read(schema: TSchema, text: string): Record<string, unknown> {
  const value = JSON.parse(text) as Record<string, unknown>;
  const validator = Compile(schema);
  if (!validator.Check(value)) assert.fail(`${text}: ${JSON.stringify(validator.Errors(value)[0])}`);
  return value;
}

const order = make(OrderView, {
  orderId: 257,
  priceTicks: 650_005,
  quantityLots: 1500,
  remainingLots: 1500,
  createdAt: 1,
  updatedAt: 2,
});

test("an order has every field of the schema, and the transaction's sequence until it has its own", () => {
  const shown = read(Order, orderJson(BTC, order, 42));
  assert.deepEqual(shown, {
    orderId: "257",
    clientOrderId: null,
    symbol: "BTC-PERP",
    side: "BUY",
    type: "LIMIT",
    timeInForce: "GTC",
    postOnly: false,
    reduceOnly: false,
    closePosition: false,
    createdBy: "USER",
    price: "65000.5",
    quantity: "1.5",
    displayQuantity: null,
    filledQuantity: "0",
    remainingQuantity: "1.5",
    avgPrice: null,
    fee: "0",
    triggerPrice: null,
    triggerBy: null,
    callbackRate: null,
    activationPrice: null,
    maxSlippage: null,
    goodTillDate: null,
    parentOrderId: null,
    takeProfit: null,
    stopLoss: null,
    selfTradePreventionMode: "EXPIRE_TAKER",
    status: "NEW",
    reason: null,
    createdAt: 1,
    updatedAt: 2,
    sequence: 42,
  });
  assert.equal(read(Order, orderJson(BTC, { ...order, sequence: 7 }, 42)).sequence, 7);
});

test("an order shows its take-profit and stop-loss as a request gives them", () => {
  const takeProfit = { triggerTicks: 680_000, triggerBy: 1, priceTicks: 680_005 };
  const stopLoss = { triggerTicks: 640_000, triggerBy: 0, priceTicks: 0, maxSlippagePpm: 5000 };
  const shown = (legs: AttachedLegs) => {
    const { takeProfit, stopLoss } = read(Order, orderJson(BTC, { ...order, legs }, 42));
    return [takeProfit, stopLoss];
  };
  const both = shown({ takeProfit, stopLoss });
  assert.deepEqual(both, [
    { triggerPrice: "68000", triggerBy: "LAST", price: "68000.5", maxSlippage: null },
    { triggerPrice: "64000", triggerBy: "MARK", price: null, maxSlippage: "0.005" },
  ]);
  assert.deepEqual(shown({ takeProfit: null, stopLoss }), [null, both[1]]);
  assert.deepEqual(shown({ takeProfit: null, stopLoss: null }), [null, null]);
});

test("enums are printed as words, and a closed order has no remaining quantity", () => {
  const closed = {
    ...order,
    orderType: MARKET,
    flags: POST_ONLY | REDUCE_ONLY | LIQUIDATION_ORDER,
    clientOrderId: "a:b",
    status: STATUS_CANCELED,
    reason: REASON_USER,
  };
  const shown = read(Order, orderJson(BTC, closed, 42));
  assert.equal(shown.createdBy, "LIQUIDATION");
  assert.deepEqual(
    [shown.type, shown.price, shown.postOnly, shown.reduceOnly, shown.clientOrderId, shown.status, shown.reason],
    ["MARKET", null, true, true, "a:b", "CANCELED", "USER"],
  );
  assert.equal(shown.remainingQuantity, "0");
});

test("a quantity that was reduced is not a remaining quantity", () => {
  const reduced = {
    ...order,
    remainingLots: 300,
    filledLots: 200,
    filledQuanta: 200 * 650_000 * 100,
    status: STATUS_PARTIALLY_FILLED,
  };
  const shown = read(Order, orderJson(BTC, reduced, 42));
  assert.deepEqual(
    [shown.quantity, shown.filledQuantity, shown.remainingQuantity, shown.avgPrice],
    ["1.5", "0.2", "0.3", "65000"],
  );
});

test("an average price is exact on a tick and cut four digits after it", () => {
  const average = (...fills: [lots: number, ticks: number][]) => {
    const filledLots = fills.reduce((sum, [lots]) => sum + lots, 0);
    const filledQuanta = fills.reduce((sum, [lots, ticks]) => sum + lots * ticks * 100, 0);
    return read(Order, orderJson(BTC, { ...order, status: STATUS_FILLED, filledLots, filledQuanta }, 1)).avgPrice;
  };
  assert.equal(average([1000, 650_000], [1000, 650_001]), "65000.05");
  assert.equal(average([1, 100], [2, 101]), "10.06666");
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 10_000_000 }), (lots, ticks) => {
      assert.equal(average([lots, ticks]), printPrice(BTC, ticks));
    }),
  );
});

test("an order with its fills fits the schema of a placed order", () => {
  const trade = make(Traded, {
    tradeId: 513,
    takerOrderId: 257,
    takerSide: BUY,
    priceTicks: 650_000,
    quantityLots: 200,
    takerFeeQuanta: 6_500_000,
    takerRealizedQuanta: -5,
    takerSizeLots: -200,
  });
  const fill = takerFillJson(BTC, trade, "mine", 99, 42);
  const placed = read(PlacedOrder, orderJsonWith(BTC, order, 42, `,"fills":[${fill}],"duplicate":true`));
  assert.deepEqual(placed.fills, [
    {
      tradeId: "513",
      orderId: "257",
      clientOrderId: "mine",
      symbol: "BTC-PERP",
      side: "BUY",
      price: "65000",
      quantity: "0.2",
      quoteQuantity: "13000",
      fee: "6.5",
      feeAsset: "USDC",
      feeRate: "0.0005",
      liquidity: "TAKER",
      realizedPnl: "-0.000005",
      execType: "TRADE",
      positionSize: "-0.2",
      time: 99,
      sequence: 42,
    },
  ]);
});

test("a fill of the history shows its side and liquidity", () => {
  const fill = make(FillRecord, {
    tradeId: 513,
    orderId: 257,
    priceTicks: 1,
    quantityLots: 1,
    feeQuanta: -3,
    feePpm: 200,
    maker: 1,
  });
  const shown = read(Fill, fillJson(BTC, fill));
  assert.deepEqual(
    [shown.liquidity, shown.fee, shown.feeRate, shown.quoteQuantity],
    ["MAKER", "-0.000003", "0.0002", "0.0001"],
  );
});

test("feeRate is that of the schedule, and in a liquidation the share that was taken", () => {
  // 10 ticks × 100 lots are 100,000 quanta.
  const fill = { tradeId: 513, orderId: 257, priceTicks: 10, quantityLots: 100, feePpm: 200, feeQuanta: 500 };
  const shown = (more: Partial<ReturnType<typeof make<typeof FillRecord>>>) => {
    const { feeRate, quoteQuantity, orderId } = read(Fill, fillJson(BTC, make(FillRecord, { ...fill, ...more })));
    return [feeRate, quoteQuantity, orderId];
  };
  assert.deepEqual(shown({}), ["0.0002", "0.1", "257"]);
  assert.deepEqual(shown({ execType: EXEC_LIQUIDATION, maker: 1 }), ["0.0002", "0.1", "257"]);
  assert.deepEqual(shown({ execType: EXEC_LIQUIDATION }), ["0.005", "0.1", "257"]);
  // Transferred at no price of the book: 7 quanta more than at the nearest tick.
  const handedOver = { execType: EXEC_ADL, orderId: 0, feePpm: 0, feeQuanta: 0, offPriceQuanta: 7 };
  assert.deepEqual(shown(handedOver), ["0", "0.100007", null]);
});

test("the prices of a position follow from its money and size", () => {
  // 2 bought at 100, 0.05 % paid: 0.1 of fees, cash -200.1; mark 110.
  const long = make(PositionView, {
    sizeLots: 2_000,
    cashQuanta: -200_100_000,
    costQuanta: 200_000_000,
    realizedQuanta: -100_000,
    markTicks: 1_100,
    leverage: 10,
    initialQuanta: 22_000_000,
    maintenanceQuanta: 1_100_000,
    bankruptcyTicks: 900,
    openedAt: 5,
    updatedAt: 6,
    sequence: 7,
  });
  const shown = read(Position, positionJson(BTC, long));
  assert.deepEqual(
    [shown.side, shown.size, shown.entryPrice, shown.markPrice, shown.notional, shown.unrealizedPnl, shown.realizedPnl],
    ["LONG", "2", "100", "110", "220", "20", "-0.1"],
  );
  assert.deepEqual([shown.liquidationPrice, shown.bankruptcyPrice], [null, "90"]);
  // 200.1 = 2 × P × (1 − 0.0005)
  assert.equal(shown.breakEvenPrice, "100.10005");
  const short = read(
    Position,
    positionJson(BTC, { ...long, sizeLots: -2_000, cashQuanta: 199_900_000, costQuanta: -200_000_000 }),
  );
  assert.deepEqual([short.side, short.size, short.entryPrice, short.unrealizedPnl], ["SHORT", "2", "100", "-20"]);
  // 199.9 = 2 × P × (1 + 0.0005)
  assert.equal(short.breakEvenPrice, "99.90004");
});

test("the documented example of a position is consistent", () => {
  const example = exampleOf(Position);
  const quanta = (name: string): number => Math.round(Number(example[name]) * 1e6);
  const ticks = (name: string): number => Math.round(Number(example[name]) * 10);
  const cost = ticks("entryPrice") * 500 * 100;
  const { openedAt, updatedAt, sequence } = example;
  const position = make(PositionView, {
    sizeLots: 500,
    costQuanta: cost,
    // The only loss is the opening fee.
    cashQuanta: quanta("realizedPnl") - cost,
    realizedQuanta: quanta("realizedPnl"),
    markTicks: ticks("markPrice"),
    leverage: 10,
    marginMode: ISOLATED,
    isolatedQuanta: quanta("initialMargin") + quanta("unrealizedPnl"),
    initialQuanta: (ticks("markPrice") * 500 * 100) / 10,
    maintenanceQuanta: ticks("markPrice") * 500 * 100 * 0.004,
    liquidationTicks: ticks("liquidationPrice"),
    bankruptcyTicks: ticks("bankruptcyPrice"),
    openedAt: Number(openedAt),
    updatedAt: Number(updatedAt),
    sequence: Number(sequence),
  });
  const shown = read(Position, positionJson(BTC, position));
  assert.deepEqual(shown, { side: "LONG", marginMode: "ISOLATED", adlRank: null, ...example });
  // The margin set aside, and how far the mark may fall until nothing, or 0.4 % of the price, is left of it.
  const leftAt = (name: string): number =>
    Number(example.isolatedMargin) + 0.5 * (Number(example[name]) - Number(example.markPrice));
  const tickValue = 0.5 * 0.1;
  assert.ok(Math.abs(leftAt("bankruptcyPrice")) < tickValue);
  assert.ok(Math.abs(leftAt("liquidationPrice") - 0.004 * 0.5 * Number(example.liquidationPrice)) < tickValue);
});

test("a position with more profit than notional has no break-even price, and a flat one has no prices", () => {
  const won = make(PositionView, { sizeLots: 1_000, cashQuanta: 1, costQuanta: 1_000_000, markTicks: 10, leverage: 1 });
  assert.equal(read(Position, positionJson(BTC, won)).breakEvenPrice, null);
  const flat = read(Position, positionJson(BTC, make(PositionView, { leverage: 5, cashQuanta: -100 })));
  assert.deepEqual(
    [flat.side, flat.size, flat.entryPrice, flat.markPrice, flat.openedAt],
    [null, "0", null, null, null],
  );
});

test("the figures of a balance are consistent", () => {
  const to = {
    equity: 100_500_000,
    unrealized: 500_000,
    gains: 500_000,
    reserved: 0,
    initial: 20_000_000,
    positionInitial: 15_000_000,
    maintenance: 1_000_000,
    additional: 0,
  };
  const shown = read(Balance, balanceJson(to, 7, 99));
  assert.deepEqual(shown, {
    asset: "USDC",
    walletBalance: "100",
    equity: "100.5",
    unrealizedPnl: "0.5",
    positionInitialMargin: "15",
    openOrderInitialMargin: "5",
    initialMargin: "20",
    maintenanceMargin: "1",
    availableBalance: "80.5",
    additionalMargin: "0",
    withdrawable: "80.5",
    marginRatio: "0.00995",
    updatedAt: 99,
    sequence: 7,
  });
  const under = read(Balance, balanceJson({ ...to, equity: -1, unrealized: -1, gains: 0 }, 7, 99));
  assert.deepEqual(
    [under.equity, under.availableBalance, under.withdrawable, under.marginRatio],
    ["-0.000001", "0", "0", null],
  );
  const moving = read(Balance, balanceJson({ ...to, additional: 30_000_000 }, 7, 99));
  assert.deepEqual([moving.availableBalance, moving.additionalMargin, moving.withdrawable], ["80.5", "30", "50.5"]);
  const isolating = read(Balance, balanceJson({ ...to, reserved: 5_000_000, initial: 99_000_000 }, 7, 99));
  assert.deepEqual([isolating.availableBalance, isolating.withdrawable], ["1.5", "1.5"]);
  const gained = read(Balance, balanceJson({ ...to, gains: 90_000_000, reserved: 5_000_000 }, 7, 99));
  assert.deepEqual([gained.availableBalance, gained.withdrawable], ["80.5", "5.5"], "orders reserve no gains");
  const without = read(Balance, balanceJson({ ...to, equity: 0, unrealized: 0, gains: 0 }, 7, 99));
  assert.deepEqual([without.availableBalance, without.marginRatio], ["0", null], "nothing stands for its margin");
});

test("a dry run shows at least 0 available before and after", () => {
  const projection = { sizeLots: -2_000, liquidationTicks: 0, initialQuanta: 5, availableQuanta: -1 };
  assert.deepEqual(JSON.parse(projectionJson(BTC, projection)), {
    positionSize: "-2",
    liquidationPrice: null,
    initialMargin: "0.000005",
    availableBalance: "0",
  });
});

test("the documented example of a balance is consistent", () => {
  const example = exampleOf(Balance);
  const quanta = (name: string): number => Math.round(Number(example[name]) * 1e6);
  const figures = {
    equity: quanta("equity"),
    unrealized: quanta("unrealizedPnl"),
    gains: quanta("unrealizedPnl"),
    reserved: 0,
    initial: quanta("initialMargin"),
    positionInitial: quanta("positionInitialMargin"),
    maintenance: quanta("maintenanceMargin"),
    additional: quanta("additionalMargin"),
  };
  const { sequence, updatedAt } = example;
  const shown = read(Balance, balanceJson(figures, Number(sequence), Number(updatedAt)));
  assert.deepEqual(shown, { asset: "USDC", ...example });
});

test("the free text of a transfer's reference is escaped", () => {
  const transfer: TransferRow = {
    transferId: 3,
    accountId: 16,
    kind: "WITHDRAWAL",
    amountQuanta: 1_500_000,
    address: "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
    reference: '"},{"x":"\\',
    status: "SENT",
    txHash: "0x1",
    createdAt: 1,
    updatedAt: 2,
  };
  const shown = read(Transfer, transferJson(transfer));
  assert.deepEqual([shown.reference, shown.amount, shown.transferId], [transfer.reference, "1.5", "3"]);
  assert.equal(read(RequestedTransfer, transferJson(transfer, ',"duplicate":true')).duplicate, true);
  const deposit = read(
    Transfer,
    transferJson({ ...transfer, kind: "DEPOSIT", address: "", reference: "", txHash: "" }),
  );
  assert.deepEqual([deposit.address, deposit.reference, deposit.txHash], [null, null, null]);
});

test("printId() prints a number as String() does", () => {
  for (const id of [1, 999_999_999, 1e9, 1e9 + 1, 2 ** 31, 2 ** 48 + 7, 10 ** 15])
    assert.equal(printId(id), String(id));
  fc.assert(fc.property(fc.maxSafeNat(), (id) => assert.equal(printId(id), String(id))));
});

test("any order of the core fits its schema", () => {
  const numbers = fc.record({
    side: fc.nat(1),
    orderType: fc.constantFrom(LIMIT, MARKET),
    timeInForce: fc.nat(2),
    flags: fc.nat(3),
    selfTradePrevention: fc.nat(3),
    priceTicks: fc.integer({ min: 1, max: 10_000_000 }),
    quantityLots: fc.integer({ min: 1, max: 100_000 }),
    remainingLots: fc.integer({ min: 0, max: 100_000 }),
    filledLots: fc.nat(100_000),
    filledQuanta: fc.nat(2 ** 31 - 1),
    feeQuanta: fc.integer(),
    status: fc.nat(4),
    reason: fc.nat(7),
  });
  fc.assert(
    fc.property(numbers, (fields) => void read(Order, orderJson(BTC, make(OrderView, { orderId: 257, ...fields }), 1))),
  );
});
