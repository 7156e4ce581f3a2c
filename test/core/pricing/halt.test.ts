import assert from "node:assert/strict";
import { test } from "node:test";
import { applyTradingHalted } from "../../../src/core/apply/market-events.ts";
import {
  BUY,
  HALT_REASONS,
  ISOLATED,
  LIMIT,
  OPERATOR_ACTS,
  REDUCE_ONLY,
  SELL,
  STOP,
  TRADING_STATUSES,
} from "../../../src/core/base/enums.ts";
import {
  CancelAll,
  CancelOrder,
  ClosePosition,
  HaltSymbol,
  MoveMargin,
  PlaceOrder,
  PlaceTrigger,
  PrepareWithdrawal,
  ResumeSymbol,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
} from "../../../src/core/protocol/commands.ts";
import { IndexWentStale, OperatorActed, TradingHalted } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Refused, type StatusView } from "../../../src/core/protocol/replies.ts";
import { Exchange, LEDGER_SETTINGS, MAX_ACCOUNTS, make, recover, type Said } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

const MAX_AGE_MS = 10_000;
/** A move of the mark by a tenth halts the symbol for five seconds. */
const BREAKING = { indexJumpLimit: "0", breakerLimit: "0.1", breakerMode: "CANCEL_ONLY", breakerSeconds: 5 } as const;
const ALICE = 16;
const BOB = 17;
const CAROL = 18;

/** Alice is long 10 @ 100 against bob; each has an order far from the market. Carol has 15 set aside for 1. */
class Market extends Exchange {
  constructor(changes: Partial<typeof PLAIN> = {}) {
    super([instrument(PLAIN, changes)], LEDGER_SETTINGS, MAX_ACCOUNTS, MAX_AGE_MS);
    for (let i = 0; i < 3; i++) this.openAccount(10_000e6);
    this.price(100);
    this.order(BOB, SELL, 100, 10);
    this.order(ALICE, BUY, 100, 10);
    this.order(ALICE, BUY, 96, 1);
    this.order(BOB, SELL, 104, 30);
    this.order(BOB, BUY, 97, 30);
    this.say(make(SetMarginMode, { accountId: CAROL, marginMode: ISOLATED }));
    this.order(BOB, SELL, 100, 1);
    this.order(CAROL, BUY, 100, 1);
    this.say(make(MoveMargin, { accountId: CAROL, amountQuanta: 5e6 }));
  }
  price(indexTicks: number, isGuarded = 0): Said {
    return this.say(make(SetIndexPrice, { indexTicks, isGuarded }));
  }
  say(command: Message): Said {
    return this.do(PLAIN.id, command);
  }
  order(accountId: number, side: number, priceTicks: number, quantityLots: number, flags = 0): Said {
    return this.say(make(PlaceOrder, { accountId, side, orderType: LIMIT, priceTicks, quantityLots, flags }));
  }
  prepare(accountId: number): Said {
    return this.say(make(PrepareWithdrawal, { accountId }));
  }
  stop(accountId: number, flags: number): Said {
    const order = { accountId, side: SELL, orderType: STOP, quantityLots: 1, priceTicks: 98, triggerTicks: 98, flags };
    return this.say(make(PlaceTrigger, order));
  }
  skip(ms: number): void {
    this.time += ms;
  }
  wait(ms: number): Said {
    this.skip(ms);
    return this.say(make(Tick));
  }
  status(): { status: string; reason: string | null; until: number } {
    const { mode, reason, until } = this.say(make(ResumeSymbol)).replies[0] as MessageOf<typeof StatusView>;
    return { status: TRADING_STATUSES[mode], reason: HALT_REASONS[reason], until };
  }
}

const codeOf = ({ replies }: Said): string =>
  replies[0].type === Refused.code ? (replies[0] as MessageOf<typeof Refused>).code : "ok";
const eventsOf = (said: Said, type: number): Message[] => said.events.filter((event) => event.type === type);

