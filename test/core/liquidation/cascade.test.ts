import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, EXEC_ADL, EXEC_LIQUIDATION, INSURANCE_ACCOUNT, LEDGER, SELL } from "../../../src/core/base/enums.ts";
import { Deposit, Tick } from "../../../src/core/protocol/commands.ts";
import { PositionTransferred, Traded } from "../../../src/core/protocol/events.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import { OrderView } from "../../../src/core/protocol/replies.ts";
import { Crowd } from "../support/crowd.ts";
import { make, type Said } from "../support/exchange.ts";
import { PLAIN } from "../support/instruments.ts";

const ACCOUNTS = 4000;
/** The most events of one transaction: ten accounts, each with an order, trades and transfers; or a part of the fund's position. */
const MOST_EVENTS = 1000;
/** A settlement begins nothing more in a transaction after 5000 events, and what it has begun is no longer than another 1000. */
const MOST_SETTLED = 6000;

test("prices fall by 30 % under thousands of leveraged longs: others keep trading, and every quantum is covered", () => {
  // Each has 10 @ 100 with 100 to 350 USDC: a leverage of ten to three. A step of the price takes 10. Some longs are below
  // their margin before they are bankrupt, others not.
  const crowd = Crowd.of(ACCOUNTS, 10, 110);
  for (let i = 1; i < ACCOUNTS; i += 2)
    crowd.do(LEDGER, make(Deposit, { accountId: crowd.account(i), amountQuanta: (i % 24) * 10e6 + (i % 7) * 1e6 + 1 }));
  for (let i = 0; i < ACCOUNTS; i += 2)
    crowd.do(LEDGER, make(Deposit, { accountId: crowd.account(i), amountQuanta: 1000e6 }));
  crowd.do(LEDGER, make(Deposit, { accountId: INSURANCE_ACCOUNT, amountQuanta: 20_000e6 }));
  crowd.open(1_000_000);
  crowd.open(1_000_000);
  const bystander = crowd.account(ACCOUNTS);
  const buyer = crowd.account(ACCOUNTS + 1);
  const seen = { trades: 0, takeovers: 0, deleveraged: 0, settled: 0, transactions: 0, mostEvents: 0, mostSettled: 0 };

  const note = (events: Message[]): void => {
    for (const event of events as (Message & { execType?: number })[]) {
      if (event.type === Traded.code && event.execType === EXEC_LIQUIDATION) seen.trades++;
      if (event.type === PositionTransferred.code && event.execType === EXEC_LIQUIDATION) seen.takeovers++;
      if (event.type === PositionTransferred.code && event.execType === EXEC_ADL) seen.deleveraged++;
    }
  };
  const noteLiquidation = ({ events }: Said): void => {
    seen.mostEvents = Math.max(seen.mostEvents, events.length);
    note(events);
  };
  /** The next command waits for the end of the settlement, so its transactions may be longer. */
  const settle = (): void => {
    while (crowd.plain.isSettlingMark) {
      const { events } = crowd.settlePart(PLAIN.id);
      seen.mostSettled = Math.max(seen.mostSettled, events.length);
      seen.settled += events.filter(({ type }) => type === PositionTransferred.code).length;
      note(events);
    }
  };
  /** A moment passes. Between any two parts of the work, an order of an uninvolved account is answered. */
  const pass = (): void => {
    crowd.time += 250;
    settle();
    noteLiquidation(crowd.do(PLAIN.id, make(Tick)));
    for (let more = true; more; seen.transactions++) {
      settle();
      const said = crowd.proceed(PLAIN.id);
      noteLiquidation(said);
      more = said.more;
      const mark = crowd.plain.state.markTicks;
      if (seen.transactions % 20 === 0) assert.equal(crowd.order(bystander, SELL, mark + 3, 1).type, OrderView.code);
    }
  };

  for (let price = 99; price >= 70; price--) {
    // A bid that buys some of what is sold, and a last price that follows the index.
    crowd.order(buyer, BUY, price, 100);
    crowd.order(bystander, SELL, price, 1);
    settle();
    crowd.price(price);
    for (let i = 0; i < 3; i++) pass();
  }
  for (let i = 0; i < 10; i++) pass();

  assert.ok(seen.trades > 0 && seen.takeovers > 0 && seen.deleveraged > 0 && seen.settled > 0, JSON.stringify(seen));
  assert.ok(seen.mostEvents <= MOST_EVENTS && seen.mostSettled <= MOST_SETTLED, JSON.stringify(seen));
  for (const { equity, maintenance } of crowd.allMarginTables())
    assert.ok(equity >= maintenance, `${equity} < ${maintenance}`);
  assert.deepEqual(crowd.audit(PLAIN.id).faults, []);
  const ledger = crowd.audit(LEDGER);
  assert.deepEqual(ledger.faults, []);
  const money = crowd.allMarginTables().reduce((sum, { equity }) => sum + BigInt(equity), 0n);
  assert.equal(String(money), ledger.depositsMinusWithdrawalsQuanta, "all equity together is all that was paid in");
});
