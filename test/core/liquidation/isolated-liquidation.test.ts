import assert from "node:assert/strict";
import { test } from "node:test";
import { COST } from "../../../src/core/base/columns.ts";
import {
  EXEC_ADL,
  EXEC_LIQUIDATION,
  INSURANCE_ACCOUNT,
  ISOLATED,
  REASON_INSUFFICIENT_MARGIN,
  REASON_LIQUIDATION,
  REDUCE_ONLY,
} from "../../../src/core/base/enums.ts";
import { bankruptcyPrice, liquidationPrice, maintenanceMargin } from "../../../src/core/formulas/margin.ts";
import { isolatedEquity, removableMargin } from "../../../src/core/margin/isolated.ts";
import {
  CancelAll,
  MoveMargin,
  PlaceOrder,
  ReadPosition,
  SetLeverage,
  SetMarginMode,
} from "../../../src/core/protocol/commands.ts";
import {
  DeficitCovered,
  FundingPaid,
  OrderClosed,
  OrderPlaced,
  PositionTransferred,
  Traded,
} from "../../../src/core/protocol/events.ts";
import { blank, type Message, type MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { PositionView } from "../../../src/core/protocol/replies.ts";
import type { SymbolActor } from "../../../src/core/symbol.ts";
import { make } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { BUY, forgetTrades, HOUR_MS, Markets, moveTo, SELL } from "../support/random-markets.ts";

/** A tick is 0.1 USDC of BTC and a lot 0.001 BTC. */
const BTC_TICKS = 650_000;

interface Stage {
  markets: Markets;
  btc: SymbolActor;
  alice: number;
  bob: number;
  makers: [number, number];
}

/** Alice long (or short) so many lots at 65000 against bob, isolated, with `deposit` USDC in all. */
function isolated(lots: number, leverage: number, deposit: number, side = BUY): Stage {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const alice = markets.open(deposit);
  const bob = markets.open(10_000_000);
  const makers: [number, number] = [markets.open(1_000_000), markets.open(1_000_000)];
  markets.price(btc, BTC_TICKS);
  markets.run(btc, { ...blank(SetLeverage), accountId: alice, leverage } as Message);
  markets.run(btc, { ...blank(SetMarginMode), accountId: alice, marginMode: ISOLATED } as Message);
  markets.order(btc, bob, 1 - side, BTC_TICKS, lots);
  markets.order(btc, alice, side, BTC_TICKS, lots);
  assert.equal(markets.size(btc, alice), side === BUY ? lots : -lots);
  return { markets, btc, alice, bob, makers };
}

function view({ markets, btc }: Stage, accountId: number): MessageOf<typeof PositionView> {
  const [reply] = markets.run(btc, { ...blank(ReadPosition), accountId } as Message);
  assert.equal(reply?.type, PositionView.code);
  return reply as MessageOf<typeof PositionView>;
}

const of = <T extends { code: number }>(events: Message[], shape: T): MessageOf<T>[] =>
  events.filter((event) => event.type === shape.code) as MessageOf<T>[];

/*
 * Bybit, "Liquidation Price Calculation under Isolated Mode": a long of 1 BTC at 20,000 with 50x and a maintenance rate of
 * 0.5 % ends at 20,000 − (400 − 100) = 19,700, with 3000 of extra margin 16,700. There maintenance margin is that of the
 * entry price; here (as at Binance) that of the mark: P − 19,600 = 0.005 × P gives 19,698.49 instead.
 * dYdX v4, "Isolated liquidation price": e − s·p ÷ (s·MMF − s): a short of 3 at 3000 with 1000 of 10,000 and 5 % ends
 * at 3174.60.
 */
test("liquidation and bankruptcy price of an isolated position, against the published examples", () => {
  const tiers = (rate: string) => [{ maxNotional: "1000000", maxLeverage: 10, maintenanceMarginRate: rate }];
  const fine = { tickSize: "0.01", stepSize: "1", maxPrice: "100000", maxQuantity: "30", defaultLeverage: 5 };
  const half = instrument(PLAIN, { ...fine, riskTiers: tiers("0.005") });
  const marginAt = (ticks: number): number => maintenanceMargin(half, ticks * half.quantaPerTickLot);
  for (const [extra, bybitTicks, ticks, emptyTicks] of [
    [0, 1_970_000, 1_969_850, 1_960_000],
    [3000, 1_670_000, 1_668_342, 1_660_000],
  ] as const) {
    const equity = (400 + extra) * 1e6;
    assert.equal(liquidationPrice(half, 1, 2_000_000, equity, marginAt(2_000_000)), ticks);
    assert.equal(bankruptcyPrice(half, 1, 2_000_000, equity, marginAt(2_000_000)), emptyTicks);
    // Bybit's price is where the isolated equity is the maintenance margin of the entry price.
    assert.equal(equity - (2_000_000 - bybitTicks) * half.quantaPerTickLot, marginAt(2_000_000));
  }
  const five = instrument(PLAIN, { ...fine, riskTiers: tiers("0.05") });
  const margin = maintenanceMargin(five, 3 * 300_000 * five.quantaPerTickLot);
  assert.equal(liquidationPrice(five, -3, 300_000, 1000e6, margin), 317_460);
});

test("below its own margin it is closed in the book, with a fee to the fund; only its orders are cancelled", () => {
  const stage = isolated(1000, 100, 10_000); // 1 BTC with 650 USDC
  const { markets, btc, alice, makers } = stage;
  const [, eth] = markets.symbols;
  markets.price(eth, 320_000);
  markets.order(btc, alice, BUY, 630_000, 10);
  markets.order(eth, alice, BUY, 310_000, 10);
  const before = view(stage, alice);
  assert.equal(before.isolatedQuanta, 650e6);
  assert.equal(before.maintenanceQuanta, 260e6);
  assert.equal(before.bankruptcyTicks, 643_500);
  assert.equal(before.liquidationTicks, Math.ceil(643_500 / 0.996));
  // Halfway nothing happens, whatever the account has in total.
  moveTo(markets, 646_200, makers);
  for (let i = 0; i < 3; i++) assert.deepEqual(of(markets.tick(), Traded), []);
  moveTo(markets, 645_000, makers); // 150 left
  markets.order(btc, makers[1], BUY, 644_900, 2000);
  const cross = markets.marginTable.equity(alice);
  const fund = markets.marginTable.equity(INSURANCE_ACCOUNT);
  const events = markets.tick();
  const [trade, ...more] = of(events, Traded);
  assert.deepEqual([more.length, trade?.execType, trade?.priceTicks], [0, EXEC_LIQUIDATION, 644_900]);
  assert.equal(markets.size(btc, alice), 0);
  assert.deepEqual(
    of(events, OrderClosed).map(({ accountId, reason }) => [accountId, reason]),
    [[alice, REASON_LIQUIDATION]],
  );
  // 150 − 10 for the price. The fee of 0.5 % of 64490 is limited to what is above bankruptcy: 140.
  assert.equal(trade?.takerFeeQuanta, 140e6);
  assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT) - fund, 140e6);
  assert.equal(markets.marginTable.equity(alice), cross);
  // The order in the other symbol is still there.
  assert.ok(markets.marginTable.initial(alice) > 0 && markets.marginTable.positionInitial(alice) === 0);
  markets.audit();
});

