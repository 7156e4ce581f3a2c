import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import { SETTINGS } from "../../../src/config/settings.ts";
import { BYTES_PER_OPEN_ORDER } from "../../../src/config.ts";
import {
  BUY,
  BY_MARK,
  CLOSE_POSITION,
  FOK,
  IOC,
  ISOLATED,
  LEDGER,
  LIMIT,
  ORDER_STATUSES,
  REASONS,
  REDUCE_ONLY,
  SELL,
  STOP_MARKET,
} from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import { maxOrdersPerAccount } from "../../../src/core/commands/attached-orders.ts";
import { MAX_TRIGGER_ORDERS } from "../../../src/core/commands/conditional-placement.ts";
import {
  CancelAll,
  ClosePosition,
  Deposit,
  OpenSession,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
} from "../../../src/core/protocol/commands.ts";
import { ConditionalOrderPlaced, OrderReduced, Traded } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, type SessionView } from "../../../src/core/protocol/replies.ts";
import { maxMessageBytes } from "../../../src/wire/codec.ts";
import { Exchange, LEDGER_SETTINGS, MAX_ACCOUNTS, make, type Said } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

/** More resting orders than one transaction may trade with. */
const MAKERS = 12_000;
const DEEP = instrument({ ...PLAIN, maxQuantity: "100000", maxOpenOrders: MAKERS }, {});

function openMarket(maxAccounts = MAX_ACCOUNTS) {
  const exchange = new Exchange([DEEP], LEDGER_SETTINGS, maxAccounts);
  const open = (name: string): number => {
    const session = make(OpenSession, { address: name, tokenHash: name, expiresAt: 2 ** 50 });
    const { accountId } = exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 1e8 * QUANTA_PER_USDC }));
    return accountId;
  };
  exchange.do(DEEP.id, make(SetIndexPrice, { indexTicks: 10 }));
  const place = (accountId: number, order: Order) =>
    exchange.do(DEEP.id, make(PlaceOrder, { accountId, orderType: LIMIT, priceTicks: 10, ...order }));
  return { exchange, open, place };
}

type Order = Partial<Omit<MessageOf<typeof PlaceOrder>, "type">>;

/** The size of a transaction's record in the log, in bytes. */
const bytesOf = ({ events, replies }: Said): number =>
  [...events, ...replies].reduce((sum, message) => sum + maxMessageBytes(message), 0);

/** The largest record: half of the smallest ring. */
const MAX_RECORD_BYTES = (SETTINGS.properties.ringBytes as unknown as { minimum: number }).minimum / 2;

function outcome(said: Said) {
  const view = said.replies.find((reply) => reply.type === OrderView.code) as MessageOf<typeof OrderView>;
  return {
    status: ORDER_STATUSES[view.status],
    reason: REASONS[view.reason],
    trades: said.events.filter((event) => event.type === Traded.code).length,
    filledLots: view.filledLots,
  };
}

test("an order that meets thousands of others ends when its transaction is full, and the book stays consistent", () => {
  const { exchange, open, place } = openMarket();
  const [maker, taker] = [open("maker"), open("taker")];
  for (let i = 0; i < MAKERS; i++) place(maker, { side: SELL, quantityLots: 1 });

  // A fill-or-kill order fills nothing.
  const fok = place(taker, { side: BUY, quantityLots: MAKERS, timeInForce: FOK });
  assert.deepEqual(outcome(fok), { status: "EXPIRED", reason: "FOK_UNFILLABLE", trades: 0, filledLots: 0 });
  const small = place(taker, { side: BUY, quantityLots: 2000, timeInForce: FOK });
  assert.deepEqual(outcome(small), { status: "FILLED", reason: null, trades: 2000, filledLots: 2000 });

  const swept = place(taker, { side: BUY, quantityLots: 8000 });
  const { status, reason, trades, filledLots } = outcome(swept);
  assert.deepEqual([status, reason, filledLots], ["EXPIRED", "IOC_REMAINDER", trades]);
  assert.ok(trades >= 2000 && trades < 8000, `${trades} trades`);
  assert.ok(bytesOf(swept) < MAX_RECORD_BYTES, `${bytesOf(swept)} bytes`);
  // The next order goes on with the rest.
  assert.equal(
    outcome(place(taker, { side: BUY, quantityLots: 8000 - trades, timeInForce: IOC })).filledLots > 0,
    true,
  );
  assert.deepEqual(exchange.audit(DEEP.id).faults, []);
});

