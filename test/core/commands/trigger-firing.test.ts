import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUY,
  BY_INDEX,
  BY_LAST,
  BY_MARK,
  HALT_REASON,
  LEDGER,
  MODE_CANCEL_ONLY,
  MODE_REDUCE_ONLY,
  REDUCE_ONLY,
  SELL,
  STATUS_REJECTED,
  STOP_MARKET,
  TRAILING_STOP_MARKET,
} from "../../../src/core/base/enums.ts";
import type { Actor } from "../../../src/core/protocol/actor.ts";
import {
  CancelOrder,
  HaltSymbol,
  OrderBatch,
  PlaceOrder,
  PlaceTrigger,
  ResumeSymbol,
  SetIndexPrice,
} from "../../../src/core/protocol/commands.ts";
import { type OrderClosed, OrderTriggered, TriggersReached } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { OrderView } from "../../../src/core/protocol/replies.ts";
import { Exchange, type Logged, make, type Said, SnapshotStore } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

const ALICE = 16;
const BOB = 17;
const CAROL = 18;

/** An exchange in which orders fire only when the test calls fire(). */
class Market extends Exchange {
  constructor(isNew = true) {
    super([instrument(PLAIN)]);
    if (!isNew) return;
    for (let i = 0; i < 3; i++) this.openAccount(1e12);
    this.price(100);
    this.trade(100);
  }
  say(command: Message): Said {
    return this.do(PLAIN.id, command);
  }
  price(indexTicks: number): Said {
    return this.say(make(SetIndexPrice, { indexTicks }));
  }
  /** Moves the last price there by a trade. */
  trade(priceTicks: number): void {
    for (const item of trade(priceTicks)) this.say(item);
  }
  stop(triggerTicks: number, triggerBy: number, more: Partial<MessageOf<typeof PlaceTrigger>> = {}): number {
    const order = { accountId: ALICE, side: SELL, orderType: STOP_MARKET, quantityLots: 1, triggerTicks, triggerBy };
    const { replies } = this.say(make(PlaceTrigger, { ...order, ...more }));
    return (replies[0] as MessageOf<typeof OrderView>).orderId;
  }
  get due(): boolean {
    return this.symbol(PLAIN.id).isFiring;
  }
  /** Fires all due orders. Returns their ids, in order. */
  fireAll(): number[] {
    const fired: number[] = [];
    while (this.due) fired.push(...firedIn(this.fire(PLAIN.id)));
    return fired;
  }
}

const trade = (priceTicks: number) => [
  make(PlaceOrder, { accountId: CAROL, side: BUY, priceTicks, quantityLots: 1 }),
  make(PlaceOrder, { accountId: BOB, side: SELL, priceTicks, quantityLots: 1 }),
];

/** Ids of orders that fired, rejected ones included. */
const firedIn = ({ events }: Said): number[] =>
  (events as (MessageOf<typeof OrderTriggered> | MessageOf<typeof OrderClosed>)[])
    .filter((event) => event.type === OrderTriggered.code || event.status === STATUS_REJECTED)
    .map(({ orderId }) => orderId);

for (const [source, triggerBy, move] of [
  ["the mark", BY_MARK, (market: Market, ticks: number) => void market.price(ticks)],
  ["the index", BY_INDEX, (market: Market, ticks: number) => void market.price(ticks)],
  ["the last price", BY_LAST, (market: Market, ticks: number) => market.trade(ticks)],
] as const)
  test(`a stop fires when ${source} has reached it and moved away before the stop could fire`, () => {
    const market = new Market();
    const id = market.stop(97, triggerBy);
    const trailing = market.stop(0, triggerBy, { orderType: TRAILING_STOP_MARKET, callbackPpm: 30_000 });
    assert.ok(!market.due);
    // Each index price moves the mark half of the way.
    for (let i = 0; i < 4; i++) move(market, 95);
    assert.ok(market.due);
    for (let i = 0; i < 4; i++) move(market, 103);
    assert.deepEqual(market.fireAll(), [id, trailing]);
  });

test("a reached price is recorded once, and not at all if no order waits for it", () => {
  const market = new Market();
  market.stop(97, BY_INDEX);
  const notes = ({ events }: Said): Message[] => events.filter(({ type }) => type === TriggersReached.code);
  assert.deepEqual(notes(market.price(98)), []);
  assert.deepEqual(notes(market.price(97)), [make(TriggersReached, { triggerBy: BY_INDEX, rises: 0, priceTicks: 97 })]);
  assert.deepEqual(notes(market.price(96)), []);
});

