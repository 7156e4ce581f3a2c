import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { must, unreachable } from "../../assert.ts";
import { EXEC_LIQUIDATION } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { toPublicTrade, toPublicTransfer } from "../../core/market-data/public-trades.ts";
import {
  type Event as ExchangeEvent,
  FundingPaid,
  PositionTransferred,
  PriceUpdated,
  Traded,
} from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { Transfer } from "../../core/protocol/payloads.ts";
import { paidFunding } from "../../store/history/funding-records.ts";
import type { History } from "../../store/history/history.ts";
import { TimeSlicer } from "../common/time-slicer.ts";
import type { MarketData } from "../exchange/market.ts";
import type { SymbolMarket } from "../exchange/symbol-market.ts";
import type { Transfers } from "../exchange/transfers.ts";
import type { Log } from "../http/answer.ts";
import { fundingPaymentJson } from "../json/risk-json.ts";
import { AccountHistory, type AccountHistorySource } from "./account/account-history.ts";
import type { AccountOrders } from "./account/account-orders.ts";
import { AccountStreams } from "./account/account-streams.ts";
import { AppendOnlyStream } from "./account/append-only-stream.ts";
import { BalanceStream } from "./account/balance-stream.ts";
import { FillStream } from "./account/fill-stream.ts";
import { OrderStream } from "./account/order-stream.ts";
import { PositionStream } from "./account/position-stream.ts";
import type { RecentQuery } from "./account/recent-stream.ts";
import { TransferStream } from "./account/transfer-stream.ts";
import type { Publish, Stream, Subscriber } from "./base/stream.ts";
import type { ChannelRequest } from "./channel-requests.ts";
import { BookStream } from "./market/book-stream.ts";
import { KlineStream } from "./market/kline-stream.ts";
import { TickerStream } from "./market/ticker-stream.ts";
import { type TradeSource, TradeStream } from "./market/trade-stream.ts";

interface OpenStream {
  readonly stream: Stream;
  /** Whose it is; null = everybody's. */
  readonly account: AccountStreams | null;
  /** Nobody listens any more. */
  forget(): void;
}

/** How long a stream is kept for a lost client to come back and resume. */
const KEEP_FOR_RESUME_MS = 30_000;

/** To ask after all that one account shows takes some 20 µs, and to publish it as much again. */
const ACCOUNTS_PER_ITERATION = 100;
const HEARTBEATS_PER_ITERATION = 500;

/** What the streams read beside the road and the market. */
export type StreamHistory = Pick<History, "candles"> & AccountHistorySource;

export interface StreamsOptions {
  readonly engine: Engine;
  /** Opened before: it must see each turn first. */
  readonly market: MarketData;
  readonly transfers: Transfers;
  readonly history: StreamHistory;
  readonly publish: Publish;
  readonly now: () => TimeMs;
  /** Milliseconds by a clock that nobody sets: for how long ago something was. */
  readonly monotonic: () => number;
  readonly log: Log;
}

/** All streams that somebody has joined. What nobody listens to is not printed. */
export class Streams {
  private readonly engine: Engine;
  private readonly market: MarketData;
  private readonly history: StreamHistory;
  private readonly accountHistory: AccountHistory;
  private readonly publish: Publish;
  private readonly now: () => TimeMs;
  private readonly monotonic: () => number;
  private readonly log: Log;
  private readonly byTopic = new Map<string, OpenStream>();
  private readonly books = new Set<BookStream>();
  private readonly trades = new Map<number, TradeStream>();
  private readonly liquidations = new Map<number, TradeStream>();
  private readonly accounts = new Map<number, AccountStreams>();
  /** Accounts that something has happened to since the last flush. */
  private readonly dirtyAccounts = new Set<AccountStreams>();
  /** Accounts whose orders are followed and that the turn in hand concerns. */
  private readonly changedOrders = new Set<AccountOrders>();
  /** Those that a price or funding has touched, or whose questions may have had to wait. */
  private readonly dueAccounts = new TimeSlicer<AccountStreams>(ACCOUNTS_PER_ITERATION, (account) => account.flush());
  private readonly heartbeats = new TimeSlicer<Stream>(HEARTBEATS_PER_ITERATION, (stream) => stream.heartbeat());
  /** A price has moved since streams were last flushed from time to time. */
  private hasPriceMoved = false;
  /** Since when streams are kept that nobody listens to, by topic. */
  private readonly keptForResume = new Map<string, number>();

