import {
  EXPIRE_TAKER,
  MARKET,
  ORDER_TYPES,
  SELF_TRADE_PREVENTIONS,
  SIDES,
  TIMES_IN_FORCE,
} from "../../../core/base/enums.ts";
import { CLIENT_ORDER_ID_PATTERN } from "../../../wire/schema/scalars.ts";
import { type JsonScanner, Words } from "../../json/json-scanner.ts";

const NAMES = new Words([
  ...["symbol", "side", "type", "timeInForce", "price", "quantity", "postOnly", "reduceOnly"],
  ...["clientOrderId", "selfTradePreventionMode", "expiresAt", "orderId"],
]);
// Bits of `seen`, in the order of NAMES.
export const SYMBOL = 1 << 0;
export const SIDE = 1 << 1;
export const TYPE = 1 << 2;
export const TIME_IN_FORCE = 1 << 3;
export const PRICE = 1 << 4;
export const QUANTITY = 1 << 5;
const POST = 1 << 6;
const REDUCE = 1 << 7;
const CLIENT_ID = 1 << 8;
const SELF_TRADE = 1 << 9;
export const EXPIRES = 1 << 10;
export const ORDER_ID = 1 << 11;

const SIDE_WORDS = new Words(SIDES);
/** LIMIT and MARKET. */
const TYPE_WORDS = new Words(ORDER_TYPES.slice(0, MARKET + 1));
/** Without GTD. */
const TIME_WORDS = new Words(TIMES_IN_FORCE.slice(0, -1));
const SELF_TRADE_WORDS = new Words(SELF_TRADE_PREVENTIONS);
const CLIENT_ORDER_ID = new RegExp(CLIENT_ORDER_ID_PATTERN);
const MAX_CLIENT_ORDER_ID_LENGTH = 36;

/** The fields of a fast-path request. Whether they fit together is not checked here. */
export class FastPathFields {
  /** The fields that were present, as bits. The optional others have their defaults. */
  seen = 0;
  /** Index into the symbols. */
  symbol = 0;
  side = 0;
  orderType = 0;
  timeInForce = 0;
  /** A price or quantity is digits × 10^-decimals. */
  priceDigits = 0;
  priceDecimals = 0;
  quantityDigits = 0;
  quantityDecimals = 0;
  isPostOnly = false;
  isReduceOnly = false;
  clientOrderId = "";
  selfTradePrevention = EXPIRE_TAKER;
  expiresAt = 0;
  orderId = 0;
  private readonly symbols: Words;

  constructor(symbols: readonly string[]) {
    this.symbols = new Words(symbols);
  }

  /** Reads the object at the scanner's position. Sets `scanner.failed` when it holds anything else. */
  read(scanner: JsonScanner): void {
    this.seen = 0;
    this.isPostOnly = false;
    this.isReduceOnly = false;
    this.clientOrderId = "";
    this.selfTradePrevention = EXPIRE_TAKER;
    this.expiresAt = 0;
    scanner.openObject();
    do {
      const field = 1 << scanner.field(NAMES);
      if ((this.seen & field) !== 0) scanner.failed = true;
      this.seen |= field;
      this.readValue(scanner, field);
    } while (scanner.hasMore());
  }

  private readValue(scanner: JsonScanner, field: number): void {
    switch (field) {
      case SYMBOL:
        this.symbol = scanner.word(this.symbols);
        break;
      case SIDE:
        this.side = scanner.word(SIDE_WORDS);
        break;
      case TYPE:
        this.orderType = scanner.word(TYPE_WORDS);
        break;
      case TIME_IN_FORCE:
        this.timeInForce = scanner.word(TIME_WORDS);
        break;
      case PRICE:
        scanner.decimal();
        this.priceDigits = scanner.digits;
        this.priceDecimals = scanner.decimals;
        break;
      case QUANTITY:
        scanner.decimal();
        this.quantityDigits = scanner.digits;
        this.quantityDecimals = scanner.decimals;
        break;
      case POST:
        this.isPostOnly = scanner.boolean();
        break;
      case REDUCE:
        this.isReduceOnly = scanner.boolean();
        break;
      case CLIENT_ID:
        this.clientOrderId = scanner.text(MAX_CLIENT_ORDER_ID_LENGTH);
        if (!CLIENT_ORDER_ID.test(this.clientOrderId)) scanner.failed = true;
        break;
      case SELF_TRADE:
        this.selfTradePrevention = scanner.word(SELF_TRADE_WORDS);
        break;
      case EXPIRES:
        this.expiresAt = scanner.integer();
        if (this.expiresAt === 0) scanner.failed = true;
        break;
      case ORDER_ID:
        this.orderId = scanner.quotedInteger();
        break;
    }
  }
}
