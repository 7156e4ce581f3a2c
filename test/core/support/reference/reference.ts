import {
  BUY,
  EXPIRE_MAKER,
  FOK,
  GTC,
  IOC,
  ISOLATED,
  LEDGER,
  LIMIT,
  MARKET,
  POST_ONLY,
  PRICE_MATCHES,
  REASON_FOK_UNFILLABLE,
  REASON_IOC_REMAINDER,
  REASON_NO_LIQUIDITY,
  REASON_NONE,
  REASON_USER,
  REDUCE_ONLY,
  SELL,
  STATUS_CANCELED,
  STATUS_EXPIRED,
  STATUS_FILLED,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
  serialToId,
} from "../../../../src/core/base/enums.ts";
import {
  AmendOrder,
  CancelAll,
  CancelOrder,
  ClosePosition,
  Deposit,
  HaltSymbol,
  MoveMargin,
  PlaceExtended,
  PlaceOrder,
  ResumeSymbol,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Withdraw,
} from "../../../../src/core/protocol/commands.ts";
import type { Instrument } from "../../../../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../../../src/core/protocol/message-schema.ts";
import { dividedUp, initialMarginOf, maintenanceMarginOf, markLimitOf, markOf } from "./reference-formulas.ts";
import { closingEdgeOf, positionMarginOf, unrealizedOf, walletAfter } from "./reference-isolated.ts";
import { type MakerMeans, type Means, ReferenceMarket } from "./reference-market.ts";
import {
  type Contribution,
  type Details,
  isReduceOnly,
  nothing,
  type Outcome,
  type ReferenceFill,
  type ReferenceOrder,
  type ReferencePosition,
  type ReferenceTrade,
  refusal,
  sum,
} from "./reference-outcome.ts";

/** The slow reference model of an exchange: accounts with a balance, and symbols that decide. */
export class ReferenceExchange {
  readonly balances = new Map<number, number>();
  readonly symbols: ReferenceSymbol[];
  readonly maxIndexAgeMs: number;

  constructor(instruments: readonly Instrument[], maxIndexAgeMs: number) {
    this.maxIndexAgeMs = maxIndexAgeMs;
    this.symbols = instruments.map((instrument) => new ReferenceSymbol(instrument, this));
  }

  do(actorId: number, command: Message, time: number): Outcome {
    if (actorId === LEDGER) return this.transfer(command);
    const symbol = this.symbols.find(({ instrument }) => instrument.id === actorId);
    if (symbol === undefined) throw new Error(`no symbol ${actorId}`);
    const outcome = symbol.do(command, time);
    outcome.closed.sort(([a], [b]) => a - b);
    outcome.reduced.sort(([a, x], [b, y]) => a - b || x - y);
    return outcome;
  }

  /** Margin of an account over all symbols: the margin table must hold the same. */
  total(accountId: number): Contribution & { gains: number; reserved: number } {
    const total = {
      equity: this.balances.get(accountId) ?? 0,
      unrealized: 0,
      gains: 0,
      reserved: 0,
      initial: 0,
      positionInitial: 0,
      maintenance: 0,
    };
    for (const symbol of this.symbols) {
      const part = symbol.contribution(accountId);
      total.equity += part.equity;
      total.unrealized += part.unrealized;
      total.gains += Math.max(0, part.unrealized);
      if (symbol.position(accountId).isIsolated) total.reserved += part.initial;
      total.initial += part.initial;
      total.positionInitial += part.positionInitial;
      total.maintenance += part.maintenance;
    }
    return total;
  }

  beyondMaintenance(accountId: number): number {
    const { equity, maintenance } = this.total(accountId);
    return equity - maintenance;
  }

  /** What may go into isolated positions: neither maintenance margin nor unrealised gains. */
  isolable(accountId: number): number {
    const { equity, maintenance, gains } = this.total(accountId);
    return equity - Math.max(maintenance, gains);
  }

  withdrawable(accountId: number): number {
    const { equity, initial, gains, reserved } = this.total(accountId);
    return Math.max(0, equity - Math.max(initial, gains + reserved));
  }

  private transfer(message: Message): Outcome {
    const command = message as MessageOf<typeof Deposit> | MessageOf<typeof Withdraw>;
    const { accountId, amountQuanta } = command;
    const balance = this.balances.get(accountId) ?? 0;
    if (command.type === Deposit.code) this.balances.set(accountId, balance + amountQuanta);
    else if (command.type === Withdraw.code) {
      const withdrawable = this.withdrawable(accountId);
      if (amountQuanta > withdrawable)
        return refusal("INSUFFICIENT_BALANCE", { requiredQuanta: amountQuanta, availableQuanta: withdrawable });
      this.balances.set(accountId, balance - amountQuanta);
    } else throw new Error(`the reference knows no ledger command ${command}`);
    return nothing();
  }
}

/** Makes the checks in the order that core/symbol.ts documents, then changes the state. */
export class ReferenceSymbol extends ReferenceMarket {
  private readonly exchange: ReferenceExchange;
  private readonly clientIds = new Map<string, { orderId: number; bodyHash: number }>();
  /** By account and reference; "" = none. */
  private readonly marginMoves = new Map<string, number>();
  private basis1024 = 0;
  indexTicks = 0;
  haltMode = 0;
  private priceTime = 0;
  /** Of the command under way: what each account may isolate, and this symbol's part of the cross equity. */
  private visible = new Map<number, { totalQuanta: number; partQuanta: number }>();

