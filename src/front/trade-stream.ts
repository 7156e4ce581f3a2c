import type { PublicTrade } from "../core/feed.ts";
import { publicTradeJson } from "./market-json.ts";
import { type Member, type Publish, Stream } from "./stream.ts";
import type { SymbolMarket } from "./symbol-market.ts";

const SNAPSHOT_TRADES = 100;

/** Public trades of a symbol, oldest first: the last hundred in a snapshot, then each. */
export class TradeStream extends Stream {
  private readonly market: SymbolMarket;
  /** Printed and not yet published. */
  private pending: string[] = [];
  private pendingSequence = 0;

  constructor(topic: string, market: SymbolMarket, publish: Publish) {
    const [last] = market.recentTrades(1);
    super(topic, `"channel":"trades","symbol":"${market.instrument.symbol}"`, last?.sequence ?? 0, publish);
    this.market = market;
  }

  override join(member: Member): void {
    this.flush();
    const trades = this.market.recentTrades(SNAPSHOT_TRADES).reverse();
    this.admit(member, `"data":[${trades.map((trade) => publicTradeJson(this.market.instrument, trade)).join(",")}]`);
  }

  add(trade: PublicTrade): void {
    this.pending.push(publicTradeJson(this.market.instrument, trade));
    this.pendingSequence = trade.sequence;
  }

  override flush(): void {
    if (this.pending.length === 0) return;
    const data = this.pending.join(",");
    this.pending = [];
    this.update("UPDATE", this.pendingSequence, `"data":[${data}]`);
  }
}
