import { unreachable } from "../assert.ts";
import type { AccountCells } from "./cells.ts";
import { fundingRatePpb, nextFundingTime, payFunding, premiumPpb } from "./funding.ts";
import type { Instrument } from "./instrument.ts";
import { auditSymbol, summarizeSymbol } from "./invariants.ts";
import { deleveragingRank, Liquidations } from "./liquidation.ts";
import { bankruptcyPrice, initialMargin, liquidationPrice, maintenanceMargin } from "./margin.ts";
import { markPrice, nextBasis1024 } from "./mark.ts";
import { close, crosses, match, type Preview, preview } from "./matching.ts";
import {
  type Actor,
  Audit,
  AuditReport,
  BUY,
  CancelAll,
  CancelOrder,
  type ClientIds,
  ClientIdsPage,
  ClosePosition,
  Describe,
  Done,
  DuplicateOrder,
  EXPIRE_MAKER,
  FOK,
  FundingSettled,
  GTC,
  IOC,
  LeverageSet,
  LeverageView,
  LIMIT,
  MARKET,
  OrderPlaced,
  OrderRested,
  OrderView,
  PlaceOrder,
  POST_ONLY,
  PositionView,
  PriceUpdated,
  REASON_FOK_UNFILLABLE,
  REASON_IOC_REMAINDER,
  REASON_NO_LIQUIDITY,
  REASON_NONE,
  REASON_USER,
  REDUCE_ONLY,
  ReadClientIds,
  ReadOrder,
  ReadOrders,
  ReadPosition,
  SELL,
  SetIndexPrice,
  SetLeverage,
  type SnapshotWriter,
  STATUS_CANCELED,
  STATUS_EXPIRED,
  STATUS_FILLED,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
  type SymbolCommand,
  SymbolDescription,
  type SymbolEvent,
  serialToId,
  Tick,
  type Turn,
} from "./messages.ts";
import { NONE } from "./orders.ts";
import {
  ACCOUNT,
  BUY_LOTS,
  CASH,
  COST,
  FIRST_ORDER,
  FUNDING,
  GIVEN,
  LEVERAGE,
  OPEN_ORDERS,
  OPENED_AT,
  SELL_LOTS,
  SEQUENCE,
  SIZE,
  UPDATED_AT,
} from "./positions.ts";
import { type RefusalDetails, refuse } from "./refusals.ts";
import { blank, type Message, type MessageOf } from "./shape.ts";
import { loadSymbolRow, snapshotSymbol } from "./symbol-rows.ts";
import { SymbolState } from "./symbol-state.ts";
import { PPB, PPM, type PriceTicks, type QuantityLots } from "./units.ts";

type Place = MessageOf<typeof PlaceOrder>;

// Filled in again for each event and reply: a turn hands them on before it goes on (see Turn).
const placed = blank(OrderPlaced);
const rested = blank(OrderRested);
const leverageSet = blank(LeverageSet);
const priceUpdated = blank(PriceUpdated);
const fundingSettled = blank(FundingSettled);
const orderView = blank(OrderView);
const positionView = blank(PositionView);

/** An index price that is older no longer liquidates anyone. */
const STALE_PRICE_MS = 10_000;
/** So many positions pay their funding in one turn: orders behind it wait no longer than that takes. */
const PAYMENTS_PER_TURN = 500;

/** A page must fit into a ring. */
const CLIENT_IDS_PER_PAGE = 5000;

/** One symbol: its book, positions and open orders. Every decision about an order is taken in this file. */
export class SymbolActor implements Actor {
  readonly actorId: number;
  readonly state: SymbolState;
  private readonly instrument: Instrument;
  private readonly cells: AccountCells;
  private readonly expected: Preview = { lots: 0, quanta: 0, leftLots: 0 };
  private readonly closing = blank(PlaceOrder);
  private readonly liquidations = new Liquidations();

  constructor(instrument: Instrument, cells: AccountCells) {
    this.actorId = instrument.id;
    this.instrument = instrument;
    this.cells = cells;
    this.state = new SymbolState(instrument, cells);
  }

