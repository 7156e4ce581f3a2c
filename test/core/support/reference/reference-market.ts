import {
  BUY,
  DECREMENT,
  EXPIRE_BOTH,
  EXPIRE_MAKER,
  FEE_ACCOUNT,
  REASON_INSUFFICIENT_MARGIN,
  REASON_NONE,
  REASON_REDUCE_ONLY,
  REASON_SELF_TRADE,
  SELL,
  STATUS_CANCELED,
} from "../../../../src/core/base/enums.ts";
import type { Instrument } from "../../../../src/core/protocol/instrument.ts";
import { dividedUp, initialMarginOf, isolatedOrderMarginOf, maintenanceMarginOf } from "./reference-formulas.ts";
import {
  type Contribution,
  isReduceOnly,
  type Outcome,
  type ReferenceFill,
  type ReferenceOrder,
  type ReferencePosition,
} from "./reference-outcome.ts";

/** One symbol's orders and positions, and their matching: lists that are sorted and added up for every question. */
/** The mark, and each account's money for fills before matching begins. */
export interface Means {
  readonly markTicks: number;
  of(accountId: number): MakerMeans;
}

export interface MakerMeans {
  /** Its equity, unrealised gains not counted, is less than its initial margin. */
  readonly isShort: boolean;
  sizeLots: number;
  /** The loss that it may take when it closes its whole position. A part of that for a part. */
  closingQuanta: number;
  /** The loss that it may take when it opens, with the maintenance margin of the new position. */
  openingQuanta: number;
  /** What it may lose against the mark, when it has unrealised gains: its equity without them. */
  settledQuanta: number | null;
  /** The unrealised gain of its position, which a close settles. */
  gainQuanta: number;
}

export class ReferenceMarket {
  readonly instrument: Instrument;
  /** Resting orders, oldest first. */
  orders: ReferenceOrder[] = [];
  positions = new Map<number, ReferencePosition>();
  markTicks = 0;
  lastTicks = 0;
  /** Counts orders that were placed or requeued, and further slices of icebergs. */
  placedOrders = 0;

  constructor(instrument: Instrument) {
    this.instrument = instrument;
  }

  /** A copy of orders and positions, for dry runs. */
  copy(): ReferenceMarket {
    const copy = new ReferenceMarket(this.instrument);
    copy.placedOrders = this.placedOrders;
    copy.orders = this.orders.map((order) => ({ ...order }));
    copy.positions = new Map([...this.positions].map(([accountId, position]) => [accountId, { ...position }]));
    return copy;
  }

  /** A copy without the lots that icebergs hide. */
  copyShown(): ReferenceMarket {
    const copy = this.copy();
    for (const order of copy.orders) if (order.displayLots > 0) order.remainingLots = order.shownLots;
    return copy;
  }

  position(accountId: number): ReferencePosition {
    const { defaultLeverage: leverage } = this.instrument;
    const none = { sizeLots: 0, cashQuanta: 0, costQuanta: 0, leverage, isIsolated: false, walletQuanta: 0 };
    return this.positions.get(accountId) ?? none;
  }

  ordersOf(accountId: number): ReferenceOrder[] {
    return this.orders.filter((order) => order.accountId === accountId);
  }

  /** [price, lots], best first. */
  levels(side: number): [number, number][] {
    const lots = new Map<number, number>();
    for (const order of this.queue(side))
      lots.set(order.priceTicks, (lots.get(order.priceTicks) ?? 0) + inSight(order));
    return [...lots];
  }