test("with an empty book, the fund takes over at the bankruptcy price, to the quantum", () => {
  for (const side of [BUY, SELL]) {
    const stage = isolated(1000, 100, 10_000, side);
    const { markets, btc, alice, makers } = stage;
    markets.fund(1_000_000);
    const cross = markets.marginTable.equity(alice);
    moveTo(markets, side === BUY ? 644_500 : 655_500, makers);
    const { isolatedQuanta } = view(stage, alice);
    assert.equal(isolatedQuanta, 100e6);
    const [transfer] = of(markets.tick(), PositionTransferred);
    assert.deepEqual([transfer?.counterpartyId, transfer?.execType], [INSURANCE_ACCOUNT, EXEC_LIQUIDATION]);
    assert.equal(transfer?.quanta, side === BUY ? 64_350e6 : 65_650e6);
    assert.equal(markets.marginTable.equity(alice), cross);
    assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT), 1_000_100e6);
    assert.equal(markets.size(btc, alice), 0);
    markets.audit();
  }
});

test("the fund sells what it took over near the mark, a fifth at each scan", () => {
  for (const side of [BUY, SELL]) {
    const { markets, btc, makers } = isolated(1000, 100, 10_000, side);
    markets.fund(1_000_000);
    const ticks = side === BUY ? 644_500 : 655_500;
    moveTo(markets, ticks, makers);
    markets.tick();
    const sign = side === BUY ? 1 : -1;
    assert.equal(markets.size(btc, INSURANCE_ACCOUNT), sign * 1000);
    // It recovers its cost and the fee, so it may go further than a quarter of the maintenance margin.
    const limit = side === BUY ? Math.ceil(643_500 / (1 - 0.0005)) : Math.floor(656_500 / (1 + 0.0005));
    assert.ok(Math.abs(ticks - limit) > (ticks * 0.004) / 4);
    markets.order(btc, makers[1], side, limit - sign, 5000);
    markets.tick();
    assert.equal(markets.size(btc, INSURANCE_ACCOUNT), sign * 1000, "further away it does not sell");
    markets.order(btc, makers[1], side, limit, 5000);
    markets.tick();
    assert.equal(markets.size(btc, INSURANCE_ACCOUNT), sign * 800);
    markets.tick();
    assert.equal(markets.size(btc, INSURANCE_ACCOUNT), sign * 640);
    markets.audit();
  }
});