  decide(message: Message, turn: Turn): void {
    const command = message as SymbolCommand;
    switch (command.type) {
      case PlaceOrder.code:
        this.place(command, turn);
        break;
      case CancelOrder.code:
        this.cancel(command, turn);
        break;
      case CancelAll.code:
        this.cancelAll(command, turn);
        break;
      case ClosePosition.code:
        this.closePosition(command, turn);
        break;
      case SetLeverage.code:
        this.setLeverage(command, turn);
        break;
      case SetIndexPrice.code:
        this.setIndexPrice(command, turn);
        break;
      case Tick.code:
        this.tick(turn);
        break;
      case ReadOrders.code:
        this.readOrders(command.accountId, turn);
        return;
      case ReadOrder.code:
        this.readOrder(command, turn);
        return;
      case ReadPosition.code:
        this.readPositions(command.accountId, turn);
        return;
      case Describe.code:
        turn.reply({ type: SymbolDescription.code, state: summarizeSymbol(this.state) });
        return;
      case ReadClientIds.code:
        this.readClientIds(command.from, turn);
        return;
      case Audit.code:
        turn.reply({ type: AuditReport.code, report: auditSymbol(this.state) });
        return;
      default:
        unreachable(command);
    }
    this.state.refreshTouched();
  }

  apply(event: Message, time: number): void {
    this.state.apply(event as SymbolEvent, time);
  }

  settle(sequence: number, time: number): void {
    this.state.settle(sequence, time);
  }

  snapshot(writer: SnapshotWriter): void {
    snapshotSymbol(this.state, writer);
  }

  load(table: string, _key: number | string, row: Message): void {
    loadSymbolRow(this.state, table, row);
  }

  restored(): void {
    this.state.countFundingOwed();
    this.state.refreshAll();
    this.cells.flush();
  }

