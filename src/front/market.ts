import type { Released, Road } from "../actor/road.ts";
import { must } from "../assert.ts";
import type { PublicTrade } from "../core/feed.ts";
import { Describe, SymbolDescription, type SymbolEvent } from "../core/messages.ts";
import { blank, type MessageOf } from "../core/shape.ts";
import type { TimeMs } from "../core/units.ts";
import { SymbolMarket, type SymbolPast } from "./symbol-market.ts";

/** Where the past is read from when the exchange starts: the history store. */
export type PastOf = (instrumentId: number) => SymbolPast;

/** Market data of all symbols: follows what the journal releases and answers from memory. */
export class MarketData {
  /** In the order of the configuration. */
  readonly symbols: readonly SymbolMarket[];
  private readonly byInstrumentId = new Map<number, SymbolMarket>();
  /** Symbols that have told their state. Events before that are in the state. */
  private readonly primed = new Set<SymbolMarket>();
  private readonly now: () => TimeMs;

  private constructor(road: Road, now: () => TimeMs) {
    this.now = now;
    this.symbols = road.instruments.map((instrument) => new SymbolMarket(instrument));
    for (const symbol of this.symbols) this.byInstrumentId.set(symbol.instrument.id, symbol);
    road.onReleased((turn) => this.fold(turn));
  }

  /**
   * Resolves when every symbol has told its state. The history must have caught up, and nothing may trade until then:
   * what is in both would be counted twice. Whoever publishes market data registers with the road after this.
   */
  static async open(road: Road, pastOf: PastOf, now: () => TimeMs): Promise<MarketData> {
    const market = new MarketData(road, now);
    await Promise.all(market.symbols.map((symbol) => market.prime(road, symbol, pastOf)));
    return market;
  }

  symbol(instrumentId: number): SymbolMarket {
    return must(this.byInstrumentId.get(instrumentId), "the symbol of an instrument id");
  }

  /** Ticker, as JSON text in UTF-8. Like all answers here: kept, so not to be written to. */
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

  /** The best `depth` levels (1 to 1000) of each side. */
  orderBookJson(instrumentId: number, depth: number): Buffer {
    return this.symbol(instrumentId).orderBookJson(depth);
  }

  /** At most `limit` of the last 1000 trades, newest first. */
  recentTrades(instrumentId: number, limit: number): PublicTrade[] {
    return this.symbol(instrumentId).recentTrades(limit);
  }

  private prime(road: Road, symbol: SymbolMarket, pastOf: PastOf): Promise<void> {
    const { id } = symbol.instrument;
    return new Promise((resolve, reject) => {
      const past = pastOf(id);
      const asked = road.ask(id, blank(Describe), (answer) => {
        const turn = must(answer, "a symbol that works");
        const description = turn.messages.find((message) => message.type === SymbolDescription.code);
        const { state } = must(description, "the description of a symbol") as MessageOf<typeof SymbolDescription>;
        symbol.prime(state, turn.sequence, turn.time, past);
        this.primed.add(symbol);
        resolve();
      });
      if (!asked) reject(new Error(`${symbol.instrument.symbol} cannot be asked for its state`));
    });
  }

  private fold(turn: Released): void {
    const symbol = this.byInstrumentId.get(turn.actorId);
    if (symbol === undefined || !this.primed.has(symbol)) return;
    for (let i = 0; i < turn.eventCount; i++) symbol.apply(turn.messages[i] as SymbolEvent, turn.sequence, turn.time);
  }
}

const LIST_BEGIN = Buffer.from('{"data":[');
const COMMA = Buffer.from(",");
const LIST_END = Buffer.from('],"nextCursor":null}');