test("the fund does not sell below its cost because a lone quoter has moved the mark", () => {
  for (const side of [BUY, SELL]) {
    const { markets, btc, makers } = isolated(1000, 100, 10_000, side);
    markets.fund(1_000_000);
    const index = side === BUY ? 644_500 : 655_500;
    moveTo(markets, index, makers);
    markets.tick();
    const sign = side === BUY ? 1 : -1;
    assert.equal(markets.size(btc, INSURANCE_ACCOUNT), sign * 1000);
    const row = btc.state.positions.find(INSURANCE_ACCOUNT);
    const costTicks = btc.state.positions.numbers[row + COST] / (sign * 1000 * btc.state.instrument.quantaPerTickLot);
    assert.ok(sign * (index - costTicks) >= 1000, `cost ${costTicks}`);
    // One owner alone trades in the book, 0.15 % from the index.
    for (let i = 0; i < 150; i++) {
      const ticks = index - sign * 960;
      markets.order(btc, makers[0], SELL, ticks, 1);
      markets.order(btc, makers[1], BUY, ticks, 1);
      markets.order(btc, makers[0], SELL, ticks + 1, 1);
      markets.order(btc, makers[1], BUY, ticks - 1, 1);
      markets.price(btc, index);
      for (const accountId of makers) markets.run(btc, { ...blank(CancelAll), accountId, side: -1 } as Message);
    }
    const { markTicks } = btc.state;
    assert.ok(sign * (index - markTicks) > 800, `mark ${markTicks}`);
    // With the fee of 0.05 %.
    const limit = sign > 0 ? Math.ceil(costTicks / 0.9995) : Math.floor(costTicks / 1.0005);
    markets.order(btc, makers[1], side, limit - sign, 5000);
    markets.tick();
    assert.equal(markets.size(btc, INSURANCE_ACCOUNT), sign * 1000, "further away it does not sell");
    markets.order(btc, makers[1], side, limit, 5000);
    markets.tick();
    assert.equal(markets.size(btc, INSURANCE_ACCOUNT), sign * 800);
    markets.audit();
  }
});