test("fill-or-kill counts the thousands of untriggered orders that end with the makers' positions", () => {
  const { exchange, open, place } = openMarket(512);
  const taker = open("taker");
  const makers = Array.from({ length: 220 }, (_, i) => open(`maker ${i}`));
  place(taker, { side: SELL, quantityLots: makers.length });
  const stop = { side: SELL, orderType: STOP_MARKET, timeInForce: IOC, flags: REDUCE_ONLY | CLOSE_POSITION };
  for (const accountId of makers) {
    place(accountId, { side: BUY, quantityLots: 1 });
    for (let i = 0; i < MAX_TRIGGER_ORDERS; i++)
      exchange.do(DEEP.id, make(PlaceTrigger, { accountId, ...stop, triggerTicks: 5 }));
    place(accountId, { side: SELL, quantityLots: 1 });
  }
  const all = place(taker, { side: BUY, quantityLots: makers.length, timeInForce: FOK });
  assert.deepEqual(outcome(all), { status: "EXPIRED", reason: "FOK_UNFILLABLE", trades: 0, filledLots: 0 });
  const some = place(taker, { side: BUY, quantityLots: 150, timeInForce: FOK });
  assert.deepEqual(outcome(some), { status: "FILLED", reason: null, trades: 150, filledLots: 150 });
  // Orders of one account end once, however many of its makers are met.
  for (const accountId of makers) exchange.do(DEEP.id, make(CancelAll, { accountId, side: -1 }));
  const [accountId] = makers;
  place(accountId, { side: BUY, quantityLots: 300 });
  place(taker, { side: SELL, quantityLots: 300 });
  for (let i = 0; i < MAX_TRIGGER_ORDERS; i++)
    exchange.do(DEEP.id, make(PlaceTrigger, { accountId, ...stop, triggerTicks: 5 }));
  for (let i = 0; i < 250; i++) place(accountId, { side: SELL, quantityLots: 1 });
  const own = place(taker, { side: BUY, quantityLots: 250, timeInForce: FOK });
  assert.deepEqual(outcome(own), { status: "FILLED", reason: null, trades: 250, filledLots: 250 });
});

test("an order that meets thousands of iceberg slices ends when its transaction is full, also with self-trade prevention", () => {
  const { exchange, open } = openMarket();
  const [maker, taker] = [open("maker"), open("taker")];
  const place = (accountId: number, order: Order, displayLots = 0) => {
    const all = { accountId, orderType: LIMIT, priceTicks: 10, ...order };
    return exchange.do(
      DEEP.id,
      displayLots === 0 ? make(PlaceOrder, all) : make(PlaceExtended, { ...all, displayLots }),
    );
  };
  for (let i = 0; i < 120; i++) place(maker, { side: SELL, quantityLots: 100 }, 1);
  // An own order out of reach: the preview now looks at single orders.
  place(taker, { side: SELL, quantityLots: 1, priceTicks: 11 });
  const buy = { side: BUY, priceTicks: 10 };
  const fok = place(taker, { ...buy, quantityLots: 6000, timeInForce: FOK });
  assert.deepEqual(outcome(fok), { status: "EXPIRED", reason: "FOK_UNFILLABLE", trades: 0, filledLots: 0 });
  const small = place(taker, { ...buy, quantityLots: 2000, timeInForce: FOK });
  assert.deepEqual(outcome(small), { status: "FILLED", reason: null, trades: 2000, filledLots: 2000 });

  const swept = place(taker, { ...buy, quantityLots: 10_500 });
  const { status, reason, trades, filledLots } = outcome(swept);
  assert.deepEqual([status, reason, filledLots], ["EXPIRED", "IOC_REMAINDER", trades]);
  assert.ok(trades >= 4000 && trades < 6000, `${trades} trades`);
  assert.ok(bytesOf(swept) < MAX_RECORD_BYTES, `${bytesOf(swept)} bytes`);
  assert.deepEqual(exchange.audit(DEEP.id).faults, []);
});

test("fill-or-kill counts slices of icebergs, not only orders", () => {
  const { exchange, open } = openMarket();
  const [maker, taker] = [open("maker"), open("taker")];
  const rest = { accountId: maker, side: SELL, orderType: LIMIT, priceTicks: 10 };
  // One iceberg has the whole quantity, but the small orders come before its second slice.
  exchange.do(DEEP.id, make(PlaceExtended, { ...rest, quantityLots: 20_000, displayLots: 10_000 }));
  for (let i = 0; i < 6000; i++) exchange.do(DEEP.id, make(PlaceOrder, { ...rest, quantityLots: 1 }));
  const fok = { accountId: taker, side: BUY, orderType: LIMIT, priceTicks: 10, timeInForce: FOK };
  const tooMany = exchange.do(DEEP.id, make(PlaceOrder, { ...fok, quantityLots: 16_500 }));
  assert.deepEqual(outcome(tooMany), { status: "EXPIRED", reason: "FOK_UNFILLABLE", trades: 0, filledLots: 0 });
  const few = exchange.do(DEEP.id, make(PlaceOrder, { ...fok, quantityLots: 13_000 }));
  assert.deepEqual(outcome(few), { status: "FILLED", reason: null, trades: 3001, filledLots: 13_000 });
});

