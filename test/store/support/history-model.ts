import * as enums from "../../../src/core/base/enums.ts";
import { type Candle, type CandleSeries, flatCandle, openTimeOf } from "../../../src/core/market-data/candles.ts";
import {
  Deposited,
  type Event,
  OrderClosed,
  OrderPlaced,
  OrderReduced,
  OrderRested,
  PriceUpdated,
  Traded,
  WithdrawalCompleted,
  WithdrawalRequested,
  WithdrawalSent,
} from "../../../src/core/protocol/events.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf, type MessageSchema } from "../../../src/core/protocol/message-schema.ts";
import type * as payloads from "../../../src/core/protocol/payloads.ts";
import { type FillRecord, OrderRecord, type TradeRecord } from "../../../src/store/database/history-schema.ts";
import { PRUNED_INTERVALS } from "../../../src/store/history/candle-fold.ts";

/** One turn of an actor, as the log holds it. */
export interface LoggedTransaction {
  sequence: number;
  time: number;
  actorId: number;
  events: Message[];
}

export const INSTRUMENT_IDS = [1, 7];
export const ACCOUNTS = [enums.INSURANCE_ACCOUNT, 16, 17, 18, 4000];
const QUANTA_PER_TICK_LOT: Record<number, number> = { 1: 100, 7: 3 };
const TAKER_FEE_PPM = 500;
const MAKER_FEE_PPM = 200;
/** What the history needs of an instrument. */
export const INSTRUMENTS = INSTRUMENT_IDS.map((id) => ({
  ...{ id, quantaPerTickLot: QUANTA_PER_TICK_LOT[id], takerFeePpm: TAKER_FEE_PPM, makerFeePpm: MAKER_FEE_PPM },
})) as Instrument[];

export const event = <S extends MessageSchema>(shape: S, fields: Partial<MessageOf<S>>): Message =>
  Object.assign(blank(shape) as object, fields) as Message;

/** Seeded: mulberry32. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface LiveOrder {
  orderId: number;
  accountId: number;
  side: number;
  priceTicks: number;
  remainingLots: number;
}

/** Writes turns that an exchange could have written: what happens to an order happens while it is open. */
export class LogGenerator {
  private readonly next: () => number;
  private sequence = 0;
  private time = Date.UTC(2026, 0, 30, 23, 58);
  /** The last of each actor. */
  private readonly times = new Map<number, number>();
  private serial = 0;
  private tradeSerial = 0;
  private transferId = 0;
  private readonly live = new Map<number, LiveOrder[]>(INSTRUMENT_IDS.map((id) => [id, []]));
  private readonly requested: { transferId: number; accountId: number }[] = [];
  private readonly sent: { transferId: number; accountId: number }[] = [];

  constructor(seed: number) {
    this.next = random(seed);
  }

  transactions(count: number): LoggedTransaction[] {
    return Array.from({ length: count }, () => this.transaction());
  }

  private transaction(): LoggedTransaction {
    this.sequence++;
    // Often the same millisecond, sometimes hours later.
    if (this.chance(0.7)) this.time += this.int(this.chance(0.02) ? 40_000_000 : 900);
    const kind = this.next();
    if (kind < 0.1) return this.logged(enums.LEDGER, this.transfer());
    const instrumentId = this.pick(INSTRUMENT_IDS);
    const live = this.live.get(instrumentId) as LiveOrder[];
    if (kind < 0.15) {
      const prices = { markTicks: 1 + this.int(99), indexTicks: 1 + this.int(99) };
      const price = { ...prices, premiumPpb: this.int(99) - 50 };
      return this.logged(instrumentId, [event(PriceUpdated, price)]);
    }
    if (kind < 0.4 && live.length > 0) return this.logged(instrumentId, this.cancel(live));
    if (kind < 0.48 && live.length > 0) return this.logged(instrumentId, this.reduce(live));
    return this.logged(instrumentId, this.place(instrumentId, live));
  }

  private logged(actorId: number, events: Message[]): LoggedTransaction {
    // Each actor reads the clock before it takes its place in the log: together their times are a little out of order.
    const time = Math.max(this.times.get(actorId) ?? 0, this.time - this.int(40));
    this.times.set(actorId, time);
    return { sequence: this.sequence, time, actorId, events };
  }