/** Commands, and the reply to each in each mode. */
const ASKED: [what: string, ask: (market: Market) => Said][] = [
  ["a new order", (market) => market.order(BOB, BUY, 96, 1)],
  ["a reduce-only order", (market) => market.order(ALICE, SELL, 103, 1, REDUCE_ONLY)],
  ["closing", (market) => market.say(make(ClosePosition, { accountId: ALICE, quantityLots: 1 }))],
  ["more leverage", (market) => market.say(make(SetLeverage, { accountId: ALICE, leverage: 20 }))],
  ["less leverage", (market) => market.say(make(SetLeverage, { accountId: ALICE, leverage: 5 }))],
  ["the same leverage", (market) => market.say(make(SetLeverage, { accountId: ALICE, leverage: 10 }))],
  ["a cancel", (market) => market.say(make(CancelOrder, { accountId: ALICE, orderId: 3 * 256 + PLAIN.id }))],
  ["cancelling all", (market) => market.say(make(CancelAll, { accountId: BOB, side: -1 }))],
  ["a withdrawal", (market) => market.prepare(ALICE)],
  ["a stop that opens", (market) => market.stop(BOB, 0)],
  ["a stop that reduces", (market) => market.stop(ALICE, REDUCE_ONLY)],
  ["margin added", (market) => market.say(make(MoveMargin, { accountId: CAROL, amountQuanta: 1e6 }))],
  ["margin taken out", (market) => market.say(make(MoveMargin, { accountId: CAROL, amountQuanta: -1e6 }))],
];
const H = "SYMBOL_HALTED";
const S = "STALE_PRICE";
const P = "PRICE_PENDING";
const ANSWERS: [mode: string, arrange: (market: Market) => unknown, answers: string[]][] = [
  ["TRADING", () => {}, ["ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"]],
  [
    "REDUCE_ONLY",
    (market) => market.say(make(HaltSymbol, { mode: 1, reason: 3 })),
    [H, "ok", "ok", H, "ok", "ok", "ok", "ok", H, H, "ok", "ok", H],
  ],
  [
    "CANCEL_ONLY",
    (market) => market.say(make(HaltSymbol, { mode: 2, reason: 3 })),
    [H, H, H, H, H, "ok", "ok", "ok", H, H, H, H, H],
  ],
  [
    "HALTED",
    (market) => market.say(make(HaltSymbol, { mode: 3, reason: 3 })),
    [H, H, H, H, H, "ok", H, H, H, H, H, H, H],
  ],
  [
    "a stale index",
    (market) => market.skip(MAX_AGE_MS + 1),
    [S, "ok", "ok", S, "ok", "ok", "ok", "ok", S, S, "ok", "ok", S],
  ],
  [
    "a price jump that waits",
    (market) => market.price(120, 1),
    [P, "ok", "ok", P, "ok", "ok", "ok", "ok", P, P, "ok", "ok", P],
  ],
  [
    "a price jump that is confirmed",
    (market) => {
      for (let i = 0; i < 3; i++) market.price(102, 1);
    },
    ["ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"],
  ],
  [
    "a price jump that prices do not confirm",
    (market) => {
      for (const ticks of [120, 100]) market.price(ticks, 1);
    },
    ["ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"],
  ],
  [
    "the last moment of an index",
    (market) => market.skip(MAX_AGE_MS),
    ["ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"],
  ],
];

for (const [mode, arrange, answers] of ANSWERS)
  for (const [i, [what, ask]] of ASKED.entries())
    test(`${mode}: ${what} is answered ${answers[i]}`, () => {
      const market = new Market();
      arrange(market);
      const before = market.audit(PLAIN.id).digest;
      const said = ask(market);
      assert.equal(codeOf(said), answers[i]);
      if (answers[i] !== "ok") assert.equal(market.audit(PLAIN.id).digest, before, "a refusal changes nothing");
    });

test("while halted, a withdrawal waits only if a cross position or an order uses margin", () => {
  const market = new Market();
  const stranger = CAROL + 1; // has never been seen here
  const answers = () => {
    market.say(make(HaltSymbol, { mode: 3, reason: 3 }));
    const codes = [ALICE, BOB, CAROL, stranger].map((accountId) => codeOf(market.prepare(accountId)));
    market.say(make(ResumeSymbol));
    return codes;
  };
  assert.deepEqual(answers(), [H, H, "ok", "ok"]);
  for (const accountId of [ALICE, BOB]) market.say(make(CancelAll, { accountId, side: -1 }));
  market.say(make(SetMarginMode, { accountId: ALICE, marginMode: ISOLATED }));
  assert.deepEqual(answers(), ["ok", H, "ok", "ok"], "an isolated position can lose no more than what is set aside");
  market.order(BOB, BUY, 100, 11);
  for (const accountId of [ALICE, CAROL]) market.say(make(ClosePosition, { accountId }));
  assert.deepEqual(answers(), ["ok", "ok", "ok", "ok"], "what has been closed is money like any other");
});

test("resuming a symbol that trades replies so and writes no event", () => {
  const market = new Market();
  const { events } = market.say(make(ResumeSymbol));
  assert.deepEqual(events, []);
  assert.deepEqual(market.status(), { status: "TRADING", reason: null, until: 0 });
});