  constructor(instrument: Instrument, exchange: ReferenceExchange) {
    super(instrument);
    this.exchange = exchange;
  }

  do(message: Message, time: number): Outcome {
    this.visible = new Map(
      [...this.exchange.balances.keys()].map((accountId) => [
        accountId,
        { totalQuanta: this.exchange.isolable(accountId), partQuanta: this.contribution(accountId).equity },
      ]),
    );
    switch (message.type) {
      case SetMarginMode.code:
        return this.setMarginMode(message as MessageOf<typeof SetMarginMode>, time);
      case MoveMargin.code:
        return this.moveMargin(message as MessageOf<typeof MoveMargin>, time);
      case PlaceOrder.code:
        return this.place(message as MessageOf<typeof PlaceOrder>, time);
      case PlaceExtended.code: {
        const { displayLots, priceMatch } = message as MessageOf<typeof PlaceExtended>;
        return this.place(message as MessageOf<typeof PlaceExtended>, time, displayLots, priceMatch);
      }
      case CancelOrder.code:
        return this.cancel(message as MessageOf<typeof CancelOrder>);
      case CancelAll.code:
        return this.cancelAll(message as MessageOf<typeof CancelAll>);
      case AmendOrder.code:
        return this.amend(message as MessageOf<typeof AmendOrder>, time);
      case ClosePosition.code:
        return this.closePosition(message as MessageOf<typeof ClosePosition>, time);
      case SetLeverage.code:
        return this.setLeverage(message as MessageOf<typeof SetLeverage>, time);
      case HaltSymbol.code:
        this.haltMode = (message as MessageOf<typeof HaltSymbol>).mode;
        return nothing();
      case ResumeSymbol.code:
        return this.resume(time);
      case SetIndexPrice.code:
        return this.setIndexPrice(message as MessageOf<typeof SetIndexPrice>, time);
      default:
        throw new Error(`the reference knows no command ${message.type}`);
    }
  }