test("a reduce-only order near the mark does not close a position for more than its isolated equity", () => {
  const stage = isolated(4500, 100, 20_000);
  const { markets, btc, alice, bob } = stage;
  markets.fund(1_000_000);
  const fund = markets.marginTable.equity(INSURANCE_ACCOUNT);
  markets.run(btc, make(MoveMargin, { accountId: alice, amountQuanta: 8_000e6 }));
  // Just above its liquidation price; then one step of the index, and an order within the maintenance margin of that.
  const before = Math.ceil(BTC_TICKS * (1 - 0.0058));
  const behind = Math.ceil(before * (1 - 0.0029));
  const priceTicks = Math.ceil(behind * (1 - 0.0039));
  const closing = { accountId: alice, side: SELL, priceTicks, quantityLots: 4500, flags: REDUCE_ONLY };
  assert.equal(of(markets.run(btc, make(PlaceOrder, closing)), OrderPlaced).length, 1);
  const row = btc.state.positions.find(alice);
  const amountQuanta = -Math.floor(removableMargin(btc.state, row));
  markets.run(btc, make(MoveMargin, { accountId: alice, amountQuanta }));
  markets.price(btc, before);
  markets.price(btc, behind);
  assert.ok(isolatedEquity(btc.state, row) > 0);
  const said = markets.order(btc, bob, BUY, priceTicks, 4500);
  assert.equal(of(said, OrderClosed)[0]?.reason, REASON_INSUFFICIENT_MARGIN);
  for (let i = 0; i < 8; i++) markets.tick();
  assert.ok(markets.marginTable.equity(INSURANCE_ACCOUNT) >= fund);
  markets.audit();
});

test("a jump beyond the bankruptcy price is paid by the fund, then by the other side, never by the account", () => {
  for (const hasFund of [true, false]) {
    const { markets, btc, alice, bob, makers } = isolated(1000, 100, 10_000);
    if (hasFund) markets.fund(1_000_000);
    forgetTrades(markets);
    const cross = markets.marginTable.equity(alice);
    const fund = markets.marginTable.equity(INSURANCE_ACCOUNT);
    const had = markets.marginTable.equity(bob);
    const [transfer, ...more] = of(moveTo(markets, 620_000, makers), PositionTransferred); // 3000 lost of 650
    assert.equal(more.length, 0);
    assert.equal(transfer?.execType, hasFund ? EXEC_LIQUIDATION : EXEC_ADL);
    assert.equal(transfer?.counterpartyId, hasFund ? INSURANCE_ACCOUNT : bob);
    assert.equal(markets.marginTable.equity(alice), cross);
    assert.equal(markets.size(btc, alice), 0);
    assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT), hasFund ? fund - 2350e6 : fund);
    assert.equal(markets.marginTable.equity(bob), had + (hasFund ? 3000e6 : 650e6));
    markets.audit();
  }
});

test("a large position is closed in steps, until its equity is enough for the rest", () => {
  const stage = isolated(10_000, 100, 100_000); // 10 BTC: 650,000 USDC, at no more than 50x: 13,000 set aside
  const { markets, btc, alice, makers } = stage;
  const { isolatedQuanta, maintenanceQuanta } = view(stage, alice);
  assert.equal(isolatedQuanta, 13_000e6);
  // 10 BTC lose 1 USDC a tick: to about 200 below the maintenance margin.
  const ticks = BTC_TICKS - Math.ceil((isolatedQuanta - maintenanceQuanta + 200e6) / 1e6);
  moveTo(markets, ticks, makers);
  markets.order(btc, makers[1], BUY, ticks, 100_000);
  const cross = markets.marginTable.equity(alice);
  markets.tick();
  assert.equal(markets.size(btc, alice), 8000);
  const after = view(stage, alice);
  assert.ok(after.isolatedQuanta >= after.maintenanceQuanta);
  for (let i = 0; i < 3; i++) markets.tick();
  assert.equal(markets.size(btc, alice), 8000);
  assert.equal(markets.marginTable.equity(alice), cross);
  markets.audit();
});

test("margin added in time prevents a liquidation", () => {
  const { markets, btc, alice, makers } = isolated(1000, 100, 10_000);
  moveTo(markets, 645_000, makers);
  markets.run(btc, { ...blank(MoveMargin), accountId: alice, amountQuanta: 1000e6 } as Message);
  for (let i = 0; i < 3; i++) markets.tick();
  assert.equal(markets.size(btc, alice), 1000);
});

