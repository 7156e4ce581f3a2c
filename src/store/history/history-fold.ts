import { must } from "../../assert.ts";
import { EXEC_LIQUIDATION, idToInstrumentId, isCustomer, STATUS_FILLED } from "../../core/base/enums.ts";
import {
  openInterestChange,
  openInterestChangeOfTransfer,
  type PublicTrade,
  toPublicTrade,
  toPublicTransfer,
} from "../../core/market-data/public-trades.ts";
import {
  AttachedQuantityRaised,
  ConditionalOrderAmended,
  ConditionalOrderPlaced,
  DeficitCovered,
  Deposited,
  type Event,
  FundingPaid,
  FundingSettled,
  OrderAmended,
  OrderClosed,
  OrderExtended,
  OrderPlaced,
  OrderReduced,
  OrderTriggered,
  PositionTransferred,
  PriceUpdated,
  Traded,
  WithdrawalCompleted,
  WithdrawalRequested,
  WithdrawalSent,
} from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { Database } from "../database/database.ts";
import {
  ClientOrderRecord,
  DeficitRecord,
  type FillRecord,
  IndexRecord,
  isOpen,
  type OrderRecord,
  type ReferenceRecord,
  referenceTo,
  TradeRecord,
} from "../database/history-schema.ts";
import { type SeriesPosition, SeriesWriter } from "../database/series.ts";
import { ShortLivedOrderWriter } from "../database/short-lived-orders.ts";
import { noYield, WriteBatch } from "../database/write-batch.ts";
import { CandleFold } from "./candle-fold.ts";
import { FundingFold } from "./funding-fold.ts";
import { InsuranceFold } from "./insurance-fold.ts";
import { OpenInterestFold } from "./open-interest-fold.ts";
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
} from "./order-records.ts";
import { TransferFold } from "./transfer-fold.ts";

const INDEX_KEY = "history";
/** Open orders beyond this many are read again from the database when they are next met. */
const MAX_CACHED_ORDERS = 200_000;
/**
 * Client order ids are often random, and random keys would make every insert write a page of its own. So they go into
 * generations of this many; a lookup tries the latest first.
 */
const CLIENT_IDS_PER_GENERATION = 16_384;

/** So that the largest of them stay below 4 KB. */
const CLOSED_ORDERS_PER_CHUNK = 32;
const FILLS_PER_CHUNK = 24;
const TRADES_PER_CHUNK = 60;
const DEFICITS_PER_CHUNK = 60;

/**
 * Folds the log's events into the history index: call turn() and apply() for each, in order, then commit(). Within a
 * batch an order is written once, however often it changed. Accounts of the house leave no rows: nobody reads them.
 */
export class HistoryFold {
  private readonly database: Database;
  private readonly instruments = new Map<number, Instrument>();
  private readonly batch: WriteBatch;
  private readonly candles: CandleFold;
  private readonly briefOrders: ShortLivedOrderWriter;
  private readonly fills: SeriesWriter<FillRecord>;
  private readonly trades: SeriesWriter<TradeRecord>;
  private readonly closedOrders: SeriesWriter<ReferenceRecord | OrderRecord>;
  private readonly liquidations: SeriesWriter<TradeRecord>;
  private readonly deficits: SeriesWriter<DeficitRecord>;
  private readonly transfers: TransferFold;
  private readonly funding: FundingFold;
  private readonly insurance: InsuranceFold;
  private readonly openInterest: OpenInterestFold;
  /** Orders that earlier turns have left open, as far as they have been met. */
  private readonly openOrders = new Map<number, OrderRecord>();
  /** Those that this batch has changed; some may have ended since. */
  private readonly changedOrders: OrderRecord[] = [];
  /** Of the turn in hand. */
  private readonly placedOrders: OrderRecord[] = [];
  private readonly endedOrders: OrderRecord[] = [];
  /** As of the last commit. */
  private readonly index: IndexRecord;
  /** Of the turn in hand. */
  private readonly place: SeriesPosition;
  private time = 0;
  private actorId = 0;

  constructor(database: Database, instruments: readonly Instrument[], yieldNow = noYield) {
    this.database = database;
    this.batch = new WriteBatch(yieldNow);
    for (const instrument of instruments) this.instruments.set(instrument.id, instrument);
    this.candles = new CandleFold(database.candles);
    this.briefOrders = new ShortLivedOrderWriter(database.shortLivedOrders);
    this.fills = new SeriesWriter(database.fills, FILLS_PER_CHUNK);
    this.trades = new SeriesWriter(database.trades, TRADES_PER_CHUNK);
    this.closedOrders = new SeriesWriter(database.closedOrders, CLOSED_ORDERS_PER_CHUNK);
    this.liquidations = new SeriesWriter(database.liquidations, TRADES_PER_CHUNK);
    this.deficits = new SeriesWriter(database.deficits, DEFICITS_PER_CHUNK);
    this.transfers = new TransferFold(database);
    this.funding = new FundingFold(database);
    this.insurance = new InsuranceFold(database);
    this.openInterest = new OpenInterestFold(database);
    database.refresh();
    this.index = readIndex(database);
    this.place = { clock: this.index.clock, sequence: this.index.sequence };
  }