test("a price that comes and goes within a batch triggers nothing", () => {
  const market = new Market();
  market.stop(97, BY_LAST);
  market.say(make(OrderBatch, { items: [...trade(95), ...trade(100)] }));
  assert.ok(!market.due);
  market.say(make(OrderBatch, { items: [...trade(100), ...trade(95)] }));
  assert.ok(market.due);
});

test("due orders can be canceled; the others fire, over as many transactions as needed", () => {
  const market = new Market();
  market.say(make(PlaceOrder, { accountId: BOB, side: SELL, priceTicks: 100, quantityLots: 60 }));
  market.say(make(PlaceOrder, { accountId: ALICE, side: BUY, priceTicks: 100, quantityLots: 60 }));
  const ids = Array.from({ length: 45 }, () => market.stop(97, BY_INDEX, { flags: REDUCE_ONLY }));
  market.price(97);
  market.price(103);
  market.say(make(CancelOrder, { accountId: ALICE, orderId: ids[1] }));
  const transactions: number[] = [];
  const fired: number[] = [];
  while (market.due) {
    const transaction = firedIn(market.fire(PLAIN.id));
    transactions.push(transaction.length);
    fired.push(...transaction);
  }
  assert.deepEqual(transactions, [20, 20, 4]);
  assert.deepEqual(
    fired,
    ids.filter((id) => id !== ids[1]),
  );
});

test("refused orders share transactions; one that trades is followed only by orders that reduce", () => {
  const market = new Market();
  market.say(make(PlaceOrder, { accountId: BOB, side: BUY, priceTicks: 96, quantityLots: 9 }));
  const poor = { accountId: ALICE + 9, quantityLots: 2 };
  const refused = Array.from({ length: 8 }, () => market.stop(97, BY_INDEX, poor));
  const traded = [market.stop(97, BY_INDEX), market.stop(97, BY_INDEX)];
  const behind = market.stop(97, BY_INDEX, poor);
  market.price(97);
  const transactions: number[][] = [];
  while (market.due) transactions.push(firedIn(market.fire(PLAIN.id)));
  assert.deepEqual(transactions, [refused.slice(0, 5), [...refused.slice(5), traded[0]], [traded[1]], [behind]]);
});

test("while the symbol is halted nothing becomes due; orders that were due before fire when it trades again", () => {
  const market = new Market();
  const early = market.stop(97, BY_INDEX);
  const missed = market.stop(95, BY_INDEX);
  const late = market.stop(93, BY_INDEX);
  market.price(97);
  market.price(100);
  const halt = (mode: number) => market.say(make(HaltSymbol, { mode, reason: HALT_REASON.OPERATOR }));
  halt(MODE_CANCEL_ONLY);
  market.price(95);
  market.price(96);
  assert.ok(!market.due);
  market.say(make(ResumeSymbol));
  assert.deepEqual(market.fireAll(), [early]);
  halt(MODE_REDUCE_ONLY);
  market.price(94);
  assert.deepEqual(market.fireAll(), [missed], "to be refused: it might add to a position");
  halt(MODE_CANCEL_ONLY);
  market.price(92);
  market.say(make(ResumeSymbol));
  assert.deepEqual(market.fireAll(), [late], "its price is there when trading goes on");
});

test("orders that are due when the process ends fire after the next start, in the same order", () => {
  const market = new Market();
  const stores = new Map([LEDGER, PLAIN.id].map((id) => [id, new SnapshotStore()]));
  const second = market.stop(95, BY_INDEX);
  const third = market.stop(0, BY_INDEX, { orderType: TRAILING_STOP_MARKET, callbackPpm: 70_000 });
  const first = market.stop(96, BY_INDEX);
  const canceled = market.stop(97, BY_INDEX);
  market.price(97);
  market.price(96);
  market.say(make(CancelOrder, { accountId: ALICE, orderId: canceled }));
  market.price(95);
  for (const [id, store] of stores) store.take(market, id);
  const from = market.log.length;
  market.price(93);
  market.price(104);
  const digest = market.audit(PLAIN.id).digest;

  assert.deepEqual(recover(new Map(), market.log).fireAll(), [first, second, third], "from the log");
  const recovered = recover(stores, market.log.slice(from));
  assert.equal(recovered.audit(PLAIN.id).digest, digest);
  assert.deepEqual(recovered.fireAll(), [first, second, third], "from a snapshot and the rest of the log");
  assert.deepEqual(recovered.audit(PLAIN.id).faults, []);
});

/** A new process, from the same snapshots and the rest of the log. */
function recover(stores: ReadonlyMap<number, SnapshotStore>, log: Iterable<Logged>): Market {
  const market = new Market(false);
  for (const [id, store] of stores) store.load(market.actors.get(id) as Actor);
  market.replay(log);
  market.restored();
  return market;
}