  private place(
    asked: Omit<MessageOf<typeof PlaceOrder>, "type">,
    time: number,
    displayLots = 0,
    priceMatch = 0,
  ): Outcome {
    const { instrument, markTicks } = this;
    let c = asked;
    const used = c.clientOrderId === "" ? undefined : this.clientIds.get(`${c.accountId}/${c.clientOrderId}`);
    if (used !== undefined && used.bodyHash !== c.bodyHash)
      return refusal("CLIENT_ORDER_ID_REUSED", { orderId: String(used.orderId) });
    if (used !== undefined) return { ...nothing(), orderId: used.orderId };
    if (displayLots !== 0) {
      const refused = this.misdisplayed(displayLots, c.quantityLots, c.quantityLots);
      if (refused !== null) return refused;
    }
    if (priceMatch !== 0) {
      const priceTicks = this.matched(c.side, priceMatch);
      if (typeof priceTicks !== "number") return priceTicks;
      c = { ...c, priceTicks };
    }
    if (c.expiresAt !== 0 && c.expiresAt < time) return refusal("REQUEST_EXPIRED");
    if (markTicks === 0) return refusal("NO_MARK_PRICE");
    if (this.haltMode > (isReduceOnly(c) ? 1 : 0)) return this.halted();
    if (!isReduceOnly(c) && this.isStale(time)) return this.stale();
    if (c.quantityLots < instrument.minQuantityLots)
      return refusal("QUANTITY_TOO_SMALL", { limitLots: instrument.minQuantityLots });
    if (c.quantityLots > instrument.maxQuantityLots)
      return refusal("QUANTITY_TOO_LARGE", { limitLots: instrument.maxQuantityLots });

    const isBuy = c.side === BUY;
    const isMarket = c.orderType === MARKET;
    const position = this.position(c.accountId);
    const { sizeLots } = position;
    const reduceOnly = isReduceOnly(c);
    const closable = Math.max(0, isBuy ? -sizeLots : sizeLots);
    if (reduceOnly && closable === 0) return refusal("REDUCE_ONLY_NO_POSITION");
    const quantityLots = reduceOnly ? Math.min(c.quantityLots, closable) : c.quantityLots;

    const edge = this.edgeOf(c.accountId, c.side);
    const priceTicks = isMarket ? edge : c.priceTicks;
    if (!isMarket && priceTicks > instrument.maxPriceTicks)
      return refusal("PRICE_TOO_HIGH", { limitTicks: instrument.maxPriceTicks });
    if (isBuy ? priceTicks > edge : priceTicks < edge)
      return refusal("PRICE_OUT_OF_BAND", { limitTicks: edge, markTicks });
    const lotQuanta = (isMarket ? markTicks : priceTicks) * instrument.quantaPerTickLot;
    if (!reduceOnly && c.quantityLots * lotQuanta < instrument.minNotionalQuanta)
      return refusal("NOTIONAL_TOO_SMALL", {
        limitQuanta: instrument.minNotionalQuanta,
        nearestLots: dividedUp(instrument.minNotionalQuanta, 1, lotQuanta),
      });
    const open = this.ordersOf(c.accountId);
    const mayRest = !isMarket && c.timeInForce === GTC;
    if (mayRest && open.length >= instrument.maxOpenOrders)
      return refusal("TOO_MANY_OPEN_ORDERS", { limit: instrument.maxOpenOrders });

    const best = this.queue(1 - c.side)[0]?.priceTicks;
    const takes = best !== undefined && (isBuy ? best <= priceTicks : best >= priceTicks);
    if (takes && (c.flags & POST_ONLY) !== 0) return refusal("POST_ONLY_WOULD_TRADE", { bestTicks: best });

    const order: ReferenceOrder = {
      orderId: serialToId(this.placedOrders + 1, instrument.id),
      accountId: c.accountId,
      side: c.side,
      orderType: c.orderType,
      timeInForce: isMarket && c.timeInForce === GTC ? IOC : c.timeInForce,
      flags: c.flags,
      selfTradePrevention: c.selfTradePrevention,
      priceTicks,
      quantityLots,
      remainingLots: quantityLots,
      filledLots: 0,
      filledQuanta: 0,
      feeQuanta: 0,
      marginPriceTicks: isBuy ? priceTicks : Math.max(priceTicks, markTicks),
      lossTicks: Math.max(0, isBuy ? priceTicks - markTicks : markTicks - priceTicks),
      priority: this.placedOrders + 1,
      displayLots: Math.min(displayLots, quantityLots),
      shownLots: 0,
      clientOrderId: c.clientOrderId,
      createdAt: time,
      updatedAt: time,
    };

    // The outcome, tried on a copy.
    const dryRun = { ...order };
    const expected = nothing();
    const stopped = this.copy().take(dryRun, expected, time, this.means());
    const isHidden = this.takesHiddenLots(order, expected.trades, time);
    const expectedLots = sum(expected.trades, (trade) => trade.quantityLots);
    const unfillable = c.timeInForce === FOK && expectedLots < quantityLots;
    const restingLots = mayRest && stopped === REASON_NONE ? dryRun.remainingLots : 0;
    const refused = this.tooLarge(order, mayRest ? expectedLots : quantityLots, restingLots);
    if (refused !== null) return refused;
    const unsettled = unfillable ? null : this.unsettled(order, expected.trades);
    if (unsettled !== null) return refusal("LOSS_NOT_SETTLED", isHidden ? null : unsettled);
    if (!reduceOnly && !unfillable) {
      const shortfall = this.shortfall(order, expected.trades, restingLots);
      if (shortfall !== null) return refusal("INSUFFICIENT_MARGIN", isHidden ? null : shortfall);
    }

    this.placedOrders++;
    if (c.clientOrderId !== "")
      this.clientIds.set(`${c.accountId}/${c.clientOrderId}`, { orderId: order.orderId, bodyHash: c.bodyHash });
    const out = nothing();
    let reason = unfillable ? REASON_FOK_UNFILLABLE : this.take(order, out, time, this.means());
    if (reason === REASON_NONE && order.remainingLots > 0) {
      order.shownLots = Math.min(order.displayLots, order.remainingLots);
      if (mayRest) this.orders.push(order);
      else reason = isMarket ? REASON_NO_LIQUIDITY : REASON_IOC_REMAINDER;
    }
    return this.ended(order, reason, out);
  }

  /** Whether these trades of an order take lots that icebergs hide. */
  private takesHiddenLots(order: ReferenceOrder, trades: ReferenceTrade[], time: number): boolean {
    const shown = nothing();
    this.copyShown().take({ ...order }, shown, time, this.means());
    const quanta = (each: ReferenceTrade[]) => sum(each, (trade) => trade.quantityLots * trade.priceTicks);
    return quanta(shown.trades) !== quanta(trades);
  }

  /**
   * The reason why an order could make too large a position, after it has filled and rested so far; null when it cannot. All
   * orders on its side may fill, and a position on the other side may be closed before.
   */
  private tooLarge(order: ReferenceOrder, filledLots: number, restingLots: number): Outcome | null {
    const { instrument, markTicks } = this;
    const { sizeLots } = this.position(order.accountId);
    const sizeAfter = (order.side === BUY ? sizeLots : -sizeLots) + filledLots;
    if (isReduceOnly(order) || (restingLots === 0 && sizeAfter <= 0)) return null;
    const others = this.ordersOf(order.accountId).filter(
      (other) => other !== order && other.side === order.side && !isReduceOnly(other),
    );
    const lots = Math.max(sizeAfter, 0) + sum(others, (other) => other.remainingLots) + restingLots;
    const lastTier = instrument.riskTiers[instrument.riskTiers.length - 1];
    const largest = Math.floor(lastTier.maxNotionalQuanta / (markTicks * instrument.quantaPerTickLot));
    const limitLots = Math.min(instrument.maxPositionLots, largest);
    return lots > limitLots ? refusal("POSITION_LIMIT", { limitLots }) : null;
  }

  /** The reason why a slice cannot have that size; null when it can. */
  private misdisplayed(displayLots: number, quantityLots: number, remainingLots: number): Outcome | null {
    let minLots = Math.min(this.instrument.minQuantityLots, quantityLots);
    while (minLots * 100 < remainingLots) minLots++;
    if (displayLots >= minLots && displayLots <= quantityLots) return null;
    return refusal("DISPLAY_QUANTITY_OUT_OF_RANGE", { minLots, maxLots: quantityLots });
  }