  constructor({ engine, market, transfers, history, publish, now, monotonic, log }: StreamsOptions) {
    this.engine = engine;
    this.market = market;
    this.history = history;
    this.accountHistory = new AccountHistory(engine, market, transfers, history);
    this.publish = publish;
    this.now = now;
    this.monotonic = monotonic;
    this.log = log;
    transfers.onChanged((transfer, transaction) => this.transferred(transfer, transaction));
  }

  /** Joins the stream that the request names, which is created when nobody listens to it yet. */
  subscribe(member: Subscriber, request: ChannelRequest, accountId: number): void {
    const topic = topicOf(request, accountId);
    let open = this.byTopic.get(topic);
    if (open === undefined) {
      open = this.create(topic, request, accountId);
      this.byTopic.set(topic, open);
    }
    open.stream.subscribe(member, request.resume);
  }

  /** Whoever has not joined has nothing to leave. `isLost`: the member did not say so, and may come back. */
  unsubscribe(member: Subscriber, topic: string, isLost: boolean): void {
    const stream = this.byTopic.get(topic)?.stream;
    if (stream === undefined || !stream.unsubscribe(member) || !stream.isEmpty) return;
    if (isLost && stream.isResumable) this.keptForResume.set(topic, this.monotonic());
    else this.forget(topic);
  }

  /** Takes note of a turn. Nothing is published before flush(). */
  apply(transaction: ReleasedTransaction): void {
    if (this.byTopic.size === 0) return;
    for (let i = 0; i < transaction.eventCount; i++) {
      const event = transaction.messages[i] as ExchangeEvent;
      if (event.type === Traded.code) {
        this.trades.get(transaction.actorId)?.add(toPublicTrade(event, transaction.time, transaction.sequence));
        if (event.execType === EXEC_LIQUIDATION)
          this.liquidations.get(transaction.actorId)?.add(toPublicTrade(event, transaction.time, transaction.sequence));
        this.touch(event.takerAccountId, event, transaction);
        this.touch(event.makerAccountId, event, transaction);
      } else if (event.type === PriceUpdated.code) {
        this.priceMoved(transaction.actorId);
      } else if (event.type === FundingPaid.code) {
        this.paid(event, transaction);
      } else if (event.type === PositionTransferred.code) {
        this.liquidations
          .get(transaction.actorId)
          ?.add(toPublicTransfer(event, transaction.time, transaction.sequence));
        this.touch(event.accountId, event, transaction);
        this.touch(event.counterpartyId, event, transaction);
      } else if ("accountId" in event) {
        this.touch(event.accountId, event, transaction);
      }
    }
    if (this.changedOrders.size === 0) return;
    for (const orders of this.changedOrders) orders.endTransaction(transaction);
    this.changedOrders.clear();
  }

  /** After a drain: everything that changed goes out, once per topic. */
  flush(): void {
    for (const stream of this.books) stream.flush();
    for (const stream of this.trades.values()) stream.flush();
    for (const stream of this.liquidations.values()) stream.flush();
    for (const account of this.dirtyAccounts) {
      this.dueAccounts.delete(account);
      account.flush();
    }
    this.dirtyAccounts.clear();
    this.dueAccounts.run();
  }

  /** From time to time: what had to wait (a slower pace, a full ring) goes out too. */
  flushAll(): void {
    for (const [topic, since] of this.keptForResume) {
      if (this.byTopic.get(topic)?.stream.isEmpty !== true) this.keptForResume.delete(topic);
      else if (this.monotonic() - since >= KEEP_FOR_RESUME_MS) this.forget(topic);
    }
    // A mark reaches many positions only behind its turn: where balances were read too early, they are read again.
    if (this.hasPriceMoved) for (const { balance } of this.accounts.values()) balance?.markStale();
    this.hasPriceMoved = false;
    for (const { stream, account } of this.byTopic.values()) {
      if (account === null) stream.flush();
      else this.dueAccounts.add(account);
    }
    this.dueAccounts.run();
  }

  heartbeat(): void {
    for (const { stream } of this.byTopic.values()) this.heartbeats.add(stream);
    this.heartbeats.run();
  }

  /** As over REST: it is logged, and concerns those who asked for it. */
  private failed(stream: Stream, err: unknown): void {
    this.log.error({ err, topic: stream.topic }, "a stream could not read the history");
    stream.fail();
  }

  private forget(topic: string): void {
    this.keptForResume.delete(topic);
    const open = this.byTopic.get(topic);
    if (open === undefined) return;
    open.forget();
    this.heartbeats.delete(open.stream);
    this.byTopic.delete(topic);
  }

