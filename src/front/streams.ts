import type { Released, Road } from "../actor/road.ts";
import { must, unreachable } from "../assert.ts";
import { toPublicTrade, toPublicTransfer } from "../core/feed.ts";
import {
  EXEC_LIQUIDATION,
  type Event as ExchangeEvent,
  FundingSettled,
  PositionTransferred,
  PriceUpdated,
  Traded,
} from "../core/messages.ts";
import type { TimeMs } from "../core/units.ts";
import { BalanceStream } from "./balance-stream.ts";
import { BookStream } from "./book-stream.ts";
import type { ChannelRequest } from "./channel-requests.ts";
import type { MarketData } from "./market.ts";
import { PositionStream } from "./position-stream.ts";
import type { Member, Publish, Stream } from "./stream.ts";
import type { SymbolMarket } from "./symbol-market.ts";
import { type TradeSource, TradeStream } from "./trade-stream.ts";

/** One account's streams. */
interface AccountStreams {
  balance: BalanceStream | null;
  readonly positions: Set<PositionStream>;
}

interface OpenStream {
  readonly stream: Stream;
  /** Nobody listens any more. */
  forget(): void;
}

/** All streams that somebody has joined. What nobody listens to is not printed. */
export class Streams {
  private readonly road: Road;
  private readonly market: MarketData;
  private readonly publish: Publish;
  private readonly now: () => TimeMs;
  private readonly byTopic = new Map<string, OpenStream>();
  private readonly books = new Set<BookStream>();
  private readonly trades = new Map<number, TradeStream>();
  private readonly liquidations = new Map<number, TradeStream>();
  private readonly accounts = new Map<number, AccountStreams>();
  /** Accounts that something has happened to since the last flush. */
  private readonly touched = new Set<AccountStreams>();

  constructor(road: Road, market: MarketData, publish: Publish, now: () => TimeMs) {
    this.road = road;
    this.market = market;
    this.publish = publish;
    this.now = now;
  }

  /** Joins the stream that the request names, which is created when nobody listens to it yet. */
  join(member: Member, request: ChannelRequest, accountId: number): void {
    const topic = topicOf(request, accountId);
    let open = this.byTopic.get(topic);
    if (open === undefined) {
      open = this.create(topic, request, accountId);
      this.byTopic.set(topic, open);
    }
    open.stream.join(member);
  }

  leave(member: Member, topic: string): void {
    const open = must(this.byTopic.get(topic), "the stream of a subscription");
    open.stream.leave(member);
    if (!open.stream.isEmpty) return;
    this.byTopic.delete(topic);
    open.forget();
  }

  /** Takes note of a turn. Nothing is published before flush(). */
  fold(turn: Released): void {
    if (this.byTopic.size === 0) return;
    for (let i = 0; i < turn.eventCount; i++) {
      const event = turn.messages[i] as ExchangeEvent;
      if (event.type === Traded.code) {
        this.trades.get(turn.actorId)?.add(toPublicTrade(event, turn.time, turn.sequence));
        if (event.execType === EXEC_LIQUIDATION)
          this.liquidations.get(turn.actorId)?.add(toPublicTrade(event, turn.time, turn.sequence));
        this.touch(event.takerAccountId, turn.actorId);
        this.touch(event.makerAccountId, turn.actorId);
      } else if (event.type === PriceUpdated.code) {
        this.priceMoved(turn.actorId);
      } else if (event.type === PositionTransferred.code) {
        this.liquidations.get(turn.actorId)?.add(toPublicTransfer(event, turn.time, turn.sequence));
        this.touch(event.accountId, turn.actorId);
        this.touch(event.counterpartyId, turn.actorId);
      } else if (event.type !== FundingSettled.code) {
        this.touch(event.accountId, turn.actorId);
      }
    }
  }

  /** After a drain: everything that changed goes out, once per topic. */
  flush(): void {
    for (const stream of this.books) stream.flush();
    for (const stream of this.trades.values()) stream.flush();
    for (const stream of this.liquidations.values()) stream.flush();
    for (const account of this.touched) {
      account.balance?.flush();
      for (const stream of account.positions) stream.flush();
    }
    this.touched.clear();
  }

