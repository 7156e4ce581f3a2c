import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { DEFAULT_INSTRUMENTS } from "../../src/config/instruments.ts";
import type { Turn } from "../../src/core/actor.ts";
import { compileInstrument, type Instrument } from "../../src/core/instrument.ts";
import {
  CancelAll,
  OrderClosed,
  OrderPlaced,
  OrderView,
  PlaceExtended,
  PlaceOrder,
  SetIndexPrice,
  SetMarginMode,
  Traded,
} from "../../src/core/messages.ts";
import { Placement } from "../../src/core/placement.ts";
import type { MessageOf } from "../../src/core/shape.ts";
import type { SymbolActor } from "../../src/core/symbol.ts";
import {
  BUY,
  CROSS,
  FOK,
  GTC,
  IOC,
  ISOLATED,
  idToInstrumentId,
  REASON_INSUFFICIENT_MARGIN,
  REDUCE_ONLY,
  SELL,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
} from "../../src/core/words.ts";
import { Random } from "../../src/sandbox/random.ts";
import { Exchange, LEDGER_SETTINGS, MAX_ACCOUNTS, make, SHORT_INDEX_AGE_MS } from "./support/exchange.ts";
import { FREE, instrument, ODD } from "./support/instruments.ts";
import { takeSeed } from "./support/seed.ts";
import { eventfulStep } from "./support/steps.ts";
import { Market } from "./support/tight-market.ts";
import { Traffic } from "./support/traffic.ts";

/*
 * Margin is reserved, and FOK decided, by what a walk of the book says that is to come: what the walk that does it then
 * does must be the same, to the lot.
 */

const seed = takeSeed("preview.test");
const RUNS = 100;
const ROUNDS = 6;
const LEVERAGE = 100;
const ODD_ONES = [instrument(ODD), instrument(FREE)];
const INSTRUMENTS = [...ODD_ONES, ...DEFAULT_INSTRUMENTS.map((config) => compileInstrument(config))];
/** How much better than the mark makers are, within the maintenance margin and beyond. */
const NEAR = [0.0039, 0.0038, 0.0037, 0.003];
const NEAR_AND_FAR = [...NEAR, 0.01, 0.0139, 0.02, 0.04, 0, -0.001];
const MOVES = [-0.006, -0.004, -0.002, -0.0005, 0.0005, 0.002, 0.004, 0.006];
type Take = typeof Placement.prototype.take;

/** Compares what orders take from here on with what was expected of it. Returns how many traded, and met who could not. */
function watchTakers(t: TestContext, stepOf: () => string): { traded: number; dropped: number } {
  const seen = { traded: 0, dropped: 0 };
  const { take } = Placement.prototype;
  t.mock.method(Placement.prototype, "take", function (this: Placement, ...args: Parameters<Take>): void {
    const [turn, slot, limitTicks, mayRest, ...terms] = args;
    const { lots, quanta, leftLots } = this.expected;
    const got = { lots: 0, quanta: 0, leftLots: 0 };
    const emit: Turn["emit"] = (event) => {
      if (event.type === Traded.code) {
        const { takerOrderId, quantityLots, priceTicks } = event as MessageOf<typeof Traded>;
        got.lots += quantityLots;
        got.quanta += quantityLots * priceTicks * quantaPerTickLot(takerOrderId);
      }
      const { reason } = event as MessageOf<typeof OrderClosed>;
      if (event.type === OrderClosed.code && reason === REASON_INSUFFICIENT_MARGIN) seen.dropped++;
      turn.emit(event);
    };
    const reply: Turn["reply"] = (message) => {
      const { status, remainingLots } = message as MessageOf<typeof OrderView>;
      if (message.type === OrderView.code && (status === STATUS_NEW || status === STATUS_PARTIALLY_FILLED))
        got.leftLots = remainingLots;
      turn.reply(message);
    };
    take.call(this, { time: turn.time, emit, reply }, slot, limitTicks, mayRest, ...terms);
    assert.deepEqual(got, { lots, quanta, leftLots: mayRest ? leftLots : 0 }, stepOf());
    if (got.lots > 0) seen.traded++;
  });
  return seen;
}

function quantaPerTickLot(orderId: number): number {
  const instrumentId = idToInstrumentId(orderId);
  const { quantaPerTickLot } = INSTRUMENTS.find(({ id }) => id === instrumentId) as Instrument;
  return quantaPerTickLot;
}

/** An account, mostly isolated, that puts nearly all it has behind a position at the mark whenever it has none. */
class Maker {
  readonly accountId: number;
  private readonly random: Random;
  private readonly market: Market;
  private readonly symbol: SymbolActor;

  constructor(random: Random, market: Market, name: string) {
    this.random = random;
    this.market = market;
    this.symbol = market.symbols[0];
    this.accountId = market.open(name, random.pick([700, 1000, 3000]), LEVERAGE);
    const marginMode = random.chance(0.7) ? ISOLATED : CROSS;
    market.do(this.symbol, make(SetMarginMode, { accountId: this.accountId, marginMode }));
  }

