import type { Engine, ReleasedTransaction } from "../../../actor/engine/engine.ts";
import { must } from "../../../assert.ts";
import { ReadOrders } from "../../../core/protocol/commands.ts";
import type { Event as ExchangeEvent } from "../../../core/protocol/events.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank } from "../../../core/protocol/message-schema.ts";
import { OrderView } from "../../../core/protocol/replies.ts";
import { type FillRecord, OrderRecord } from "../../../store/database/history-schema.ts";
import { applyToOrders, type OrderStore } from "../../../store/history/order-records.ts";
import { mapReplies } from "../../exchange/request.ts";
import { fillJson, orderRecordJson } from "../../json/json-writers.ts";

/** Hears about an account's orders or fills. */
export interface OrderListener {
  covers(instrument: Instrument): boolean;
  /** The orders are known through this sequence. Later changes come by add(). */
  start(sequence: number): void;
  /** A transaction changed these orders, or made these fills. JSON texts. */
  add(sequence: number, texts: readonly string[]): void;
  flush(): void;
}

/** The account's orders in one symbol, and what the transaction under way does to them. */
class SymbolOrders implements OrderStore {
  readonly instrument: Instrument;
  readonly open = new Map<number, OrderRecord>();
  readonly changed = new Set<OrderRecord>();
  /** JSON texts. */
  readonly fills: string[] = [];
  state: "UNKNOWN" | "REQUESTED" | "KNOWN" = "UNKNOWN";
  time = 0;
  sequence = 0;
  private readonly accountId: number;

  constructor(accountId: number, instrument: Instrument) {
    this.accountId = accountId;
    this.instrument = instrument;
  }

  follows(accountId: number): boolean {
    return accountId === this.accountId;
  }

  instrumentOf(): Instrument {
    return this.instrument;
  }

  add(order: OrderRecord): void {
    this.open.set(order.orderId, order);
    this.changed.add(order);
  }

  change(orderId: number): OrderRecord {
    const order = must(this.open.get(orderId), "an open order");
    this.changed.add(order);
    return order;
  }

  end(order: OrderRecord): void {
    this.open.delete(order.orderId);
  }

  addFill(_accountId: number, fill: FillRecord): void {
    this.fills.push(fillJson(this.instrument, fill));
  }
}

/**
 * An account's open orders, kept by folding events while a client listens. Each symbol is asked once for them, and its
 * reply has a place among its transactions. The streams start when all symbols have replied.
 */
export class AccountOrders {
  readonly orderStreams = new Set<OrderListener>();
  readonly fillStreams = new Set<OrderListener>();
  private readonly engine: Engine;
  private readonly accountId: number;
  private readonly symbols = new Map<number, SymbolOrders>();
  /** All symbols have replied. */
  private isLive = false;

  constructor(accountId: number, engine: Engine) {
    this.engine = engine;
    this.accountId = accountId;
    for (const instrument of engine.instruments)
      this.symbols.set(instrument.id, new SymbolOrders(accountId, instrument));
  }

  get isIdle(): boolean {
    return this.orderStreams.size === 0 && this.fillStreams.size === 0;
  }

  /** Starts the stream when the orders are known: now, or when all symbols have replied. */
  startStream(stream: OrderListener): void {
    if (this.isLive) stream.start(this.engine.releasedSequence());
    else this.requestUnknown();
  }

  /** Call it from time to time: a full ring refuses the request. */
  requestUnknown(): void {
    if (this.isLive) return;
    for (const symbol of this.symbols.values()) {
      if (symbol.state !== "UNKNOWN") continue;
      const command = { ...blank(ReadOrders), accountId: this.accountId };
      if (this.engine.request(symbol.instrument.id, command, (transaction) => this.answered(symbol, transaction)))
        symbol.state = "REQUESTED";
    }
  }

  flush(): void {
    for (const stream of this.orderStreams) stream.flush();
    for (const stream of this.fillStreams) stream.flush();
  }

  /** JSON texts, newest first as REST lists them. `instrument` null = all symbols. */
  openOrders(instrument: Instrument | null): string[] {
    const open: [order: OrderRecord, instrument: Instrument][] = [];
    for (const symbol of this.symbols.values()) {
      if (instrument !== null && symbol.instrument !== instrument) continue;
      for (const order of symbol.open.values()) open.push([order, symbol.instrument]);
    }
    open.sort(([a], [b]) => b.createdAt - a.createdAt || b.orderId - a.orderId);
    return open.map(([order, of]) => orderRecordJson(of, order));
  }

  /** Folds an event that concerns the account. */
  apply(event: ExchangeEvent, { actorId, time, sequence }: ReleasedTransaction): void {
    const symbol = this.symbols.get(actorId);
    if (symbol?.state !== "KNOWN") return;
    symbol.time = time;
    symbol.sequence = sequence;
    applyToOrders(event, symbol);
  }

  /** Sends one message to each stream for all that the transaction did. */
  endTransaction({ actorId, sequence }: ReleasedTransaction): void {
    const symbol = this.symbols.get(actorId);
    if (symbol === undefined) return;
    const { instrument, changed, fills } = symbol;
    if (this.isLive && changed.size > 0) {
      const texts = [...changed].map((order) => orderRecordJson(instrument, order));
      for (const stream of this.orderStreams) if (stream.covers(instrument)) stream.add(sequence, texts);
    }
    if (this.isLive && fills.length > 0)
      for (const stream of this.fillStreams) if (stream.covers(instrument)) stream.add(sequence, fills);
    changed.clear();
    fills.length = 0;
  }

  private answered(symbol: SymbolOrders, transaction: ReleasedTransaction | null): void {
    if (transaction === null) {
      symbol.state = "UNKNOWN";
      return;
    }
    for (const view of mapReplies(transaction, OrderView, (view) => view))
      symbol.open.set(view.orderId, { ...view, type: OrderRecord.code, accountId: this.accountId });
    symbol.state = "KNOWN";
    if (![...this.symbols.values()].every(({ state }) => state === "KNOWN")) return;
    this.isLive = true;
    for (const stream of [...this.orderStreams, ...this.fillStreams]) stream.start(this.engine.releasedSequence());
  }
}
