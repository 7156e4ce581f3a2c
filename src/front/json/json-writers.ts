import { type AccountMargin, withdrawableOf } from "../../core/accounts/contribution.ts";
import {
  CLOSE_POSITION,
  CROSS,
  EXEC_TRADE,
  EXEC_TYPES,
  ISOLATED,
  isAtMarket,
  isConditional,
  isOpenStatus,
  LIQUIDATION_ORDER,
  MARGIN_MODES,
  ORDER_CREATORS,
  ORDER_STATUSES,
  ORDER_TYPES,
  POST_ONLY,
  REASONS,
  REDUCE_ONLY,
  SELF_TRADE_PREVENTIONS,
  SIDES,
  TIMES_IN_FORCE,
  TRIGGER_SOURCES,
} from "../../core/base/enums.ts";
import {
  PPM,
  PPM_DECIMALS,
  printFixed,
  printQuanta,
  printRatio,
  type Quanta,
  type RatePpm,
  type TimeMs,
} from "../../core/base/units.ts";
import type { Traded } from "../../core/protocol/events.ts";
import { type Instrument, printPrice, printQuantity } from "../../core/protocol/instrument.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type {
  AccountProjection,
  AttachedLeg,
  ExpectedFill,
  MaxOrderSize,
  Transfer,
} from "../../core/protocol/payloads.ts";
import type { OrderView, PositionView } from "../../core/protocol/replies.ts";
import type { FillRecord, OrderRecord } from "../../store/database/history-schema.ts";
import { fromRefused } from "../common/errors.ts";
import { priceJson } from "./market-json.ts";

/**
 * Resources as JSON text, printed directly from the core's replies and the history, without an object in between.
 */

/** Decimals of an average price beyond those of the tick. */
const AVERAGE_DECIMALS = 4;

/** For texts that need no escaping: enums, symbols, ids, decimals, client order ids. "" becomes null. */
const textOrNull = (text: string): string => (text === "" ? "null" : `"${text}"`);

/** The same as String(), which takes twice as long for whole numbers beyond 2^31 such as ids. */
export function printId(id: number): string {
  const high = Math.floor(id / 1e9);
  const low = String(id - high * 1e9);
  return high === 0 ? low : `${high}${low.padStart(9, "0")}`;
}

type OrderFields = Omit<MessageOf<typeof OrderView>, "type">;

/** An order. `sequence`: of the transaction that carries the view. */
export function orderJson(instrument: Instrument, order: OrderFields, sequence: number): string {
  return `{${orderMembers(instrument, order, sequence)}}`;
}

/** An order followed by `more` members, each with a leading comma. */
export function orderJsonWith(instrument: Instrument, order: OrderFields, sequence: number, more: string): string {
  return `{${orderMembers(instrument, order, sequence)}${more}}`;
}

/** Joins few long pieces, because the cost of a text grows with their number, here and where it is sent. */
function orderMembers(instrument: Instrument, order: OrderFields, sequence: number): string {
  const { orderType, clientOrderId } = order;
  return (
    `"orderId":${order.orderId === 0 ? "null" : `"${printId(order.orderId)}"`},` +
    `${clientOrderId === "" ? '"clientOrderId":null,"symbol":"' : `"clientOrderId":"${clientOrderId}","symbol":"`}` +
    `${instrument.symbol}${kindMembers(order)}` +
    `${isAtMarket(orderType) ? "" : `"price":"${printPrice(instrument, order.priceTicks)}",`}` +
    `"quantity":"${printQuantity(instrument, order.quantityLots)}",${fillMembers(instrument, order)}` +
    `${stateMembers(instrument, order)}"createdAt":${order.createdAt},"updatedAt":${order.updatedAt},` +
    `"sequence":${order.sequence || sequence}`
  );
}

// Caches of texts that many orders share, by a number that stands for the fields. They are few and halve the time of an order.
const kinds = new Map<number, string>();
const states = new Map<number, string>();

