import type { Released } from "../../actor/road.ts";
import type { Instrument } from "../../core/instrument.ts";
import { DuplicateOrder, OrderView, PlaceOrder, Refused, Traded } from "../../core/messages.ts";
import { blank, type Message, type MessageOf } from "../../core/shape.ts";
import {
  EXPIRE_TAKER,
  GTC,
  GTD,
  IOC,
  LIMIT,
  MARKET,
  ORDER_TYPES,
  POST_ONLY,
  PRICE_MATCHES,
  REDUCE_ONLY,
  SELF_TRADE_PREVENTIONS,
  SIDES,
  TIMES_IN_FORCE,
} from "../../core/words.ts";
import type { PlaceOrderBody } from "../../wire/schema/orders.ts";
import { readPrice, readQuantity, readShare } from "../amounts.ts";
import type { Answer } from "../answer.ts";
import { askFor, firstReply, refusalIn } from "../ask.ts";
import type { Context } from "../context.ts";
import type { Principal } from "../credentials.ts";
import { ApiError } from "../errors.ts";
import { orderJsonWith, takerFillJson } from "../views.ts";
import { duplicateJson } from "./duplicate-order.ts";

type Command = MessageOf<typeof PlaceOrder>;
/** What orders of all types have. */
type CommonFields = Omit<Command, "type" | "maxSlippagePpm">;

// Filled in again for each order: the road has encoded it when ask() returns.
const command = blank(PlaceOrder);

/** An order that acts at once: the path that everything else is slower than. The next call fills the same one in again. */
export function readPlainOrder(principal: Principal, instrument: Instrument, body: PlaceOrderBody): Command {
  command.accountId = principal.accountId;
  readOrder(instrument, body, command);
  takeKeyLimits(command, principal);
  return command;
}

/** The limits of the API key that the order came with. */
export function takeKeyLimits(
  command: Pick<Command, "keyOrderQuanta" | "keyPositionQuanta" | "keyLeverage">,
  { record }: Principal,
): void {
  command.keyOrderQuanta = record?.maxOrderQuanta ?? 0;
  command.keyPositionQuanta = record?.maxPositionQuanta ?? 0;
  command.keyLeverage = record?.maxLeverage ?? 0;
}

/** Sends an order's command to its symbol, and answers with the order, its first order or a refusal. */
export function sendOrder(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  command: Message & { accountId: number; clientOrderId: string },
): void {
  const { accountId, clientOrderId } = command;
  const isFirstUse = clientOrderId !== "" && claim(context, accountId, clientOrderId, instrument);
  const note = isFirstUse ? dropUnlessPlaced(context, accountId, clientOrderId) : undefined;
  const read = (turn: Released): void => {
    const reply = firstReply(turn);
    if (reply.type === DuplicateOrder.code)
      duplicateJson(context, instrument, (reply as MessageOf<typeof DuplicateOrder>).orderId)
        .then((json) => answer.reply(200, json))
        .catch((thrown: unknown) => answer.fail(thrown, context.log));
    else replyPlaced(answer, instrument, turn);
  };
  try {
    askFor(context, answer, instrument.id, command, read, note);
  } catch (thrown) {
    note?.(null);
    throw thrown;
  }
}

/** For askFor(): where nothing was placed, the id is free again. */
const dropUnlessPlaced =
  ({ clientOrderIds }: Context, accountId: number, clientOrderId: string) =>
  (turn: Released | null): void => {
    if (turn === null || firstReply(turn).type === Refused.code) clientOrderIds.drop(accountId, clientOrderId);
  };

/**
 * Each symbol knows the ids used on it; here an id that another symbol has is refused. Returns whether nobody has used
 * the id yet: then it is taken from now on, also while the order is on its way.
 */
export function claim(context: Context, accountId: number, clientOrderId: string, instrument: Instrument): boolean {
  const isFirstUse = isUnused(context, accountId, clientOrderId, instrument);
  if (isFirstUse) context.clientOrderIds.keep(accountId, clientOrderId, instrument.id, Date.now());
  return isFirstUse;
}