  private place(instrumentId: number, live: LiveOrder[]): Message[] {
    const order: LiveOrder = {
      orderId: enums.serialToId(++this.serial, instrumentId),
      accountId: this.pick(ACCOUNTS),
      side: this.int(2),
      priceTicks: 90 + this.int(20),
      remainingLots: 1 + this.int(9),
    };
    const makers = live.filter(({ side, accountId }) => side !== order.side && accountId !== order.accountId);
    const takes = makers.length > 0 && this.chance(0.6);
    const { orderId, accountId, side, priceTicks } = order;
    const events = [
      event(OrderPlaced, {
        ...{ orderId, accountId, side, priceTicks, quantityLots: order.remainingLots, rests: takes ? 0 : 1 },
        ...{ orderType: this.int(2), timeInForce: this.int(3), flags: this.int(4), selfTradePrevention: this.int(4) },
        // Few ids, so that they are used again.
        clientOrderId: this.chance(0.5) ? `id-${this.int(12)}` : "",
      }),
    ];
    if (takes) {
      for (let i = this.int(4); i >= 0 && order.remainingLots > 0 && makers.length > 0; i--) {
        events.push(this.trade(instrumentId, order, makers, live));
      }
      if (order.remainingLots > 0 && this.chance(0.5)) {
        events.push(event(OrderClosed, { orderId, accountId, side, status: enums.STATUS_EXPIRED, reason: 2 }));
        return events;
      }
      if (order.remainingLots > 0) {
        events.push(event(OrderRested, { orderId, accountId, side, priceTicks, restingLots: order.remainingLots }));
      }
    }
    if (order.remainingLots > 0) live.push(order);
    return events;
  }

  private trade(instrumentId: number, taker: LiveOrder, makers: LiveOrder[], live: LiveOrder[]): Message {
    const maker = this.pick(makers);
    const quantityLots = 1 + this.int(Math.min(taker.remainingLots, maker.remainingLots));
    taker.remainingLots -= quantityLots;
    maker.remainingLots -= quantityLots;
    if (maker.remainingLots === 0) {
      makers.splice(makers.indexOf(maker), 1);
      live.splice(live.indexOf(maker), 1);
    }
    return event(Traded, {
      ...{
        tradeId: enums.serialToId(++this.tradeSerial, instrumentId),
        takerOrderId: taker.orderId,
        makerOrderId: maker.orderId,
      },
      ...{ takerAccountId: taker.accountId, makerAccountId: maker.accountId, takerSide: taker.side, quantityLots },
      ...{ priceTicks: maker.priceTicks, takerFeeQuanta: this.int(50), makerFeeQuanta: this.int(20) },
      ...{ takerRealizedQuanta: this.int(99) - 50, makerRealizedQuanta: this.int(99) - 50 },
      ...{ takerSizeLots: this.int(99) - 50, makerSizeLots: this.int(99) - 50, execType: this.int(3) },
    });
  }

  private cancel(live: LiveOrder[]): Message[] {
    const events: Message[] = [];
    for (let i = this.chance(0.1) ? 5 : 1; i > 0 && live.length > 0; i--) {
      const [order] = live.splice(this.int(live.length), 1) as [LiveOrder];
      const { orderId, accountId, side } = order;
      events.push(
        event(OrderClosed, { orderId, accountId, side, status: enums.STATUS_CANCELED, reason: enums.REASON_USER }),
      );
    }
    return events;
  }

  private reduce(live: LiveOrder[]): Message[] {
    const order = this.pick(live);
    if (order.remainingLots === 1) return this.cancel(live);
    const byLots = 1 + this.int(order.remainingLots - 1);
    order.remainingLots -= byLots;
    const { orderId, accountId, side } = order;
    return [event(OrderReduced, { orderId, accountId, side, byLots, resting: 1, reason: enums.REASON_REDUCE_ONLY })];
  }

  private transfer(): Message[] {
    const kind = this.int(4);
    const waiting = kind === 2 ? this.requested : this.sent;
    if (kind >= 2 && waiting.length > 0) {
      const [entry] = waiting.splice(this.int(waiting.length), 1) as [{ transferId: number; accountId: number }];
      if (kind === 3) return [event(WithdrawalCompleted, entry)];
      this.sent.push(entry);
      return [event(WithdrawalSent, { ...entry, txHash: `0x${entry.transferId}` })];
    }
    const entry = { transferId: ++this.transferId, accountId: this.pick(ACCOUNTS.slice(1)) };
    const request = {
      ...entry,
      amountQuanta: 1 + this.int(1e9),
      reference: this.chance(0.5) ? `r${entry.transferId}` : "",
    };
    if (kind === 0) return [event(Deposited, request)];
    this.requested.push(entry);
    return [event(WithdrawalRequested, { ...request, address: "0xabc" })];
  }