  /** The last sequence whose events are in the index, on disk. */
  get indexedSequence(): number {
    return this.index.sequence;
  }

  /** The events that follow are of this turn. */
  transaction(sequence: number, timeMs: number, actorId: number): void {
    this.endTransaction();
    this.place.sequence = sequence;
    this.place.clock = Math.max(this.place.clock, timeMs);
    this.time = timeMs;
    this.actorId = actorId;
  }

  /** Reads the event during the call only. */
  apply(event: Event): void {
    this.insurance.apply(event);
    switch (event.type) {
      case OrderPlaced.code:
        if (isCustomer(event.accountId)) this.placed(placedOrder(event, this.time, this.place.sequence));
        break;
      case ConditionalOrderPlaced.code:
        this.placed(waitingOrder(event, this.time, this.place.sequence));
        break;
      case OrderTriggered.code:
        triggerOrder(this.touch(event.orderId), event);
        break;
      case OrderExtended.code:
        extendOrder(this.touch(event.orderId), event);
        break;
      case AttachedQuantityRaised.code:
        growOrder(this.touch(event.orderId), event);
        break;
      case ConditionalOrderAmended.code:
        amendWaiting(this.touch(event.orderId), event);
        break;
      case Traded.code:
        this.traded(event);
        break;
      case PriceUpdated.code:
        this.candles.price("MARK", this.actorId, this.time, event.markTicks);
        this.candles.price("INDEX", this.actorId, this.time, event.indexTicks);
        this.openInterest.price(this.actorId, this.time, event);
        break;
      case PositionTransferred.code:
        this.transferred(event);
        break;
      case FundingSettled.code:
        this.funding.settled(this.batch, this.actorId, event);
        break;
      case FundingPaid.code:
        this.funding.paid(this.batch, this.actorId, event, this.place, this.time);
        break;
      case DeficitCovered.code:
        if (isCustomer(event.accountId)) this.covered(event);
        break;
      case OrderAmended.code:
        if (isCustomer(event.accountId)) amendOrder(this.touch(event.orderId), event);
        break;
      case OrderReduced.code:
        if (isCustomer(event.accountId)) this.touch(event.orderId).remainingLots -= event.byLots;
        break;
      case OrderClosed.code:
        if (isCustomer(event.accountId)) this.close(event);
        break;
      case Deposited.code:
      case WithdrawalRequested.code:
      case WithdrawalSent.code:
      case WithdrawalCompleted.code:
        this.transfers.apply(this.batch, event, this.place, this.time);
        break;
    }
  }

  /** Writes everything through the last turn, in one transaction. On disk when it returns. Throws DatabaseWriteError. */
  commit(): void {
    const { database, batch } = this;
    this.endTransaction();
    for (const order of this.changedOrders) if (isOpen(order)) batch.put(database.orders, order.orderId, order);
    this.changedOrders.length = 0;
    this.briefOrders.flush(batch);
    this.fills.flush(batch);
    this.trades.flush(batch);
    this.liquidations.flush(batch);
    this.deficits.flush(batch);
    this.closedOrders.flush(batch);
    this.transfers.flush(batch);
    this.funding.flush(batch);
    this.insurance.flush(batch);
    this.candles.flush(batch);
    this.openInterest.flush(batch);
    this.index.sequence = this.place.sequence;
    this.index.clock = this.place.clock;
    if (this.index.clientIdCount >= CLIENT_IDS_PER_GENERATION) {
      this.index.clientIdGeneration++;
      this.index.clientIdCount = 0;
    }
    batch.put(database.index, INDEX_KEY, this.index);
    database.commit(batch);
    if (this.openOrders.size > MAX_CACHED_ORDERS) this.openOrders.clear();
  }

  /**
   * Orders that have ended are written at once, since nothing changes them any more: so they are garbage while young. One
   * that the batch has placed as well goes into its account's list itself: see short-lived-orders.ts.
   */
  private endTransaction(): void {
    const { database, batch, placedOrders, endedOrders } = this;
    for (const order of endedOrders) {
      this.openOrders.delete(order.orderId);
      const isBrief = this.briefOrders.ended(batch, order, this.place);
      if (!isBrief) batch.put(database.orders, order.orderId, order);
      const entry = isBrief ? order : referenceTo(order.orderId, this.time);
      this.closedOrders.append(batch, order.accountId, this.place, entry);
    }
    endedOrders.length = 0;
    for (const order of placedOrders) {
      if (!isOpen(order)) continue;
      this.openOrders.set(order.orderId, order);
      this.changedOrders.push(order);
    }
    placedOrders.length = 0;
    this.insurance.endTransaction(batch, this.actorId, this.place, this.time);
  }