/** Begins with the closing quote of the symbol. */
function kindMembers({ side, orderType, timeInForce, flags }: OrderFields): string {
  const kind = ((orderType * 8 + timeInForce) * 2 + side) * 256 + flags;
  let text = kinds.get(kind);
  if (text === undefined) {
    text = [
      `","side":"${SIDES[side]}","type":"${ORDER_TYPES[orderType]}",`,
      `"timeInForce":"${TIMES_IN_FORCE[timeInForce]}","postOnly":${(flags & POST_ONLY) !== 0},`,
      `"reduceOnly":${(flags & REDUCE_ONLY) !== 0},"closePosition":${(flags & CLOSE_POSITION) !== 0},`,
      `"createdBy":"${ORDER_CREATORS[(flags & LIQUIDATION_ORDER) === 0 ? 0 : 1]}",`,
      isAtMarket(orderType) ? '"price":null,' : "",
    ].join("");
    kinds.set(kind, text);
  }
  return text;
}

/** displayQuantity to fee. */
function fillMembers(instrument: Instrument, order: OrderFields): string {
  const { status, displayLots, filledLots, feeQuanta } = order;
  const remaining = isOpenStatus(status) ? printQuantity(instrument, order.remainingLots) : "0";
  if (displayLots === 0 && filledLots === 0 && feeQuanta === 0)
    return `"displayQuantity":null,"filledQuantity":"0","remainingQuantity":"${remaining}","avgPrice":null,"fee":"0",`;
  return (
    `"displayQuantity":${displayLots === 0 ? "null" : `"${printQuantity(instrument, displayLots)}"`},` +
    `"filledQuantity":"${printQuantity(instrument, filledLots)}","remainingQuantity":"${remaining}",` +
    `"avgPrice":${averagePriceJson(instrument, order.filledQuanta, filledLots)},"fee":"${printQuanta(feeQuanta)}",`
  );
}

const NO_TERMS =
  '"triggerPrice":null,"triggerBy":null,"callbackRate":null,"activationPrice":null,"maxSlippage":null,"goodTillDate":null,"parentOrderId":null,"takeProfit":null,"stopLoss":null,';

function stateMembers(instrument: Instrument, order: OrderFields): string {
  const { selfTradePrevention, status, reason } = order;
  const terms = termMembers(instrument, order);
  const state = (selfTradePrevention * 32 + status) * 256 + reason;
  let text = states.get(state);
  if (text === undefined) {
    text = [
      NO_TERMS,
      `"selfTradePreventionMode":"${SELF_TRADE_PREVENTIONS[selfTradePrevention]}",`,
      `"status":"${ORDER_STATUSES[status]}","reason":${textOrNull(REASONS[reason] ?? "")},`,
    ].join("");
    states.set(state, text);
  }
  return terms === NO_TERMS ? text : terms + text.slice(NO_TERMS.length);
}

/** The members of conditional, GTD and attached orders, and of those with legs. */
function termMembers(instrument: Instrument, order: OrderFields): string {
  // Only conditional orders have a maxSlippagePpm.
  const { orderType, triggerTicks, callbackPpm, activationTicks, maxSlippagePpm, goodTillDate, parentId, legs } = order;
  const waits = isConditional(orderType);
  if (
    !waits &&
    triggerTicks === 0 &&
    callbackPpm === 0 &&
    activationTicks === 0 &&
    goodTillDate === 0 &&
    parentId === 0 &&
    legs === null
  )
    return NO_TERMS;
  return (
    `"triggerPrice":${priceJson(instrument, triggerTicks)},` +
    `"triggerBy":${waits ? `"${TRIGGER_SOURCES[order.triggerBy]}"` : "null"},` +
    `"callbackRate":${callbackPpm === 0 ? "null" : `"${printFixed(callbackPpm, PPM_DECIMALS)}"`},` +
    `"activationPrice":${priceJson(instrument, activationTicks)},` +
    `"maxSlippage":${maxSlippagePpm === 0 ? "null" : `"${printFixed(maxSlippagePpm, PPM_DECIMALS)}"`},` +
    `"goodTillDate":${goodTillDate || "null"},` +
    `"parentOrderId":${parentId === 0 ? "null" : `"${parentId}"`},` +
    `"takeProfit":${legJson(instrument, legs?.takeProfit)},"stopLoss":${legJson(instrument, legs?.stopLoss)},`
  );
}