  private chance(probability: number): boolean {
    return this.next() < probability;
  }

  private int(below: number): number {
    return Math.floor(this.next() * below);
  }

  private pick<T>(from: readonly T[]): T {
    return from[this.int(from.length)] as T;
  }
}

type OwnFill = FillRecord & { accountId: number };

/** The history, kept in the plainest way: lists in memory, in the order of the log. */
export class HistoryModel {
  readonly orders = new Map<number, OrderRecord>();
  closed: OrderRecord[] = [];
  readonly clientOrders = new Map<string, number>();
  fills: OwnFill[] = [];
  /** The ids of closed orders that keepSince() removed. */
  readonly removed: number[] = [];
  readonly transfers = new Map<number, payloads.Transfer>();
  private readonly allTrades: TradeRecord[] = [];
  private readonly prices: { instrumentId: number; time: number; MARK: number; INDEX: number; PREMIUM: number }[] = [];
  private keptSince = 0;

  get trades(): TradeRecord[] {
    return this.allTrades.filter(({ time }) => time >= this.keptSince);
  }

  /** Forgets what retention removes. */
  keepSince(time: number): void {
    this.keptSince = time;
    for (const { orderId, updatedAt } of this.closed) {
      if (updatedAt >= time) continue;
      this.orders.delete(orderId);
      this.removed.push(orderId);
    }
    this.closed = this.closed.filter(({ updatedAt }) => updatedAt >= time);
    for (const [key, orderId] of this.clientOrders) if (!this.orders.has(orderId)) this.clientOrders.delete(key);
    this.fills = this.fills.filter((fill) => fill.time >= time);
  }

  apply({ sequence, time, actorId, events }: LoggedTransaction): void {
    for (const message of events) {
      if (message.type === PriceUpdated.code) {
        const { markTicks, indexTicks, premiumPpb } = message as MessageOf<typeof PriceUpdated>;
        this.prices.push({ instrumentId: actorId, time, MARK: markTicks, INDEX: indexTicks, PREMIUM: premiumPpb });
      }
      this.event(message as Event, sequence, time);
    }
  }

  candles(series: CandleSeries): Candle[] {
    const { priceType, interval, instrumentId } = series;
    const candles =
      priceType === "LAST" ? this.candlesOfTrades(series) : this.candlesOfPrices(priceType, interval, instrumentId);
    return PRUNED_INTERVALS.includes(interval) ? candles.filter(({ openTime }) => openTime >= this.keptSince) : candles;
  }

  private candlesOfPrices(
    priceType: Exclude<CandleSeries["priceType"], "LAST">,
    interval: CandleSeries["interval"],
    instrumentId: number,
  ): Candle[] {
    const candles = new Map<number, number[]>();
    for (const price of this.prices) {
      if (price.instrumentId !== instrumentId) continue;
      const openTime = openTimeOf(interval, price.time);
      candles.set(openTime, [...(candles.get(openTime) ?? []), price[priceType]]);
    }
    return [...candles].map(([openTime, prices]) => ({
      ...flatCandle(openTime, prices[0] as number),
      highTicks: Math.max(...prices),
      lowTicks: Math.min(...prices),
      closeTicks: prices.at(-1) as number,
    }));
  }

  private candlesOfTrades({ instrumentId, interval }: CandleSeries): Candle[] {
    const candles = new Map<number, Candle>();
    for (const { tradeId, time, priceTicks, quantityLots, takerSide } of this.allTrades) {
      if (enums.idToInstrumentId(tradeId) !== instrumentId) continue;
      const openTime = openTimeOf(interval, time);
      const candle = candles.get(openTime) ?? flatCandle(openTime, priceTicks);
      candles.set(openTime, candle);
      candle.highTicks = Math.max(candle.highTicks, priceTicks);
      candle.lowTicks = Math.min(candle.lowTicks, priceTicks);
      candle.closeTicks = priceTicks;
      candle.volumeLots += quantityLots;
      const quanta = BigInt(priceTicks * quantityLots * (QUANTA_PER_TICK_LOT[instrumentId] as number));
      candle.turnoverQuanta += quanta;
      candle.trades++;
      if (takerSide !== enums.BUY) continue;
      candle.takerBuyLots += quantityLots;
      candle.takerBuyQuanta += quanta;
    }
    return [...candles.values()];
  }