  /** Check, check, check; then it must succeed. */
  private place(command: Place, turn: Turn): void {
    const { state, instrument } = this;
    const { side } = command;
    // First of all, so that whoever lost a reply learns of the order, however late the same request comes again.
    if (command.clientOrderId !== "") {
      const first = state.clientIds.find(command.accountId, command.clientOrderId);
      if (first !== undefined && first.bodyHash === command.bodyHash)
        return turn.reply({ type: DuplicateOrder.code, orderId: first.orderId });
      if (first !== undefined)
        return refuse(turn, "CLIENT_ORDER_ID_REUSED", "clientOrderId", { orderId: String(first.orderId) });
    }
    if (command.expiresAt !== 0 && turn.time > command.expiresAt) return refuse(turn, "REQUEST_EXPIRED", "expiresAt");
    const mark = state.markTicks;
    if (mark === 0) return refuse(turn, "NO_MARK_PRICE", "symbol");
    if (command.quantityLots < instrument.minQuantityLots)
      return refuse(turn, "QUANTITY_TOO_SMALL", "quantity", { limitLots: instrument.minQuantityLots });
    if (command.quantityLots > instrument.maxQuantityLots)
      return refuse(turn, "QUANTITY_TOO_LARGE", "quantity", { limitLots: instrument.maxQuantityLots });

    const row = state.positions.ensure(command.accountId);
    const numbers = state.positions.numbers;
    const size = numbers[row + SIZE];
    const isBuy = side === BUY;
    const reduceOnly = (command.flags & REDUCE_ONLY) !== 0;
    const closableLots = Math.max(0, isBuy ? -size : size);
    if (reduceOnly && closableLots === 0) return refuse(turn, "REDUCE_ONLY_NO_POSITION", "reduceOnly");
    const quantityLots = reduceOnly ? Math.min(command.quantityLots, closableLots) : command.quantityLots;

    // A market order is an IOC order at the edge of the price band: that is its slippage cap.
    const bandTicks = this.bandEdge(side, mark);
    const limitTicks = command.orderType === MARKET ? bandTicks : command.priceTicks;
    if (limitTicks > instrument.maxPriceTicks)
      return refuse(turn, "PRICE_TOO_HIGH", "price", { limitTicks: instrument.maxPriceTicks });
    if (isBuy ? limitTicks > bandTicks : limitTicks < bandTicks)
      return refuse(turn, "PRICE_OUT_OF_BAND", "price", { limitTicks: bandTicks, markTicks: mark });
    const valueTicks = command.orderType === MARKET ? mark : limitTicks;
    if (!reduceOnly && command.quantityLots * valueTicks * instrument.quantaPerTickLot < instrument.minNotionalQuanta)
      return refuse(turn, "NOTIONAL_TOO_SMALL", "quantity", {
        limitQuanta: instrument.minNotionalQuanta,
        nearestLots: Math.ceil(instrument.minNotionalQuanta / (valueTicks * instrument.quantaPerTickLot)),
      });
    const mayRest = command.orderType === LIMIT && command.timeInForce === GTC;
    if (mayRest && numbers[row + OPEN_ORDERS] >= instrument.maxOpenOrders)
      return refuse(turn, "TOO_MANY_OPEN_ORDERS", "symbol", { limit: instrument.maxOpenOrders });
    const exposedLots = (isBuy ? size + numbers[row + BUY_LOTS] : numbers[row + SELL_LOTS] - size) + quantityLots;
    const limitLots = this.positionLimitLots(mark);
    if (!reduceOnly && exposedLots > limitLots) return refuse(turn, "POSITION_LIMIT", "quantity", { limitLots });

    const bestTicks = state.book.opposite(side).best();
    const takes = crosses(side, limitTicks, bestTicks);
    if (takes && (command.flags & POST_ONLY) !== 0)
      return refuse(turn, "POST_ONLY_WOULD_TRADE", "price", { bestTicks });
    const expected = this.expected;
    expected.lots = 0;
    expected.quanta = 0;
    expected.leftLots = quantityLots;
    if (takes) preview(state, row, side, limitTicks, quantityLots, command.selfTradePrevention, expected);
    const unfillable = command.timeInForce === FOK && expected.lots < quantityLots;

    const marginPriceTicks = isBuy ? limitTicks : Math.max(limitTicks, mark);
    const lossTicks = Math.max(0, isBuy ? limitTicks - mark : mark - limitTicks);
    if (!reduceOnly && !unfillable) {
      const restingLots = mayRest ? expected.leftLots : 0;
      const shortfall = this.reserveMargin(row, isBuy, restingLots, marginPriceTicks, lossTicks, mark);
      if (shortfall !== null) return refuse(turn, "INSUFFICIENT_MARGIN", "quantity", shortfall);
    }

    // From here it must succeed.
    placed.orderId = serialToId(state.nextOrderSerial, instrument.id);
    placed.accountId = command.accountId;
    placed.side = side;
    placed.orderType = command.orderType;
    placed.timeInForce = command.orderType === MARKET && command.timeInForce === GTC ? IOC : command.timeInForce;
    placed.flags = command.flags;
    placed.selfTradePrevention = command.selfTradePrevention;
    placed.priceTicks = limitTicks;
    placed.quantityLots = quantityLots;
    placed.rests = mayRest && !takes ? 1 : 0;
    placed.marginPriceTicks = marginPriceTicks;
    placed.lossTicks = lossTicks;
    placed.bodyHash = command.bodyHash;
    placed.clientOrderId = command.clientOrderId;
    const slot = state.placed(placed, turn.time);
    turn.emit(placed);
    if (placed.rests === 1) {
      if (!reduceOnly) state.markFresh();
      return this.replyOrder(turn, slot, STATUS_NEW, REASON_NONE, true);
    }

    if (unfillable) return this.expire(turn, slot, REASON_FOK_UNFILLABLE);
    if (!takes)
      return this.expire(turn, slot, command.orderType === MARKET ? REASON_NO_LIQUIDITY : REASON_IOC_REMAINDER);
    const stopped = match(state, turn, slot, limitTicks);
    const { orders } = state;
    if (orders.remainingLots(slot) === 0) return this.replyOrder(turn, slot, STATUS_FILLED, REASON_NONE, true);
    if (stopped !== REASON_NONE) return this.expire(turn, slot, stopped);
    if (!mayRest)
      return this.expire(turn, slot, command.orderType === MARKET ? REASON_NO_LIQUIDITY : REASON_IOC_REMAINDER);
    rested.orderId = placed.orderId;
    rested.accountId = command.accountId;
    rested.side = side;
    rested.priceTicks = limitTicks;
    rested.restingLots = orders.remainingLots(slot);
    rested.marginPriceTicks = marginPriceTicks;
    rested.lossTicks = lossTicks;
    state.rested(rested, slot);
    turn.emit(rested);
    const status = orders.filledLots(slot) > 0 ? STATUS_PARTIALLY_FILLED : STATUS_NEW;
    this.replyOrder(turn, slot, status, REASON_NONE, true);
  }

