import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import { compileInstrument } from "../../../src/core/instrument.ts";
import { bucketEquity } from "../../../src/core/isolated.ts";
import {
  Deposit,
  OpenSession,
  PlaceOrder,
  type SessionView,
  SetIndexPrice,
  SetLeverage,
} from "../../../src/core/messages.ts";
import type { Message, MessageOf } from "../../../src/core/shape.ts";
import type { SymbolActor } from "../../../src/core/symbol.ts";
import { NONE, SIZE } from "../../../src/core/tables.ts";
import { QUANTA_PER_USDC } from "../../../src/core/units.ts";
import { INSURANCE_ACCOUNT, LEDGER, LIMIT } from "../../../src/core/words.ts";
import { Exchange, make } from "./exchange.ts";

export const MARKS = [650_000, 300_000];

/** Two of the symbols that there are by default, for accounts that use up their margin. */
export class Market {
  readonly exchange = new Exchange(DEFAULT_INSTRUMENTS.slice(0, 2).map((config) => compileInstrument(config)));
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

  private deposit(accountId: number, usdc: number): void {
    this.exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: usdc * QUANTA_PER_USDC }));
  }

  do({ actorId }: SymbolActor, command: Message): Message[] {
    const { events, replies } = this.exchange.carryOut(actorId, command);
    return [...events, ...replies];
  }

  limit(symbol: SymbolActor, accountId: number, side: number, priceTicks: number, quantityLots: number): Message[] {
    return this.do(symbol, make(PlaceOrder, { accountId, side, priceTicks, quantityLots, orderType: LIMIT }));
  }

  size({ state }: SymbolActor, accountId: number): number {
    const row = state.positions.find(accountId);
    return row === NONE ? 0 : state.positions.numbers[row + SIZE];
  }

  /** What the account has, and each isolated position of its by itself. */
  equities(accountId: number): number[] {
    const buckets = this.symbols.map(({ state }) => {
      const row = state.positions.find(accountId);
      return row !== NONE && state.isIsolated(row) ? bucketEquity(state, row) : 0;
    });
    return [this.exchange.cells.equity(accountId), ...buckets];
  }
}
