import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { must } from "../../assert.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { Describe } from "../../core/protocol/commands.ts";
import type { SymbolEvent } from "../../core/protocol/events.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { Levels, SymbolSummary } from "../../core/protocol/payloads.ts";
import { SymbolDescription } from "../../core/protocol/replies.ts";
import { instrumentJson } from "../json/instrument-json.ts";
import { SymbolMarket, type SymbolPast, type SymbolState } from "./symbol-market.ts";

/** The sparklines of all symbols are printed at most so often. */
const SPARKLINES_MS = 1000;

/** Reads the past of a symbol from the history when the exchange starts. */
type PastOf = (instrumentId: number) => SymbolPast;

/** A symbol's state as of a transaction. */
interface Described {
  readonly state: SymbolSummary;
  readonly sequence: number;
  readonly time: TimeMs;
}

/** Market data of all symbols. Follows the released transactions and answers from memory. */
export class MarketData {
  /** In the order of the configuration. */
  readonly symbols: readonly SymbolMarket[];
  private readonly byInstrumentId = new Map<number, SymbolMarket>();
  /** Symbols whose state was read. It includes earlier events, so only later ones are applied. */
  private readonly primed = new Set<SymbolMarket>();
  /** Symbols with an event since their state began to be read: it must be read again. */
  private readonly changed = new Set<SymbolMarket>();
  private readonly now: () => TimeMs;
  private sparklines: Buffer | null = null;
  private sparklinesAt: TimeMs = 0;

  private constructor(engine: Pick<Engine, "instruments" | "onReleased">, now: () => TimeMs) {
    this.now = now;
    this.symbols = engine.instruments.map((instrument) => new SymbolMarket(instrument));
    for (const symbol of this.symbols) this.byInstrumentId.set(symbol.instrument.id, symbol);
    engine.onReleased((transaction) => this.fold(transaction));
  }

  /**
   * Resolves when the state of every symbol was read. Trading must not begin before: the state of a symbol that keeps changing
   * is read again and again. A publisher of market data must register with the engine after this, to see events applied.
   */
  static async open(engine: Engine, pastOf: PastOf, now: () => TimeMs): Promise<MarketData> {
    const market = new MarketData(engine, now);
    await Promise.all(market.symbols.map((symbol) => market.prime(engine, symbol, pastOf)));
    return market;
  }

  /**
   * Goes on from states that another process has captured. `engine` must hand out each symbol's later transactions, and none
   * that its state includes.
   */
  static restore(
    engine: Pick<Engine, "instruments" | "onReleased">,
    states: ReadonlyMap<number, SymbolState>,
    now: () => TimeMs,
  ): MarketData {
    const market = new MarketData(engine, now);
    for (const symbol of market.symbols) {
      symbol.restore(must(states.get(symbol.instrument.id), "the state of a symbol"));
      market.primed.add(symbol);
    }
    return market;
  }

  symbol(instrumentId: number): SymbolMarket {
    return must(this.byInstrumentId.get(instrumentId), "the symbol of an instrument id");
  }

  instrumentJson(instrumentId: number): string {
    return instrumentJson(this.symbol(instrumentId), this.now());
  }

  /** The ticker as JSON text in UTF-8. It is cached, so it must not be changed. */
  tickerJson(instrumentId: number): Buffer {
    return this.symbol(instrumentId).tickerJson(this.now());
  }

  /** `{"data":[ticker, …],"nextCursor":null}` */
  allTickersJson(): Buffer {
    const now = this.now();
    const parts: Buffer[] = [LIST_BEGIN];
    for (const symbol of this.symbols) {
      if (parts.length > 1) parts.push(COMMA);
      parts.push(symbol.tickerJson(now));
    }
    parts.push(LIST_END);
    return Buffer.concat(parts);
  }

  /** `{"data":[sparkline, …],"nextCursor":null}`, at most a second old. It is cached, so it must not be changed. */
  sparklinesJson(): Buffer {
    const now = this.now();
    // A clock that was set back must not keep it.
    if (this.sparklines === null || Math.abs(now - this.sparklinesAt) >= SPARKLINES_MS) {
      const rows = this.symbols.map((symbol) => symbol.sparklineJson(now));
      this.sparklines = Buffer.from(`{"data":[${rows}],"nextCursor":null}`);
      this.sparklinesAt = now;
    }
    return this.sparklines;
  }

  /**
   * Reads the past after the state, once the history includes everything released by then. At the start an actor may act by
   * itself, for example end a funding interval or trigger due orders. In this order each such event is either in the past or
   * applied later, never both.
   */
  private async prime(engine: Engine, symbol: SymbolMarket, pastOf: PastOf): Promise<void> {
    for (;;) {
      const { state, sequence, time } = await this.describe(engine, symbol);
      await engine.historyCaughtUp();
      if (this.changed.has(symbol)) continue;
      const past = pastOf(symbol.instrument.id);
      if (isAhead(past, sequence)) continue;
      symbol.prime(state, sequence, time, past);
      this.primed.add(symbol);
      return;
    }
  }

  /** Reads the whole state. If an event comes between two pages, it begins again. */
  private describe(engine: Engine, symbol: SymbolMarket): Promise<Described> {
    const { id } = symbol.instrument;
    return new Promise((resolve, reject) => {
      let bids: Levels = [];
      let asks: Levels = [];
      const readFrom = (from: number): void => {
        const command: MessageOf<typeof Describe> = { ...blank(Describe), from };
        const isAsked = engine.request(id, command, (answer) => {
          const transaction = must(answer, "an answer of a symbol at the start");
          const state = descriptionIn(transaction);
          if (from > 0 && this.changed.has(symbol)) return readFrom(0);
          this.changed.delete(symbol);
          bids = from === 0 ? state.bids : bids.concat(state.bids);
          asks = from === 0 ? state.asks : asks.concat(state.asks);
          if (state.next !== null) return readFrom(state.next);
          resolve({ state: { ...state, bids, asks }, sequence: transaction.sequence, time: transaction.time });
        });
        if (!isAsked) reject(new Error(`the state of ${symbol.instrument.symbol} cannot be read: it takes no command`));
      };
      readFrom(0);
    });
  }

  private fold(transaction: ReleasedTransaction): void {
    const symbol = this.byInstrumentId.get(transaction.actorId);
    if (symbol === undefined) return;
    if (!this.primed.has(symbol)) {
      this.changed.add(symbol);
      return;
    }
    for (let i = 0; i < transaction.eventCount; i++)
      symbol.apply(transaction.messages[i] as SymbolEvent, transaction.sequence, transaction.time);
  }
}

/** The history may include transactions that are not released yet. */
const isAhead = ({ trades, liquidations }: SymbolPast, sequence: number): boolean =>
  [...trades, ...liquidations].some((trade) => trade.sequence > sequence);

function descriptionIn({ messages }: ReleasedTransaction): SymbolSummary {
  const description = messages.find((message) => message.type === SymbolDescription.code);
  return (must(description, "the description of a symbol") as MessageOf<typeof SymbolDescription>).state;
}

const LIST_BEGIN = Buffer.from('{"data":[');
const COMMA = Buffer.from(",");
const LIST_END = Buffer.from('],"nextCursor":null}');
