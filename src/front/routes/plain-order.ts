import type { Instrument } from "../../core/instrument.ts";
import {
  EXPIRE_TAKER,
  GTC,
  IOC,
  MARKET,
  ORDER_TYPES,
  PlaceOrder,
  POST_ONLY,
  REDUCE_ONLY,
  SELF_TRADE_PREVENTIONS,
  SIDES,
  TIMES_IN_FORCE,
} from "../../core/messages.ts";
import { blank, type MessageOf } from "../../core/shape.ts";
import { MAX_REQUEST_ID_LENGTH } from "../../wire/schema/channels.ts";
import { CLIENT_ORDER_ID_PATTERN } from "../../wire/schema/scalars.ts";
import type { RequestId } from "../channel-requests.ts";
import { JsonScanner, Words } from "../json-scanner.ts";
import { hashOrder } from "./place-order.ts";

const MESSAGE_FIELDS = new Words(["op", "id", "params"]);
const [OP, ID] = [0, 1];
const OPS = new Words(["order.place"]);

const ORDER_FIELDS = new Words([
  ...["symbol", "side", "type", "timeInForce", "price", "quantity", "postOnly", "reduceOnly"],
  ...["clientOrderId", "selfTradePreventionMode", "expiresAt"],
]);
const [SYMBOL, SIDE, TYPE, TIME_IN_FORCE, PRICE, QUANTITY, POST, REDUCE, CLIENT_ID, SELF_TRADE, EXPIRES] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
];
const REQUIRED = (1 << SYMBOL) | (1 << SIDE) | (1 << TYPE) | (1 << QUANTITY);
const SIDE_WORDS = new Words(SIDES);
/** Those that act at once. */
const TYPE_WORDS = new Words(ORDER_TYPES.slice(0, MARKET + 1));
/** Without GTD. */
const TIME_WORDS = new Words(TIMES_IN_FORCE.slice(0, -1));
const SELF_TRADE_WORDS = new Words(SELF_TRADE_PREVENTIONS);
const CLIENT_ORDER_ID = new RegExp(CLIENT_ORDER_ID_PATTERN);
const MAX_CLIENT_ORDER_ID_LENGTH = 36;
const POWERS = Array.from({ length: 13 }, (_, exponent) => 10 ** exponent);

/** What readPlainOrder() makes of an order's JSON, but for whose it is. */
export class PlainOrder {
  readonly instrument: Instrument;
  /** The next order that is read fills in the same one again. */
  readonly command: MessageOf<typeof PlaceOrder>;

  constructor(instrument: Instrument, command: MessageOf<typeof PlaceOrder>) {
    this.instrument = instrument;
    this.command = command;
  }
}

/**
 * Reads the request that comes by far most often, an order that acts at once, straight from its bytes into its command:
 * a fifth of what parsing, checking and converting take one after the other. It knows what is sound and nothing of
 * errors: null is for whatever it does not take (see JsonScanner), may that be right or wrong.
 */
export class OrderReader {
  /** The id of the message that was read last. */
  id: RequestId = null;
  private readonly scanner = new JsonScanner();
  private readonly command = blank(PlaceOrder);
  private readonly instruments: readonly Instrument[];
  private readonly symbols: Words;

  constructor(instruments: readonly Instrument[]) {
    this.instruments = instruments;
    this.symbols = new Words(instruments.map(({ symbol }) => symbol));
  }

  /** The body of `POST /orders`. */
  readBody(body: Uint8Array): PlainOrder | null {
    const { scanner } = this;
    scanner.begin(body);
    const order = this.readOrder();
    return scanner.isAtEnd ? order : null;
  }

