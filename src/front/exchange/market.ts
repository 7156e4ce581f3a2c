import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { must } from "../../assert.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { Describe } from "../../core/protocol/commands.ts";
import type { SymbolEvent } from "../../core/protocol/events.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { Levels, SymbolSummary } from "../../core/protocol/payloads.ts";
import { SymbolDescription } from "../../core/protocol/replies.ts";
import { SymbolMarket, type SymbolPast } from "./symbol-market.ts";

/** Where the past is read from when the exchange starts: the history store. */
export type PastOf = (instrumentId: number) => SymbolPast;

/** A symbol's state as of a turn. */
interface Described {
  readonly state: SymbolSummary;
  readonly sequence: number;
  readonly time: TimeMs;
}

/** Market data of all symbols: follows what the journal releases and answers from memory. */
export class MarketData {
  /** In the order of the configuration. */
  readonly symbols: readonly SymbolMarket[];
  private readonly byInstrumentId = new Map<number, SymbolMarket>();
  /** Symbols that have told their state. Events before that are in the state. */
  private readonly primed = new Set<SymbolMarket>();
  /** Symbols that something has happened in since they began to tell it: it has to be told anew. */
  private readonly moved = new Set<SymbolMarket>();
  private readonly now: () => TimeMs;

  private constructor(engine: Engine, now: () => TimeMs) {
    this.now = now;
    this.symbols = engine.instruments.map((instrument) => new SymbolMarket(instrument));
    for (const symbol of this.symbols) this.byInstrumentId.set(symbol.instrument.id, symbol);
    engine.onReleased((transaction) => this.fold(transaction));
  }

  /**
   * Resolves when every symbol has told its state. Nobody may trade until then: a symbol that does not come to rest tells
   * it again and again. Whoever publishes market data registers with the road after this.
   */
  static async open(engine: Engine, pastOf: PastOf, now: () => TimeMs): Promise<MarketData> {
    const market = new MarketData(engine, now);
    await Promise.all(market.symbols.map((symbol) => market.prime(engine, symbol, pastOf)));
    return market;
  }

  symbol(instrumentId: number): SymbolMarket {
    return must(this.byInstrumentId.get(instrumentId), "the symbol of an instrument id");
  }

  /** Ticker, as JSON text in UTF-8. It is kept, so it is not to be written to. */
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

  /**
   * The past is read behind the state, once the history holds all that had been released by then: what the actor does at
   * the start, as to end an interval of funding that ran out before or to fire what was due, is in it or follows, and never
   * both.
   */
  private async prime(engine: Engine, symbol: SymbolMarket, pastOf: PastOf): Promise<void> {
    for (;;) {
      const { state, sequence, time } = await this.describe(engine, symbol);
      await engine.historyCaughtUp();
      if (this.moved.has(symbol)) continue;
      const past = pastOf(symbol.instrument.id);
      if (isAhead(past, sequence)) continue;
      symbol.prime(state, sequence, time, past);
      this.primed.add(symbol);
      return;
    }
  }

  /** The symbol's state in one piece: nothing has moved it between its pages. */
  private describe(engine: Engine, symbol: SymbolMarket): Promise<Described> {
    const { id } = symbol.instrument;
    return new Promise((resolve, reject) => {
      let bids: Levels = [];
      let asks: Levels = [];
      const askFrom = (from: number): void => {
        const command: MessageOf<typeof Describe> = { ...blank(Describe), from };
        const asked = engine.request(id, command, (answer) => {
          const transaction = must(answer, "a symbol that works");
          const state = descriptionIn(transaction);
          if (from > 0 && this.moved.has(symbol)) return askFrom(0);
          this.moved.delete(symbol);
          bids = from === 0 ? state.bids : bids.concat(state.bids);
          asks = from === 0 ? state.asks : asks.concat(state.asks);
          if (state.next !== null) return askFrom(state.next);
          resolve({ state: { ...state, bids, asks }, sequence: transaction.sequence, time: transaction.time });
        });
        if (!asked) reject(new Error(`${symbol.instrument.symbol} cannot be asked for its state`));
      };
      askFrom(0);
    });
  }

  private fold(transaction: ReleasedTransaction): void {
    const symbol = this.byInstrumentId.get(transaction.actorId);
    if (symbol === undefined) return;
    if (!this.primed.has(symbol)) {
      this.moved.add(symbol);
      return;
    }
    for (let i = 0; i < transaction.eventCount; i++)
      symbol.apply(transaction.messages[i] as SymbolEvent, transaction.sequence, transaction.time);
  }
}

/** The history does not wait for the front: it may have what is still to be released. */
const isAhead = ({ trades, liquidations }: SymbolPast, sequence: number): boolean =>
  [...trades, ...liquidations].some((trade) => trade.sequence > sequence);

function descriptionIn({ messages }: ReleasedTransaction): SymbolSummary {
  const description = messages.find((message) => message.type === SymbolDescription.code);
  return (must(description, "the description of a symbol") as MessageOf<typeof SymbolDescription>).state;
}

const LIST_BEGIN = Buffer.from('{"data":[');
const COMMA = Buffer.from(",");
const LIST_END = Buffer.from('],"nextCursor":null}');