test("a transaction that attaches thousands of take-profits and stops fits into a record", () => {
  const { exchange, open } = openMarket();
  const [maker, taker] = [open("maker"), open("taker")];
  const leg = { triggerBy: BY_MARK, priceTicks: 0 };
  const legs = { takeProfit: { ...leg, triggerTicks: 15 }, stopLoss: { ...leg, triggerTicks: 5 } };
  const entry = { accountId: maker, side: BUY, orderType: LIMIT, priceTicks: 10, quantityLots: 1, legs };
  for (let i = 0; i < 5000; i++) exchange.do(DEEP.id, make(PlaceExtended, entry));
  const sale = { accountId: taker, side: SELL, orderType: LIMIT, priceTicks: 10, quantityLots: 5000 };
  const said = exchange.do(DEEP.id, make(PlaceOrder, sale));
  const waiting = said.events.filter(({ type }) => type === ConditionalOrderPlaced.code).length;
  assert.ok(waiting > 0 && waiting === 2 * outcome(said).trades, `${waiting} wait`);
  assert.ok(bytesOf(said) < MAX_RECORD_BYTES, `${bytesOf(said)} bytes`);
  assert.deepEqual(exchange.audit(DEEP.id).faults, []);
});

test("closing a position into thousands of orders takes a few transactions", () => {
  const { exchange, open, place } = openMarket();
  const [maker, taker] = [open("maker"), open("taker")];
  place(maker, { side: SELL, quantityLots: 9000 });
  place(taker, { side: BUY, quantityLots: 9000 });
  for (let i = 0; i < 9000; i++) place(maker, { side: BUY, quantityLots: 1 });
  const first = outcome(exchange.do(DEEP.id, make(ClosePosition, { accountId: taker })));
  assert.equal(first.status, "EXPIRED");
  const second = outcome(exchange.do(DEEP.id, make(ClosePosition, { accountId: taker })));
  assert.equal(first.filledLots + second.filledLots, 9000);
  assert.deepEqual(exchange.audit(DEEP.id).faults, []);
});

test("fill-or-kill counts the reduce-only orders that a maker's fill reduces", () => {
  const { exchange, open, place } = openMarket();
  const [house, taker] = [open("house"), open("taker")];
  // Each maker has a long position of one lot, and a thousand reduce-only orders on it.
  for (let i = 0; i < 30; i++) {
    const maker = open(`maker ${i}`);
    place(house, { side: SELL, quantityLots: 1 });
    place(maker, { side: BUY, quantityLots: 1 });
    place(maker, { side: SELL, quantityLots: 1, flags: REDUCE_ONLY });
    for (let k = 0; k < 1000; k++) place(maker, { side: SELL, quantityLots: 1, priceTicks: 11, flags: REDUCE_ONLY });
  }
  const fok = outcome(place(taker, { side: BUY, quantityLots: 30, timeInForce: FOK }));
  assert.deepEqual([fok.reason, fok.trades], ["FOK_UNFILLABLE", 0]);
  const few = outcome(place(taker, { side: BUY, quantityLots: 5, timeInForce: FOK }));
  assert.deepEqual([few.status, few.trades], ["FILLED", 5]);
  const said = place(taker, { side: BUY, quantityLots: 25, timeInForce: IOC });
  const { reason, trades } = outcome(said);
  assert.ok(reason === "IOC_REMAINDER" && trades > 5 && trades < 25, `${trades} trades, ${reason}`);
  assert.ok(bytesOf(said) < MAX_RECORD_BYTES, `${bytesOf(said)} bytes`);
  assert.deepEqual(exchange.audit(DEEP.id).faults, []);
});

test("fill-or-kill counts the margin that each fill moves, and the funding that each maker pays", () => {
  const { exchange, open, place } = openMarket(8192);
  const taker = open("taker");
  const unfillable = { status: "EXPIRED", reason: "FOK_UNFILLABLE", trades: 0, filledLots: 0 };
  const fok = (quantityLots: number) =>
    outcome(place(taker, { side: BUY, quantityLots, priceTicks: 10, timeInForce: FOK }));

  // Each fill is a trade, a closed order and a change of isolated margin.
  const isolated = open("isolated");
  exchange.do(DEEP.id, make(SetMarginMode, { accountId: isolated, marginMode: ISOLATED }));
  for (let i = 0; i < 4000; i++) place(isolated, { side: SELL, quantityLots: 1 });
  assert.deepEqual(fok(4000), unfillable);
  assert.deepEqual(fok(3000), { status: "FILLED", reason: null, trades: 3000, filledLots: 3000 });
  exchange.do(DEEP.id, make(CancelAll, { accountId: isolated, side: -1 }));

  // Makers are long one lot, which they sell after a funding interval has ended.
  const house = open("house");
  const makers = Array.from({ length: 3800 }, (_, i) => open(`maker ${i}`));
  place(house, { side: SELL, quantityLots: makers.length });
  for (const accountId of makers) place(accountId, { side: BUY, quantityLots: 1 });
  for (const accountId of makers) place(accountId, { side: SELL, quantityLots: 1 });
  exchange.do(DEEP.id, make(SetIndexPrice, { indexTicks: 10 }));
  exchange.time += DEEP.fundingIntervalMs;
  assert.deepEqual(fok(makers.length), unfillable);
  assert.equal(fok(2000).trades, 2000);
  assert.deepEqual(exchange.audit(DEEP.id).faults, []);
});