  /** The price of a level of the book. */
  private matched(side: number, priceMatch: number): number | Outcome {
    const word = String(PRICE_MATCHES[priceMatch]);
    const levels = this.levels(word.startsWith("QUEUE") ? side : 1 - side);
    const requiredLevels = Number(word.split("_")[1] ?? 1);
    const level = levels[requiredLevels - 1];
    if (level !== undefined) return level[0];
    return refusal("NO_PRICE_LEVEL", { priceMatch: word, requiredLevels, levels: levels.length });
  }

  /** The end of a taker: resting, filled, or expired for a reason. */
  private ended(order: ReferenceOrder, reason: number, out: Outcome): Outcome {
    let status = order.filledLots === 0 ? STATUS_NEW : STATUS_PARTIALLY_FILLED;
    if (order.remainingLots === 0) status = STATUS_FILLED;
    if (reason !== REASON_NONE) {
      status = STATUS_EXPIRED;
      out.closed.push([order.orderId, status, reason]);
    }
    return { ...out, ...view(order), status, reason };
  }

  /** The furthest price at which an order may trade. */
  private edgeOf(accountId: number, side: number): number {
    const { instrument, markTicks } = this;
    const isBuy = side === BUY;
    const position = this.position(accountId);
    const closable = Math.max(0, isBuy ? -position.sizeLots : position.sizeLots);
    const band = BigInt(instrument.priceBandPpm);
    const million = 1_000_000n;
    let edge = isBuy
      ? Math.min(Number((BigInt(markTicks) * (million + band)) / million), instrument.maxPriceTicks)
      : Math.max(Number((BigInt(markTicks) * (million - band) + million - 1n) / million), 1);
    if (closable > 0) {
      const bankruptcyLimitTicks = closingEdgeOf(instrument, position.sizeLots, this.heldOf(accountId));
      edge = isBuy ? Math.min(edge, bankruptcyLimitTicks) : Math.max(edge, bankruptcyLimitTicks);
    }
    return edge;
  }

  /** Money before the order: isolated margin and what may be added to it, or cross equity without what others must keep. */
  private means(): Means {
    const of = (accountId: number): MakerMeans => {
      const { isIsolated, sizeLots, walletQuanta, costQuanta, leverage } = this.position(accountId);
      const value = sizeLots * this.markTicks * this.instrument.quantaPerTickLot;
      const { equity, initial } = this.exchange.total(accountId);
      const gains = this.gains(accountId);
      const beyond = this.exchange.beyondMaintenance(accountId);
      const isolable = this.exchange.isolable(accountId);
      const own = maintenanceMarginOf(this.instrument, Math.abs(value));
      const isolatedQuanta = walletQuanta - costQuanta + value;
      const isApart = isIsolated && sizeLots !== 0;
      return {
        isShort:
          equity - Math.max(0, gains) < initial ||
          (isApart && isolatedQuanta < initialMarginOf(this.instrument, Math.abs(value), leverage)),
        sizeLots,
        closingQuanta: sizeLots === 0 ? 0 : value + this.heldOf(accountId),
        openingQuanta: isApart ? isolatedQuanta + Math.max(0, isolable) : isIsolated ? isolable : beyond + own,
        settledQuanta: isApart || gains <= 0 ? null : equity - gains,
        gainQuanta: isApart ? 0 : Math.max(0, value - costQuanta),
      };
    };
    const known = new Map<number, MakerMeans>();
    for (const accountId of new Set(this.orders.map((order) => order.accountId))) known.set(accountId, of(accountId));
    return { markTicks: this.markTicks, of: (accountId) => known.get(accountId) as MakerMeans };
  }

  /** Money behind a position: its isolated margin, or its share of the cross equity by maintenance margin. */
  private heldOf(accountId: number): number {
    const { instrument, markTicks } = this;
    const { isIsolated, sizeLots, walletQuanta, costQuanta } = this.position(accountId);
    if (isIsolated) return walletQuanta - costQuanta;
    const { equity, maintenance } = this.exchange.total(accountId);
    const value = sizeLots * markTicks * instrument.quantaPerTickLot;
    const own = maintenanceMarginOf(instrument, Math.abs(value));
    const share = (BigInt(Math.abs(equity)) * BigInt(own)) / BigInt(maintenance);
    return Math.sign(equity) * Number(share) - value;
  }

  /** The loss of the trades against the mark that is not settled money: equity without unrealised gains; null when all is. */
  private unsettled({ accountId, side }: ReferenceOrder, trades: ReferenceTrade[]): Details {
    const { quantaPerTickLot } = this.instrument;
    const { isIsolated, sizeLots, costQuanta } = this.position(accountId);
    const { equity } = this.exchange.total(accountId);
    const gains = this.gains(accountId);
    if (gains <= 0 || (isIsolated && sizeLots !== 0)) return null;
    const sign = side === BUY ? 1 : -1;
    const requiredQuanta = sum(
      trades,
      ({ priceTicks, quantityLots }) => sign * (priceTicks - this.markTicks) * quantityLots * quantaPerTickLot,
    );
    const closed = Math.min(
      sum(trades, ({ quantityLots }) => quantityLots),
      Math.max(0, -sign * sizeLots),
    );
    const gain = Math.max(0, sizeLots * this.markTicks * quantaPerTickLot - costQuanta);
    const settled = closed === 0 ? 0 : Number((BigInt(gain) * BigInt(closed)) / BigInt(Math.abs(sizeLots)));
    const availableQuanta = Math.max(0, equity - gains + settled);
    return requiredQuanta > 0 && requiredQuanta > availableQuanta ? { requiredQuanta, availableQuanta } : null;
  }

