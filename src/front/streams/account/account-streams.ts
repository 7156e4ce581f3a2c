import type { Engine, ReleasedTransaction } from "../../../actor/engine/engine.ts";
import { must } from "../../../assert.ts";
import type { Event as ExchangeEvent } from "../../../core/protocol/events.ts";
import { closesPosition } from "../../../store/history/position-records.ts";
import { AccountOrders } from "./account-orders.ts";
import type { BalanceStream } from "./balance-stream.ts";
import type { MarginCallStream } from "./margin-call-stream.ts";
import type { PositionHistoryStream } from "./position-history-stream.ts";
import type { PositionStream } from "./position-stream.ts";
import type { AppendOnlyStream } from "./recent-stream.ts";
import type { TransferStream } from "./transfer-stream.ts";

/** The open streams of an account. */
export class AccountStreams {
  readonly accountId: number;
  balance: BalanceStream | null = null;
  transfers: TransferStream | null = null;
  marginCalls: MarginCallStream | null = null;
  readonly positions = new Set<PositionStream>();
  readonly positionHistory = new Set<PositionHistoryStream>();
  readonly funding = new Set<AppendOnlyStream>();
  /** Tracked while the account has a stream of orders or fills. */
  orders: AccountOrders | null = null;
  private readonly engine: Engine;

  constructor(accountId: number, engine: Engine) {
    this.accountId = accountId;
    this.engine = engine;
  }

  get isIdle(): boolean {
    const { balance, transfers, marginCalls, positions, positionHistory, funding, orders } = this;
    const isAnyOpen = balance !== null || transfers !== null || marginCalls !== null || orders !== null;
    return !isAnyOpen && positions.size + positionHistory.size + funding.size === 0;
  }

  trackOrders(): AccountOrders {
    this.orders ??= new AccountOrders(this.accountId, this.engine);
    return this.orders;
  }

  /** Call it after a stream of orders or fills was closed. */
  untrackOrders(): void {
    if (this.orders?.isIdle === true) this.orders = null;
  }

  /** Applies an event of the account. */
  apply(event: ExchangeEvent, transaction: ReleasedTransaction): void {
    this.balance?.markStale();
    for (const stream of this.positions) stream.markStale(transaction.actorId);
    this.marginCalls?.markStale(transaction.actorId);
    this.orders?.apply(event, transaction);
    if (this.positionHistory.size > 0 && closesPosition(event, this.accountId)) this.noteClosed(transaction);
  }

  priceMoved(instrumentId: number): void {
    this.balance?.markStale();
    this.marginCalls?.priceMoved();
    for (const stream of this.positions) stream.priceMoved(instrumentId);
  }

  /** Time has passed: reads what cannot be read after every event. */
  tick(): void {
    for (const stream of this.positionHistory) stream.tick();
  }

  flush(): void {
    this.balance?.flush();
    this.transfers?.flush();
    this.marginCalls?.flush();
    for (const stream of this.positions) stream.flush();
    for (const stream of this.positionHistory) stream.flush();
    for (const stream of this.funding) stream.flush();
    this.orders?.flush();
  }

  private noteClosed({ actorId, sequence, time }: ReleasedTransaction): void {
    const instrument = must(
      this.engine.instruments.find(({ id }) => id === actorId),
      "the symbol of a trade",
    );
    for (const stream of this.positionHistory) if (stream.covers(instrument)) stream.noteClosed(sequence, time);
  }
}