  /** A WebSocket's message, when it is an `order.place`. */
  readMessage(message: Uint8Array): PlainOrder | null {
    const { scanner } = this;
    scanner.begin(message);
    scanner.openObject();
    this.id = null;
    let order: PlainOrder | null = null;
    let seen = 0;
    do {
      const field = scanner.field(MESSAGE_FIELDS);
      if ((seen & (1 << field)) !== 0) return null;
      seen |= 1 << field;
      if (field === OP) scanner.word(OPS);
      else if (field === ID) this.id = scanner.isString ? scanner.text(MAX_REQUEST_ID_LENGTH) : scanner.integer();
      else order = this.readOrder();
    } while (scanner.hasMore());
    const isWhole = (seen & (1 << OP)) !== 0 && scanner.isAtEnd && !scanner.failed;
    return isWhole ? order : null;
  }

  /** The object that begins here, if it is an order that can be sent as it is. */
  private readOrder(): PlainOrder | null {
    const { scanner, command } = this;
    let seen = 0;
    let symbol = 0;
    let priceDigits = 0;
    let priceScale = 0;
    let quantityDigits = 0;
    let quantityScale = 0;
    command.flags = 0;
    command.selfTradePrevention = EXPIRE_TAKER;
    command.expiresAt = 0;
    command.clientOrderId = "";
    scanner.openObject();
    do {
      const field = scanner.field(ORDER_FIELDS);
      if ((seen & (1 << field)) !== 0) return null;
      seen |= 1 << field;
      switch (field) {
        case SYMBOL:
          symbol = scanner.word(this.symbols);
          break;
        case SIDE:
          command.side = scanner.word(SIDE_WORDS);
          break;
        case TYPE:
          command.orderType = scanner.word(TYPE_WORDS);
          break;
        case TIME_IN_FORCE:
          command.timeInForce = scanner.word(TIME_WORDS);
          break;
        case PRICE:
          scanner.decimal();
          priceDigits = scanner.digits;
          priceScale = scanner.decimals;
          break;
        case QUANTITY:
          scanner.decimal();
          quantityDigits = scanner.digits;
          quantityScale = scanner.decimals;
          break;
        case POST:
          if (scanner.boolean()) command.flags |= POST_ONLY;
          break;
        case REDUCE:
          if (scanner.boolean()) command.flags |= REDUCE_ONLY;
          break;
        case CLIENT_ID:
          command.clientOrderId = scanner.text(MAX_CLIENT_ORDER_ID_LENGTH);
          if (!CLIENT_ORDER_ID.test(command.clientOrderId)) return null;
          break;
        case SELF_TRADE:
          command.selfTradePrevention = scanner.word(SELF_TRADE_WORDS);
          break;
        case EXPIRES:
          command.expiresAt = scanner.integer();
          break;
      }
    } while (scanner.hasMore());
    const has = (field: number): boolean => (seen & (1 << field)) !== 0;
    const isMarket = command.orderType === MARKET;
    if (scanner.failed || (seen & REQUIRED) !== REQUIRED || has(PRICE) === isMarket) return null;
    if (!has(TIME_IN_FORCE)) command.timeInForce = isMarket ? IOC : GTC;
    else if (isMarket && command.timeInForce === GTC) return null;
    if ((command.flags & POST_ONLY) !== 0 && command.timeInForce !== GTC) return null;
    const instrument = this.instruments[symbol];
    const { priceDecimals, tickUnits, quantityDecimals, stepUnits } = instrument;
    command.priceTicks = isMarket ? 0 : toSteps(priceDigits, priceDecimals - priceScale, tickUnits);
    command.quantityLots = toSteps(quantityDigits, quantityDecimals - quantityScale, stepUnits);
    if (!(command.quantityLots > 0 && (isMarket || command.priceTicks > 0))) return null;
    command.bodyHash = command.clientOrderId === "" ? 0 : hashOrder(command);
    return new PlainOrder(instrument, command);
  }
}

/** digits × 10^exponent as so many steps; NaN when that is not whole, or past 2^53: as parsePrice() and parseQuantity(). */
function toSteps(digits: number, exponent: number, stepUnits: number): number {
  const units = digits * (POWERS[exponent] ?? Number.NaN);
  return units <= Number.MAX_SAFE_INTEGER && units % stepUnits === 0 ? units / stepUnits : Number.NaN;
}