function legJson(instrument: Instrument, leg: AttachedLeg | null | undefined): string {
  if (leg == null) return "null";
  const { triggerTicks, triggerBy, priceTicks, maxSlippagePpm = 0 } = leg;
  return (
    `{"triggerPrice":"${printPrice(instrument, triggerTicks)}","triggerBy":"${TRIGGER_SOURCES[triggerBy]}",` +
    `"price":${priceJson(instrument, priceTicks)},` +
    `"maxSlippage":${maxSlippagePpm === 0 ? "null" : `"${printFixed(maxSlippagePpm, PPM_DECIMALS)}"`}}`
  );
}

/** A trade of a dry run. */
export function expectedFillJson(instrument: Instrument, [priceTicks, lots, feeQuanta]: ExpectedFill): string {
  return `{${fillAmounts(instrument, priceTicks, lots)},"fee":"${printQuanta(feeQuanta)}"}`;
}

/** Margin and position of an account before or after a dry run. */
export function projectionJson(instrument: Instrument, projection: AccountProjection): string {
  return (
    `{"positionSize":"${printQuantity(instrument, projection.sizeLots)}",` +
    `"liquidationPrice":${priceJson(instrument, projection.liquidationTicks)},` +
    `"initialMargin":"${printQuanta(projection.initialQuanta)}",` +
    `"availableBalance":"${printQuanta(Math.max(0, projection.availableQuanta))}"}`
  );
}

/** The largest orders that would be accepted. */
export function maxOrderSizeJson(instrument: Instrument, sizes: readonly MaxOrderSize[], sequence: number): string {
  const data = sizes.map(({ side, quantityLots, limitedBy }) => {
    const refusal = limitedBy === null ? "null" : fromRefused(limitedBy, instrument).toItemJson();
    const quantity = printQuantity(instrument, quantityLots);
    return `{"side":"${SIDES[side]}","maxQuantity":"${quantity}","limitedBy":${refusal}}`;
  });
  return `{"symbol":"${instrument.symbol}","data":[${data.join(",")}],"sequence":${sequence}}`;
}

/** An order of the history. */
export const orderRecordJson = (instrument: Instrument, order: OrderRecord): string =>
  orderJson(instrument, order, order.sequence);

/** The taker's fill of a new trade. */
export function takerFillJson(
  instrument: Instrument,
  trade: MessageOf<typeof Traded>,
  clientOrderId: string,
  time: TimeMs,
  sequence: number,
): string {
  return (
    `{"tradeId":"${printId(trade.tradeId)}","orderId":"${printId(trade.takerOrderId)}","clientOrderId":${textOrNull(clientOrderId)},` +
    `"symbol":"${instrument.symbol}","side":"${SIDES[trade.takerSide]}",` +
    `${fillAmounts(instrument, trade.priceTicks, trade.quantityLots)},"fee":"${printQuanta(trade.takerFeeQuanta)}",` +
    `"feeAsset":"${instrument.config.quoteAsset}","feeRate":"${printFixed(instrument.takerFeePpm, PPM_DECIMALS)}",` +
    `"liquidity":"TAKER","realizedPnl":"${printQuanta(trade.takerRealizedQuanta)}",` +
    `"execType":"${EXEC_TYPES[trade.execType]}","positionSize":"${printQuantity(instrument, trade.takerSizeLots)}",` +
    `"time":${time},"sequence":${sequence}}`
  );
}

/** A fill of the history. */
export function fillJson(instrument: Instrument, fill: FillRecord): string {
  return (
    `{"tradeId":"${fill.tradeId}","orderId":${fill.orderId === 0 ? "null" : `"${fill.orderId}"`},` +
    `"clientOrderId":${textOrNull(fill.clientOrderId)},"symbol":"${instrument.symbol}","side":"${SIDES[fill.side]}",` +
    `${fillAmounts(instrument, fill.priceTicks, fill.quantityLots, fill.offPriceQuanta)},"fee":"${printQuanta(fill.feeQuanta)}",` +
    `"feeAsset":"${instrument.config.quoteAsset}","feeRate":"${feeRateOf(instrument, fill)}",` +
    `"liquidity":"${fill.maker === 1 ? "MAKER" : "TAKER"}","realizedPnl":"${printQuanta(fill.realizedQuanta)}",` +
    `"execType":"${EXEC_TYPES[fill.execType]}","positionSize":"${printQuantity(instrument, fill.positionSizeLots)}",` +
    `"time":${fill.time},"sequence":${fill.sequence}}`
  );
}