/** Throws CLIENT_ORDER_ID_REUSED when another symbol has the id; false: this one has. */
export function isUnused(
  { clientOrderIds }: Context,
  accountId: number,
  clientOrderId: string,
  instrument: Instrument,
): boolean {
  const owner = clientOrderIds.ownerOf(accountId, clientOrderId);
  if (owner !== 0 && owner !== instrument.id) throw new ApiError("CLIENT_ORDER_ID_REUSED", { field: "clientOrderId" });
  return owner === 0;
}

/** Answers with the order that the turn has placed or amended, and its fills; or with why it was refused. */
export function replyPlaced(answer: Answer, instrument: Instrument, turn: Released, status = 201): void {
  const reply = firstReply(turn);
  const refusal = refusalIn(reply, instrument);
  if (refusal !== null) return answer.refuse(refusal);
  const order = reply as MessageOf<typeof OrderView>;
  if (order.type !== OrderView.code) throw new Error(`an order was answered with message ${order.type}`);
  answer.reply(status, placedJson(instrument, order, turn));
}

/** The order with its fills by these events of the turn, by default all. */
export function placedJson(
  instrument: Instrument,
  order: MessageOf<typeof OrderView>,
  turn: Released,
  from = 0,
  to = turn.eventCount,
): string {
  let fills = "";
  for (let i = from; i < to; i++) {
    const trade = turn.messages[i] as MessageOf<typeof Traded>;
    if (trade.type !== Traded.code || trade.takerOrderId !== order.orderId) continue;
    if (fills !== "") fills += ",";
    fills += takerFillJson(instrument, trade, order.clientOrderId, turn.time, turn.sequence);
  }
  return orderJsonWith(instrument, order, turn.sequence, `,"fills":[${fills}]`);
}

/** Fills in everything but the account and its key's limits. Throws an ApiError when fields do not go together or lie between two units. */
export function readOrder(instrument: Instrument, body: PlaceOrderBody, order: Omit<Command, "type">): void {
  if (
    body.triggerPrice !== undefined ||
    body.triggerBy !== undefined ||
    body.callbackRate !== undefined ||
    body.activationPrice !== undefined ||
    body.closePosition === true
  )
    throw new ApiError("BAD_COMBINATION", {
      field: "type",
      message:
        "triggerPrice, triggerBy, callbackRate, activationPrice and closePosition belong to orders that wait for a price.",
    });
  const isMarket = body.type === ORDER_TYPES[MARKET];
  if (isMarket) checkMarket(body);
  else if (body.price === undefined && body.priceMatch === undefined)
    throw new ApiError("MISSING_FIELD", { field: "price", message: "A limit order has a price, or a priceMatch." });
  checkPostOnly(body);
  order.orderType = isMarket ? MARKET : LIMIT;
  order.maxSlippagePpm = readMaxSlippage(body);
  order.flags = 0;
  readCommon(instrument, body, order, isMarket);
  order.bodyHash = 0;
  if (order.clientOrderId === "") return;
  order.bodyHash = hashOrder(order);
  if (order.maxSlippagePpm !== 0) order.bodyHash = hashMore(order.bodyHash, [order.maxSlippagePpm]);
}

/** One of PRICE_MATCHES; 0 when a price is said, or nothing of it. */
export function readPriceMatch({ price, priceMatch }: Pick<PlaceOrderBody, "price" | "priceMatch">): number {
  if (priceMatch === undefined) return 0;
  if (price !== undefined)
    throw new ApiError("BAD_COMBINATION", {
      field: "priceMatch",
      message: "priceMatch takes the place of a price: send one of the two.",
    });
  return PRICE_MATCHES.indexOf(priceMatch);
}

