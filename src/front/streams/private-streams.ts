import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import type { TimeMs } from "../../core/base/units.ts";
import type { Event as ExchangeEvent, FundingPaid } from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { Transfer } from "../../core/protocol/payloads.ts";
import { paidFunding } from "../../store/history/funding-records.ts";
import { TimeSlicer } from "../common/time-slicer.ts";
import type { MarketData } from "../exchange/market.ts";
import type { Transfers } from "../exchange/transfers.ts";
import { fundingPaymentJson } from "../json/risk-json.ts";
import { AccountHistory, type AccountHistorySource } from "./account/account-history.ts";
import type { AccountOrders } from "./account/account-orders.ts";
import { AccountStreams } from "./account/account-streams.ts";
import { BalanceStream } from "./account/balance-stream.ts";
import { FillStream } from "./account/fill-stream.ts";
import { MarginCallStream } from "./account/margin-call-stream.ts";
import { OrderStream } from "./account/order-stream.ts";
import { PositionHistoryStream } from "./account/position-history-stream.ts";
import { PositionStream } from "./account/position-stream.ts";
import {
  AppendOnlyStream,
  type LoadRecent,
  type RecentQuery,
  type RecentStreamOptions,
} from "./account/recent-stream.ts";
import { TransferStream } from "./account/transfer-stream.ts";
import { headOf, type OnFailure, type OpenStream, type Publish, type Stream } from "./base/stream.ts";
import type { ChannelRequest } from "./channel-requests.ts";

/** Reading all streams of an account takes about 20 µs, and publishing them about as much again. */
const ACCOUNTS_PER_ITERATION = 100;

export interface PrivateStreamsOptions {
  readonly engine: Engine;
  readonly market: MarketData;
  readonly transfers: Pick<Transfers, "onChanged" | "pendingWithdrawal">;
  readonly history: AccountHistorySource;
  readonly publish: Publish;
  readonly now: () => TimeMs;
}

/** The open streams of accounts. */
export class PrivateStreams {
  private readonly options: PrivateStreamsOptions;
  private readonly onFailure: OnFailure;
  private readonly accountHistory: AccountHistory;
  private readonly accounts = new Map<number, AccountStreams>();
  /** Accounts with an event since the last flush(). */
  private readonly dirtyAccounts = new Set<AccountStreams>();
  /** Tracked orders that the current transaction concerns. */
  private readonly changedOrders = new Set<AccountOrders>();
  /** Accounts that a price or funding concerns, or whose requests to the engine may have been refused. */
  private readonly dueAccounts = new TimeSlicer<AccountStreams>(ACCOUNTS_PER_ITERATION, (account) => account.flush());
  /** A price has moved since the last flushAll(). */
  private hasPriceMoved = false;

  constructor(options: PrivateStreamsOptions, onFailure: OnFailure) {
    const { engine, market, transfers, history } = options;
    this.options = options;
    this.onFailure = onFailure;
    this.accountHistory = new AccountHistory(engine, market, transfers, history);
    transfers.onChanged((transfer, transaction) => this.applyTransfer(transfer, transaction));
  }

  /** Opens the stream of a private channel. */
  open(topic: string, request: ChannelRequest, accountId: number): OpenStream {
    const account = this.accountOf(accountId);
    switch (request.channel) {
      case "orders":
        return this.openOrders(topic, request, account);
      case "fills":
        return this.openFills(topic, request, account);
      case "positions":
        return this.openPositions(topic, request, account);
      case "positions-history":
        return this.openPositionHistory(topic, request, account);
      case "balance":
        return this.openBalance(topic, account);
      case "transfers":
        return this.openTransfers(topic, request, account);
      case "funding":
        return this.openFunding(topic, request, account);
      case "margin-calls":
        return this.openMarginCalls(topic, account);
      default:
        throw new Error(`${request.channel} is not a private channel`);
    }
  }

  apply(accountId: number, event: ExchangeEvent, transaction: ReleasedTransaction): void {
    const account = this.accounts.get(accountId);
    if (account === undefined) return;
    account.apply(event, transaction);
    if (account.orders !== null) this.changedOrders.add(account.orders);
    this.dirtyAccounts.add(account);
  }

  /** Very many accounts pay at the end of an interval, so their flush is sliced. */
  applyFunding(event: MessageOf<typeof FundingPaid>, transaction: ReleasedTransaction): void {
    const account = this.accounts.get(event.accountId);
    if (account === undefined) return;
    account.apply(event, transaction);
    this.dueAccounts.add(account);
    if (account.funding.size === 0) return;
    const { actorId, time, sequence } = transaction;
    const market = this.options.market.symbol(actorId);
    const payment = paidFunding(event, actorId, time, sequence);
    const rate = market.fundingRateAt(event.fundingTime);
    const text = fundingPaymentJson(market.instrument, { payment, rate });
    for (const stream of account.funding) if (stream.covers(market.instrument)) stream.add(sequence, [text]);
  }

  applyPrice(instrumentId: number): void {
    this.hasPriceMoved = true;
    for (const account of this.accounts.values()) {
      account.priceMoved(instrumentId);
      this.dueAccounts.add(account);
    }
  }