/** A liquidation pays the fee that its price allows, not a rate of the schedule. */
function feeRateOf(instrument: Instrument, fill: FillRecord): string {
  if (fill.execType === EXEC_TRADE || fill.maker === 1) return printFixed(fill.feePpm, PPM_DECIMALS);
  return printRatio(fill.feeQuanta, fill.priceTicks * fill.quantityLots * instrument.quantaPerTickLot, PPM_DECIMALS);
}

function fillAmounts(instrument: Instrument, priceTicks: number, quantityLots: number, offPriceQuanta = 0): string {
  return (
    `"price":"${printPrice(instrument, priceTicks)}","quantity":"${printQuantity(instrument, quantityLots)}",` +
    `"quoteQuantity":"${printQuanta(priceTicks * quantityLots * instrument.quantaPerTickLot + offPriceQuanta)}"`
  );
}

/** A position. With a size of 0, its side and prices are null. `more`: further members, each with a leading comma. */
export function positionJson(instrument: Instrument, position: MessageOf<typeof PositionView>, more = ""): string {
  const { sizeLots, costQuanta, markTicks } = position;
  const lots = Math.abs(sizeLots);
  const valueQuanta = sizeLots * markTicks * instrument.quantaPerTickLot;
  const side = sizeLots === 0 ? "null" : sizeLots > 0 ? '"LONG"' : '"SHORT"';
  const isIsolated = position.marginMode === ISOLATED && sizeLots !== 0;
  return (
    `{"symbol":"${instrument.symbol}","side":${side},"size":"${printQuantity(instrument, lots)}",` +
    `"entryPrice":${averagePriceJson(instrument, Math.abs(costQuanta), lots)},` +
    `"markPrice":${priceJson(instrument, markTicks)},"notional":"${printQuanta(Math.abs(valueQuanta))}",` +
    `"leverage":${position.leverage},"marginMode":"${MARGIN_MODES[position.marginMode]}",` +
    `"isolatedMargin":${isIsolated ? `"${printQuanta(position.isolatedQuanta)}"` : "null"},` +
    `"initialMargin":"${printQuanta(position.initialQuanta)}",` +
    `"maintenanceMargin":"${printQuanta(position.maintenanceQuanta)}",` +
    `"liquidationPrice":${priceJson(instrument, position.liquidationTicks)},` +
    `"bankruptcyPrice":${priceJson(instrument, position.bankruptcyTicks)},` +
    `"breakEvenPrice":${breakEvenPriceJson(instrument, sizeLots, position.cashQuanta)},` +
    `"unrealizedPnl":"${printQuanta(valueQuanta - costQuanta)}",` +
    `"realizedPnl":"${printQuanta(position.realizedQuanta)}","cumulativeFunding":"${printQuanta(position.fundingQuanta)}",` +
    `"adlRank":${position.adlRank || "null"},` +
    `"openedAt":${position.openedAt || "null"},"updatedAt":${position.updatedAt || "null"},` +
    `"sequence":${position.sequence}${more}}`
  );
}

/** A balance, from the result of readFigures(). */
export function balanceJson(figures: Readonly<AccountMargin>, sequence: number, time: TimeMs): string {
  const { equity, unrealized, initial, positionInitial, maintenance, additional } = figures;
  return (
    `{"asset":"USDC","walletBalance":"${printQuanta(equity - unrealized)}","equity":"${printQuanta(equity)}",` +
    `"unrealizedPnl":"${printQuanta(unrealized)}","positionInitialMargin":"${printQuanta(positionInitial)}",` +
    `"openOrderInitialMargin":"${printQuanta(initial - positionInitial)}","initialMargin":"${printQuanta(initial)}",` +
    `"maintenanceMargin":"${printQuanta(maintenance)}",` +
    `"availableBalance":"${printQuanta(Math.max(0, equity - initial))}","additionalMargin":"${printQuanta(additional)}",` +
    `"withdrawable":"${printQuanta(withdrawableOf(figures))}",` +
    `"marginRatio":${marginRatioJson(equity, maintenance)},"updatedAt":${time},"sequence":${sequence}}`
  );
}

/** The equity and maintenance margin that a margin call is about. `symbol`: null for all cross positions. */
export interface MarginCallMembers {
  symbol: string | null;
  isActive: boolean;
  equityQuanta: Quanta;
  maintenanceQuanta: Quanta;
}