  /**
   * Takes the initial margin that the row needs once the order has done what is expected of it: filled lots at mark
   * with the loss of their price, resting lots by their own terms. Null, or what is required and what is there.
   */
  private reserveMargin(
    row: number,
    isBuy: boolean,
    restingLots: QuantityLots,
    marginPriceTicks: PriceTicks,
    lossTicks: PriceTicks,
    mark: PriceTicks,
  ): RefusalDetails | null {
    const { state, expected } = this;
    const perTick = this.instrument.quantaPerTickLot;
    const atMark = expected.lots * mark * perTick;
    const lots = expected.lots + restingLots;
    const exposure = atMark + restingLots * marginPriceTicks * perTick;
    const takerLoss = Math.max(0, isBuy ? expected.quanta - atMark : atMark - expected.quanta);
    const loss = takerLoss + restingLots * lossTicks * perTick;
    const { positions } = state;
    const numbers = positions.numbers;
    positions.addResting(row, isBuy, lots, exposure, loss);
    const due = state.contributionOf(row);
    const required = due.initial - numbers[row + GIVEN + 2];
    positions.addResting(row, isBuy, -lots, -exposure, -loss);
    const accountId = numbers[row + ACCOUNT];
    if (required > 0 && !this.cells.reserve(accountId, required, numbers, row + GIVEN))
      return { requiredQuanta: required, availableQuanta: this.cells.available(accountId) };
    // All of it will rest: this is what the row will contribute, and nobody has to work it out again.
    if (expected.lots === 0) this.cells.move(accountId, numbers, row + GIVEN, due);
    return null;
  }

  private expire(turn: Turn, slot: number, reason: number): void {
    this.replyOrder(turn, slot, STATUS_EXPIRED, reason, true);
    close(this.state, turn, slot, STATUS_EXPIRED, reason);
  }

  private cancel(command: MessageOf<typeof CancelOrder>, turn: Turn): void {
    const slot = this.findOwnOrder(command.accountId, command.orderId, command.clientOrderId);
    if (slot === NONE) return refuse(turn, "ORDER_NOT_FOUND", "id");
    this.replyOrder(turn, slot, STATUS_CANCELED, REASON_USER, true);
    close(this.state, turn, slot, STATUS_CANCELED, REASON_USER);
  }

  private cancelAll(command: MessageOf<typeof CancelAll>, turn: Turn): void {
    const { state } = this;
    const row = state.positions.find(command.accountId);
    let slot = row === NONE ? NONE : state.positions.numbers[row + FIRST_ORDER];
    while (slot !== NONE) {
      const next = state.orders.accountNext(slot);
      if (command.side < 0 || state.orders.side(slot) === command.side) {
        this.replyOrder(turn, slot, STATUS_CANCELED, REASON_USER, true);
        close(state, turn, slot, STATUS_CANCELED, REASON_USER);
      }
      slot = next;
    }
    turn.reply({ type: Done.code });
  }