  private touch(accountId: number, event: ExchangeEvent, transaction: ReleasedTransaction): void {
    const account = this.accounts.get(accountId);
    if (account === undefined) return;
    account.apply(event, transaction);
    if (account.orders !== null) this.changedOrders.add(account.orders);
    this.dirtyAccounts.add(account);
  }

  /** Before the turn's fold(), by which the account is flushed. */
  private transferred(transfer: Transfer, { sequence }: ReleasedTransaction): void {
    this.accounts.get(transfer.accountId)?.transfers?.add(sequence, [transfer]);
  }

  /** At the end of an interval very many pay at once. */
  private paid(event: MessageOf<typeof FundingPaid>, transaction: ReleasedTransaction): void {
    const account = this.accounts.get(event.accountId);
    if (account === undefined) return;
    account.apply(event, transaction);
    this.dueAccounts.add(account);
    if (account.funding.size === 0) return;
    const { actorId, time, sequence } = transaction;
    const market = this.market.symbol(actorId);
    const payment = paidFunding(event, actorId, time, sequence);
    const rate = market.fundingRateAt(event.fundingTime);
    const text = fundingPaymentJson(market.instrument, { payment, rate });
    for (const stream of account.funding) if (stream.covers(market.instrument)) stream.add(sequence, [text]);
  }

  private priceMoved(instrumentId: number): void {
    this.hasPriceMoved = true;
    for (const account of this.accounts.values()) {
      account.priceMoved(instrumentId);
      this.dueAccounts.add(account);
    }
  }

  private create(topic: string, request: ChannelRequest, accountId: number): OpenStream {
    switch (request.channel) {
      case "orderbook":
        return this.openBook(topic, request);
      case "trades":
        return this.openTrades(topic, request);
      case "liquidations":
        return this.openLiquidations(topic, request);
      case "ticker":
        return this.openTicker(topic, request);
      case "klines":
        return this.openKlines(topic, request);
      case "orders":
        return this.openOrders(topic, request, this.accountOf(accountId));
      case "fills":
        return this.openFills(topic, request, this.accountOf(accountId));
      case "positions":
        return this.openPositions(topic, request, this.accountOf(accountId));
      case "balance":
        return this.openBalance(topic, this.accountOf(accountId));
      case "transfers":
        return this.openTransfers(topic, request, this.accountOf(accountId));
      case "funding":
        return this.openFunding(topic, request, this.accountOf(accountId));
      default:
        return unreachable(request.channel);
    }
  }

  private openBook(topic: string, request: ChannelRequest): OpenStream {
    const depth = must(request.depth, "depth");
    const updateMs = must(request.updateMs, "updateMs");
    const stream = new BookStream(topic, this.marketOf(request), depth, updateMs, this.publish, this.monotonic);
    this.books.add(stream);
    return { stream, account: null, forget: () => this.books.delete(stream) };
  }

  private openTrades(topic: string, request: ChannelRequest): OpenStream {
    const market = this.marketOf(request);
    const recent = (limit: number) => market.recentTrades(limit);
    return this.openTradesOf({ channel: "trades", instrument: market.instrument, recent }, topic, this.trades);
  }

  private openLiquidations(topic: string, request: ChannelRequest): OpenStream {
    const market = this.marketOf(request);
    const recent = (limit: number) => market.recentLiquidations(limit);
    const source: TradeSource = { channel: "liquidations", instrument: market.instrument, recent };
    return this.openTradesOf(source, topic, this.liquidations);
  }

  private openTradesOf(source: TradeSource, topic: string, streams: Map<number, TradeStream>): OpenStream {
    const { id } = source.instrument;
    const stream = new TradeStream(topic, source, this.publish);
    streams.set(id, stream);
    return { stream, account: null, forget: () => streams.delete(id) };
  }

  private openTicker(topic: string, request: ChannelRequest): OpenStream {
    const { publish, now, monotonic } = this;
    const updateMs = must(request.updateMs, "updateMs");
    const stream = new TickerStream(topic, this.marketOf(request), updateMs, publish, now, monotonic);
    return { stream, account: null, forget: () => {} };
  }

  private openKlines(topic: string, request: ChannelRequest): OpenStream {
    const { history, engine, publish, monotonic } = this;
    const interval = must(request.interval, "interval");
    const priceType = must(request.priceType, "priceType");
    const onFailure = (thrown: unknown): void => this.failed(stream, thrown);
    const market = this.marketOf(request);
    const stream = new KlineStream(topic, market, priceType, interval, history, engine, publish, monotonic, onFailure);
    return { stream, account: null, forget: () => {} };
  }