  /** `pending`: an order that is about to rest. */
  contribution(
    accountId: number,
    pending?: { side: number; lots: number; exposure: number; loss: number },
  ): Contribution {
    const { instrument } = this;
    const perTick = instrument.quantaPerTickLot;
    const { sizeLots, cashQuanta, costQuanta, leverage, isIsolated, walletQuanta } = this.position(accountId);
    const value = sizeLots * this.markTicks * perTick;
    const positionInitial = initialMarginOf(instrument, Math.abs(value), leverage);
    const sides = [BUY, SELL].map((side) => {
      const sum = { lots: 0, exposure: 0, loss: 0 };
      for (const order of this.ordersOf(accountId)) {
        if (order.side !== side || isReduceOnly(order)) continue;
        sum.lots += order.remainingLots;
        sum.exposure += order.remainingLots * order.marginPriceTicks * perTick;
        sum.loss += order.remainingLots * order.lossTicks * perTick;
      }
      if (pending?.side === side) {
        sum.lots += pending.lots;
        sum.exposure += pending.exposure;
        sum.loss += pending.loss;
      }
      return sum;
    });
    const isApart = isIsolated && sizeLots !== 0;
    let initial: number;
    if (isApart) initial = isolatedOrderMarginOf(instrument, sizeLots, value, leverage, sides);
    else {
      const exposure = Math.max(value + sides[BUY].exposure, sides[SELL].exposure - value);
      initial = initialMarginOf(instrument, Math.max(exposure, Math.abs(value)), leverage);
    }
    for (const side of [BUY, SELL]) {
      const { lots, exposure, loss } = sides[side];
      const reducing = Math.max(0, side === BUY ? -sizeLots : sizeLots);
      if (lots <= reducing) continue;
      const openLoss = dividedUp(loss, lots - reducing, lots);
      const openExposure = dividedUp(exposure, lots - reducing, lots);
      initial += openLoss + dividedUp(openExposure + openLoss, instrument.takerFeePpm, 1_000_000);
    }
    // An account's cross equity has the cash of an isolated position, less its isolated margin.
    if (isApart) {
      const equity = cashQuanta + costQuanta - walletQuanta;
      return { equity, unrealized: 0, initial, positionInitial: 0, maintenance: 0 };
    }
    return {
      equity: cashQuanta + value,
      unrealized: value - costQuanta,
      initial,
      positionInitial,
      maintenance: maintenanceMarginOf(instrument, Math.abs(value)),
    };
  }

  /** Price, then age. */
  queue(side: number): ReferenceOrder[] {
    return this.orders
      .filter((order) => order.side === side)
      .sort(
        (a, b) => (side === BUY ? b.priceTicks - a.priceTicks : a.priceTicks - b.priceTicks) || a.priority - b.priority,
      );
  }

  /** Trades until the order is filled or its price is not met, or until it is stopped: then returns the reason. */
  take(order: ReferenceOrder, out: Outcome, time: number, means: Means): number {
    let reason = REASON_NONE;
    const left = new Map<number, MakerMeans>();
    const taken = { lots: 0, quanta: 0, feeQuanta: 0, realizedQuanta: 0 };
    while (order.remainingLots > 0 && reason === REASON_NONE) {
      const maker = this.queue(1 - order.side)[0];
      if (maker === undefined) break;
      if (order.side === BUY ? maker.priceTicks > order.priceTicks : maker.priceTicks < order.priceTicks) break;
      if (maker.accountId === order.accountId) reason = this.meetItself(order, maker, out, time);
      else if (!this.bears(order, maker, means, left))
        this.remove(maker, STATUS_CANCELED, REASON_INSUFFICIENT_MARGIN, out);
      else {
        const fill = this.trade(order, maker, out, time);
        taken.lots += fill.lots;
        taken.quanta += fill.quanta;
        taken.feeQuanta += fill.feeQuanta;
        taken.realizedQuanta += fill.realizedQuanta;
      }
    }
    if (taken.lots !== 0) this.settle(order.accountId, taken);
    this.clip(order.accountId, out, time);
    return reason;
  }