/** What orders of all types say in the same way. */
export function readCommon(instrument: Instrument, body: PlaceOrderBody, order: CommonFields, isMarket: boolean): void {
  order.side = SIDES.indexOf(body.side);
  order.timeInForce =
    body.timeInForce === undefined ? (isMarket ? IOC : GTC) : TIMES_IN_FORCE.indexOf(body.timeInForce);
  order.flags |= (body.postOnly === true ? POST_ONLY : 0) | (body.reduceOnly === true ? REDUCE_ONLY : 0);
  order.selfTradePrevention =
    body.selfTradePreventionMode === undefined
      ? EXPIRE_TAKER
      : SELF_TRADE_PREVENTIONS.indexOf(body.selfTradePreventionMode);
  order.priceTicks = body.price === undefined ? 0 : readPrice(instrument, body.price);
  order.quantityLots = readQuantityOf(instrument, body);
  order.expiresAt = body.expiresAt ?? 0;
  order.clientOrderId = body.clientOrderId ?? "";
}

/** 0 = as far as the price band. */
function readMaxSlippage({ type, maxSlippage }: PlaceOrderBody): number {
  if (maxSlippage === undefined) return 0;
  if (type !== ORDER_TYPES[MARKET])
    throw new ApiError("BAD_COMBINATION", { field: "maxSlippage", message: "maxSlippage belongs to MARKET orders." });
  return readShare(maxSlippage, "maxSlippage");
}

/** 0 for an order that closes the whole position. */
function readQuantityOf(instrument: Instrument, body: PlaceOrderBody): number {
  if (body.quantity !== undefined) return readQuantity(instrument, body.quantity);
  if (body.closePosition === true) return 0;
  throw new ApiError("MISSING_FIELD", { field: "quantity" });
}

export function checkPostOnly({ postOnly, timeInForce = TIMES_IN_FORCE[GTC] }: PlaceOrderBody): void {
  if (postOnly === true && timeInForce !== TIMES_IN_FORCE[GTC] && timeInForce !== TIMES_IN_FORCE[GTD])
    throw new ApiError("BAD_COMBINATION", { field: "postOnly", message: "A post-only order rests: GTC or GTD." });
}

export function checkMarket(body: PlaceOrderBody): void {
  const refuse = (field: string, message: string) => new ApiError("BAD_COMBINATION", { field, message });
  if (body.price !== undefined) throw refuse("price", "A market order has no price; an IOC limit order has one.");
  if (body.priceMatch !== undefined) throw refuse("priceMatch", "A market order has no price to match.");
  if (body.postOnly === true) throw refuse("postOnly", "A market order cannot be post-only.");
  if (body.timeInForce === TIMES_IN_FORCE[GTC])
    throw refuse("timeInForce", "A market order does not rest: IOC or FOK.");
}

/**
 * 48 bits over every field of the order, by which a retry is told from a reused clientOrderId. Not over expiresAt: that
 * is about the request, and a client that tries again may move it.
 */
export function hashOrder(order: CommonFields): number {
  const words =
    order.side |
    (order.orderType << 1) |
    (order.timeInForce << 3) |
    (order.flags << 6) |
    (order.selfTradePrevention << 10);
  const high = mix(mix(mix(0x9747b28c, words), order.priceTicks), order.quantityLots);
  const low = mix(mix(mix(0x3c6ef372, order.quantityLots), order.priceTicks), words);
  return (high >>> 0) * 0x10000 + (low >>> 16);
}

/** The hash of an order that has more: 48 bits over what hashOrder() said of the rest, and over each of `values`. */
export function hashMore(hash: number, values: readonly number[]): number {
  const high = values.reduce(mix, mix(0x9747b28c, hash));
  const low = values.reduce(mix, mix(0x3c6ef372, hash));
  return (high >>> 0) * 0x10000 + (low >>> 16);
}

/** One step of MurmurHash3 for each half of a safe integer, and its avalanche. */
function mix(hash: number, value: number): number {
  const once = step(step(hash, value | 0), Math.floor(value / 2 ** 32));
  const spread = Math.imul(once ^ (once >>> 16), 0x85ebca6b);
  return spread ^ (spread >>> 13);
}

function step(hash: number, word: number): number {
  const scrambled = Math.imul(word, 0xcc9e2d51);
  const mixed = hash ^ Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b873593);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}