  /** Unrealised gains of the account, without losses. */
  private gains(accountId: number): number {
    return this.exchange.total(accountId).gains;
  }

  /** The initial margin that an order lacks; null when it lacks none. */
  private shortfall(order: ReferenceOrder, trades: ReferenceTrade[], restingLots: number): Details {
    const before = this.contribution(order.accountId).initial;
    return this.unmargined(order, trades, this.pendingInitial(order, trades, restingLots) - before, restingLots);
  }

  /** Whether the order closes a cross position and opens more. */
  private isTurning({ accountId, side }: ReferenceOrder, trades: ReferenceTrade[], restingLots: number): boolean {
    const { isIsolated, sizeLots } = this.position(accountId);
    const lots = sum(trades, (trade) => trade.quantityLots);
    const closing = Math.min(lots, Math.max(0, side === BUY ? -sizeLots : sizeLots));
    return !isIsolated && closing > 0 && lots + restingLots > closing;
  }

  /** Initial margin of a cross account whose order has turned its position around and paid for that. */
  private turnedInitial(order: ReferenceOrder, trades: ReferenceTrade[], restingLots: number): number {
    const { instrument, markTicks } = this;
    const { accountId, side } = order;
    const perTick = instrument.quantaPerTickLot;
    const sign = side === BUY ? 1 : -1;
    const lots = sum(trades, (trade) => trade.quantityLots);
    const paid = sum(trades, (trade) => trade.quantityLots * trade.priceTicks) * perTick;
    const had = this.position(accountId);
    this.positions.set(accountId, { ...had, sizeLots: had.sizeLots + sign * lots });
    const { initial } = this.contribution(accountId, {
      side,
      lots: restingLots,
      exposure: restingLots * order.marginPriceTicks * perTick,
      loss: restingLots * order.lossTicks * perTick,
    });
    this.positions.set(accountId, had);
    const fee = dividedUp(paid, instrument.takerFeePpm, 1_000_000);
    return initial + Math.max(0, sign * (paid - lots * markTicks * perTick)) + fee;
  }

  /** The account's initial margin here after these trades, with the rest of the order in the book. */
  private pendingInitial(order: ReferenceOrder, trades: ReferenceTrade[], restingLots: number): number {
    if (this.isTurning(order, trades, restingLots)) return this.turnedInitial(order, trades, restingLots);
    const { instrument, markTicks } = this;
    const perTick = instrument.quantaPerTickLot;
    const lots = sum(trades, (trade) => trade.quantityLots);
    const atPrice = sum(trades, (trade) => trade.quantityLots * trade.priceTicks) * perTick;
    const atMark = lots * markTicks * perTick;
    const pending = {
      side: order.side,
      lots: lots + restingLots,
      exposure: atMark + restingLots * order.marginPriceTicks * perTick,
      loss:
        Math.max(0, order.side === BUY ? atPrice - atMark : atMark - atPrice) + restingLots * order.lossTicks * perTick,
    };
    return this.contribution(order.accountId, pending).initial;
  }

  private unmargined(
    order: ReferenceOrder,
    trades: ReferenceTrade[],
    requiredQuanta: number,
    restingLots: number,
  ): Details {
    const { accountId } = order;
    const total = this.exchange.total(accountId);
    const { equity, initial } = total;
    if (this.isTurning(order, trades, restingLots) && requiredQuanta <= 0)
      return equity >= initial ? null : { requiredQuanta: 0, availableQuanta: equity - initial };
    const { isIsolated, sizeLots } = this.position(accountId);
    const availableQuanta = this.exchange.withdrawable(accountId);
    if (isIsolated && requiredQuanta > Math.max(0, availableQuanta)) return { requiredQuanta, availableQuanta };
    const opens = sum(trades, (trade) => trade.quantityLots) > Math.max(0, order.side === BUY ? -sizeLots : sizeLots);
    const unreserved = total.equity - total.gains - total.reserved;
    if (isIsolated && opens && requiredQuanta <= 0 && requiredQuanta > unreserved)
      return { requiredQuanta: 0, availableQuanta: unreserved };
    return this.uncovered(accountId, requiredQuanta);
  }

  private uncovered(accountId: number, requiredQuanta: number): Details {
    const { equity, initial } = this.exchange.total(accountId);
    const availableQuanta = equity - initial;
    return requiredQuanta <= 0 || requiredQuanta <= availableQuanta ? null : { requiredQuanta, availableQuanta };
  }