export function marginCallJson(call: MarginCallMembers, thresholdPpm: RatePpm, time: TimeMs): string {
  const { symbol, isActive, equityQuanta, maintenanceQuanta } = call;
  const mode = symbol === null ? CROSS : ISOLATED;
  return (
    `{"marginMode":"${MARGIN_MODES[mode]}","symbol":${textOrNull(symbol ?? "")},"active":${isActive},` +
    `"ratio":${marginRatioJson(equityQuanta, maintenanceQuanta)},"threshold":"${printFixed(thresholdPpm, PPM_DECIMALS)}",` +
    `"equity":"${printQuanta(equityQuanta)}","maintenanceMargin":"${printQuanta(maintenanceQuanta)}","time":${time}}`
  );
}

/** A transfer. Its reference is free text and is escaped. `more`: further members, each with a leading comma. */
export function transferJson(transfer: Transfer, more = ""): string {
  return (
    `{"transferId":"${transfer.transferId}","kind":"${transfer.kind}","asset":"USDC",` +
    `"amount":"${printQuanta(transfer.amountQuanta)}","address":${textOrNull(transfer.address)},` +
    `"reference":${transfer.reference === "" ? "null" : JSON.stringify(transfer.reference)},` +
    `"status":"${transfer.status}","txHash":${textOrNull(transfer.txHash)},` +
    `"createdAt":${transfer.createdAt},"updatedAt":${transfer.updatedAt}${more}}`
  );
}

/** `rows`: JSON texts. */
export const listJson = (rows: readonly string[], nextCursor: string | null): string =>
  `{"data":[${rows.join(",")}],"nextCursor":${nextCursor === null ? "null" : `"${nextCursor}"`}}`;

/** The same, of parts that are not empty. Each of them is the JSON texts of several rows with commas between them. */
export function listBytes(parts: readonly Uint8Array[], nextCursor: string | null): Uint8Array {
  const comma = Buffer.from(",");
  const [head, tail] = listJson(["\n"], nextCursor).split("\n") as [string, string];
  const rows = parts.flatMap((part, i) => (i === 0 ? [part] : [comma, part]));
  return Buffer.concat([Buffer.from(head), ...rows, Buffer.from(tail)]);
}

/** Money ÷ quantity as a price. Null when nothing was traded. */
function averagePriceJson(instrument: Instrument, quanta: number, lots: number): string {
  if (lots === 0) return "null";
  const quantaPerTick = lots * instrument.quantaPerTickLot;
  // Most orders fill at one price and need no BigInt.
  if (quanta % quantaPerTick === 0) return `"${printPrice(instrument, quanta / quantaPerTick)}"`;
  return `"${printPriceRatio(instrument, BigInt(quanta), BigInt(quantaPerTick))}"`;
}

/**
 * The price at which closing at market, taker fee included, gives neither profit nor loss in this symbol. Null when there is
 * no such price.
 */
function breakEvenPriceJson(instrument: Instrument, sizeLots: number, cashQuanta: number): string {
  if (sizeLots === 0 || cashQuanta === 0 || cashQuanta > 0 === sizeLots > 0) return "null";
  const keptPpm = sizeLots > 0 ? PPM - instrument.takerFeePpm : PPM + instrument.takerFeePpm;
  const quantaPerTick = BigInt(Math.abs(sizeLots) * instrument.quantaPerTickLot) * BigInt(keptPpm);
  return `"${printPriceRatio(instrument, BigInt(Math.abs(cashQuanta)) * BigInt(PPM), quantaPerTick)}"`;
}

/** Money ÷ (lots × quantaPerTickLot) as a price. */
export function printPriceRatio(instrument: Instrument, quanta: bigint, quantaPerTick: bigint): string {
  const { tickUnits, priceDecimals } = instrument;
  const decimals = priceDecimals + AVERAGE_DECIMALS;
  return printRatio(quanta * BigInt(tickUnits), quantaPerTick * 10n ** BigInt(priceDecimals), decimals);
}

/** Maintenance margin ÷ equity; at 1 the account is liquidated. Null when it needs margin but has no equity. */
function marginRatioJson(equity: number, maintenance: number): string {
  if (maintenance === 0) return '"0"';
  return equity <= 0 ? "null" : `"${printRatio(maintenance, equity, PPM_DECIMALS)}"`;
}
