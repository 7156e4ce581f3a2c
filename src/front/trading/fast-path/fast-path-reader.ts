import {
  EXPIRE_TAKER,
  GTC,
  IOC,
  idToInstrumentId,
  MARKET,
  ORDER_TYPES,
  POST_ONLY,
  REDUCE_ONLY,
  SELF_TRADE_PREVENTIONS,
  SIDES,
  TIMES_IN_FORCE,
} from "../../../core/base/enums.ts";
import { AmendOrder, CancelOrder, PlaceOrder } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { MAX_REQUEST_ID_LENGTH } from "../../../wire/schema/channels.ts";
import { CLIENT_ORDER_ID_PATTERN } from "../../../wire/schema/scalars.ts";
import type { RequestId } from "../../common/socket-errors.ts";
import { JsonScanner, Words } from "../../json/json-scanner.ts";
import type { Symbols } from "../../routing/context.ts";
import { hashOrder } from "../parsing/order-hash.ts";

const NAMES = new Words([
  ...["symbol", "side", "type", "timeInForce", "price", "quantity", "postOnly", "reduceOnly"],
  ...["clientOrderId", "selfTradePreventionMode", "expiresAt", "orderId"],
]);
// Bits of `seen`, in the order of NAMES.
const SYMBOL = 1 << 0;
const SIDE = 1 << 1;
const TYPE = 1 << 2;
const TIME_IN_FORCE = 1 << 3;
const PRICE = 1 << 4;
const QUANTITY = 1 << 5;
const POST = 1 << 6;
const REDUCE = 1 << 7;
const CLIENT_ID = 1 << 8;
const SELF_TRADE = 1 << 9;
const EXPIRES = 1 << 10;
const ORDER_ID = 1 << 11;

const SIDE_WORDS = new Words(SIDES);
/** LIMIT and MARKET. */
const TYPE_WORDS = new Words(ORDER_TYPES.slice(0, MARKET + 1));
/** Without GTD. */
const TIME_WORDS = new Words(TIMES_IN_FORCE.slice(0, -1));
const SELF_TRADE_WORDS = new Words(SELF_TRADE_PREVENTIONS);
const CLIENT_ORDER_ID = new RegExp(CLIENT_ORDER_ID_PATTERN);
const MAX_CLIENT_ORDER_ID_LENGTH = 36;

/** The fields of a fast-path request. Whether they fit together is not checked here. */
class FastPathFields {
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

const MESSAGE_FIELDS = new Words(["op", "id", "params"]);
const [OP, ID, PARAMS] = [0, 1, 2];
const REQUIRED_OF_MESSAGE = (1 << OP) | (1 << PARAMS);
const OPS = ["order.place", "order.cancel", "order.amend"] as const;
const OP_WORDS = new Words(OPS);
const [PLACE, CANCEL] = [0, 1];

const REQUIRED_TO_PLACE = SYMBOL | SIDE | TYPE | QUANTITY;
const ALLOWED_TO_AMEND = ORDER_ID | PRICE | QUANTITY | EXPIRES;
const POWERS = Array.from({ length: 13 }, (_, exponent) => 10 ** exponent);

type FastPathCommand = MessageOf<typeof PlaceOrder> | MessageOf<typeof CancelOrder> | MessageOf<typeof AmendOrder>;

/** A request whose command is complete except for the account. The reader reuses the command for its next request. */
export class FastPathRequest {
  readonly instrument: Instrument;
  readonly command: FastPathCommand;

  constructor(instrument: Instrument, command: FastPathCommand) {
    this.instrument = instrument;
    this.command = command;
  }
}

/**
 * Reads the most frequent requests straight from their bytes into commands: placing LIMIT and MARKET orders, and canceling
 * and amending by orderId. This takes a fifth of the time of parsing, checking and converting one after the other. It
 * returns null for every other request, valid or not (see JsonScanner); the general path then reads it and finds errors.
 */
export class FastPathReader {
  /** Of the last message, like `id`. */
  op: (typeof OPS)[number] = "order.place";
  id: RequestId = null;
  private readonly scanner = new JsonScanner();
  private readonly symbols: Symbols;
  private readonly fields: FastPathFields;
  private readonly order = blank(PlaceOrder);
  private readonly cancellation = blank(CancelOrder);
  private readonly amendment = blank(AmendOrder);

  constructor(symbols: Symbols) {
    this.symbols = symbols;
    this.fields = new FastPathFields(symbols.all.map(({ symbol }) => symbol));
  }

  /** The body of `POST /orders`. */
  readOrder(body: Uint8Array): FastPathRequest | null {
    const { scanner } = this;
    scanner.begin(body);
    this.fields.read(scanner);
    return scanner.isWhole ? this.place() : null;
  }