  private cancel(c: MessageOf<typeof CancelOrder>): Outcome {
    const orderId = c.orderId || this.clientIds.get(`${c.accountId}/${c.clientOrderId}`)?.orderId;
    const order = this.ordersOf(c.accountId).find((own) => own.orderId === orderId);
    if (order === undefined) return refusal("ORDER_NOT_FOUND");
    if (this.haltMode === 3) return this.halted();
    const out = nothing();
    this.remove(order, STATUS_CANCELED, REASON_USER, out);
    return { ...out, ...view(order), status: STATUS_CANCELED, reason: REASON_USER };
  }

  private amend(c: MessageOf<typeof AmendOrder>, time: number): Outcome {
    const { instrument, markTicks } = this;
    const orderId = c.orderId || this.clientIds.get(`${c.accountId}/${c.clientOrderId}`)?.orderId;
    const order = this.ordersOf(c.accountId).find((own) => own.orderId === orderId);
    if (order === undefined) return refusal("ORDER_NOT_FOUND");
    if (c.expiresAt !== 0 && c.expiresAt < time) return refusal("REQUEST_EXPIRED");
    if (this.haltMode === 3) return this.halted();
    if (c.quantityLots !== 0 && c.quantityLots <= order.filledLots)
      return refusal("QUANTITY_BELOW_FILLED", { filledLots: order.filledLots });
    if (c.quantityLots !== 0 && c.quantityLots < instrument.minQuantityLots)
      return refusal("QUANTITY_TOO_SMALL", { limitLots: instrument.minQuantityLots });
    if (c.quantityLots > instrument.maxQuantityLots)
      return refusal("QUANTITY_TOO_LARGE", { limitLots: instrument.maxQuantityLots });

    const isBuy = order.side === BUY;
    const reduceOnly = isReduceOnly(order);
    const { sizeLots } = this.position(c.accountId);
    const wanted = { ...order, updatedAt: time };
    if (c.priceTicks !== 0) wanted.priceTicks = c.priceTicks;
    if (c.priceMatch !== 0) {
      const matched = this.matched(order.side, c.priceMatch);
      if (typeof matched !== "number") return matched;
      wanted.priceTicks = matched;
    }
    if (c.quantityLots !== 0) {
      wanted.remainingLots = c.quantityLots - order.filledLots;
      if (reduceOnly) wanted.remainingLots = Math.min(wanted.remainingLots, Math.abs(sizeLots));
      wanted.quantityLots = order.filledLots + wanted.remainingLots;
    }
    const { priceTicks } = wanted;
    const keepsPlace = priceTicks === order.priceTicks && wanted.remainingLots <= order.remainingLots;
    const status = order.filledLots === 0 ? STATUS_NEW : STATUS_PARTIALLY_FILLED;
    wanted.displayLots = c.displayLots || Math.min(order.displayLots, wanted.quantityLots);
    if (keepsPlace && wanted.quantityLots === order.quantityLots && wanted.displayLots === order.displayLots)
      return { ...nothing(), ...view(order), status };
    if (wanted.displayLots !== 0) {
      const refused = this.misdisplayed(wanted.displayLots, wanted.quantityLots, wanted.remainingLots);
      if (refused !== null) return refused;
    }
    const lotQuanta = priceTicks * instrument.quantaPerTickLot;
    if (!reduceOnly && wanted.quantityLots * lotQuanta < instrument.minNotionalQuanta)
      return refusal("NOTIONAL_TOO_SMALL", {
        limitQuanta: instrument.minNotionalQuanta,
        nearestLots: dividedUp(instrument.minNotionalQuanta, 1, lotQuanta),
      });
    const others = this.orders.filter((other) => other !== order);
    const place = this.orders.indexOf(order);
    if (keepsPlace) {
      const shownLots = order.displayLots === 0 ? order.remainingLots : order.shownLots;
      wanted.shownLots = Math.min(shownLots, wanted.displayLots, wanted.remainingLots);
      this.orders[place] = wanted;
      return { ...nothing(), ...view(wanted), status };
    }

    if (this.haltMode > (reduceOnly ? 1 : 0)) return this.halted();
    if (!reduceOnly && this.isStale(time)) return this.stale();
    if (priceTicks > instrument.maxPriceTicks)
      return refusal("PRICE_TOO_HIGH", { limitTicks: instrument.maxPriceTicks });
    const edge = this.edgeOf(c.accountId, order.side);
    if (isBuy ? priceTicks > edge : priceTicks < edge)
      return refusal("PRICE_OUT_OF_BAND", { limitTicks: edge, markTicks });
    const best = this.queue(1 - order.side)[0]?.priceTicks;
    const takes = best !== undefined && (isBuy ? best <= priceTicks : best >= priceTicks);
    if (takes && (order.flags & POST_ONLY) !== 0) return refusal("POST_ONLY_WOULD_TRADE", { bestTicks: best });

    wanted.marginPriceTicks = isBuy ? priceTicks : Math.max(priceTicks, markTicks);
    wanted.lossTicks = Math.max(0, isBuy ? priceTicks - markTicks : markTicks - priceTicks);
    const before = this.contribution(c.accountId).initial;
    const all = this.orders;
    this.orders = others;
    const dryRun = { ...wanted };
    const expected = nothing();
    const stopped = this.copy().take(dryRun, expected, time, this.means());
    const isHidden = this.takesHiddenLots(wanted, expected.trades, time);
    this.orders = all;
    const unsettled = this.unsettled(wanted, expected.trades);
    this.orders = others;
    if (!reduceOnly) {
      const restingLots = stopped === REASON_NONE ? dryRun.remainingLots : 0;
      const filledLots = sum(expected.trades, (trade) => trade.quantityLots);
      const required = this.pendingInitial(wanted, expected.trades, restingLots) - before;
      this.orders = all;
      const refused = this.tooLarge(order, filledLots, restingLots);
      if (refused !== null) return refused;
      if (unsettled !== null) return refusal("LOSS_NOT_SETTLED", isHidden ? null : unsettled);
      const shortfall = this.unmargined(wanted, expected.trades, required, restingLots);
      if (shortfall !== null) return refusal("INSUFFICIENT_MARGIN", isHidden ? null : shortfall);
      this.orders = others;
    } else if (unsettled !== null) {
      this.orders = all;
      return refusal("LOSS_NOT_SETTLED", isHidden ? null : unsettled);
    }

    this.placedOrders++;
    wanted.priority = this.placedOrders;
    const out = nothing();
    const reason = this.take(wanted, out, time, this.means());
    if (reason === REASON_NONE && wanted.remainingLots > 0) {
      wanted.shownLots = Math.min(wanted.displayLots, wanted.remainingLots);
      // The account's list stays sorted by age.
      const behind = this.orders.findIndex((other) => other.orderId > wanted.orderId);
      this.orders.splice(behind < 0 ? this.orders.length : behind, 0, wanted);
    }
    return this.ended(wanted, reason, out);
  }

