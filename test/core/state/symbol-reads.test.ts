import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUY,
  CROSS,
  FEE_ACCOUNT,
  GTC,
  LEDGER,
  LIMIT,
  SELL,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
} from "../../../src/core/base/enums.ts";
import {
  CancelOrder,
  Deposit,
  Describe,
  MoveMargin,
  OpenSession,
  PlaceOrder,
  ReadOrder,
  ReadOrders,
  ReadPosition,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
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
import { Exchange, make, type Said, START } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

class Floor extends Exchange {
  readonly alice = this.open("alice");
  readonly bob = this.open("bob");

  constructor() {
    super([instrument(PLAIN)]);
    this.at(0, make(SetIndexPrice, { indexTicks: 100 }));
  }

  private open(address: string): number {
    const session = make(OpenSession, { address, tokenHash: address, expiresAt: 2 ** 50 });
    const { accountId } = this.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    this.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 1e12 }));
    return accountId;
  }

  at(afterMs: number, command: { type: number }): Said {
    this.time = START + afterMs;
    return this.do(PLAIN.id, command);
  }

  place(afterMs: number, accountId: number, side: number, quantityLots: number, priceTicks: number): Said {
    return this.at(afterMs, make(PlaceOrder, { accountId, side, orderType: LIMIT, priceTicks, quantityLots }));
  }

  read(command: { type: number }): { type: number }[] {
    return this.at(1_000_000, command).replies;
  }
}

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

test("orders and positions bear the time and the sequence of the turn that touched them last", () => {
  const floor = new Floor();
  const first = floor.place(10, floor.alice, BUY, 10, 99);
  const second = floor.place(20, floor.alice, BUY, 5, 98);
  assert.equal(second.sequence, first.sequence + 1);
  const answers = [first, second].map(({ replies }) => replies[0] as MessageOf<typeof OrderView>);
  assert.deepEqual(
    answers.map(({ updatedAt }) => updatedAt),
    [START + 10, START + 20],
  );
  const [{ orderId }] = answers;
  const read = (): MessageOf<typeof OrderView> => {
    const question = make(ReadOrder, { accountId: floor.alice, orderId });
    return floor.read(question)[0] as MessageOf<typeof OrderView>;
  };
  const placed = read();
  assert.deepEqual(
    { ...placed },
    {
      ...make(OrderView),
      orderId,
      side: BUY,
      orderType: LIMIT,
      timeInForce: GTC,
      priceTicks: 99,
      quantityLots: 10,
      remainingLots: 10,
      status: STATUS_NEW,
      createdAt: START + 10,
      updatedAt: START + 10,
      sequence: first.sequence,
    },
  );
  const trade = floor.place(30, floor.bob, SELL, 4, 99);
  // 396 USDC at 0.02 %
  assert.deepEqual(
    { ...read() },
    {
      ...placed,
      remainingLots: 6,
      filledLots: 4,
      filledQuanta: 396e6,
      feeQuanta: 79_200,
      status: STATUS_PARTIALLY_FILLED,
      updatedAt: START + 30,
      sequence: trade.sequence,
    },
  );
  const [position] = floor.read(make(ReadPosition, { accountId: floor.bob })) as MessageOf<typeof PositionView>[];
  assert.deepEqual(
    [position.sizeLots, position.openedAt, position.updatedAt, position.sequence],
    [-4, START + 30, START + 30, trade.sequence],
  );
  const resting = floor.place(40, floor.bob, SELL, 1, 120);
  floor.at(50, make(SetIndexPrice, { indexTicks: 101 }));
  const [later] = floor.read(make(ReadPosition, { accountId: floor.bob })) as MessageOf<typeof PositionView>[];
  assert.deepEqual(
    [later.openedAt, later.updatedAt, later.sequence, later.markTicks !== position.markTicks],
    [START + 30, START + 40, resting.sequence, true],
    "also by an order, and not by a price",
  );
  // A reply to what changes says 0: its own turn's sequence stands with the turn.
  assert.equal((trade.replies[0] as MessageOf<typeof OrderView>).sequence, 0);
});

test("a closed position shows no funding and no opening, be it a long or a short", () => {
  const floor = new Floor();
  floor.place(10, floor.alice, BUY, 10, 100);
  floor.place(20, floor.bob, SELL, 10, 100);
  const hours = 3_600_000;
  for (const afterMs of [4 * hours, 8 * hours, 16 * hours]) floor.at(afterMs, make(SetIndexPrice, { indexTicks: 100 }));
  floor.at(16 * hours, make(Tick));
  const shown = () =>
    [floor.alice, floor.bob].map((accountId) => {
      const { replies } = floor.at(17 * hours, make(ReadPosition, { accountId }));
      const { sizeLots, fundingQuanta, openedAt } = replies[0] as MessageOf<typeof PositionView>;
      return [Math.abs(sizeLots), fundingQuanta !== 0, openedAt];
    });
  assert.deepEqual(shown(), [
    [10, true, START + 20],
    [10, true, START + 20],
  ]);
  floor.place(17 * hours, floor.bob, BUY, 10, 100);
  floor.place(17 * hours, floor.alice, SELL, 10, 100);
  assert.deepEqual(shown(), [
    [0, false, 0],
    [0, false, 0],
  ]);
});