  /** The transaction has no further events. */
  endTransaction(transaction: ReleasedTransaction): void {
    if (this.changedOrders.size === 0) return;
    for (const orders of this.changedOrders) orders.endTransaction(transaction);
    this.changedOrders.clear();
  }

  /** Publishes what the last transactions have changed. */
  flush(): void {
    for (const account of this.dirtyAccounts) {
      this.dueAccounts.delete(account);
      account.flush();
    }
    this.dirtyAccounts.clear();
    this.dueAccounts.run();
  }

  flushAll(): void {
    // A new mark reaches many positions after its transaction. A balance read before that is stale, so it is read again.
    if (this.hasPriceMoved)
      for (const { balance, marginCalls } of this.accounts.values()) {
        balance?.markStale();
        marginCalls?.markCrossStale();
      }
    this.hasPriceMoved = false;
    for (const account of this.accounts.values()) {
      account.tick();
      this.dueAccounts.add(account);
    }
    this.dueAccounts.run();
  }

  /** Comes before the transaction's events, whose flush then publishes it. */
  private applyTransfer(transfer: Transfer, { sequence }: ReleasedTransaction): void {
    this.accounts.get(transfer.accountId)?.transfers?.add(sequence, [transfer]);
  }

  private openOrders(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const orders = account.trackOrders();
    const { channel, instrument } = request;
    const stream = new OrderStream(topic, headOf(channel, instrument), instrument, orders, this.options.publish);
    orders.orderStreams.add(stream);
    orders.startStream(stream);
    return this.opened(account, stream, () => {
      orders.orderStreams.delete(stream);
      account.untrackOrders();
    });
  }

  private openFills(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const { instrument } = request;
    const orders = account.trackOrders();
    const load = (query: RecentQuery) => this.accountHistory.fillsOf(account.accountId, instrument, query);
    const stream = new FillStream(this.recentOptions(topic, request, load), orders);
    orders.fillStreams.add(stream);
    orders.startStream(stream);
    return this.opened(account, stream, () => {
      orders.fillStreams.delete(stream);
      account.untrackOrders();
    });
  }

  private openPositions(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const { engine, publish } = this.options;
    const { channel, instrument } = request;
    const instruments = instrument === null ? engine.instruments : [instrument];
    const stream = new PositionStream(
      topic,
      headOf(channel, instrument),
      account.accountId,
      instruments,
      engine,
      publish,
    );
    account.positions.add(stream);
    return this.opened(account, stream, () => account.positions.delete(stream));
  }

  private openPositionHistory(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const { instrument } = request;
    const { accountId } = account;
    const load = (query: RecentQuery) => this.accountHistory.closedPositionsOf(accountId, instrument, query);
    const stream = new PositionHistoryStream(this.recentOptions(topic, request, load), (query) =>
      this.accountHistory.closedPositionsSince(accountId, instrument, query),
    );
    account.positionHistory.add(stream);
    stream.start(this.options.engine.releasedSequence());
    return this.opened(account, stream, () => account.positionHistory.delete(stream));
  }

  private openBalance(topic: string, account: AccountStreams): OpenStream {
    const { engine, publish, now } = this.options;
    const stream = new BalanceStream(topic, account.accountId, engine, publish, now);
    account.balance = stream;
    return this.opened(account, stream, () => {
      account.balance = null;
    });
  }

  private openMarginCalls(topic: string, account: AccountStreams): OpenStream {
    const { engine, market, publish, now } = this.options;
    const stream = new MarginCallStream(topic, account.accountId, engine, market, publish, now);
    account.marginCalls = stream;
    return this.opened(account, stream, () => {
      account.marginCalls = null;
    });
  }

  private openTransfers(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const load = (query: RecentQuery) => this.accountHistory.transfersOf(account.accountId, query);
    const stream = new TransferStream(this.recentOptions(topic, request, load));
    account.transfers = stream;
    stream.start(this.options.engine.releasedSequence());
    return this.opened(account, stream, () => {
      account.transfers = null;
    });
  }

  private openFunding(topic: string, request: ChannelRequest, account: AccountStreams): OpenStream {
    const { instrument } = request;
    const load = (query: RecentQuery) => this.accountHistory.fundingOf(account.accountId, instrument, query);
    const stream = new AppendOnlyStream(this.recentOptions(topic, request, load));
    account.funding.add(stream);
    stream.start(this.options.engine.releasedSequence());
    return this.opened(account, stream, () => account.funding.delete(stream));
  }

  private recentOptions<Row>(
    topic: string,
    { channel, instrument }: ChannelRequest,
    loadRecent: LoadRecent<Row>,
  ): RecentStreamOptions<Row> {
    const head = headOf(channel, instrument);
    return { topic, head, instrument, loadRecent, publish: this.options.publish, onFailure: this.onFailure };
  }

  /** The account is dropped when its last stream closes. */
  private opened(account: AccountStreams, stream: Stream, onClose: () => void): OpenStream {
    const close = (): void => {
      onClose();
      if (!account.isIdle) return;
      this.accounts.delete(account.accountId);
      this.dueAccounts.delete(account);
    };
    return { stream, close };
  }

  private accountOf(accountId: number): AccountStreams {
    let account = this.accounts.get(accountId);
    if (account === undefined) {
      account = new AccountStreams(accountId, this.options.engine);
      this.accounts.set(accountId, account);
    }
    return account;
  }
}