test("an operator's act is logged with the name, also if it changes nothing, and not if it is refused", () => {
  const market = new Market();
  const actsOf = (command: Message) =>
    eventsOf(market.say(command), OperatorActed.code).map((event) => {
      const { operator, act, value } = event as MessageOf<typeof OperatorActed>;
      return [operator, OPERATOR_ACTS[act], value];
    });
  const operator = "alice";
  assert.deepEqual(actsOf(make(HaltSymbol, { mode: 2, reason: 3, operator })), [["alice", "HALT", 2]]);
  assert.deepEqual(actsOf(make(HaltSymbol, { mode: 2, reason: 3, operator })), [["alice", "HALT", 2]]);
  for (const _ of [1, 2]) assert.deepEqual(actsOf(make(ResumeSymbol, { operator })), [["alice", "RESUME", 0]]);
  assert.deepEqual(actsOf(make(SetIndexPrice, { indexTicks: 101, operator })), [["alice", "INDEX_PRICE", 101]]);
  assert.deepEqual(actsOf(make(SetIndexPrice, { indexTicks: 0, operator })), []);
  // A price that is held back has an effect: nothing takes new risk.
  assert.deepEqual(actsOf(make(SetIndexPrice, { indexTicks: 150, isGuarded: 1, operator })), [
    ["alice", "INDEX_PRICE", 150],
  ]);
  const again = new Exchange([instrument(PLAIN)], LEDGER_SETTINGS, MAX_ACCOUNTS, MAX_AGE_MS);
  recover(again, market, "log");
  assert.equal(again.audit(PLAIN.id).digest, market.audit(PLAIN.id).digest);
  for (const command of [make(HaltSymbol, { mode: 2, reason: 5 }), make(ResumeSymbol), make(Tick)])
    assert.deepEqual(actsOf(command), []);
});

test("an index without updates is reported stale once, until the next price", () => {
  const market = new Market();
  assert.equal(eventsOf(market.wait(MAX_AGE_MS), IndexWentStale.code).length, 0);
  assert.equal(eventsOf(market.wait(1), IndexWentStale.code).length, 1);
  assert.equal(eventsOf(market.wait(1), IndexWentStale.code).length, 0);
  assert.deepEqual(market.status(), { status: "REDUCE_ONLY", reason: "STALE_INDEX", until: 0 });
  market.price(100);
  assert.deepEqual(market.status(), { status: "TRADING", reason: null, until: 0 });
  assert.equal(codeOf(market.order(BOB, BUY, 96, 1)), "ok");
});

test("no account is liquidated at a stale price, or while orders may not trade", () => {
  const closed = (arrange: (market: Market) => void): number => {
    const market = new Market();
    // Alice's money leaves without a withdrawal: 10 @ 100 with a maintenance margin of 10.
    market.ledger.state.balance(ALICE);
    market.marginTable.setContribution(ALICE, new Float64Array(5), 0, {
      equity: -9_995e6,
      unrealized: 0,
      initial: 0,
      positionInitial: 0,
      maintenance: 0,
    });
    arrange(market);
    let transfers = 0;
    for (let i = 0; i < 4; i++) transfers += market.wait(250).events.length;
    return transfers;
  };
  assert.ok(closed(() => {}) > 0);
  assert.ok(closed((market) => void market.say(make(HaltSymbol, { mode: 1, reason: 3 }))) > 0);
  assert.equal(
    closed((market) => void market.say(make(HaltSymbol, { mode: 2, reason: 3 }))),
    0,
  );
  assert.equal(
    closed((market) => void market.say(make(HaltSymbol, { mode: 3, reason: 3 }))),
    0,
  );
  assert.equal(
    closed((market) => market.skip(MAX_AGE_MS)),
    1,
    "only the news that it is stale",
  );
});

test("a price jump of the feed is refused until confirmed; a price of the operator is not", () => {
  const market = new Market({ indexJumpLimit: "0.1", breakerLimit: "0" });
  const refused = market.price(120, 1);
  assert.equal(codeOf(refused), "PRICE_JUMP");
  assert.deepEqual((refused.replies[0] as MessageOf<typeof Refused>).details, {
    indexTicks: 100,
    limitRate: "0.1",
    missing: 2,
  });
  assert.equal(market.symbol(PLAIN.id).state.indexTicks, 100);
  assert.equal(codeOf(market.price(121, 1)), "PRICE_JUMP");
  assert.equal(codeOf(market.price(119, 1)), "ok");
  assert.equal(market.symbol(PLAIN.id).state.indexTicks, 119);
  assert.equal(codeOf(market.price(60)), "ok");
});

