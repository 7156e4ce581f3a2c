import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  idToInstrumentId,
  ORDER_TYPES,
  SELF_TRADE_PREVENTIONS,
  SIDES,
  TIMES_IN_FORCE,
} from "../../../../src/core/base/enums.ts";
import { AmendOrder, CancelOrder, PlaceOrder } from "../../../../src/core/protocol/commands.ts";
import { compileInstrument } from "../../../../src/core/protocol/instrument.ts";
import { blank, type Message } from "../../../../src/core/protocol/message-schema.ts";
import { ApiError } from "../../../../src/front/common/errors.ts";
import { SocketRefusal } from "../../../../src/front/common/socket-errors.ts";
import { decodeUtf8 } from "../../../../src/front/common/utf8.ts";
import type { Principal } from "../../../../src/front/exchange/credentials.ts";
import { Input } from "../../../../src/front/json/input.ts";
import { parseJson } from "../../../../src/front/json/json.ts";
import { Symbols } from "../../../../src/front/routing/context.ts";
import { checkAmendment, readAmendment } from "../../../../src/front/trading/change-orders.ts";
import { FastPathReader, type FastPathRequest } from "../../../../src/front/trading/fast-path/fast-path-reader.ts";
import { readOrderId, readReference } from "../../../../src/front/trading/find-orders.ts";
import { readNewOrder } from "../../../../src/front/trading/place-order.ts";
import { readId, readRequest } from "../../../../src/front/websocket/client-requests.ts";
import { PlaceOrderBody } from "../../../../src/wire/schema/orders.ts";
import { TRADING_PARAMS } from "../../../../src/wire/schema/trading.ts";
import { takeSeed } from "../../../core/support/seed.ts";
import { instrument } from "../../support/scripted-engine.ts";

fc.configureGlobal({ seed: takeSeed("plain-requests.test") });

/** Tick and step sizes that are no powers of ten, and whole quantities. */
const coarse = { tickSize: "0.25", stepSize: "5", minQuantity: "5", maxQuantity: "1000", maxPrice: "100000" };
const instruments = [
  instrument(1, "BTC-PERP"),
  compileInstrument({ ...instrument(2, "DOGE-PERP").config, ...coarse }),
  instrument(3, "A"),
];
const symbols = new Symbols(instruments);
const nobody: Principal = { accountId: 0, permissions: [], credential: "", expiresAt: 0, record: null };
const BODY = new Input(PlaceOrderBody);
const CANCEL = new Input(TRADING_PARAMS["order.cancel"]);
const AMEND = new Input(TRADING_PARAMS["order.amend"]);
const reader = new FastPathReader(symbols);
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Read {
  symbol: string;
  command: Message;
  id: unknown;
}

/** The command of the general path for a body; null when it refuses the body or makes another command than PlaceOrder. */
function readOrderGenerally(body: unknown, id: unknown): Read | null {
  const checked = BODY.check(body);
  const { symbol } = checked;
  const command = readNewOrder(nobody, symbols.bySymbol(symbol), checked);
  return checked.dryRun === true || command.type !== PlaceOrder.code ? null : { symbol, command: { ...command }, id };
}

/** The same for the params of a cancel or amendment; null also without a possible orderId. */
function readChangeGenerally(op: string, params: unknown, id: unknown): Read | null {
  const {
    orderId: orderIdText,
    clientOrderId,
    ...body
  } = op === "order.cancel" ? CANCEL.check(params) : AMEND.check(params);
  const { reference, field } = readReference({ orderId: orderIdText, clientOrderId });
  if (op === "order.amend") checkAmendment(body);
  const orderId = field === "orderId" ? readOrderId({ symbols }, reference) : 0;
  const instrument = symbols.findById(idToInstrumentId(orderId));
  if (orderId === 0 || instrument === undefined) return null;
  const command: Message = op === "order.cancel" ? blank(CancelOrder) : readAmendment(nobody, instrument, body);
  return { symbol: instrument.symbol, command: Object.assign(command, { orderId }), id };
}

function unlessRefused(read: () => Read | null): Read | null {
  try {
    return read();
  } catch (thrown) {
    // Not UTF-8: a TypeError.
    assert(
      thrown instanceof ApiError || thrown instanceof SocketRefusal || thrown instanceof TypeError,
      String(thrown),
    );
    return null;
  }
}

const bodyGenerally = (bytes: Uint8Array): Read | null =>
  unlessRefused(() => readOrderGenerally(parseJson(decodeUtf8(bytes)), null));

