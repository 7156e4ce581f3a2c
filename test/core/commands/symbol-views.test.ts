import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, GTC, LIMIT, SELL, STATUS_NEW, STATUS_PARTIALLY_FILLED } from "../../../src/core/base/enums.ts";
import { ReadOrder, ReadPosition, SetIndexPrice, Tick } from "../../../src/core/protocol/commands.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, type PositionView } from "../../../src/core/protocol/replies.ts";
import { make, START } from "../support/exchange.ts";
import { TwoAccounts } from "../support/two-accounts.ts";

test("orders and positions show the time and sequence of the transaction that changed them last", () => {
  const market = new TwoAccounts();
  const first = market.place(10, market.alice, BUY, 10, 99);
  const second = market.place(20, market.alice, BUY, 5, 98);
  assert.equal(second.sequence, first.sequence + 1);
  const answers = [first, second].map(({ replies }) => replies[0] as MessageOf<typeof OrderView>);
  assert.deepEqual(
    answers.map(({ updatedAt }) => updatedAt),
    [START + 10, START + 20],
  );
  const [{ orderId }] = answers;
  const read = (): MessageOf<typeof OrderView> => {
    const question = make(ReadOrder, { accountId: market.alice, orderId });
    return market.read(question)[0] as MessageOf<typeof OrderView>;
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
  const trade = market.place(30, market.bob, SELL, 4, 99);
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
  const [position] = market.read(make(ReadPosition, { accountId: market.bob })) as MessageOf<typeof PositionView>[];
  assert.deepEqual(
    [position.sizeLots, position.openedAt, position.updatedAt, position.sequence],
    [-4, START + 30, START + 30, trade.sequence],
  );
  const resting = market.place(40, market.bob, SELL, 1, 120);
  market.at(50, make(SetIndexPrice, { indexTicks: 101 }));
  const [later] = market.read(make(ReadPosition, { accountId: market.bob })) as MessageOf<typeof PositionView>[];
  assert.deepEqual(
    [later.openedAt, later.updatedAt, later.sequence, later.markTicks !== position.markTicks],
    [START + 30, START + 40, resting.sequence, true],
    "also by an order, and not by a price",
  );
  // A reply of the changing transaction has sequence 0, which stands for that of the transaction.
  assert.equal((trade.replies[0] as MessageOf<typeof OrderView>).sequence, 0);
});

test("a closed position shows no funding and no opening, be it a long or a short", () => {
  const market = new TwoAccounts();
  market.place(10, market.alice, BUY, 10, 100);
  market.place(20, market.bob, SELL, 10, 100);
  const hours = 3_600_000;
  for (const afterMs of [4 * hours, 8 * hours, 16 * hours])
    market.at(afterMs, make(SetIndexPrice, { indexTicks: 100 }));
  market.at(16 * hours, make(Tick));
  const shown = () =>
    [market.alice, market.bob].map((accountId) => {
      const { replies } = market.at(17 * hours, make(ReadPosition, { accountId }));
      const { sizeLots, fundingQuanta, openedAt } = replies[0] as MessageOf<typeof PositionView>;
      return [Math.abs(sizeLots), fundingQuanta !== 0, openedAt];
    });
  assert.deepEqual(shown(), [
    [10, true, START + 20],
    [10, true, START + 20],
  ]);
  market.place(17 * hours, market.bob, BUY, 10, 100);
  market.place(17 * hours, market.alice, SELL, 10, 100);
  assert.deepEqual(shown(), [
    [0, false, 0],
    [0, false, 0],
  ]);
});