  private placed(order: OrderRecord): void {
    this.placedOrders.push(order);
    this.briefOrders.placed(order.orderId);
    if (order.clientOrderId === "") return;
    const key = [this.index.clientIdGeneration, order.accountId, order.clientOrderId];
    this.batch.put(this.database.clientOrders, key, { type: ClientOrderRecord.code, orderId: order.orderId });
    this.index.clientIdCount++;
  }

  private traded(event: MessageOf<typeof Traded>): void {
    const { place, time } = this;
    const { sequence } = place;
    const { priceTicks, quantityLots } = event;
    const instrument = this.instrumentOf(event.tradeId);
    const instrumentId = instrument.id;
    const quanta = priceTicks * quantityLots * instrument.quantaPerTickLot;
    const trade = toRecord(toPublicTrade(event, time, sequence));
    this.trades.append(this.batch, instrumentId, place, trade);
    if (event.execType === EXEC_LIQUIDATION) this.liquidations.append(this.batch, instrumentId, place, trade);
    this.candles.trade(instrumentId, time, priceTicks, quantityLots, quanta);
    this.openInterest.change(instrumentId, time, openInterestChange(event));

    if (isCustomer(event.takerAccountId)) this.fill(event, event.takerOrderId, instrument);
    if (isCustomer(event.makerAccountId)) this.fill(event, event.makerOrderId, instrument);
  }

  private transferred(event: MessageOf<typeof PositionTransferred>): void {
    const { place, time } = this;
    const instrument = this.instrumentOf(event.tradeId);
    const liquidation = toRecord(toPublicTransfer(event, time, place.sequence));
    this.liquidations.append(this.batch, this.actorId, place, liquidation);
    this.openInterest.change(this.actorId, time, openInterestChangeOfTransfer(event));
    for (const accountId of [event.accountId, event.counterpartyId])
      if (isCustomer(accountId))
        this.fills.append(
          this.batch,
          accountId,
          place,
          transferFill(event, accountId, instrument, time, place.sequence),
        );
  }

  private covered({ accountId, amountQuanta }: MessageOf<typeof DeficitCovered>): void {
    const { place, time, actorId } = this;
    const deficit = { instrumentId: actorId, amountQuanta, time, sequence: place.sequence };
    this.deficits.append(this.batch, accountId, place, { type: DeficitRecord.code, ...deficit });
  }

  private fill(event: MessageOf<typeof Traded>, orderId: number, instrument: Instrument): void {
    const order = this.touch(orderId);
    const fill = fillOrder(order, event, instrument, this.time, this.place.sequence);
    this.fills.append(this.batch, order.accountId, this.place, fill);
    if (order.status === STATUS_FILLED) this.endedOrders.push(order);
  }

  private instrumentOf(tradeId: number): Instrument {
    const instrumentId = idToInstrumentId(tradeId);
    return must(this.instruments.get(instrumentId), `instrument ${instrumentId} in the configuration`);
  }

  private close(event: MessageOf<typeof OrderClosed>): void {
    const order = this.touch(event.orderId);
    closeOrder(order, event);
    this.endedOrders.push(order);
  }

  private readOrder(orderId: number): OrderRecord {
    const order = must(this.database.orders.get(orderId), `order ${orderId} in the history index`);
    this.openOrders.set(orderId, order);
    return order;
  }

  /** The order, which this turn changes. */
  private touch(orderId: number): OrderRecord {
    // First those of earlier turns: a turn that fills very many orders may have placed as many.
    const known = this.openOrders.get(orderId) ?? this.placedOrders.findLast((placed) => placed.orderId === orderId);
    const order = known ?? this.readOrder(orderId);
    if (order.sequence <= this.index.sequence) this.changedOrders.push(order);
    order.updatedAt = this.time;
    order.sequence = this.place.sequence;
    return order;
  }
}

/** How far the index has come; its beginning where there is none. */
export function readIndex(database: Database): IndexRecord {
  const begin = { type: IndexRecord.code, sequence: 0, clock: 0, clientIdGeneration: 0, clientIdCount: 0 };
  return database.index.get(INDEX_KEY) ?? begin;
}

const toRecord = (trade: PublicTrade): TradeRecord => ({ type: TradeRecord.code, ...trade });