  /** From time to time: what had to wait (a slower pace, a full ring) goes out too. */
  flushAll(): void {
    for (const { stream } of this.byTopic.values()) stream.flush();
  }

  heartbeat(): void {
    for (const { stream } of this.byTopic.values()) stream.heartbeat();
  }

  private touch(accountId: number, actorId: number): void {
    const account = this.accounts.get(accountId);
    if (account === undefined) return;
    account.balance?.touch();
    for (const stream of account.positions) stream.touch(actorId);
    this.touched.add(account);
  }

  private priceMoved(instrumentId: number): void {
    for (const account of this.accounts.values()) {
      account.balance?.touch();
      for (const stream of account.positions) stream.priceMoved(instrumentId);
      this.touched.add(account);
    }
  }

  private create(topic: string, request: ChannelRequest, accountId: number): OpenStream {
    const { road, publish, now } = this;
    switch (request.channel) {
      case "orderbook": {
        const market = this.marketOf(request);
        const depth = must(request.depth, "depth");
        const stream = new BookStream(topic, market, depth, must(request.updateMs, "updateMs"), publish, now);
        this.books.add(stream);
        return { stream, forget: () => this.books.delete(stream) };
      }
      case "trades": {
        const market = this.marketOf(request);
        const recent = (limit: number) => market.recentTrades(limit);
        return this.openTrades(this.trades, topic, { channel: "trades", instrument: market.instrument, recent });
      }
      case "liquidations": {
        const market = this.marketOf(request);
        const recent = (limit: number) => market.recentLiquidations(limit);
        const source: TradeSource = { channel: "liquidations", instrument: market.instrument, recent };
        return this.openTrades(this.liquidations, topic, source);
      }
      case "positions": {
        const instruments = request.instrument === null ? road.instruments : [request.instrument];
        const head = request.instrument === null ? "" : `,"symbol":"${request.instrument.symbol}"`;
        const stream = new PositionStream(topic, `"channel":"positions"${head}`, accountId, instruments, road, publish);
        const account = this.accountOf(accountId);
        account.positions.add(stream);
        return {
          stream,
          forget: () => {
            account.positions.delete(stream);
            this.forgetIdle(accountId, account);
          },
        };
      }
      case "balance": {
        const stream = new BalanceStream(topic, accountId, road, publish, now);
        const account = this.accountOf(accountId);
        account.balance = stream;
        return {
          stream,
          forget: () => {
            account.balance = null;
            this.forgetIdle(accountId, account);
          },
        };
      }
      default:
        return unreachable(request.channel);
    }
  }

  private openTrades(streams: Map<number, TradeStream>, topic: string, source: TradeSource): OpenStream {
    const { id } = source.instrument;
    const stream = new TradeStream(topic, source, this.publish);
    streams.set(id, stream);
    return { stream, forget: () => streams.delete(id) };
  }

  private forgetIdle(accountId: number, account: AccountStreams): void {
    if (account.balance === null && account.positions.size === 0) this.accounts.delete(accountId);
  }

  private marketOf(request: ChannelRequest): SymbolMarket {
    return this.market.symbol(must(request.instrument, "symbol").id);
  }

  private accountOf(accountId: number): AccountStreams {
    let account = this.accounts.get(accountId);
    if (account === undefined) {
      account = { balance: null, positions: new Set() };
      this.accounts.set(accountId, account);
    }
    return account;
  }
}

export function topicOf(request: ChannelRequest, accountId: number): string {
  const { channel, instrument, depth, updateMs } = request;
  switch (channel) {
    case "orderbook":
      return `orderbook/${instrument?.id}/${depth}/${updateMs}`;
    case "trades":
    case "liquidations":
      return `${channel}/${instrument?.id}`;
    case "positions":
      return `positions/${accountId}/${instrument?.id ?? "all"}`;
    case "balance":
      return `balance/${accountId}`;
    default:
      return unreachable(channel);
  }
}