const messageGenerally = (bytes: Uint8Array): Read | null =>
  unlessRefused(() => {
    const message = parseJson(decodeUtf8(bytes));
    const id = readId(message);
    const request = readRequest(message, symbols);
    switch (request.op) {
      case "order.place":
        return readOrderGenerally(request.params, id);
      case "order.cancel":
      case "order.amend":
        return readChangeGenerally(request.op, request.params, id);
      default:
        return null;
    }
  });

const taken = (request: FastPathRequest | null, id: unknown): Read | null =>
  request && { symbol: request.instrument.symbol, command: { ...request.command }, id };

const bodyQuickly = (bytes: Uint8Array): Read | null => taken(reader.readOrder(bytes), null);

function messageQuickly(bytes: Uint8Array): Read | null {
  const request = reader.readMessage(bytes);
  return taken(request, reader.id);
}

/** The fast path may return null. Otherwise both paths must give the same command. */
function holdTogether(quick: Read | null, general: Read | null): void {
  if (quick !== null) assert.deepEqual(quick, general);
}

test("decimals of the maximum length and longer are read like on the general path", () => {
  const places = Array.from({ length: 15 }, (_, digits) => digits);
  const edges = places.flatMap((digits) => [
    `1${"0".repeat(digits)}`,
    `5.${"0".repeat(digits + 1)}`,
    `5${"0".repeat(digits)}.5`,
  ]);
  let taken = 0;
  for (const { symbol } of instruments)
    for (const edge of edges)
      for (const fields of [
        { price: edge, quantity: "5" },
        { price: "5", quantity: edge },
      ]) {
        const bytes = encode(JSON.stringify({ symbol, side: "BUY", type: "LIMIT", ...fields }));
        const quick = bodyQuickly(bytes);
        if (quick !== null) taken++;
        holdTogether(quick, bodyGenerally(bytes));
      }
  assert.ok(taken > edges.length, `${taken} were taken`);
});

// ---- what programs send ------------------------------------------------------------------------------------------------

/** Multiples of tick and step of all three instruments. */
const sound = fc.constantFrom("30000", "30000.5", "30000.50", "5", "10", "100", "1250.000", "995");
const decimal = fc.oneof(
  { arbitrary: sound, weight: 100 },
  fc.constantFrom(
    "0.001",
    "0.25",
    "100.75",
    "1",
    "999999999999",
    "0.000000000001",
    "0",
    "0.0",
    "00.1",
    "01",
    ".5",
    "5.",
  ),
  fc.constantFrom("1e3", "-1", "+1", "", " 1", "1 ", "1.2.3", "1234567890123", "0.1234567890123"),
  fc.tuple(fc.nat(999_999), fc.nat(9999)).map(([whole, fraction]) => `${whole}.${fraction}`),
  fc
    .tuple(fc.bigInt(0n, 10n ** 12n), fc.stringMatching(/^[0-9]{1,12}$/))
    .map(([whole, fraction]) => `${whole}.${fraction}`),
);
const anything = fc.oneof(
  fc.constantFrom<unknown>(null, true, 1, 0.5, "", "BUY", "ETH-PERP", "btc-perp", {}, []),
  fc.string({ maxLength: 5 }),
);
const rarely = <T>(usual: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: usual, weight: 100 }, { arbitrary: anything, weight: 1 });
const fields = {
  symbol: rarely(fc.constantFrom(...instruments.map(({ symbol }) => symbol))),
  side: rarely(fc.constantFrom(...SIDES)),
  type: rarely(fc.oneof({ arbitrary: fc.constantFrom("LIMIT", "MARKET"), weight: 9 }, fc.constantFrom(...ORDER_TYPES))),
  timeInForce: rarely(fc.constantFrom(...TIMES_IN_FORCE)),
  price: rarely(decimal),
  quantity: rarely(decimal),
  postOnly: rarely(fc.boolean()),
  reduceOnly: rarely(fc.boolean()),
  clientOrderId: rarely(
    fc.oneof(fc.stringMatching(/^[A-Za-z0-9_.:-]{1,37}$/), fc.uuid(), fc.string({ maxLength: 40 })),
  ),
  selfTradePreventionMode: rarely(fc.constantFrom(...SELF_TRADE_PREVENTIONS)),
  expiresAt: rarely(
    fc.oneof({ arbitrary: fc.maxSafeNat(), weight: 9 }, fc.constantFrom<unknown>(0, 1, -1, 1.5, 1e15, 1e21, "1")),
  ),
};
const more = {
  dryRun: fc.boolean(),
  priceMatch: fc.constant("QUEUE"),
  closePosition: fc.boolean(),
  maxSlippage: fc.constant("0.01"),
  triggerPrice: decimal,
  callbackRate: fc.constant("0.02"),
  activationPrice: decimal,
  goodTillDate: fc.constant(1_790_000_000_000),
  unknown: anything,
};
type Body = Record<string, unknown>;
const limit = fc.record(fields, { requiredKeys: ["symbol", "side", "type", "price", "quantity"] });
const { price: _, ...unpriced } = { ...fields, type: fc.constant("MARKET") };
const market = fc.record(unpriced, { requiredKeys: ["symbol", "side", "type", "quantity"] });
const extras = fc.oneof({ arbitrary: fc.constant({}), weight: 9 }, fc.record(more, { requiredKeys: [] }));
const body = fc.tuple(fc.oneof(limit, market), extras).chain(([most, rest]) => shuffled({ ...most, ...rest }));
const shuffled = (object: Body): fc.Arbitrary<Body> =>
  fc.shuffledSubarray(Object.keys(object), { minLength: Object.keys(object).length }).map((names) => {
    return Object.fromEntries(names.map((name) => [name, object[name]]));
  });
