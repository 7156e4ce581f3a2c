import { NONE, SIZE } from "../../../src/core/base/columns.ts";
import { INSURANCE_ACCOUNT, LEDGER } from "../../../src/core/base/enums.ts";
import type { PriceTicks, QuantityLots } from "../../../src/core/base/units.ts";
import { isolatedEquity } from "../../../src/core/margin/isolated.ts";
import {
  Deposit,
  OpenSession,
  PlaceOrder,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
} from "../../../src/core/protocol/commands.ts";
import type { InstrumentConfig } from "../../../src/core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { SessionView } from "../../../src/core/protocol/replies.ts";
import type { SymbolState } from "../../../src/core/state/symbol-state.ts";
import { Exchange, LEDGER_SETTINGS, type Logged, make, type Said, type SnapshotStore } from "./exchange.ts";
import { FINE, instrument } from "./instruments.ts";

const MAX_ACCOUNTS = 2048;

/**
 * Two symbols with fine ticks, at 10,000 USDC = 100,000 ticks: 1000 lots are 1 coin, and 10 ticks a lot's tenth of a cent. The
 * maintenance rate is 0.5 %, so the settlement's band is 0.25 %. Trading is free, which makes the sums round.
 */
export class FineMarket extends Exchange {
  static readonly A = 1;
  static readonly B = 2;
  static readonly MARK = 100_000;

  readonly changes: Partial<InstrumentConfig>;

  constructor(changes: Partial<InstrumentConfig> = {}) {
    const free = { ...FINE, makerFeeRate: "0", takerFeeRate: "0", breakerLimit: "0", ...changes };
    super(
      [instrument(free, { id: FineMarket.A }), instrument(free, { id: FineMarket.B, symbol: "B-PERP" })],
      LEDGER_SETTINGS,
      MAX_ACCOUNTS,
    );
    this.changes = changes;
  }

  /** With prices. */
  static open(changes: Partial<InstrumentConfig> = {}): FineMarket {
    const market = new FineMarket(changes);
    for (const symbol of [FineMarket.A, FineMarket.B]) market.price(symbol, FineMarket.MARK);
    return market;
  }

  /** Another process after a crash: from the first `records` of the log, behind the snapshots of the actors if there are any. */
  static recover(from: FineMarket, records: number, snapshots?: ReadonlyMap<number, SnapshotStore>): FineMarket {
    const market = new FineMarket(from.changes);
    for (const actor of market.actors.values()) snapshots?.get(actor.actorId)?.load(actor);
    const isNew = ({ actorId, sequence }: Logged): boolean => sequence > (snapshots?.get(actorId)?.sequence ?? 0);
    market.replay(from.log.slice(0, records).filter(isNew));
    market.restored();
    market.time = Math.max(market.time, from.time);
    return market;
  }

  /** An account with so much money, in every symbol at this leverage and margin mode (0 = cross). */
  open(usdc: number, leverage = 100, marginMode = 0): number {
    const name = `t${this.ledger.state.nextAccountId}`;
    const session = make(OpenSession, { address: name, tokenHash: name, expiresAt: 2 ** 50 });
    const { accountId } = this.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    this.deposit(accountId, usdc);
    for (const symbol of [FineMarket.A, FineMarket.B]) {
      if (leverage !== 10) this.do(symbol, make(SetLeverage, { accountId, leverage }));
      if (marginMode !== 0) this.do(symbol, make(SetMarginMode, { accountId, marginMode }));
    }
    return accountId;
  }

  deposit(accountId: number, usdc: number): void {
    this.do(LEDGER, make(Deposit, { accountId, amountQuanta: usdc * 1e6 }));
  }

  fund(usdc: number): void {
    this.deposit(INSURANCE_ACCOUNT, usdc);
  }

  price(symbol: number, indexTicks: PriceTicks, isGuarded = 0): Said {
    return this.do(symbol, make(SetIndexPrice, { indexTicks, isGuarded }));
  }

  order(symbol: number, accountId: number, side: number, priceTicks: PriceTicks, quantityLots: QuantityLots): Said {
    return this.do(symbol, make(PlaceOrder, { accountId, side, priceTicks, quantityLots }));
  }

  /** The seller's order rests, and the buyer takes it. */
  deal(
    symbol: number,
    seller: number,
    buyer: number,
    lots: QuantityLots,
    priceTicks = this.of(symbol).markTicks,
  ): void {
    this.order(symbol, seller, 1, priceTicks, lots);
    this.order(symbol, buyer, 0, priceTicks, lots);
  }

  /** Runs everything that follows from what was done in the symbol. Returns the events. */
  finish(symbol: number): Message[] {
    const events: Message[] = [];
    for (let more = true; more; ) {
      const said = this.proceed(symbol);
      events.push(...said.events);
      more = said.more;
    }
    return events;
  }

  of(symbol: number): SymbolState {
    return this.symbol(symbol).state;
  }

  row(symbol: number, accountId: number): number {
    return this.of(symbol).positions.find(accountId);
  }

  size(symbol: number, accountId: number): QuantityLots {
    const row = this.row(symbol, accountId);
    return row === NONE ? 0 : this.of(symbol).positions.numbers[row + SIZE];
  }

  /** Of the cross account, in USDC. */
  usdc(accountId: number): number {
    return this.marginTable.equity(accountId) / 1e6;
  }

  /** With its isolated positions, in USDC. */
  wealth(accountId: number): number {
    let quanta = this.marginTable.equity(accountId);
    for (const symbol of [FineMarket.A, FineMarket.B]) {
      const row = this.row(symbol, accountId);
      if (row !== NONE && this.of(symbol).isIsolated(row)) quanta += isolatedEquity(this.of(symbol), row);
    }
    return quanta / 1e6;
  }
}