  /**
   * A reduce-only order for the position. It cannot be refused for other orders: reduce-only orders are each clipped to
   * the position, so they give way as it shrinks, and own orders in its way are canceled (EXPIRE_MAKER).
   */
  private closePosition(command: MessageOf<typeof ClosePosition>, turn: Turn): void {
    const row = this.state.positions.find(command.accountId);
    const size = row === NONE ? 0 : this.state.positions.numbers[row + SIZE];
    if (size === 0) return refuse(turn, "NO_POSITION", "symbol");
    const order = this.closing;
    order.accountId = command.accountId;
    order.side = size > 0 ? SELL : BUY;
    order.orderType = command.priceTicks === 0 ? MARKET : LIMIT;
    order.timeInForce = command.priceTicks === 0 ? IOC : GTC;
    order.flags = REDUCE_ONLY;
    order.selfTradePrevention = EXPIRE_MAKER;
    order.priceTicks = command.priceTicks;
    // All of it may be less than the minimum or more than the maximum of an order: place() clips it to the position.
    const { minQuantityLots, maxQuantityLots } = this.instrument;
    const wantedLots = command.quantityLots === 0 ? Math.max(Math.abs(size), minQuantityLots) : command.quantityLots;
    order.quantityLots = Math.min(wantedLots, maxQuantityLots);
    order.expiresAt = command.expiresAt;
    order.bodyHash = 0;
    order.clientOrderId = "";
    this.place(order, turn);
  }

  private setLeverage(command: MessageOf<typeof SetLeverage>, turn: Turn): void {
    const { state, instrument } = this;
    const { leverage } = command;
    if (leverage < 1 || leverage > instrument.maxLeverage)
      return refuse(turn, "LEVERAGE_OUT_OF_RANGE", "leverage", { limit: instrument.maxLeverage });
    const row = state.positions.ensure(command.accountId);
    const numbers = state.positions.numbers;
    const before = numbers[row + LEVERAGE];
    if (before !== leverage) {
      numbers[row + LEVERAGE] = leverage;
      const required = state.contributionOf(row).initial - numbers[row + GIVEN + 2];
      numbers[row + LEVERAGE] = before;
      if (required > 0 && !this.cells.reserve(command.accountId, required, numbers, row + GIVEN)) {
        const availableQuanta = this.cells.available(command.accountId);
        return refuse(turn, "INSUFFICIENT_MARGIN", "leverage", { requiredQuanta: required, availableQuanta });
      }
      leverageSet.accountId = command.accountId;
      leverageSet.leverage = leverage;
      state.leverageSet(leverageSet);
      turn.emit(leverageSet);
    }
    turn.reply({ type: LeverageView.code, leverage });
  }

  private setIndexPrice(command: MessageOf<typeof SetIndexPrice>, turn: Turn): void {
    const { state } = this;
    const { indexTicks } = command;
    if (indexTicks < 1 || indexTicks > this.instrument.maxPriceTicks)
      return refuse(turn, "PRICE_TOO_HIGH", "price", { limitTicks: this.instrument.maxPriceTicks });
    const basis1024 = nextBasis1024(state.basis1024, indexTicks, state.book.best(BUY), state.book.best(SELL));
    if (state.nextFundingTime !== 0 && turn.time >= state.nextFundingTime) this.settleFunding(turn);
    priceUpdated.indexTicks = indexTicks;
    priceUpdated.basis1024 = basis1024;
    priceUpdated.markTicks = markPrice(
      indexTicks,
      this.fundingTicks(indexTicks, turn.time),
      basis1024,
      state.lastTicks,
    );
    priceUpdated.premiumPpb = premiumPpb(this.instrument, state.book, indexTicks);
    priceUpdated.nextFundingTime = nextFundingTime(turn.time, this.instrument.fundingIntervalMs);
    const count = state.premiumCount + 1;
    const sum = state.premiumSum + count * priceUpdated.premiumPpb;
    priceUpdated.fundingRatePpb = fundingRatePpb(this.instrument, sum, count);
    state.priceUpdated(priceUpdated, turn.time);
    turn.emit(priceUpdated);
    turn.reply({ type: Done.code });
    state.refreshOpen();
  }

  /** What the last funding rate adds to the index: all of it when the interval begins, nothing when it ends. */
  private fundingTicks(indexTicks: PriceTicks, time: number): PriceTicks {
    const { state } = this;
    const left = (state.nextFundingTime - time) / this.instrument.fundingIntervalMs;
    return Math.round((indexTicks * state.fundingRatePpb * Math.max(0, Math.min(1, left))) / PPB);
  }