test("canceling the most orders that an account may have fits into one record", () => {
  const { exchange, open } = openMarket();
  const [maker, taker] = [open("maker"), open("taker")];
  exchange.do(DEEP.id, make(SetLeverage, { accountId: maker, leverage: 20 }));
  const { maxOpenOrders } = DEFAULT_INSTRUMENTS[0] ?? { maxOpenOrders: 0 };
  const waiting = { accountId: maker, side: BUY, orderType: STOP_MARKET, timeInForce: IOC, quantityLots: 1 };
  for (let i = 2; i < MAX_TRIGGER_ORDERS; i++)
    exchange.do(DEEP.id, make(PlaceTrigger, { ...waiting, triggerTicks: 90 }));
  const leg = (triggerTicks: number) => ({ triggerTicks, triggerBy: BY_MARK, priceTicks: 0 });
  const entry = { accountId: maker, side: BUY, orderType: LIMIT, priceTicks: 10, quantityLots: 1 };
  const legs = { takeProfit: leg(90), stopLoss: leg(1) };
  for (let i = 0; i < maxOpenOrders; i++) exchange.do(DEEP.id, make(PlaceExtended, { ...entry, legs }));
  exchange.do(DEEP.id, make(PlaceOrder, { accountId: taker, side: SELL, priceTicks: 10, quantityLots: maxOpenOrders }));
  for (let i = 0; i < 2; i++) exchange.do(DEEP.id, make(PlaceTrigger, { ...waiting, triggerTicks: 90 }));
  const clientOrderId = (i: number) => `${i}`.padStart(36, "x");
  for (let i = 0; i < maxOpenOrders; i++)
    exchange.do(
      DEEP.id,
      make(PlaceOrder, {
        accountId: maker,
        orderType: LIMIT,
        side: BUY,
        priceTicks: 9,
        quantityLots: 1,
        clientOrderId: clientOrderId(i),
      }),
    );
  const said = exchange.do(DEEP.id, make(CancelAll, { accountId: maker, side: -1 }));
  const orders = said.replies.length - 1;
  // With so many orders the account may place no more conditional ones.
  assert.equal(orders, maxOrdersPerAccount(maxOpenOrders) - 2);
  assert.ok(bytesOf(said) < MAX_RECORD_BYTES, `${bytesOf(said)} bytes`);
  assert.ok(bytesOf(said) / orders < BYTES_PER_OPEN_ORDER, "config.ts reckons with more");
});

test("a fill reads only the maker's reduce-only orders and one order that ends with the position", () => {
  const { exchange, open, place } = openMarket();
  const [maker, taker] = [open("maker"), open("taker")];
  place(maker, { side: SELL, quantityLots: 1000 });
  place(taker, { side: BUY, quantityLots: 1000 });
  const stop = { side: BUY, orderType: STOP_MARKET, timeInForce: IOC, flags: REDUCE_ONLY | CLOSE_POSITION };
  for (let i = 0; i < MAX_TRIGGER_ORDERS; i++)
    exchange.do(DEEP.id, make(PlaceTrigger, { accountId: maker, ...stop, triggerTicks: 20 }));
  place(maker, { side: BUY, quantityLots: 700, priceTicks: 9, flags: REDUCE_ONLY });
  for (let i = 0; i < 900; i++) place(maker, { side: BUY, quantityLots: 1, priceTicks: 9 });
  for (let i = 0; i < 400; i++) place(maker, { side: BUY, quantityLots: 1 });

  const { orders } = exchange.symbol(DEEP.id).state;
  let looks = 0;
  const { side } = orders;
  orders.side = (slot) => {
    looks++;
    return side.call(orders, slot);
  };
  const sold = place(taker, { side: SELL, quantityLots: 400 });
  assert.equal(outcome(sold).trades, 400);
  const clips = sold.events.filter((event) => event.type === OrderReduced.code) as MessageOf<typeof OrderReduced>[];
  assert.deepEqual([clips.length, clips.reduce((lots, { byLots }) => lots + byLots, 0)], [100, 100]);
  assert.ok(looks < 15 * 400, `${looks} looks`);
  assert.deepEqual(exchange.audit(DEEP.id).faults, []);
});
