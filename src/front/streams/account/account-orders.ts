import type { Engine, ReleasedTransaction } from "../../../actor/engine/engine.ts";
import { must } from "../../../assert.ts";
import { ReadOrders } from "../../../core/protocol/commands.ts";
import {
  AttachedQuantityRaised,
  ConditionalOrderAmended,
  ConditionalOrderPlaced,
  type Event as ExchangeEvent,
  OrderAmended,
  OrderClosed,
  OrderExtended,
  OrderPlaced,
  OrderReduced,
  OrderTriggered,
  PositionTransferred,
  Traded,
} from "../../../core/protocol/events.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { OrderView } from "../../../core/protocol/replies.ts";
import { isOpen, OrderRecord } from "../../../store/database/history-schema.ts";
import {
  amendOrder,
  amendWaiting,
  closeOrder,
  extendOrder,
  fillOrder,
  growOrder,
  placedOrder,
  transferFill,
  triggerOrder,
  waitingOrder,
} from "../../../store/history/order-records.ts";
import { fillJson, orderRecordJson } from "../../json/json-writers.ts";

/** What is known of the account's orders in one symbol. */
interface Slot {
  readonly instrument: Instrument;
  readonly open: Map<number, OrderRecord>;
  state: "UNKNOWN" | "ASKED" | "KNOWN";
}

/** What hears of an account's orders or fills. */
export interface OrderListener {
  covers(instrument: Instrument): boolean;
  /** The orders are known through this sequence; from behind it on, everything is added. */
  start(sequence: number): void;
  /** A turn changed these orders, or made these fills, as JSON texts. */
  add(sequence: number, texts: readonly string[]): void;
  flush(): void;
}

/**
 * An account's open orders, followed event by event while somebody listens: each symbol is asked once, and its answer
 * stands in the order of its turns. What a turn did goes to the streams, once that is so for all symbols.
 */
export class AccountOrders {
  readonly orderStreams = new Set<OrderListener>();
  readonly fillStreams = new Set<OrderListener>();
  private readonly engine: Engine;
  private readonly accountId: number;
  private readonly slots = new Map<number, Slot>();
  private isLive = false;
  /** By the turn in hand. */
  private readonly changed = new Set<OrderRecord>();
  private readonly fills: string[] = [];

  constructor(accountId: number, engine: Engine) {
    this.engine = engine;
    this.accountId = accountId;
    for (const instrument of engine.instruments)
      this.slots.set(instrument.id, { instrument, open: new Map(), state: "UNKNOWN" });
  }

  /** Nobody listens any more. */
  get isIdle(): boolean {
    return this.orderStreams.size === 0 && this.fillStreams.size === 0;
  }

  /** Starts the stream as soon as all is known: now, or when the symbols have answered. */
  startStream(stream: OrderListener): void {
    if (this.isLive) stream.start(this.engine.releasedSequence());
    else this.requestUnknown();
  }

  /** A full ring refuses the question: ask again from time to time. */
  requestUnknown(): void {
    if (this.isLive) return;
    for (const slot of this.slots.values()) {
      if (slot.state !== "UNKNOWN") continue;
      const question = { ...blank(ReadOrders), accountId: this.accountId };
      if (this.engine.request(slot.instrument.id, question, (transaction) => this.answered(slot, transaction)))
        slot.state = "ASKED";
    }
  }

  flush(): void {
    for (const stream of this.orderStreams) stream.flush();
    for (const stream of this.fillStreams) stream.flush();
  }

  /** Newest first, as REST lists them. */
  openOrders(instrument: Instrument | null): string[] {
    const open: [order: OrderRecord, instrument: Instrument][] = [];
    for (const slot of this.slots.values()) {
      if (instrument !== null && slot.instrument !== instrument) continue;
      for (const order of slot.open.values()) open.push([order, slot.instrument]);
    }
    open.sort(([a], [b]) => b.createdAt - a.createdAt || b.orderId - a.orderId);
    return open.map(([order, of]) => orderRecordJson(of, order));
  }

  /** An event of the turn that concerns the account. */
  apply(event: ExchangeEvent, { actorId, time, sequence }: ReleasedTransaction): void {
    const slot = this.slots.get(actorId);
    if (slot?.state !== "KNOWN") return;
    const touch = (orderId: number): OrderRecord => {
      const order = must(slot.open.get(orderId), "an open order");
      order.updatedAt = time;
      order.sequence = sequence;
      this.changed.add(order);
      return order;
    };
    switch (event.type) {
      case OrderPlaced.code: {
        const order = placedOrder(event, time, sequence);
        slot.open.set(order.orderId, order);
        this.changed.add(order);
        break;
      }
      case ConditionalOrderPlaced.code: {
        const order = waitingOrder(event, time, sequence);
        slot.open.set(order.orderId, order);
        this.changed.add(order);
        break;
      }
      case OrderTriggered.code:
        triggerOrder(touch(event.orderId), event);
        break;
      case OrderExtended.code:
        extendOrder(touch(event.orderId), event);
        break;
      case AttachedQuantityRaised.code:
        growOrder(touch(event.orderId), event);
        break;
      case ConditionalOrderAmended.code:
        amendWaiting(touch(event.orderId), event);
        break;
      case Traded.code: {
        const isTaker = event.takerAccountId === this.accountId;
        const order = touch(isTaker ? event.takerOrderId : event.makerOrderId);
        this.fills.push(fillJson(slot.instrument, fillOrder(order, event, slot.instrument, time, sequence)));
        break;
      }
      case PositionTransferred.code: {
        const fill = transferFill(event, this.accountId, slot.instrument, time, sequence);
        this.fills.push(fillJson(slot.instrument, fill));
        break;
      }
      case OrderAmended.code:
        amendOrder(touch(event.orderId), event);
        break;
      case OrderReduced.code:
        touch(event.orderId).remainingLots -= event.byLots;
        break;
      case OrderClosed.code:
        closeOrder(touch(event.orderId), event);
    }
  }

  /** The turn has no further events: one message of each stream for all that it did. */
  endTransaction({ actorId, sequence }: ReleasedTransaction): void {
    const slot = this.slots.get(actorId);
    if (slot === undefined) return;
    if (this.isLive && this.changed.size > 0) {
      const texts = [...this.changed].map((order) => orderRecordJson(slot.instrument, order));
      for (const stream of this.orderStreams) if (stream.covers(slot.instrument)) stream.add(sequence, texts);
    }
    if (this.isLive && this.fills.length > 0)
      for (const stream of this.fillStreams) if (stream.covers(slot.instrument)) stream.add(sequence, this.fills);
    for (const order of this.changed) if (!isOpen(order)) slot.open.delete(order.orderId);
    this.changed.clear();
    this.fills.length = 0;
  }

  private answered(slot: Slot, transaction: ReleasedTransaction | null): void {
    if (transaction === null) slot.state = "UNKNOWN";
    else this.prime(slot, transaction);
  }

  private prime(slot: Slot, transaction: ReleasedTransaction): void {
    for (let i = transaction.eventCount; i < transaction.messages.length; i++) {
      const view = transaction.messages[i] as MessageOf<typeof OrderView>;
      if (view.type !== OrderView.code) continue;
      slot.open.set(view.orderId, { ...view, type: OrderRecord.code, accountId: this.accountId });
    }
    slot.state = "KNOWN";
    if (![...this.slots.values()].every(({ state }) => state === "KNOWN")) return;
    this.isLive = true;
    for (const stream of [...this.orderStreams, ...this.fillStreams]) stream.start(this.engine.releasedSequence());
  }
}
