import { GTC, IOC, idToInstrumentId, MARKET, POST_ONLY, REDUCE_ONLY } from "../../../core/base/enums.ts";
import { AmendOrder, CancelOrder, PlaceOrder } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { MAX_REQUEST_ID_LENGTH } from "../../../wire/schema/channels.ts";
import type { RequestId } from "../../common/socket-errors.ts";
import { JsonScanner, Words } from "../../json/json-scanner.ts";
import type { Symbols } from "../../routing/context.ts";
import { hashOrder } from "../parsing/order-hash.ts";
import {
  EXPIRES,
  FastPathFields,
  ORDER_ID,
  PRICE,
  QUANTITY,
  SIDE,
  SYMBOL,
  TIME_IN_FORCE,
  TYPE,
} from "./fast-path-fields.ts";

const MESSAGE_FIELDS = new Words(["op", "id", "params"]);
const [OP, ID, PARAMS] = [0, 1, 2];
const REQUIRED_OF_MESSAGE = (1 << OP) | (1 << PARAMS);
const OPS = ["order.place", "order.cancel", "order.amend"] as const;
const OP_WORDS = new Words(OPS);
const [PLACE, CANCEL] = [0, 1];

const REQUIRED_TO_PLACE = SYMBOL | SIDE | TYPE | QUANTITY;
const ALLOWED_TO_AMEND = ORDER_ID | PRICE | QUANTITY | EXPIRES;
const POWERS = Array.from({ length: 13 }, (_, exponent) => 10 ** exponent);

export type FastPathCommand =
  | MessageOf<typeof PlaceOrder>
  | MessageOf<typeof CancelOrder>
  | MessageOf<typeof AmendOrder>;

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
