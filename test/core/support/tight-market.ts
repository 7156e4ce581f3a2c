import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import { NONE, SIZE } from "../../../src/core/base/columns.ts";
import {
  BUY,
  CROSS,
  FOK,
  GTC,
  INSURANCE_ACCOUNT,
  IOC,
  ISOLATED,
  LEDGER,
  LIMIT,
  REDUCE_ONLY,
  SELL,
} from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import { isolatedEquity } from "../../../src/core/margin/isolated.ts";
import {
  CancelAll,
  Deposit,
  OpenSession,
  PlaceExtended,
  PlaceOrder,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
} from "../../../src/core/protocol/commands.ts";
import { OrderPlaced } from "../../../src/core/protocol/events.ts";
import { compileInstrument } from "../../../src/core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { SessionView } from "../../../src/core/protocol/replies.ts";
import type { SymbolActor } from "../../../src/core/symbol.ts";
import type { Random } from "../../../src/sandbox/random.ts";
import { Exchange, make } from "./exchange.ts";

export const MARKS = [650_000, 300_000];
const ROUNDS = 6;
const LEVERAGE = 100;
/** How much better than the mark makers are, within the maintenance margin and beyond. */
const NEAR = [0.0039, 0.0038, 0.0037, 0.003];
const NEAR_AND_FAR = [...NEAR, 0.01, 0.0139, 0.02, 0.04, 0, -0.001];
const MOVES = [-0.006, -0.004, -0.002, -0.0005, 0.0005, 0.002, 0.004, 0.006];

/** Two of the default symbols, for accounts that use up their margin. */
export class Market {
  /** The leverage alone decides how much margin opening needs: opening-rate.test.ts is about the rest. */
  readonly exchange = new Exchange(
    DEFAULT_INSTRUMENTS.slice(0, 2).map((config) => compileInstrument({ ...config, maxMovePerSecond: "0" })),
  );
  readonly symbols = DEFAULT_INSTRUMENTS.slice(0, 2).map(({ id }) => this.exchange.symbol(id));

  constructor() {
    this.deposit(INSURANCE_ACCOUNT, 1_000_000);
    for (const [i, { actorId }] of this.symbols.entries())
      this.exchange.do(actorId, make(SetIndexPrice, { indexTicks: MARKS[i] }));
  }

  open(name: string, usdc: number, leverage: number): number {
    const session = make(OpenSession, { address: name, tokenHash: name, expiresAt: 2 ** 50 });
    const { accountId } = this.exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    this.deposit(accountId, usdc);
    for (const symbol of this.symbols) this.do(symbol, make(SetLeverage, { accountId, leverage }));
    return accountId;
  }

  protected deposit(accountId: number, usdc: number): void {
    this.exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: usdc * QUANTA_PER_USDC }));
  }

  do({ actorId }: SymbolActor, command: Message): Message[] {
    const { events, replies } = this.exchange.carryOut(actorId, command);
    return [...events, ...replies];
  }

  limit(symbol: SymbolActor, accountId: number, side: number, priceTicks: number, quantityLots: number): Message[] {
    return this.do(symbol, make(PlaceOrder, { accountId, side, priceTicks, quantityLots, orderType: LIMIT }));
  }

  /** One account's order rests, and the other account takes all of it. */
  deal(
    symbol: SymbolActor,
    maker: number,
    taker: number,
    takerSide: number,
    priceTicks: number,
    quantityLots: number,
  ): void {
    this.limit(symbol, maker, 1 - takerSide, priceTicks, quantityLots);
    this.limit(symbol, taker, takerSide, priceTicks, quantityLots);
  }

  size({ state }: SymbolActor, accountId: number): number {
    const row = state.positions.find(accountId);
    return row === NONE ? 0 : state.positions.numbers[row + SIZE];
  }

  /** The account's equity, and that of each of its isolated positions. */
  equities(accountId: number): number[] {
    const isolated = this.symbols.map(({ state }) => {
      const row = state.positions.find(accountId);
      return row !== NONE && state.isIsolated(row) ? isolatedEquity(state, row) : 0;
    });
    return [this.exchange.marginTable.equity(accountId), ...isolated];
  }
}

/** An account, mostly isolated, that uses nearly all its money for a position at the mark whenever it has none. */
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
    const usedQuanta =
      market.exchange.marginTable.available(accountId) * LEVERAGE * random.pick([0.7, 0.95, 0.96, 0.97]);
    const lots = Math.floor(usedQuanta / (markTicks * instrument.quantaPerTickLot));
    if (lots < 1) return;
    const side = random.pick([BUY, SELL]);
    market.deal(symbol, counterparty, accountId, side, markTicks, lots);
    for (const each of [accountId, counterparty]) market.do(symbol, make(CancelAll, { accountId: each, side: -1 }));
  }

  /** An order as large as the position, or the largest possible one. */
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

/** Takers trade with makers whose margin is just enough, or just too low. */
export function tradeTightly(random: Random, market: Market): void {
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
      market.do(symbol, make(PlaceOrder, order));
    }
    for (const accountId of [...takers, ...makers.map((maker) => maker.accountId)])
      if (random.chance(0.7)) market.do(symbol, make(CancelAll, { accountId, side: -1 }));
  }
}

function restingLots({ state: { book } }: SymbolActor, side: number): number {
  const levels = book.side(side);
  let lots = 0;
  for (let price = levels.best(); price >= 0; price = levels.next(price)) lots += book.executableLots(price);
  return lots;
}