const orderId = rarely(
  fc.oneof(
    {
      arbitrary: fc.tuple(fc.nat(2 ** 40), fc.constantFrom(1, 2, 3)).map(([serial, id]) => String(serial * 256 + id)),
      weight: 9,
    },
    // Unknown symbols, other forms, and numbers beyond 2^53.
    fc.constantFrom<unknown>("256", "263", "0", "0257", "-257", "257.0", " 257", "1e3", 257, "999999999999999"),
    fc.bigInt(0n, 10n ** 17n).map(String),
  ),
);
const cancellation = fc.oneof(
  { arbitrary: fc.record({ orderId }), weight: 3 },
  fc.record({ orderId, clientOrderId: fields.clientOrderId, unknown: anything }, { requiredKeys: [] }),
);
const { clientOrderId, price, quantity, expiresAt } = fields;
const change = { orderId, price, quantity, expiresAt };
const amendment = fc.oneof(
  { arbitrary: fc.record(change, { requiredKeys: ["orderId"] }), weight: 3 },
  fc.record({ ...change, clientOrderId, displayQuantity: decimal, ...more }, { requiredKeys: [] }),
);
const params = { "order.place": body, "order.cancel": cancellation, "order.amend": amendment };
const ops = fc.constantFrom("order.place" as const, "order.cancel" as const, "order.amend" as const);
const id = fc.oneof(
  fc.nat(),
  fc.uuid(),
  fc.constantFrom<unknown>(0, -1, 1.5, null, "", "a\nb", "é", "x".repeat(65), 2 ** 53),
);
/** Sometimes with the params of another op. */
const request = fc
  .tuple(ops, fc.oneof({ arbitrary: fc.constant(null), weight: 9 }, fc.constantFrom("order.cancelAll", "ping"), ops))
  .map(([op, other]) =>
    fc.record({ op: fc.constant(other ?? op), id, params: params[op] }, { requiredKeys: ["op", "params"] }),
  );
const message = request.chain((record) => record.chain(shuffled));

/** JSON in the formats of JavaScript, Python and others. */
const print = (value: unknown, style: string): string => {
  if (style === "compact") return JSON.stringify(value);
  const indented = JSON.stringify(value, null, 1);
  // Strings hold no line ends in JSON.
  return style === "indented" ? indented : indented.replace(/\n */g, " ").replace(/([{[]) | (?=[}\]])/g, "$1");
};
const style = fc.constantFrom("compact", "compact", "spaced", "indented");

/** Adds, removes or changes one byte. */
const damage = fc.record({
  at: fc.nat(),
  byte: fc.nat(255),
  kind: fc.constantFrom("set", "insert", "remove", "cut", "repeat"),
});
type Damage = typeof damage extends fc.Arbitrary<infer D> ? D : never;
function damaged(bytes: Uint8Array, { at, byte, kind }: Damage): Uint8Array {
  const place = at % (bytes.length + 1);
  const [before, behind] = [[...bytes.subarray(0, place)], [...bytes.subarray(place)]];
  switch (kind) {
    case "set":
      return Uint8Array.from([...before, byte, ...behind.slice(1)]);
    case "insert":
      return Uint8Array.from([...before, byte, ...behind]);
    case "remove":
      return Uint8Array.from([...before, ...behind.slice(1)]);
    case "cut":
      return Uint8Array.from(before);
    default:
      return Uint8Array.from([...before, ...behind.slice(0, 20), ...behind]);
  }
}

test("an order that the fast path accepts gives the same command on the general path", () => {
  let taken = 0;
  fc.assert(
    fc.property(body, style, (value, how) => {
      const bytes = encode(print(value, how));
      const quick = bodyQuickly(bytes);
      if (quick !== null) taken++;
      holdTogether(quick, bodyGenerally(bytes));
    }),
    { numRuns: 6000 },
  );
  assert(taken > 100, `only ${taken} were taken`);
});