  /**
   * An interval has ended. What it costs follows from the samples that were taken in it; an interval without any, as
   * while the exchange was down, costs nothing.
   */
  private settleFunding(turn: Turn): void {
    const { state, instrument } = this;
    const { premiumSum, premiumCount } = state;
    fundingSettled.fundingTime = state.nextFundingTime;
    fundingSettled.nextFundingTime = nextFundingTime(turn.time, instrument.fundingIntervalMs);
    fundingSettled.ratePpb = premiumCount === 0 ? 0 : fundingRatePpb(instrument, premiumSum, premiumCount);
    fundingSettled.premiumPpb =
      premiumCount === 0 ? 0 : Math.trunc((2 * premiumSum) / (premiumCount * (premiumCount + 1)));
    fundingSettled.indexTicks = state.indexTicks;
    fundingSettled.markTicks = state.markTicks;
    // Whoever has not paid for the interval before pays now: a position owes one interval at most.
    this.payFunding(turn, Number.POSITIVE_INFINITY);
    state.fundingSettled(fundingSettled);
    turn.emit(fundingSettled);
    this.payFunding(turn, PAYMENTS_PER_TURN);
  }

  private payFunding(turn: Turn, limit: number): void {
    const { state } = this;
    const { open } = state.positions;
    for (let i = open.length - 1, left = limit; i >= 0 && left > 0 && state.fundingOwed > 0; i--) {
      if (!state.owesFunding(open[i])) continue;
      payFunding(state, turn, open[i]);
      left--;
    }
  }

  private tick(turn: Turn): void {
    const { state } = this;
    state.clientIds.expire(turn.time, (orderId) => this.findOrder(orderId) !== NONE);
    if (state.fundingOwed > 0) this.payFunding(turn, PAYMENTS_PER_TURN);
    // Nobody is liquidated at a price that nobody vouches for any more.
    if (state.markTicks !== 0 && turn.time - state.priceTime <= STALE_PRICE_MS) this.liquidations.run(state, turn);
  }

  private readClientIds(from: number, turn: Turn): void {
    const entries = this.state.clientIds.page(from, CLIENT_IDS_PER_PAGE);
    const next = entries.length === CLIENT_IDS_PER_PAGE ? from + CLIENT_IDS_PER_PAGE : null;
    const ids = entries.map(({ accountId, clientOrderId, time }): ClientIds["ids"][number] => [
      accountId,
      clientOrderId,
      time,
    ]);
    turn.reply({ type: ClientIdsPage.code, page: { ids, next } });
  }

  private readOrders(accountId: number, turn: Turn): void {
    const { state } = this;
    const row = state.positions.find(accountId);
    let slot = row === NONE ? NONE : state.positions.numbers[row + FIRST_ORDER];
    for (; slot !== NONE; slot = state.orders.accountNext(slot)) this.replyOpenOrder(turn, slot);
    turn.reply({ type: Done.code });
  }

  private readOrder(command: MessageOf<typeof ReadOrder>, turn: Turn): void {
    const slot = this.findOwnOrder(command.accountId, command.orderId, command.clientOrderId);
    if (slot === NONE) return refuse(turn, "ORDER_NOT_FOUND", "id");
    this.replyOpenOrder(turn, slot);
  }

  private readPositions(accountId: number, turn: Turn): void {
    const { positions } = this.state;
    if (accountId === 0) {
      for (const row of positions.open) this.replyPosition(turn, row);
    } else {
      const row = positions.find(accountId);
      if (row !== NONE) this.replyPosition(turn, row);
    }
    turn.reply({ type: Done.code });
  }

  private replyOpenOrder(turn: Turn, slot: number): void {
    const status = this.state.orders.filledLots(slot) > 0 ? STATUS_PARTIALLY_FILLED : STATUS_NEW;
    this.replyOrder(turn, slot, status, REASON_NONE, false);
  }