  /** A message of a WebSocket. */
  readMessage(message: Uint8Array): FastPathRequest | null {
    const { scanner } = this;
    scanner.begin(message);
    scanner.openObject();
    this.id = null;
    let op = PLACE;
    let seen = 0;
    do {
      const field = scanner.field(MESSAGE_FIELDS);
      if ((seen & (1 << field)) !== 0) return null;
      seen |= 1 << field;
      if (field === OP) op = scanner.word(OP_WORDS);
      else if (field === ID) this.id = scanner.isString ? scanner.text(MAX_REQUEST_ID_LENGTH) : scanner.integer();
      else this.fields.read(scanner);
    } while (scanner.hasMore());
    if (!scanner.isWhole || (seen & REQUIRED_OF_MESSAGE) !== REQUIRED_OF_MESSAGE) return null;
    this.op = OPS[op];
    if (op === PLACE) return this.place();
    return op === CANCEL ? this.cancel() : this.amend();
  }

  private place(): FastPathRequest | null {
    const { fields, order } = this;
    const { seen } = fields;
    const isMarket = fields.orderType === MARKET;
    if ((seen & REQUIRED_TO_PLACE) !== REQUIRED_TO_PLACE || (seen & ORDER_ID) !== 0) return null;
    if (((seen & PRICE) !== 0) === isMarket) return null;
    order.side = fields.side;
    order.orderType = fields.orderType;
    order.timeInForce = (seen & TIME_IN_FORCE) !== 0 ? fields.timeInForce : isMarket ? IOC : GTC;
    if (isMarket && order.timeInForce === GTC) return null;
    if (fields.isPostOnly && order.timeInForce !== GTC) return null;
    const instrument = this.symbols.all[fields.symbol];
    order.priceTicks = isMarket ? 0 : priceOf(fields, instrument);
    order.quantityLots = quantityOf(fields, instrument);
    if (!(order.quantityLots > 0 && (isMarket || order.priceTicks > 0))) return null;
    order.flags = (fields.isPostOnly ? POST_ONLY : 0) | (fields.isReduceOnly ? REDUCE_ONLY : 0);
    order.selfTradePrevention = fields.selfTradePrevention;
    order.expiresAt = fields.expiresAt;
    order.clientOrderId = fields.clientOrderId;
    order.bodyHash = order.clientOrderId === "" ? 0 : hashOrder(order);
    return new FastPathRequest(instrument, order);
  }

  private cancel(): FastPathRequest | null {
    const { fields, cancellation } = this;
    const instrument = this.symbols.findById(idToInstrumentId(fields.orderId));
    if (fields.seen !== ORDER_ID || instrument === undefined) return null;
    cancellation.orderId = fields.orderId;
    return new FastPathRequest(instrument, cancellation);
  }

  private amend(): FastPathRequest | null {
    const { fields, amendment } = this;
    const { seen } = fields;
    const instrument = this.symbols.findById(idToInstrumentId(fields.orderId));
    if ((seen & ORDER_ID) === 0 || (seen & ~ALLOWED_TO_AMEND) !== 0 || instrument === undefined) return null;
    const [hasPrice, hasQuantity] = [(seen & PRICE) !== 0, (seen & QUANTITY) !== 0];
    amendment.orderId = fields.orderId;
    amendment.priceTicks = hasPrice ? priceOf(fields, instrument) : 0;
    amendment.quantityLots = hasQuantity ? quantityOf(fields, instrument) : 0;
    amendment.expiresAt = fields.expiresAt;
    const isSound = amendment.priceTicks > 0 === hasPrice && amendment.quantityLots > 0 === hasQuantity;
    return isSound && (hasPrice || hasQuantity) ? new FastPathRequest(instrument, amendment) : null;
  }
}

const priceOf = ({ priceDigits, priceDecimals }: FastPathFields, instrument: Instrument): number =>
  toSteps(priceDigits, instrument.priceDecimals - priceDecimals, instrument.tickUnits);

const quantityOf = ({ quantityDigits, quantityDecimals }: FastPathFields, instrument: Instrument): number =>
  toSteps(quantityDigits, instrument.quantityDecimals - quantityDecimals, instrument.stepUnits);

/** digits × 10^exponent in steps, like parsePrice() and parseQuantity(). NaN when it is not whole or exceeds 2^53. */
function toSteps(digits: number, exponent: number, stepUnits: number): number {
  const units = digits * (POWERS[exponent] ?? Number.NaN);
  return units <= Number.MAX_SAFE_INTEGER && units % stepUnits === 0 ? units / stepUnits : Number.NaN;
}