test("while a price jump waits, a refusal names it, and the status says so until it is over", () => {
  const market = new Market({ breakerLimit: "0" });
  market.price(120, 1);
  const pending = { status: "REDUCE_ONLY", reason: "PRICE_PENDING", until: 0 };
  assert.deepEqual(market.status(), pending);
  const refused = market.order(BOB, BUY, 96, 1).replies[0] as MessageOf<typeof Refused>;
  assert.deepEqual(
    [refused.field, refused.details],
    ["symbol", { status: "REDUCE_ONLY", pendingTicks: 120, indexTicks: 100, markTicks: 100, missing: 2 }],
  );
  market.price(121, 1);
  const later = market.order(BOB, BUY, 96, 1).replies[0] as MessageOf<typeof Refused>;
  assert.deepEqual([later.details?.pendingTicks, later.details?.missing], [121, 1]);
  market.price(122, 1);
  assert.deepEqual(market.status(), { status: "TRADING", reason: null, until: 0 });
  market.price(100, 1);
  assert.deepEqual(market.status(), pending);
  market.price(100);
  assert.deepEqual(
    market.status(),
    { status: "TRADING", reason: null, until: 0 },
    "the operator's price needs nothing",
  );
});

test("a price jump that nothing confirms ends when the index is stale, and then counts anew", () => {
  const market = new Market({ breakerLimit: "0" });
  for (const ticks of [120, 121]) market.price(ticks, 1);
  market.wait(MAX_AGE_MS + 1);
  assert.deepEqual(market.status(), { status: "REDUCE_ONLY", reason: "STALE_INDEX", until: 0 });
  assert.equal(codeOf(market.price(121, 1)), "PRICE_JUMP");
  assert.equal(codeOf(market.order(BOB, BUY, 96, 1)), "STALE_PRICE");
  for (const ticks of [121, 121]) market.price(ticks, 1);
  assert.equal(codeOf(market.order(BOB, BUY, 117, 1)), "ok");
});

for (const way of ["log", "snapshots"] as const)
  test(`a price jump that waits is known after a restart from the ${way}, with the prices that agree`, () => {
    const market = new Market({ breakerLimit: "0" });
    for (const ticks of [120, 121]) market.price(ticks, 1);
    const again = new Exchange([instrument(PLAIN, { breakerLimit: "0" })], LEDGER_SETTINGS, MAX_ACCOUNTS, MAX_AGE_MS);
    recover(again, market, way);
    again.time = market.time;
    assert.equal(again.audit(PLAIN.id).digest, market.audit(PLAIN.id).digest);
    const order = { accountId: BOB, side: BUY, orderType: LIMIT, priceTicks: 96, quantityLots: 1 };
    assert.equal(codeOf(again.do(PLAIN.id, make(PlaceOrder, order))), "PRICE_PENDING");
    assert.equal(codeOf(again.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 122, isGuarded: 1 }))), "ok");
    assert.equal(codeOf(again.do(PLAIN.id, make(PlaceOrder, { ...order, priceTicks: 117 }))), "ok");
  });

test("the circuit breaker halts for its time, also over a restart", () => {
  const market = new Market(BREAKING);
  market.price(100, 1);
  // Index and last price are equal, so the mark follows at once.
  const said = market.price(80, 1);
  const [halted] = eventsOf(said, TradingHalted.code) as MessageOf<typeof TradingHalted>[];
  assert.deepEqual(halted, { type: TradingHalted.code, mode: 2, reason: 4, until: market.time + 5000 });
  assert.equal(HALT_REASONS[halted.reason], "PRICE_JUMP");
  assert.equal(codeOf(market.order(BOB, BUY, 79, 1)), "SYMBOL_HALTED");
  const again = new Market();
  const state = again.symbol(PLAIN.id).state;
  applyTradingHalted(state, halted);
  assert.equal(market.wait(4999).events.length, 0);
  const [over] = eventsOf(market.wait(1), TradingHalted.code) as MessageOf<typeof TradingHalted>[];
  assert.deepEqual([over.mode, over.reason], [0, 4]);
  assert.equal(codeOf(market.order(BOB, BUY, 79, 1)), "ok");
});

test("the circuit breaker does not loosen a halt of the operator", () => {
  const market = new Market({ indexJumpLimit: "0", breakerLimit: "0.1" });
  market.price(100, 1);
  market.say(make(HaltSymbol, { mode: 3, reason: 3 }));
  assert.deepEqual(eventsOf(market.price(50, 1), TradingHalted.code), []);
  assert.equal(market.symbol(PLAIN.id).state.haltMode, 3);
});

test("a halt of the operator that the circuit breaker makes stricter lasts until the operator resumes", () => {
  const market = new Market(BREAKING);
  market.price(100, 1);
  market.say(make(HaltSymbol, { mode: 1, reason: 3 }));
  const [halted] = eventsOf(market.price(80, 1), TradingHalted.code);
  assert.deepEqual(halted, make(TradingHalted, { mode: 2, reason: 4, until: 0 }));
  assert.deepEqual(eventsOf(market.wait(5000), TradingHalted.code), []);
  assert.equal(codeOf(market.order(BOB, BUY, 79, 1)), "SYMBOL_HALTED");
  assert.equal(market.status().status, "TRADING");
});
