import type { TSchema } from "typebox";
import * as account from "../wire/schema/account.ts";
import * as auth from "../wire/schema/auth.ts";
import * as market from "../wire/schema/market.ts";
import * as orders from "../wire/schema/orders.ts";
import * as risk from "../wire/schema/risk.ts";
import * as system from "../wire/schema/system.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";
import { type Access, BASE_PATH, costOf, type Route } from "./router.ts";

type Json = Record<string, unknown>;

/** Schemas that the document names; all others stand where they are used. */
const COMPONENTS: Readonly<Record<string, TSchema>> = {
  Order: orders.Order,
  PlacedOrder: orders.PlacedOrder,
  Fill: orders.Fill,
  Position: account.Position,
  Balance: account.Balance,
  Transfer: account.Transfer,
  Ticker: market.Ticker,
  OrderBook: market.OrderBook,
  Kline: market.Kline,
  PublicTrade: market.PublicTrade,
  Instrument: market.Instrument,
  Funding: risk.Funding,
  FundingPayment: risk.FundingPayment,
  Insurance: risk.Insurance,
  OpenInterest: risk.OpenInterest,
  ApiKey: auth.ApiKey,
  Session: auth.Session,
  Error: system.ErrorBody,
};

const INTRODUCTION = `Decimals are strings: digits with at most one point, no sign, no exponent. Times are integer
milliseconds since the epoch, ids are strings, unknown fields are refused. A reply means durable, and a read that follows
it sees what it said.

**Signing with an API key.** \`X-Signature\` is the hex HMAC-SHA256, with the secret's text as the key, of
\`X-Timestamp\` + method + path with query + body, one directly behind the other, as they are sent: for example
\`1790000000000GET/v1/orders?symbol=BTC-PERP\`. The timestamp is in milliseconds and may be \`X-Recv-Window\` (5000 unless
sent, at most 60000) in the past and 1000 in the future. A signature that changes something counts once.

**Rate limits.** \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` (seconds) tell of the token bucket, among those
of the address, the account and the API key, that is nearest to empty. \`x-rate-limit\` of an operation names the bucket that
pays for it and how much. Cancels have buckets of their own. Past a limit the answer is 429 with \`Retry-After\`; nobody is
banned.

**One request at a time on a connection.** A second request before the answer to the first closes the connection, and
what was asked may have been done: name orders (\`clientOrderId\`) and transfers (\`reference\`), and send them again.`;

/** The OpenAPI 3.1 document of these routes, made from the schemas that check their requests. */
export function openApiDocument(routes: readonly Route[], version: string): string {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return JSON.stringify({
    openapi: "3.1.0",
    info: { title: "perpd", version, description: INTRODUCTION },
    servers: [{ url: BASE_PATH }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(COMPONENTS).map(([name, schema]) => [name, inline(schema)])),
      securitySchemes: {
        session: { type: "http", scheme: "bearer", description: "The token of POST /auth/login." },
        apiKey: { type: "apiKey", in: "header", name: "X-Api-Key" },
        timestamp: { type: "apiKey", in: "header", name: "X-Timestamp" },
        signature: { type: "apiKey", in: "header", name: "X-Signature" },
        operator: { type: "http", scheme: "bearer", description: "The operator's token, from the configuration." },
      },
      headers: {
        RequestId: { description: "Names this answer in logs and errors.", schema: { type: "string" } },
        RetryAfter: { description: "Seconds until the same request may succeed.", schema: { type: "integer" } },
      },
    },
    "x-error-codes": ERRORS,
  });
}

function operation(route: Route): Json {
  const parameters = [...pathParameters(route), ...queryParameters(route)];
  return {
    operationId: operationId(route),
    summary: route.summary,
    tags: [tagOf(route)],
    security: security(route.access),
    ...(route.access !== "OPERATOR" && { "x-rate-limit": costOf(route) }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && {
      requestBody: { required: route.bodyOptional !== true, content: jsonContent([route.body]) },
    }),
    responses: { ...successes(route), ...failures(route) },
  };
}