  private event(message: Event, sequence: number, time: number): void {
    switch (message.type) {
      case OrderPlaced.code: {
        const {
          type: _type,
          rests: _rests,
          marginPriceTicks: _price,
          lossTicks: _loss,
          bodyHash: _hash,
          ...order
        } = message;
        if (order.accountId < enums.FIRST_CUSTOMER_ACCOUNT) return;
        const blankOrder = blank(OrderRecord);
        const times = { createdAt: time, updatedAt: time, sequence };
        this.orders.set(order.orderId, { ...blankOrder, ...order, ...times, remainingLots: order.quantityLots });
        if (order.clientOrderId !== "")
          this.clientOrders.set(`${order.accountId} ${order.clientOrderId}`, order.orderId);
        return;
      }
      case Traded.code: {
        const { type: _type, tradeId, takerSide, priceTicks, quantityLots, execType } = message;
        this.allTrades.push({ type: 252, tradeId, takerSide, priceTicks, quantityLots, execType, time, sequence });
        for (const maker of [0, 1]) {
          const [accountId, orderId, feeQuanta, realizedQuanta, positionSizeLots] = maker
            ? [
                message.makerAccountId,
                message.makerOrderId,
                message.makerFeeQuanta,
                message.makerRealizedQuanta,
                message.makerSizeLots,
              ]
            : [
                message.takerAccountId,
                message.takerOrderId,
                message.takerFeeQuanta,
                message.takerRealizedQuanta,
                message.takerSizeLots,
              ];
          const order = this.orders.get(orderId);
          if (order === undefined) continue;
          order.filledLots += quantityLots;
          order.filledQuanta += priceTicks * quantityLots * (QUANTA_PER_TICK_LOT[tradeId % 256] as number);
          order.feeQuanta += feeQuanta;
          order.remainingLots -= quantityLots;
          order.status = order.remainingLots === 0 ? enums.STATUS_FILLED : enums.STATUS_PARTIALLY_FILLED;
          Object.assign(order, { updatedAt: time, sequence });
          if (order.remainingLots === 0) this.closed.push(order);
          this.fills.push({
            ...{ type: 251, accountId, tradeId, orderId, side: order.side, priceTicks, quantityLots, feeQuanta, maker },
            ...{
              feePpm: maker ? MAKER_FEE_PPM : TAKER_FEE_PPM,
              realizedQuanta,
              execType,
              positionSizeLots,
              time,
              sequence,
            },
            clientOrderId: order.clientOrderId,
            offPriceQuanta: 0,
          });
        }
        return;
      }
      case OrderReduced.code: {
        const order = this.orders.get(message.orderId);
        if (order === undefined) return;
        Object.assign(order, { remainingLots: order.remainingLots - message.byLots, updatedAt: time, sequence });
        return;
      }
      case OrderClosed.code: {
        const order = this.orders.get(message.orderId);
        if (order === undefined) return;
        Object.assign(order, { status: message.status, reason: message.reason, updatedAt: time, sequence });
        this.closed.push(order);
        return;
      }
      case Deposited.code:
      case WithdrawalRequested.code: {
        const isDeposit = message.type === Deposited.code;
        const { type: _type, ...request } = message;
        this.transfers.set(message.transferId, {
          ...{ kind: isDeposit ? "DEPOSIT" : "WITHDRAWAL", status: isDeposit ? "COMPLETED" : "PENDING", address: "" },
          ...{ txHash: "", createdAt: time, updatedAt: time },
          ...request,
        });
        return;
      }
      case WithdrawalSent.code: {
        const transfer = this.transfers.get(message.transferId) as payloads.Transfer;
        Object.assign(transfer, { status: "SENT", txHash: message.txHash, updatedAt: time });
        return;
      }
      case WithdrawalCompleted.code:
        Object.assign(this.transfers.get(message.transferId) as payloads.Transfer, {
          status: "COMPLETED",
          updatedAt: time,
        });
        return;
    }
  }
}
