import { DECIMAL_PATTERN } from "../../core/base/units.ts";
import Type, { type TProperties, type TSchema, type TSchemaOptions } from "../../packages/typebox.ts";

/** The parts of the public JSON schemas. Each route compiles its schema once (front/json/input.ts); openapi.json prints them. */

/** 12 digits, a point, 12 digits. */
const DECIMAL_MAX_LENGTH = 25;
const CLIENT_ORDER_ID = "[A-Za-z0-9_.:\\-]{1,36}";
const ORDER_ID = "[1-9][0-9]{0,15}";
export const CLIENT_ORDER_ID_PATTERN = `^${CLIENT_ORDER_ID}$`;
export const ORDER_ID_PATTERN = `^${ORDER_ID}$`;
export const MAX_LIMIT = 1000;
export const DEFAULT_LIMIT = 100;
export const MAX_DEPTH = 1000;

/** Marks a string that stands for a number, for error texts. It is also a format of the OpenAPI registry. */
export const DECIMAL_FORMAT = "decimal";

/** An object with these fields and no others. */
export const object = <P extends TProperties>(properties: P, options: TSchemaOptions = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false });

export const nullable = <S extends TSchema>(schema: S, options: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options);

/** A decimal that a client sends: digits and at most one point, no sign, no exponent. */
export const Decimal = (description: string, example: string) =>
  Type.String({
    pattern: DECIMAL_PATTERN,
    maxLength: DECIMAL_MAX_LENGTH,
    format: DECIMAL_FORMAT,
    description,
    examples: [example],
  });

/** A decimal that a client sends and that may be negative. */
export const SignedDecimal = (description: string, example: string) =>
  Type.String({
    pattern: DECIMAL_PATTERN.replace("^", "^-?"),
    maxLength: DECIMAL_MAX_LENGTH + 1,
    format: DECIMAL_FORMAT,
    description,
    examples: [example],
  });

/** A decimal in an answer of the exchange; it may be negative. */
export const DecimalOut = (description: string, example: string) =>
  Type.String({
    pattern: "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?$",
    format: DECIMAL_FORMAT,
    description,
    examples: [example],
  });

export const Time = (description: string, minimum = 0) =>
  Type.Integer({
    minimum,
    maximum: Number.MAX_SAFE_INTEGER,
    description: `${description} In milliseconds since the epoch.`,
    examples: [1_790_000_000_000],
  });

export const SymbolName = Type.String({
  pattern: "^[A-Za-z0-9_\\-]{1,32}$",
  description: "The instrument, as `GET /market/symbols` names it.",
  examples: ["BTC-PERP"],
});

export const Id = (description: string) =>
  Type.String({ pattern: ORDER_ID_PATTERN, description, examples: ["1234567"] });

export const ClientOrderId = Type.String({
  pattern: CLIENT_ORDER_ID_PATTERN,
  description: "Your own id for the order. If you send the same id with the same body again, you get the first order.",
  examples: ["my-order-1"],
});

/** A client's own id for a change that must take effect only once. */
export const Reference = (description: string, example: string) =>
  Type.String({ pattern: "^[\\x20-\\x7e]{1,64}$", description, examples: [example] });

/** `description`: of what was found. */
export const Duplicate = (description: string) => Type.Optional(Type.Boolean({ description: `True: ${description}` }));

/** An order in a path. */
export const OrderReference = Type.String({
  pattern: `^(${ORDER_ID}|client:${CLIENT_ORDER_ID})$`,
  description: "An orderId, or `client:` followed by a clientOrderId.",
  examples: ["1234567"],
});

/** An API key in a path. */
export const ApiKeyName = Type.String({
  pattern: "^[0-9a-f]{32}$",
  description: "The key, without its secret.",
  examples: ["5f0c8a1b2d3e4f60718293a4b5c6d7e8"],
});

/** A session in a path. */
export const SessionId = Type.String({
  pattern: "^[0-9a-f]{16}$",
  description: "Identifies the session without its token: the first 16 hex digits of the token's SHA-256.",
  examples: ["9f86d081884c7d65"],
});

export const Address = Type.String({
  pattern: "^0x[0-9a-fA-F]{40}$",
  description: "An Ethereum address.",
  examples: ["0x8ba1f109551bD432803012645Ac136ddd64DBA72"],
});

export const WalletSignature = Type.String({
  pattern: "^0x([0-9a-fA-F]{2}){64,2048}$",
  description:
    "The wallet's signature: 65 bytes, or 64 in the compact form of EIP-2098. Contract wallets (EIP-1271) may use more.",
  examples: [`0x${"ab".repeat(65)}`],
});

/** A request that the wallet approves: see front/auth/approvals.ts. */
export const Approval = object(
  {
    message: Type.String({
      minLength: 1,
      maxLength: 8192,
      description: "The details.message of the refusal, unchanged.",
    }),
    signature: WalletSignature,
  },
  {
    description:
      "The wallet's signature of this request. An exchange that needs it refuses the request without it, with " +
      "`WALLET_SIGNATURE_REQUIRED` and the message to sign (`personal_sign`).",
  },
);

export const Sequence = Type.Integer({
  minimum: 0,
  description: "Position in the exchange's single log. It orders everything in REST answers and streams.",
  examples: [8123],
});

/** The query field that every GET takes. */
export const MinSequence = Type.Optional(
  Type.Integer({
    minimum: 0,
    description:
      "The answer includes everything through this sequence. It waits for that, at most a second. Send the header " +
      "`Perpd-Sequence` of an earlier answer.",
    examples: [8123],
  }),
);

export const Asset = Type.Enum(["USDC"], { description: "The settlement asset." });

export const PositionSide = Type.Enum(["LONG", "SHORT"], { description: "Long or short." });

// ---- parameters and shape of lists -----------------------------------------------------------------------------------------

export const Limit = Type.Integer({
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
  description: "Maximum number of rows.",
});
export const Cursor = Type.String({
  pattern: "^[0-9.]{1,400}$",
  description: "The `nextCursor` of the previous page.",
  examples: ["1790000000000.1234567"],
});
export const StartTime = Time("Only rows at or after this time.");
export const EndTime = Time("Only rows up to this time.");

/** Query parameters of a page of history. */
export const pageQuery = {
  limit: Type.Optional(Limit),
  cursor: Type.Optional(Cursor),
  startTime: Type.Optional(StartTime),
  endTime: Type.Optional(EndTime),
};

export const Sort = Type.Enum(["ASC", "DESC"], {
  default: "DESC",
  description:
    "The order of the rows. ASC: the oldest first, from startTime on. DESC: the newest first, from endTime back. Send it with " +
    "each cursor, too.",
});

/** Query parameters of a list that can be read in both directions. */
export const listQuery = { ...pageQuery, sort: Type.Optional(Sort) };

const NextCursor = nullable(Cursor, {
  description:
    "Send it as `cursor` to get the next page. Null: this is the last page. With a filter, a page may have fewer rows than " +
    "`limit`, or none, while more pages follow: continue until this is null.",
});

export const listOf = <S extends TSchema>(row: S, description: string) =>
  object({ data: Type.Array(row), nextCursor: NextCursor }, { description });