  private openOrders(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const orders = account.trackOrders();
    const stream = new OrderStream(topic, privateHead(request), request.instrument, orders, this.publish);
    orders.orderStreams.add(stream);
    orders.startStream(stream);
    return this.ofAccount(account, stream, () => {
      orders.orderStreams.delete(stream);
      account.untrackOrders();
    });
  }

  private openFills(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const { instrument } = request;
    const orders = account.trackOrders();
    const fillsBefore = (wanted: RecentQuery) => this.accountHistory.fillsOf(account.accountId, instrument, wanted);
    const onFailure = (thrown: unknown): void => this.failed(stream, thrown);
    const head = privateHead(request);
    const stream = new FillStream(topic, head, instrument, orders, fillsBefore, this.publish, onFailure);
    orders.fillStreams.add(stream);
    orders.startStream(stream);
    return this.ofAccount(account, stream, () => {
      orders.fillStreams.delete(stream);
      account.untrackOrders();
    });
  }

  private openPositions(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const { engine, publish } = this;
    const instruments = request.instrument === null ? engine.instruments : [request.instrument];
    const stream = new PositionStream(topic, privateHead(request), account.accountId, instruments, engine, publish);
    account.positions.add(stream);
    return this.ofAccount(account, stream, () => account.positions.delete(stream));
  }

  private openBalance(topic: string, account: AccountStreams): OpenStream {
    const stream = new BalanceStream(topic, account.accountId, this.engine, this.publish, this.now);
    account.balance = stream;
    return this.ofAccount(account, stream, () => {
      account.balance = null;
    });
  }

  private openTransfers(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const transfersBefore = (wanted: RecentQuery) => this.accountHistory.transfersOf(account.accountId, wanted);
    const onFailure = (thrown: unknown): void => this.failed(stream, thrown);
    const stream = new TransferStream(topic, privateHead(request), transfersBefore, this.publish, onFailure);
    account.transfers = stream;
    stream.start(this.engine.releasedSequence());
    return this.ofAccount(account, stream, () => {
      account.transfers = null;
    });
  }

  private openFunding(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const { instrument } = request;
    const fundingBefore = (wanted: RecentQuery) => this.accountHistory.fundingOf(account.accountId, instrument, wanted);
    const onFailure = (thrown: unknown): void => this.failed(stream, thrown);
    const head = privateHead(request);
    const stream = new AppendOnlyStream(topic, head, instrument, fundingBefore, this.publish, onFailure);
    account.funding.add(stream);
    stream.start(this.engine.releasedSequence());
    return this.ofAccount(account, stream, () => account.funding.delete(stream));
  }

  /** With its last stream the account is forgotten, too. */
  private ofAccount(account: AccountStreams, stream: Stream, forgetStream: () => void): OpenStream {
    const forget = (): void => {
      forgetStream();
      if (!account.isIdle) return;
      this.accounts.delete(account.accountId);
      this.dueAccounts.delete(account);
    };
    return { stream, account, forget };
  }

  private marketOf(request: ChannelRequest): SymbolMarket {
    return this.market.symbol(must(request.instrument, "symbol").id);
  }

  private accountOf(accountId: number): AccountStreams {
    let account = this.accounts.get(accountId);
    if (account === undefined) {
      account = new AccountStreams(accountId, this.engine);
      this.accounts.set(accountId, account);
    }
    return account;
  }
}

const privateHead = ({ channel, instrument }: ChannelRequest): string =>
  instrument === null ? `"channel":"${channel}"` : `"channel":"${channel}","symbol":"${instrument.symbol}"`;

export function topicOf(request: ChannelRequest, accountId: number): string {
  const { channel, instrument, depth, updateMs, interval, priceType } = request;
  switch (channel) {
    case "orderbook":
      return `orderbook/${instrument?.id}/${depth}/${updateMs}`;
    case "trades":
    case "liquidations":
      return `${channel}/${instrument?.id}`;
    case "ticker":
      return `ticker/${instrument?.id}/${updateMs}`;
    case "klines":
      return `klines/${instrument?.id}/${interval}/${priceType}`;
    case "orders":
    case "fills":
    case "positions":
    case "funding":
      return `${channel}/${accountId}/${instrument?.id ?? "all"}`;
    case "balance":
    case "transfers":
      return `${channel}/${accountId}`;
    default:
      return unreachable(channel);
  }
}