test("what only asks, or is refused, has no place in the log", () => {
  const floor = new Floor();
  const { sequence } = floor;
  for (const command of [
    make(ReadOrders, { accountId: floor.alice }),
    make(ReadOrder, { accountId: floor.alice, orderId: 257 }),
    make(ReadPosition, { accountId: floor.alice }),
    make(Describe),
    make(CancelOrder, { accountId: floor.alice, orderId: 257 }),
    make(PlaceOrder, { accountId: floor.alice, orderType: LIMIT, priceTicks: 200, quantityLots: 1 }),
    make(SetLeverage, { accountId: floor.alice, leverage: 10 }), // as it is
  ]) {
    const said = floor.at(50, command);
    assert.deepEqual(said.events, [], JSON.stringify(command));
    assert.ok(said.replies.length > 0);
  }
  assert.equal(floor.sequence, sequence);
});

test("what is refused leaves no position behind, and what is accepted next begins as if it had never been", () => {
  const floor = new Floor();
  const { positions } = floor.symbol(PLAIN.id).state;
  const session = make(OpenSession, { address: "carol", tokenHash: "carol", expiresAt: 2 ** 50 });
  const { accountId } = floor.ask(LEDGER, session) as MessageOf<typeof SessionView>;
  for (const command of [
    make(PlaceOrder, { accountId, orderType: LIMIT, priceTicks: 200, quantityLots: 1 }),
    make(PlaceOrder, { accountId, orderType: LIMIT, priceTicks: 100, quantityLots: 1 }), // nothing to pay with
    make(PlaceOrder, { accountId, orderType: LIMIT, priceTicks: 100, quantityLots: 10_001 }),
    make(SetLeverage, { accountId, leverage: 51 }),
    make(SetMarginMode, { accountId, marginMode: CROSS }),
    make(MoveMargin, { accountId, amountQuanta: 1 }),
  ]) {
    floor.at(1, command);
    assert.deepEqual(floor.read(make(ReadPosition, { accountId })), [{ type: Done.code }], JSON.stringify(command));
  }
  assert.equal(positions.count, 0);
  floor.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 1e9 }));
  floor.place(2, accountId, BUY, 1, 100);
  assert.equal(positions.count, 1);
  assert.deepEqual(floor.audit(PLAIN.id).faults, []);
  assert.equal(floor.marginTableOf(accountId).initial, 10_050_000);
});

test("an order is found by its id or its client's, by its own account only", () => {
  const floor = new Floor();
  const order = { accountId: floor.alice, orderType: LIMIT, priceTicks: 99, quantityLots: 5 };
  floor.at(1, make(PlaceOrder, { ...order, clientOrderId: "mine" }));
  const answer = (fields: { accountId: number; orderId?: number; clientOrderId?: string }): number =>
    floor.read(make(ReadOrder, fields))[0].type;
  assert.equal(answer({ accountId: floor.alice, orderId: 257 }), OrderView.code);
  assert.equal(answer({ accountId: floor.alice, clientOrderId: "mine" }), OrderView.code);
  assert.equal(answer({ accountId: floor.bob, orderId: 257 }), Refused.code);
  assert.equal(answer({ accountId: floor.bob, clientOrderId: "mine" }), Refused.code);
  // Ids that never were, or are of another symbol, or of nothing at all.
  for (const orderId of [0, 1, 258, 513, 256, -257, 257.5, 2 ** 53, Number.NaN])
    assert.equal(answer({ accountId: floor.alice, orderId }), Refused.code, String(orderId));
});

test("a position is read by its account", () => {
  const floor = new Floor();
  const views = (accountId: number): MessageOf<typeof PositionView>[] => {
    const replies = floor.read(make(ReadPosition, { accountId }));
    assert.equal(replies.at(-1)?.type, Done.code);
    return replies.slice(0, -1) as MessageOf<typeof PositionView>[];
  };
  assert.deepEqual(views(floor.alice), [], "nothing is known of it");
  floor.place(1, floor.alice, BUY, 10, 100);
  floor.place(2, floor.bob, SELL, 10, 100);
  const [alice] = views(floor.alice);
  assert.deepEqual([alice.accountId, alice.sizeLots], [floor.alice, 10]);
  assert.deepEqual([alice.cashQuanta, alice.costQuanta, alice.realizedQuanta], [-1000.2e6, 1000e6, -0.2e6]);
  assert.deepEqual([alice.initialQuanta, alice.maintenanceQuanta, alice.leverage], [100e6, 10e6, 10]);
  // The fee account has no position, only its money.
  const [fees] = views(FEE_ACCOUNT);
  assert.deepEqual([fees.sizeLots, fees.cashQuanta], [0, 0.7e6]);
});

test("a description holds what a front thread folds on: prices, levels, open interest", () => {
  const floor = new Floor();
  floor.place(1, floor.alice, BUY, 10, 99);
  floor.place(2, floor.alice, BUY, 5, 99);
  floor.place(3, floor.alice, BUY, 5, 97);
  floor.place(4, floor.alice, SELL, 3, 101);
  floor.place(5, floor.bob, SELL, 4, 99);
  const [reply] = floor.read(make(Describe)) as MessageOf<typeof SymbolDescription>[];
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