  /**
   * A maker must have the money that the fill loses in three cases: its price is far from the mark (see nearLimit()), it is
   * short of margin when unrealised gains do not count, or it has reduce-only orders. The loss comes from settled money. When it closes, that is the closed part's share of the money behind its
   * position. When it opens, the new maintenance margin comes on top. From then on this holds for all its orders that the
   * taker meets.
   */
  private bears(taker: ReferenceOrder, maker: ReferenceOrder, means: Means, left: Map<number, MakerMeans>): boolean {
    const { instrument } = this;
    const { accountId, priceTicks } = maker;
    const lots = Math.min(taker.remainingLots, inSight(maker));
    const lossTicks = taker.side === BUY ? means.markTicks - priceTicks : priceTicks - means.markTicks;
    const has = left.get(accountId) ?? { ...means.of(accountId) };
    const limits = instrument.riskTiers.map(
      (tier) =>
        Math.floor((dividedUp(1_000_000, 1, tier.maxLeverage) - tier.maintenanceMarginPpm) / 2) -
        instrument.makerFeePpm,
    );
    const leastPpm = Math.min(instrument.riskTiers[0].maintenanceMarginPpm, ...limits);
    const isFar = lossTicks * 1_000_000 > means.markTicks * leastPpm;
    const hasReduceOnly = this.orders.some((order) => order.accountId === accountId && isReduceOnly(order));
    if (!isFar && !hasReduceOnly && !has.isShort && !left.has(accountId)) return true;
    left.set(accountId, has);
    const quanta = lots * priceTicks * instrument.quantaPerTickLot;
    const cost = lossTicks * lots * instrument.quantaPerTickLot + dividedUp(quanta, instrument.makerFeePpm, 1_000_000);
    const sizeLots = has.sizeLots + (maker.side === BUY ? lots : -lots);
    const isClosing = sizeLots === 0 || (sizeLots > 0 ? has.sizeLots > sizeLots : has.sizeLots < sizeLots);
    const notional = Math.abs(sizeLots) * means.markTicks * instrument.quantaPerTickLot;
    const closedShare = isClosing ? (BigInt(has.closingQuanta) * BigInt(lots)) / BigInt(Math.abs(has.sizeLots)) : 0n;
    if (isClosing && cost > Number(closedShare)) return false;
    if (!isClosing && cost + maintenanceMarginOf(instrument, notional) > has.openingQuanta) return false;
    const lossQuanta = Math.max(0, lossTicks * lots * instrument.quantaPerTickLot);
    const gain = isClosing ? Number((BigInt(has.gainQuanta) * BigInt(lots)) / BigInt(Math.abs(has.sizeLots))) : 0;
    if (has.settledQuanta !== null) {
      if (lossQuanta > 0 && lossQuanta > has.settledQuanta + gain) return false;
      has.settledQuanta += gain - lossQuanta;
    }
    has.gainQuanta -= gain;
    has.sizeLots = sizeLots;
    has.closingQuanta -= cost;
    has.openingQuanta -= cost;
    return true;
  }

  private meetItself(order: ReferenceOrder, maker: ReferenceOrder, out: Outcome, time: number): number {
    const mode = order.selfTradePrevention;
    if (mode === EXPIRE_MAKER || mode === EXPIRE_BOTH) this.remove(maker, STATUS_CANCELED, REASON_SELF_TRADE, out);
    if (mode === EXPIRE_MAKER) return REASON_NONE;
    if (mode !== DECREMENT) return REASON_SELF_TRADE;
    const lots = Math.min(order.remainingLots, inSight(maker));
    if (lots === maker.remainingLots) this.remove(maker, STATUS_CANCELED, REASON_SELF_TRADE, out);
    else {
      this.reduce(maker, lots, REASON_SELF_TRADE, out, time);
      maker.shownLots -= lots;
      this.refill(maker);
    }
    // Its own orders have used it up: it ends with its last lots unfilled.
    if (lots === order.remainingLots) return REASON_SELF_TRADE;
    this.reduce(order, lots, REASON_SELF_TRADE, out, time);
    return REASON_NONE;
  }

  private trade(taker: ReferenceOrder, maker: ReferenceOrder, out: Outcome, time: number): ReferenceFill {
    const { instrument } = this;
    const lots = Math.min(taker.remainingLots, inSight(maker));
    const quanta = lots * maker.priceTicks * instrument.quantaPerTickLot;
    const takerFeeQuanta = dividedUp(quanta, instrument.takerFeePpm, 1_000_000);
    const makerFeeQuanta = dividedUp(quanta, instrument.makerFeePpm, 1_000_000);
    const signed = taker.side === BUY ? lots : -lots;
    const takerRealizedQuanta = this.move(taker.accountId, signed, quanta, takerFeeQuanta);
    const makerRealizedQuanta = this.move(maker.accountId, -signed, quanta, makerFeeQuanta);
    const feeAccount = this.position(FEE_ACCOUNT);
    feeAccount.cashQuanta += takerFeeQuanta + makerFeeQuanta;
    this.positions.set(FEE_ACCOUNT, feeAccount);
    for (const [order, fee] of [
      [taker, takerFeeQuanta],
      [maker, makerFeeQuanta],
    ] as const) {
      order.remainingLots -= lots;
      order.filledLots += lots;
      order.filledQuanta += quanta;
      order.feeQuanta += fee;
      order.updatedAt = time;
    }
    maker.shownLots -= lots;
    this.refill(maker);
    this.orders = this.orders.filter((order) => order.remainingLots > 0);
    this.lastTicks = maker.priceTicks;
    out.trades.push({
      takerOrderId: taker.orderId,
      makerOrderId: maker.orderId,
      priceTicks: maker.priceTicks,
      quantityLots: lots,
      takerFeeQuanta,
      makerFeeQuanta,
      takerRealizedQuanta,
      makerRealizedQuanta,
      takerSizeLots: this.position(taker.accountId).sizeLots,
      makerSizeLots: this.position(maker.accountId).sizeLots,
    });
    this.settle(maker.accountId, {
      lots: -signed,
      quanta,
      feeQuanta: makerFeeQuanta,
      realizedQuanta: makerRealizedQuanta,
    });
    this.clip(maker.accountId, out, time);
    return { lots: signed, quanta, feeQuanta: takerFeeQuanta, realizedQuanta: takerRealizedQuanta };
  }