/** POST /positions/:symbol/close → postPositionsSymbolClose */
function operationId(route: Route): string {
  const words = route.path.split(/[^A-Za-z]+/).filter((word) => word !== "");
  return route.method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

const tagOf = (route: Route): string => route.path.split("/")[1] ?? "";

function security(access: Access): Json[] {
  switch (access) {
    case "PUBLIC":
      return [];
    case "SESSION":
      return [{ session: [] }];
    case "OPERATOR":
      return [{ operator: [] }];
    default:
      return [{ session: [] }, { apiKey: [], timestamp: [], signature: [] }];
  }
}

function pathParameters(route: Route): Json[] {
  const name = /:(\w+)/.exec(route.path)?.[1];
  if (name === undefined) return [];
  return [{ name, in: "path", required: true, schema: referred(route.parameter ?? {}) }];
}

function queryParameters(route: Route): Json[] {
  const { properties = {}, required = [] } = (route.query ?? {}) as {
    properties?: Record<string, TSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema: referred(schema),
  }));
}

function successes(route: Route): Json {
  const answers: Json = {};
  for (const [status, schema] of Object.entries(route.replies)) {
    const schemas = Array.isArray(schema) ? (schema as TSchema[]) : [schema as TSchema];
    const description = (schemas[0] as { description?: string } | undefined)?.description ?? route.summary;
    answers[status] = { description, headers: REQUEST_ID, content: jsonContent(schemas) };
  }
  return answers;
}

function failures(route: Route): Json {
  const answers: Json = {};
  for (const [status, codes] of byStatus(errorsOf(route)))
    answers[status] = {
      description: codes.join(", "),
      headers: status === 429 || status === 503 ? { ...REQUEST_ID, ...RETRY_AFTER } : REQUEST_ID,
      content: jsonContent([system.ErrorBody]),
    };
  return answers;
}

/** The route's own, and those that follow from what it takes and from who may use it. */
function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(["BAD_REQUEST", ...(route.errors ?? []), "INTERNAL", "OVERLOADED", "NOT_READY"]);
  const add = (...more: ErrorCode[]) => more.forEach((code) => void codes.add(code));
  if (route.query !== undefined || route.body !== undefined)
    add("UNKNOWN_FIELD", "DUPLICATE_FIELD", "MISSING_FIELD", "BAD_TYPE", "BAD_VALUE");
  if (route.query !== undefined) add("BAD_QUERY");
  if (route.body !== undefined) add("BAD_JSON", "BAD_ENCODING", "BAD_NUMBER", "BODY_TOO_LARGE", "REQUEST_TIMEOUT");
  add("RATE_LIMITED");
  if (route.access === "OPERATOR") add("OPERATOR_REQUIRED");
  else if (route.access !== "PUBLIC") add("UNAUTHENTICATED", "INVALID_TOKEN");
  if (route.access === "SESSION") add("SESSION_REQUIRED");
  if (route.access === "READ" || route.access === "TRADE" || route.access === "WITHDRAW")
    add("INVALID_KEY_OR_SIGNATURE", "KEY_EXPIRED", "TIMESTAMP_OUT_OF_WINDOW", "PERMISSION_DENIED", "IP_NOT_ALLOWED");
  if (route.access === "TRADE" || route.access === "WITHDRAW") add("SIGNATURE_REPLAYED");
  return [...codes];
}

function byStatus(codes: readonly ErrorCode[]): Map<number, ErrorCode[]> {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERRORS[code];
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return groups;
}

const RETRY_AFTER = { "Retry-After": { $ref: "#/components/headers/RetryAfter" } };
const REQUEST_ID = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };

function jsonContent(schemas: readonly TSchema[]): Json {
  const [first, ...others] = schemas.map(referred);
  return { "application/json": { schema: others.length === 0 ? first : { anyOf: [first, ...others] } } };
}

const componentNames = new Map(Object.entries(COMPONENTS).map(([name, schema]) => [schema, name]));

/** The schema, or where the document describes it. */
function referred(value: unknown): unknown {
  const name = componentNames.get(value as TSchema);
  return name === undefined ? inline(value) : { $ref: `#/components/schemas/${name}` };
}

function inline(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(referred);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, referred(each)]));
}