test("the account's cross liquidation cancels the orders of an isolated position, and leaves it alone", () => {
  const stage = isolated(100, 10, 3000);
  const { markets, btc, alice, makers } = stage;
  const [, eth] = markets.symbols;
  markets.price(eth, 320_000);
  markets.run(eth, { ...blank(SetLeverage), accountId: alice, leverage: 50 } as Message);
  markets.order(eth, makers[0], SELL, 320_000, 3000);
  markets.order(eth, alice, BUY, 320_000, 3000);
  const size = markets.size(eth, alice);
  assert.ok(size > 0, "the cross position is there");
  markets.order(btc, alice, BUY, 640_000, 1);
  const isolatedQuanta = view(stage, alice).isolatedQuanta;
  for (let i = 0; i < 4; i++) {
    markets.time += 1000;
    markets.price(eth, 313_000);
    markets.order(eth, makers[0], SELL, 313_000, 1);
    markets.order(eth, makers[1], BUY, 313_000, 1);
  }
  markets.price(eth, 313_000);
  markets.price(btc, BTC_TICKS);
  for (let i = 0; i < 12; i++) markets.tick();
  assert.equal(markets.size(eth, alice), 0);
  assert.equal(markets.size(btc, alice), 100);
  assert.equal(view(stage, alice).isolatedQuanta, isolatedQuanta);
  assert.equal(markets.marginTable.initial(alice), 0);
  assert.ok(markets.marginTable.equity(alice) >= 0);
  markets.audit();
});

test("funding is paid from the isolated margin", () => {
  const stage = isolated(333, 10, 100_000);
  const { markets, btc, alice } = stage;
  const cross = markets.marginTable.equity(alice);
  markets.time = Math.ceil(markets.time / HOUR_MS) * HOUR_MS + 1;
  const events = markets.price(btc, BTC_TICKS);
  const payment = of(events, FundingPaid).find(({ accountId }) => accountId === alice);
  assert.equal(payment?.amountQuanta, -270_563);
  assert.equal(view(stage, alice).isolatedQuanta, 2_164_500_000 - 270_563);
  assert.equal(markets.marginTable.equity(alice), cross);
  markets.audit();
});

test("an isolated counterparty keeps its profit when it is deleveraged", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const alice = markets.open(700);
  const dave = markets.open(10_000);
  const makers: [number, number] = [markets.open(1_000_000), markets.open(1_000_000)];
  markets.price(btc, BTC_TICKS);
  for (const accountId of [alice, dave]) {
    markets.run(btc, { ...blank(SetLeverage), accountId, leverage: 100 } as Message);
    markets.run(btc, { ...blank(SetMarginMode), accountId, marginMode: ISOLATED } as Message);
  }
  markets.order(btc, dave, SELL, BTC_TICKS, 1000);
  markets.order(btc, alice, BUY, BTC_TICKS, 1000);
  const { positions } = btc.state;
  assert.equal(positions.open.length, 2);
  const cross = markets.marginTable.equity(dave);
  moveTo(markets, 620_000, makers);
  assert.equal(markets.size(btc, alice), 0);
  assert.equal(markets.size(btc, dave), 0);
  // Alice's bankruptcy price is 64,350. Dave's short gains 650 there, and gives back its margin of 650.
  assert.equal(markets.marginTable.equity(dave), cross + 1300e6);
  markets.audit();
});

test("covering a negative cross margin neither uses isolated positions nor adds to them", () => {
  const stage = isolated(100, 10, 3000);
  const { markets, alice } = stage;
  markets.fund(1000);
  const before = view(stage, alice).isolatedQuanta;
  // As if another symbol had left the account below zero.
  const other = new Float64Array(5);
  markets.marginTable.setContribution(alice, other, 0, {
    equity: -markets.marginTable.equity(alice) - 7,
    unrealized: 0,
    initial: 0,
    positionInitial: 0,
    maintenance: 0,
  });
  assert.equal(markets.marginTable.equity(alice), -7);
  markets.tick();
  const [covered, ...more] = of(markets.tick(), DeficitCovered);
  assert.deepEqual([covered?.accountId, covered?.amountQuanta, more.length], [alice, 7, 0]);
  assert.equal(markets.marginTable.equity(alice), 0);
  assert.equal(view(stage, alice).isolatedQuanta, before);
  markets.audit();
});