  private cancelAll(c: MessageOf<typeof CancelAll>): Outcome {
    if (this.haltMode === 3) return this.halted();
    const out = nothing();
    for (const order of this.ordersOf(c.accountId))
      if (c.side < 0 || order.side === c.side) this.remove(order, STATUS_CANCELED, REASON_USER, out);
    return out;
  }

  private closePosition(c: MessageOf<typeof ClosePosition>, time: number): Outcome {
    const { minQuantityLots, maxQuantityLots } = this.instrument;
    const { sizeLots } = this.position(c.accountId);
    if (sizeLots === 0) return refusal("NO_POSITION");
    // A close of the whole position is never too small and never too large: it leaves the rest open.
    const whole = Math.min(Math.max(Math.abs(sizeLots), minQuantityLots), maxQuantityLots);
    const order: MessageOf<typeof PlaceOrder> = {
      ...blank(PlaceOrder),
      accountId: c.accountId,
      side: sizeLots > 0 ? SELL : BUY,
      orderType: c.priceTicks === 0 ? MARKET : LIMIT,
      timeInForce: c.priceTicks === 0 ? IOC : GTC,
      flags: REDUCE_ONLY,
      selfTradePrevention: EXPIRE_MAKER,
      priceTicks: c.priceTicks,
      quantityLots: c.quantityLots === 0 ? whole : c.quantityLots,
      expiresAt: c.expiresAt,
    };
    return this.place(order, time);
  }

  private setLeverage(c: MessageOf<typeof SetLeverage>, time: number): Outcome {
    if (c.leverage < 1 || c.leverage > this.instrument.maxLeverage)
      return refusal("LEVERAGE_OUT_OF_RANGE", { limit: this.instrument.maxLeverage });
    const position = this.position(c.accountId);
    if (c.leverage === position.leverage) return nothing();
    if (this.haltMode > (c.leverage < position.leverage ? 1 : 0)) return this.halted();
    if (c.leverage > position.leverage && this.isStale(time)) return this.stale();
    const wanted = { ...position, leverage: c.leverage };
    if (position.isIsolated && position.sizeLots !== 0 && c.leverage < position.leverage) {
      const isolatedQuanta = position.walletQuanta + unrealizedOf(this.instrument, this.markTicks, position);
      wanted.walletQuanta += Math.max(0, positionMarginOf(this.instrument, this.markTicks, wanted) - isolatedQuanta);
    }
    return this.become(c.accountId, wanted);
  }

  private setMarginMode(c: MessageOf<typeof SetMarginMode>, time: number): Outcome {
    const { instrument, markTicks } = this;
    const position = this.position(c.accountId);
    const isIsolated = c.marginMode === ISOLATED;
    if (position.isIsolated === isIsolated) return nothing();
    if (this.haltMode > (position.sizeLots === 0 ? 1 : 0)) return this.halted();
    if (position.sizeLots !== 0 && this.isStale(time)) return this.stale();
    const openOrders = this.ordersOf(c.accountId).length;
    if (openOrders > 0) return refusal("OPEN_ORDERS_EXIST", { openOrders });
    const wanted = { ...position, isIsolated, walletQuanta: 0 };
    if (isIsolated && position.sizeLots !== 0) {
      const loss = Math.max(0, -unrealizedOf(instrument, markTicks, position));
      wanted.walletQuanta = positionMarginOf(instrument, markTicks, position) + loss;
    }
    return this.become(c.accountId, wanted);
  }