  open(counterparty: number): void {
    const { accountId, random, market, symbol } = this;
    if (market.size(symbol, accountId) !== 0) return;
    const { markTicks, instrument } = symbol.state;
    const usedQuanta = market.exchange.cells.available(accountId) * LEVERAGE * random.pick([0.7, 0.95, 0.96, 0.97]);
    const lots = Math.floor(usedQuanta / (markTicks * instrument.quantaPerTickLot));
    if (lots < 1) return;
    const side = random.pick([BUY, SELL]);
    market.limit(symbol, counterparty, 1 - side, markTicks, lots);
    market.limit(symbol, accountId, side, markTicks, lots);
    for (const each of [accountId, counterparty]) market.do(symbol, make(CancelAll, { accountId: each, side: -1 }));
  }

  /** An order as large as the position, or as may be. */
  place(side: number, priceTicks: number): void {
    const { accountId, random, market, symbol } = this;
    const flags = random.chance(0.45) ? REDUCE_ONLY : 0;
    const slices = random.pick([0, 0, 2, 3, 7]);
    for (let lots = Math.abs(market.size(symbol, accountId)) || 1000; lots >= 1; lots = Math.floor(lots / 2)) {
      const displayLots = slices === 0 ? 0 : Math.ceil(lots / slices);
      const order = { accountId, side, priceTicks, flags, quantityLots: lots, displayLots };
      const said = market.do(symbol, make(PlaceExtended, order));
      if (said.some((event) => event.type === OrderPlaced.code)) return;
    }
  }
}

test("a taker gets what was expected of makers whose margin is nearly used up", (t) => {
  let step = "";
  const seen = watchTakers(t, () => step);
  for (let run = 0; run < RUNS; run++) {
    const random = new Random(seed + run, "tight margins");
    const market = new Market();
    const [symbol] = market.symbols;
    const takers = ["bob", "carol"].map((name) => market.open(name, 5_000_000, 20));
    const makers = ["x", "y", "z"].map((name) => new Maker(random, market, name));
    for (let round = 0; round < ROUNDS; round++) {
      for (const maker of makers) maker.open(random.pick(takers));
      const { markTicks } = symbol.state;
      const side = random.pick([BUY, SELL]);
      const dearer = side === BUY ? markTicks : -markTicks;
      const aways = random.pick([NEAR, NEAR_AND_FAR]);
      for (let i = 0; i < 8; i++) random.pick(makers).place(side, Math.round(markTicks + dearer * random.pick(aways)));
      const indexTicks = Math.round(markTicks * (1 + random.pick(MOVES)));
      if (random.chance(0.3)) market.do(symbol, make(SetIndexPrice, { indexTicks }));
      for (const accountId of takers) {
        const priceTicks = Math.round(markTicks + dearer * random.pick([-0.002, 0, 0.0037, 0.0038]));
        const quantityLots = Math.ceil(restingLots(symbol, side) * random.pick([0.3, 0.5, 0.7, 0.9, 1])) || 1;
        const order = {
          accountId,
          side: 1 - side,
          priceTicks,
          quantityLots,
          timeInForce: random.pick([FOK, IOC, GTC]),
        };
        step = `seed ${seed + run}, round ${round}: ${JSON.stringify(order)}`;
        market.do(symbol, make(PlaceOrder, order));
      }
      for (const accountId of [...takers, ...makers.map((maker) => maker.accountId)])
        if (random.chance(0.7)) market.do(symbol, make(CancelAll, { accountId, side: -1 }));
    }
  }
  assert.ok(seen.traded > RUNS && seen.dropped > 0);
});

function restingLots({ state: { book } }: SymbolActor, side: number): number {
  const levels = book.side(side);
  let lots = 0;
  for (let price = levels.best(); price >= 0; price = levels.next(price)) lots += book.executableLots(price);
  return lots;
}

test("a taker gets what was expected in odd markets", (t) => {
  let last = "";
  const seen = watchTakers(t, () => last);
  const property = fc.property(fc.array(eventfulStep, { maxLength: 150, size: "max" }), (steps) => {
    const exchange = new Exchange(ODD_ONES, LEDGER_SETTINGS, MAX_ACCOUNTS, SHORT_INDEX_AGE_MS);
    const traffic = new Traffic(
      exchange,
      ODD_ONES.map(({ id }) => id),
    );
    for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
    for (const step of steps) {
      last = JSON.stringify(step);
      const { actorId, command } = traffic.command(step);
      exchange.time += step.waitMs;
      traffic.send(actorId, command);
    }
  });
  fc.assert(property, { seed, numRuns: 3 * RUNS, includeErrorInReport: true });
  assert.ok(seen.traded > RUNS);
});
