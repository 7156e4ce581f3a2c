import { must } from "../../assert.ts";
import Type, { type TObject, type TSchema } from "../../packages/typebox.ts";
import { type ErrorCode, type SocketErrorCode, socketErrorsIn } from "../../wire/error-codes.ts";
import type { ErrorGroup } from "../../wire/errors/error-spec.ts";
import {
  CHANNELS,
  KeyAuthRequest,
  MAX_SUBSCRIPTIONS,
  PingRequest,
  RequestId,
  TokenAuthRequest,
} from "../../wire/schema/channels.ts";
import { Authenticated, Pong, RateLimit, Subscribed, Unsubscribed } from "../../wire/schema/messages.ts";
import { nullable, object } from "../../wire/schema/scalars.ts";
import { TRADING_PARAMS, TRADING_ROUTES, type TradingOp } from "../../wire/schema/trading.ts";
import type { Cost } from "../auth/limits.ts";
import { type Charged, chargedPer, type Route } from "../routing/route.ts";
import { OP_COSTS } from "../trading/operations.ts";
import { exampleOf } from "./schemas.ts";

/** A request that a client may send on the WebSocket, with its answer. */
export interface SocketRequest {
  readonly op: string;
  readonly channel: "session" | "trading";
  readonly summary: string;
  readonly description?: string;
  /** The request has one of these forms. */
  readonly requests: readonly TSchema[];
  readonly examples: readonly object[];
  readonly answer: TSchema;
  readonly errors: readonly (ErrorCode | SocketErrorCode)[];
  readonly cost?: Cost & { readonly per: Charged };
}

/** The codes of an answer to an unknown op. */
export const UNKNOWN_OP_ERRORS = [...socketErrorsIn("MESSAGE"), "UNKNOWN_OP"] as const;

const AnyChannel = Type.Union(Object.values(CHANNELS));
const channelsRequest = (op: string): TObject =>
  object({
    op: Type.Literal(op),
    id: Type.Optional(RequestId),
    channels: Type.Array(AnyChannel, { minItems: 1, maxItems: MAX_SUBSCRIPTIONS }),
  });

const CHANNEL_EXAMPLES = [
  { channel: "orderbook", symbol: "BTC-PERP", depth: 25, updateMs: 100 },
  { channel: "trades", symbol: "BTC-PERP" },
];

const SESSION_REQUESTS: readonly SocketRequest[] = [
  {
    op: "ping",
    channel: "session",
    summary: "Check the connection, and get the time of the exchange",
    requests: [PingRequest],
    examples: [{ op: "ping", id: 1 }],
    answer: Pong,
    errors: socketErrorsIn("MESSAGE"),
  },
  {
    op: "auth",
    channel: "session",
    summary: "Authenticate with the token of a session or with an API key",
    requests: [TokenAuthRequest, KeyAuthRequest],
    examples: [
      { op: "auth", id: 2, token: "Zk3vQ1x8Yb0TfR6mW2pLc9sHd4nJ7gAeUuXiOoKqVtM", cancelOnDisconnect: true },
      {
        op: "auth",
        id: 2,
        apiKey: "5f0c8a1b2d3e4f60718293a4b5c6d7e8",
        timestamp: 1_790_000_000_000,
        signature: "5f0c8a1b".repeat(8),
      },
    ],
    answer: Authenticated,
    errors: socketErrorsIn("MESSAGE", "SOCKET_AUTH"),
  },
  {
    op: "subscribe",
    channel: "session",
    summary: "Subscribe to channels. When one of them is refused, nothing is subscribed",
    requests: [channelsRequest("subscribe")],
    examples: [{ op: "subscribe", id: 3, channels: CHANNEL_EXAMPLES }],
    answer: Subscribed,
    errors: socketErrorsIn("MESSAGE", "SUBSCRIBE"),
  },
  {
    op: "unsubscribe",
    channel: "session",
    summary: "Unsubscribe from channels. An optional field that is left out matches any value",
    requests: [channelsRequest("unsubscribe")],
    examples: [{ op: "unsubscribe", id: 4, channels: CHANNEL_EXAMPLES.slice(1) }],
    answer: Unsubscribed,
    errors: socketErrorsIn("MESSAGE", "UNSUBSCRIBE"),
  },
];

/** Every request. Trading requests take results and codes from the routes that do the same. */
export function socketRequests(routes: readonly Route[]): SocketRequest[] {
  const ops = Object.keys(TRADING_PARAMS) as TradingOp[];
  return [...SESSION_REQUESTS, ...ops.map((op) => tradingRequest(op, routes))];
}

function tradingRequest(op: TradingOp, routes: readonly Route[]): SocketRequest {
  const name = TRADING_ROUTES[op];
  const route = must(
    routes.find(({ method, path }) => `${method} ${path}` === name),
    `the route ${name}`,
  );
  const params: TObject = TRADING_PARAMS[op];
  const required: readonly string[] = params.required ?? [];
  const statuses = Object.keys(route.replies).map(Number);
  const results = Object.values(route.replies).flat() as TSchema[];
  const [first = Type.Object({})] = results;
  const groups: ErrorGroup[] = ["MESSAGE", "TRADING_OP"];
  if ("symbol" in params.properties) groups.push("SYMBOL");
  const request = {
    op: Type.Literal(op),
    id: Type.Optional(RequestId),
    params: required.length === 0 ? Type.Optional(params) : params,
  };
  const answer = {
    op: Type.Literal(op),
    id: nullable(RequestId),
    status: Type.Enum(statuses, { description: "The status of the same request over HTTP." }),
    result: new Set(results).size === 1 ? first : Type.Union([...new Set(results)]),
    rateLimit: Type.Optional(RateLimit),
  };
  return {
    op,
    channel: "trading",
    summary: route.summary,
    description: `Like \`${name}\`, with the same results and error codes. Needs \`auth\` with the permission TRADE.`,
    requests: [object(request)],
    examples: paramsExamples(params, route).map((example) => ({ op, id: 5, params: example })),
    answer: object(answer, { description: (first as { description?: string }).description ?? route.summary }),
    errors: [...new Set([...socketErrorsIn(...groups), ...(route.errors ?? [])])],
    cost: { ...OP_COSTS[op], per: chargedPer(route) },
  };
}

function paramsExamples(params: TObject, route: Route): unknown[] {
  const { examples } = params as { examples?: unknown[] };
  if (examples !== undefined) return examples;
  return params === route.body && route.examples !== undefined
    ? Object.values(route.examples)
    : [exampleOf(params, "REQUIRED")];
}