  private moveMargin(c: MessageOf<typeof MoveMargin>, time: number): Outcome {
    const { accountId, amountQuanta } = c;
    const { instrument, markTicks } = this;
    const name = `${accountId} ${c.reference}`;
    const movedQuanta = this.marginMoves.get(name);
    if (movedQuanta === amountQuanta) return nothing();
    if (movedQuanta !== undefined) return refusal("REFERENCE_REUSED", { movedQuanta });
    const position = this.position(accountId);
    if (position.sizeLots === 0) return refusal("NO_POSITION");
    if (!position.isIsolated) return refusal("POSITION_NOT_ISOLATED");
    if (this.haltMode > (amountQuanta > 0 ? 1 : 0)) return this.halted();
    if (amountQuanta <= 0 && this.isStale(time)) return this.stale();
    const loss = Math.max(0, -unrealizedOf(instrument, markTicks, position));
    const removable = position.walletQuanta - loss - positionMarginOf(instrument, markTicks, position);
    const availableQuanta = amountQuanta > 0 ? this.exchange.withdrawable(accountId) : Math.max(0, removable);
    const requiredQuanta = Math.abs(amountQuanta);
    if (requiredQuanta > availableQuanta) return refusal("INSUFFICIENT_MARGIN", { requiredQuanta, availableQuanta });
    this.positions.set(accountId, { ...position, walletQuanta: position.walletQuanta + amountQuanta });
    if (c.reference !== "") this.marginMoves.set(name, amountQuanta);
    return nothing();
  }

  private isStale(time: number): boolean {
    return time > this.priceTime + this.exchange.maxIndexAgeMs;
  }

  private stale(): Outcome {
    return refusal("STALE_PRICE", { status: "REDUCE_ONLY", maxAgeMs: this.exchange.maxIndexAgeMs });
  }

  private halted(): Outcome {
    return refusal("SYMBOL_HALTED", { status: ["", "REDUCE_ONLY", "CANCEL_ONLY", "HALTED"][this.haltMode] });
  }

  /** Replaces the position if that leaves enough margin, and moves no unrealised gain. */
  private become(accountId: number, wanted: ReferencePosition): Outcome {
    const before = this.contribution(accountId);
    const total = this.exchange.total(accountId);
    const had = this.positions.get(accountId);
    this.positions.set(accountId, wanted);
    const after = this.contribution(accountId);
    const then = this.exchange.total(accountId);
    const equityBy = after.equity - before.equity;
    const initialBy = after.initial - before.initial;
    const isNoBurden = equityBy >= 0 && initialBy <= equityBy;
    const reserves = wanted.isIsolated && initialBy > 0;
    const isSettled = (equityBy >= 0 && !reserves) || then.equity >= then.gains + then.reserved;
    if (isNoBurden || (then.equity >= then.initial && isSettled)) return nothing();
    if (had === undefined) this.positions.delete(accountId);
    else this.positions.set(accountId, had);
    const free = total.equity - total.initial;
    const staysIsolated = wanted.isIsolated && had?.isIsolated === true;
    const availableQuanta = staysIsolated ? Math.min(free, total.equity - total.gains - total.reserved) : free;
    return refusal("INSUFFICIENT_MARGIN", { requiredQuanta: initialBy - equityBy, availableQuanta });
  }

  /** Within a command, the account's cross margin follows its isolated position at once. */
  protected override settle(accountId: number, fill: ReferenceFill): void {
    const position = this.position(accountId);
    const shown = this.visible.get(accountId);
    if (!position.isIsolated || shown === undefined) return;
    position.walletQuanta = walletAfter(this.instrument, this.markTicks, position, fill, shown.totalQuanta);
    const partQuanta = this.contribution(accountId).equity;
    shown.totalQuanta += partQuanta - shown.partQuanta;
    shown.partQuanta = partQuanta;
  }

  private setIndexPrice(c: MessageOf<typeof SetIndexPrice>, time: number): Outcome {
    const { maxPriceTicks } = this.instrument;
    if (c.indexTicks < 1 || c.indexTicks > maxPriceTicks)
      return refusal("PRICE_TOO_HIGH", { limitTicks: maxPriceTicks });
    this.updatePrices(c.indexTicks, time);
    return nothing();
  }

  /** The mark stands still while orders do not trade. */
  private updatePrices(indexTicks: number, time: number): void {
    this.priceTime = time;
    const bid = this.queue(BUY)[0]?.priceTicks;
    const ask = this.queue(SELL)[0]?.priceTicks;
    const limitTicks = markLimitOf(this.instrument, indexTicks);
    const next = markOf(indexTicks, this.basis1024, bid, ask, this.lastTicks, limitTicks);
    this.indexTicks = indexTicks;
    if (this.haltMode < 2 || this.markTicks === 0) this.markTicks = next.markTicks;
    this.basis1024 = next.basis1024;
  }

  private resume(time: number): Outcome {
    const stoodStill = this.haltMode >= 2;
    this.haltMode = 0;
    const isFar = Math.abs(this.markTicks - this.indexTicks) > markLimitOf(this.instrument, this.indexTicks);
    if (stoodStill && isFar && !this.isStale(time)) this.updatePrices(this.indexTicks, time);
    return nothing();
  }
}

const view = (order: ReferenceOrder): Partial<Outcome> => ({
  orderId: order.orderId,
  quantityLots: order.quantityLots,
  remainingLots: order.remainingLots,
  filledLots: order.filledLots,
  filledQuanta: order.filledQuanta,
  feeQuanta: order.feeQuanta,
});