  /** `changing`: this turn changes the order, so it will bear this turn's time and sequence. */
  private replyOrder(turn: Turn, slot: number, status: number, reason: number, changing: boolean): void {
    const { orders } = this.state;
    orderView.orderId = this.state.orderId(slot);
    orderView.side = orders.side(slot);
    orderView.orderType = orders.type(slot);
    orderView.timeInForce = orders.timeInForce(slot);
    orderView.flags = orders.flags(slot);
    orderView.selfTradePrevention = orders.selfTradePrevention(slot);
    orderView.priceTicks = orders.priceTicks(slot);
    orderView.quantityLots = orders.quantityLots(slot);
    orderView.remainingLots = orders.remainingLots(slot);
    orderView.filledLots = orders.filledLots(slot);
    orderView.filledQuanta = orders.filledQuanta(slot);
    orderView.feeQuanta = orders.feeQuanta(slot);
    orderView.status = status;
    orderView.reason = reason;
    orderView.createdAt = orders.createdAt(slot);
    orderView.updatedAt = changing ? turn.time : orders.updatedAt(slot);
    orderView.sequence = changing ? 0 : orders.sequence(slot);
    orderView.clientOrderId = orders.clientOrderId(slot);
    turn.reply(orderView);
  }

  private replyPosition(turn: Turn, row: number): void {
    const { instrument, cells } = this;
    const { positions, markTicks } = this.state;
    const n = positions.numbers;
    const accountId = n[row + ACCOUNT];
    const size = n[row + SIZE];
    const notional = Math.abs(size) * markTicks * instrument.quantaPerTickLot;
    const equity = cells.equity(accountId);
    const maintenance = cells.maintenance(accountId);
    positionView.accountId = accountId;
    positionView.sizeLots = size;
    positionView.cashQuanta = n[row + CASH];
    positionView.costQuanta = n[row + COST];
    positionView.realizedQuanta = n[row + CASH] + n[row + COST];
    positionView.markTicks = markTicks;
    positionView.leverage = n[row + LEVERAGE];
    positionView.initialQuanta = notional === 0 ? 0 : initialMargin(instrument, notional, n[row + LEVERAGE]);
    positionView.maintenanceQuanta = maintenanceMargin(instrument, notional);
    positionView.liquidationTicks = liquidationPrice(instrument, size, markTicks, equity, maintenance);
    positionView.bankruptcyTicks = bankruptcyPrice(instrument, size, markTicks, equity, maintenance);
    positionView.fundingQuanta = n[row + FUNDING];
    positionView.openedAt = n[row + OPENED_AT];
    positionView.updatedAt = n[row + UPDATED_AT];
    positionView.sequence = n[row + SEQUENCE];
    positionView.adlRank = deleveragingRank(this.state, row);
    turn.reply(positionView);
  }

  private findOrder(orderId: number): number {
    return this.state.orders.find((orderId - this.instrument.id) / 256);
  }

  /** NONE also when the order is another account's: it does not exist for this one. */
  private findOwnOrder(accountId: number, orderId: number, clientOrderId: string): number {
    const id = orderId !== 0 ? orderId : (this.state.clientIds.find(accountId, clientOrderId)?.orderId ?? 0);
    const slot = id === 0 ? NONE : this.findOrder(id);
    return slot !== NONE && this.state.accountId(slot) === accountId ? slot : NONE;
  }

  /** How far an aggressive price may go: mark × (1 ± band), whole ticks inside. */
  private bandEdge(side: number, mark: PriceTicks): PriceTicks {
    const { priceBandPpm, maxPriceTicks } = this.instrument;
    if (side === BUY) return Math.min(maxPriceTicks, Math.floor((mark * (PPM + priceBandPpm)) / PPM));
    return Math.max(1, Math.ceil((mark * (PPM - priceBandPpm)) / PPM));
  }

  /** The last risk tier's notional at mark, and never past the exact range. */
  private positionLimitLots(mark: PriceTicks): QuantityLots {
    const { riskTiers, quantaPerTickLot, maxPositionLots } = this.instrument;
    const lastTier = riskTiers[riskTiers.length - 1];
    return Math.min(maxPositionLots, Math.floor(lastTier.maxNotionalQuanta / (mark * quantaPerTickLot)));
  }
}