test("a message that the fast path accepts gives the same command on the general path", () => {
  const taken = new Map<number, number>();
  fc.assert(
    fc.property(message, style, (value, how) => {
      const bytes = encode(print(value, how));
      const quick = messageQuickly(bytes);
      if (quick !== null) taken.set(quick.command.type, (taken.get(quick.command.type) ?? 0) + 1);
      holdTogether(quick, messageGenerally(bytes));
    }),
    { numRuns: 20_000 },
  );
  for (const { code, name } of [PlaceOrder, CancelOrder, AmendOrder])
    assert((taken.get(code) ?? 0) > 50, `only ${taken.get(code)} ${name} were taken`);
});

const SOUND =
  '{"symbol":"BTC-PERP","side":"BUY","type":"LIMIT","timeInForce":"GTC","price":"30000.5","quantity":"0.01","postOnly":true,"reduceOnly":false,"clientOrderId":"a-1","selfTradePreventionMode":"DECREMENT","expiresAt":1790000000000}';

const SOUND_MESSAGES = [
  `{"op":"order.place","id":"1","params":${SOUND}}`,
  '{"op":"order.cancel","id":1,"params":{"orderId":"25601"}}',
  '{"op":"order.amend","id":1,"params":{"orderId":"25601","price":"30000.5","quantity":"0.01","expiresAt":1790000000000}}',
];

test("the paths agree on valid orders and messages with one byte added, removed or changed", () => {
  fc.assert(
    fc.property(fc.array(damage, { minLength: 1, maxLength: 2 }), (changes) => {
      const bytes = changes.reduce(damaged, encode(SOUND));
      holdTogether(bodyQuickly(bytes), bodyGenerally(bytes));
      for (const sound of SOUND_MESSAGES) {
        const message = changes.reduce(damaged, encode(sound));
        holdTogether(messageQuickly(message), messageGenerally(message));
      }
    }),
    { numRuns: 5000 },
  );
});

test("the most frequent requests take the fast path, with any order of fields and with spaces", () => {
  const orders: Body[] = [
    JSON.parse(SOUND),
    { symbol: "BTC-PERP", side: "SELL", type: "LIMIT", price: "30000", quantity: "0.001", timeInForce: "IOC" },
    { quantity: "5", type: "MARKET", symbol: "DOGE-PERP", side: "BUY", reduceOnly: true },
    { type: "MARKET", timeInForce: "FOK", symbol: "A", side: "BUY", quantity: "1.5" },
  ];
  for (const order of orders) {
    for (const how of ["compact", "spaced"]) {
      const bytes = encode(print(order, how));
      assert.notEqual(bodyQuickly(bytes), null);
      assert.deepEqual(bodyQuickly(bytes), bodyGenerally(bytes));
    }
  }
  const requests: [op: string, params: Body][] = [
    ...orders.map((order): [string, Body] => ["order.place", order]),
    ["order.cancel", { orderId: "257" }],
    ["order.cancel", { orderId: String(255_999_999_999 * 256 + 3) }],
    ["order.amend", { orderId: "257", price: "30000.5" }],
    ["order.amend", { expiresAt: 1_790_000_000_000, quantity: "5", price: "1250.25", orderId: "258" }],
  ];
  for (const [op, params] of requests) {
    for (const head of [{}, { id: 7 }, { id: "5f0c8a1b-2d3e" }]) {
      for (const value of [
        { op, ...head, params },
        { params, ...head, op },
      ]) {
        for (const how of ["compact", "spaced"]) {
          const bytes = encode(print(value, how));
          assert.notEqual(messageQuickly(bytes), null);
          assert.deepEqual(messageQuickly(bytes), messageGenerally(bytes));
        }
      }
    }
  }
});

test("no field of a request carries over to the next one", () => {
  bodyQuickly(encode(SOUND));
  const next = encode('{"symbol":"A","side":"SELL","type":"MARKET","quantity":"1"}');
  assert.deepEqual(bodyQuickly(next), bodyGenerally(next));
  const amend = (more: object) => encode(JSON.stringify({ op: "order.amend", params: { orderId: "257", ...more } }));
  messageQuickly(amend({ price: "30000.5", expiresAt: 1_790_000_000_000 }));
  const other = amend({ quantity: "0.01" });
  assert.deepEqual(messageQuickly(other), messageGenerally(other));
  assert.equal(messageQuickly(encode('{"op":"order.amend"}')), null);
});