test("deleveraging costs an isolated counterparty a part of the step's gain only, however little margin it has left", () => {
  const markets = new Markets();
  const [btc] = markets.symbols;
  const alice = markets.open(700);
  const dave = markets.open(10_000);
  const makers: [number, number] = [markets.open(1_000_000), markets.open(1_000_000)];
  markets.price(btc, BTC_TICKS);
  for (const accountId of [alice, dave]) {
    markets.run(btc, make(SetLeverage, { accountId, leverage: 100 }));
    markets.run(btc, make(SetMarginMode, { accountId, marginMode: ISOLATED }));
  }
  markets.order(btc, dave, SELL, BTC_TICKS, 1000);
  markets.order(btc, alice, BUY, BTC_TICKS, 1000);
  const cross = markets.marginTable.equity(dave);
  // Dave has 325 of 650 left, and alice 975.
  moveTo(markets, 653_250, makers);
  const row = btc.state.positions.find(dave);
  assert.equal(isolatedEquity(btc.state, row), 325e6);
  const events = moveTo(markets, 620_000, makers);
  assert.deepEqual(
    of(events, PositionTransferred).map(({ counterpartyId, quanta }) => [counterpartyId, quanta]),
    [[dave, 64_350e6]],
  );
  // The step gives him 3325, of which alice could pay 975.
  assert.equal(markets.marginTable.equity(dave), cross + 325e6 + 975e6);
  assert.deepEqual(of(events, DeficitCovered), []);
  assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT), 0);
  markets.audit();
});

/** Alice's isolated order for BTC rests. A cross position in ETH has lost the margin that it reserved. */
function spentElsewhere() {
  const markets = new Markets();
  const [btc, eth] = markets.symbols;
  const alice = markets.open(2950);
  const makers: [number, number] = [markets.open(1_000_000), markets.open(1_000_000)];
  markets.price(btc, BTC_TICKS);
  markets.price(eth, 320_000);
  markets.run(btc, { ...blank(SetMarginMode), accountId: alice, marginMode: ISOLATED } as Message);
  markets.run(eth, { ...blank(SetLeverage), accountId: alice, leverage: 50 } as Message);
  markets.order(eth, makers[0], SELL, 320_000, 3000);
  markets.order(eth, alice, BUY, 320_000, 3000); // 96,000 USDC
  markets.order(btc, alice, BUY, BTC_TICKS, 100);
  markets.order(eth, makers[0], SELL, 314_000, 1);
  markets.order(eth, makers[1], BUY, 314_000, 1);
  markets.price(eth, 314_000); // 1800 lost
  return { markets, btc, alice, maker: makers[1] };
}

test("a fill sets aside no more than the account has beyond the maintenance margin of its cross positions", () => {
  const { markets, btc, alice, maker } = spentElsewhere();
  const free = markets.marginTable.equity(alice) - markets.marginTable.maintenance(alice);
  assert.ok(free > 0 && free < 650e6 && markets.marginTable.available(alice) < 0);
  markets.order(btc, maker, SELL, BTC_TICKS, 100);
  const { positions } = btc.state;
  const row = positions.find(alice);
  assert.equal(markets.size(btc, alice), 100);
  assert.equal(isolatedEquity(btc.state, row), free - 1_300_000); // but for the maker's fee
  assert.equal(markets.marginTable.equity(alice), markets.marginTable.maintenance(alice));
  markets.audit();
});

test("a maker far from the mark sets aside at most what its cross positions leave, and is cancelled if it needs more", () => {
  const { markets, btc, alice, maker } = spentElsewhere();
  markets.price(btc, 570_000); // the order would lose 800
  const equity = markets.marginTable.equity(alice);
  assert.ok(equity > 900e6 && equity - markets.marginTable.maintenance(alice) < 800e6);
  const events = markets.order(btc, maker, SELL, BTC_TICKS, 100);
  assert.deepEqual(
    of(events, OrderClosed).map(({ accountId, reason }) => [accountId, reason]),
    [[alice, REASON_INSUFFICIENT_MARGIN]],
  );
  assert.equal(markets.size(btc, alice), 0);
  markets.audit();
});