  /** An iceberg whose slice is used up shows the next one, after all other orders of its price. */
  private refill(order: ReferenceOrder): void {
    if (order.displayLots === 0 || order.shownLots > 0 || order.remainingLots === 0) return;
    order.shownLots = Math.min(order.displayLots, order.remainingLots);
    order.priority = ++this.placedOrders;
  }

  /** Changes the isolated margin by a fill. In a dry run it does nothing. */
  protected settle(_accountId: number, _fill: ReferenceFill): void {}

  /** Changes a position by a trade. Returns the profit of the part that closed. */
  private move(accountId: number, signedLots: number, quanta: number, feeQuanta: number): number {
    const position = this.position(accountId);
    const lots = Math.abs(signedLots);
    const sign = Math.sign(signedLots);
    const closing = Math.sign(position.sizeLots) === -sign ? Math.min(lots, Math.abs(position.sizeLots)) : 0;
    // Each closed lot takes its share of the cost with it, cut towards zero.
    const costOfClosed =
      closing === 0 ? 0 : Number((BigInt(position.costQuanta) * BigInt(closing)) / BigInt(Math.abs(position.sizeLots)));
    const quantaOfClosed = (quanta / lots) * closing;
    const realized = closing === 0 ? 0 : -sign * quantaOfClosed - costOfClosed;
    position.costQuanta += sign * (quanta - quantaOfClosed) - costOfClosed;
    position.cashQuanta -= sign * quanta + feeQuanta;
    position.sizeLots += signedLots;
    this.positions.set(accountId, position);
    return realized;
  }

  /** No reduce-only order is larger than the position that it closes. */
  private clip(accountId: number, out: Outcome, time: number): void {
    const { sizeLots } = this.position(accountId);
    for (const order of this.ordersOf(accountId)) {
      if (!isReduceOnly(order)) continue;
      const closable = Math.max(0, order.side === SELL ? sizeLots : -sizeLots);
      if (closable === 0) this.remove(order, STATUS_CANCELED, REASON_REDUCE_ONLY, out);
      else if (order.remainingLots > closable) {
        // Hidden lots go first.
        const excess = order.remainingLots - closable;
        const hidden = Math.min(excess, order.remainingLots - inSight(order));
        if (hidden > 0) this.reduce(order, hidden, REASON_REDUCE_ONLY, out, time);
        if (excess > hidden) this.reduce(order, excess - hidden, REASON_REDUCE_ONLY, out, time);
        order.shownLots = Math.min(order.shownLots, order.remainingLots);
      }
    }
  }

  remove(order: ReferenceOrder, status: number, reason: number, out: Outcome): void {
    this.orders = this.orders.filter((other) => other !== order);
    out.closed.push([order.orderId, status, reason]);
  }

  private reduce(order: ReferenceOrder, byLots: number, reason: number, out: Outcome, time: number): void {
    order.remainingLots -= byLots;
    order.updatedAt = time;
    out.reduced.push([order.orderId, byLots, reason]);
  }
}

/** Lots that the book shows of an order. */
const inSight = (order: ReferenceOrder): number => (order.displayLots === 0 ? order.remainingLots : order.shownLots);
