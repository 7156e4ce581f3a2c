import type { TSchema } from "../../packages/typebox.ts";
import { type ErrorCode, specOf } from "../../wire/error-codes.ts";
import { ErrorBody } from "../../wire/schema/system.ts";
import { DEFAULT_RECV_WINDOW_MS, MAX_RECV_WINDOW_MS } from "../auth/auth.ts";
import { BASE_PATH, SOCKET_PATH } from "../common/paths.ts";
import { SEQUENCE_HEADER } from "../http/reply-writer.ts";
import { type Access, chargedPer, costOf, isLimited, type Route } from "../routing/route.ts";
import { socketMarkdown } from "./asyncapi.ts";
import { operationId } from "./operation-ids.ts";
import { CONTACT, REST_INTRODUCTION, TAGS } from "./prose.ts";
import { byStatus, errorExamples, errorsOf, errorTable } from "./route-errors.ts";
import { exampleOf, type Json, SchemaPrinter } from "./schemas.ts";

const SOCKET_TAG = "websocket";
const RETRY_AFTER_STATUSES = [429, 503];

/** The OpenAPI 3.1 document of the routes, made from the schemas that check their requests. `version`: of the program. */
export function openApiDocument(routes: readonly Route[], version: string): Json {
  const printer = new SchemaPrinter("OPENAPI");
  const errors = new ErrorResponses();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, printer, errors) };
  }
  const tags = new Set(routes.map(tagOf));
  return {
    openapi: "3.1.0",
    info: {
      title: "perpd",
      version,
      summary: "A perpetual-contract exchange.",
      description: REST_INTRODUCTION,
      contact: CONTACT,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: BASE_PATH, description: "This exchange." }],
    tags: Object.entries({ ...TAGS, [SOCKET_TAG]: socketMarkdown(routes) })
      .filter(([name]) => tags.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: printer.components(),
      responses: errors.components(),
      securitySchemes: SECURITY_SCHEMES,
      headers: HEADERS,
      examples: errorExamples(errors.codes),
    },
  };
}

const SECURITY_SCHEMES: Json = {
  session: {
    type: "http",
    scheme: "bearer",
    description: "The token from `POST /auth/login`. It has all permissions.",
  },
  operator: { type: "http", scheme: "bearer", description: "The operator's token, from the configuration." },
};

const RATE_LIMIT_HEADERS: Json = {
  "RateLimit-Limit": { $ref: "#/components/headers/RateLimitLimit" },
  "RateLimit-Remaining": { $ref: "#/components/headers/RateLimitRemaining" },
  "RateLimit-Reset": { $ref: "#/components/headers/RateLimitReset" },
};

const count = (description: string, example: string): Json => ({
  description,
  schema: { type: "string", pattern: "^[0-9]+$", examples: [example] },
});

const HEADERS: Json = {
  RateLimitLimit: count(
    "Capacity, in tokens, of the bucket that is nearest to empty. Only where rate limits apply.",
    "200",
  ),
  RateLimitRemaining: count("Tokens that this bucket holds.", "199"),
  RateLimitReset: count("Seconds until this bucket is full.", "1"),
  RequestId: {
    description: "Identifies this answer in logs and errors.",
    required: true,
    schema: { type: "string", examples: ["5f0c8a1b-2s"] },
  },
  Sequence: count(
    "The answer includes everything through this sequence. Only of an exchange with a leader and standbys.",
    "8123",
  ),
  RetryAfter: {
    description: "Seconds to wait before the next attempt.",
    required: true,
    schema: { type: "string", pattern: "^[0-9]+$", examples: ["1"] },
  },
  RetryAfterIfKnown: count("Seconds to wait before the next attempt, if the exchange knows them.", "1"),
  Authenticate: {
    description: "How to authenticate.",
    required: true,
    schema: { type: "string", examples: ["Bearer"] },
  },
};

function operation(route: Route, printer: SchemaPrinter, errors: ErrorResponses): Json {
  const parameters = [
    ...pathParameters(route, printer),
    ...queryParameters(route, printer),
    ...headerParameters(route),
  ];
  const description = [route.description, itemErrorTable(route), accessText(route.access)]
    .filter((text) => text !== undefined)
    .join("\n\n");
  return {
    operationId: operationId(route),
    summary: route.summary,
    description,
    tags: [tagOf(route)],
    security: ACCESS[route.access]?.security ?? CREDENTIALS,
    ...(isLimited(route) && { "x-rate-limit": { ...costOf(route), per: chargedPer(route) } }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && { requestBody: requestBody(route, route.body, printer) }),
    responses: { ...successes(route, printer), ...failures(route, printer, errors) },
  };
}

const itemErrorTable = ({ itemErrors }: Route): string | undefined =>
  itemErrors && `Codes of single items:\n\n${errorTable(itemErrors)}`;

/** The first word of the path, if it names a group of endpoints. */
export function tagOf(route: Route): string {
  const first = route.path.split("/")[1] ?? "";
  if (BASE_PATH + route.path === SOCKET_PATH) return SOCKET_TAG;
  return first in TAGS ? first : "exchange";
}

/** The text about a route's callers, and the security schemes that they may use. */
const ACCESS: Readonly<Record<string, { text: string; security: Json[] }>> = {
  PUBLIC: { text: "Public.", security: [] },
  SESSION: { text: "Needs a wallet session; an API key is not enough.", security: [{ session: [] }] },
  OPERATOR: { text: "Needs an operator's token.", security: [{ operator: [] }] },
  METRICS: { text: "Needs the metrics token or an operator's token.", security: [{ operator: [] }] },
};
/** A session, or the headers of an API key, which headerParameters() declares. */
const CREDENTIALS: Json[] = [{ session: [] }, {}];

export const accessText = (access: Access): string =>
  ACCESS[access]?.text ?? `Needs a session, or an API key with the permission ${access}.`;

function pathParameters(route: Route, printer: SchemaPrinter): Json[] {
  const name = /:(\w+)/.exec(route.path)?.[1];
  return name === undefined ? [] : [parameter(name, "path", true, route.parameter ?? {}, printer)];
}

function queryParameters(route: Route, printer: SchemaPrinter): Json[] {
  const { properties = {}, required = [] } = (route.query ?? {}) as {
    properties?: Record<string, TSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) =>
    parameter(name, "query", required.includes(name), schema, printer),
  );
}

function parameter(name: string, place: string, required: boolean, schema: TSchema, printer: SchemaPrinter): Json {
  const { description } = schema as { description?: string };
  return {
    name,
    in: place,
    required,
    // With commas between the items.
    ...((schema as { type?: unknown }).type === "array" && { style: "form", explode: false }),
    ...(description !== undefined && { description }),
    schema: printer.print(schema, "CLIENT"),
    // Tools fill in an example and send it, so an optional parameter has none.
    ...(required && { example: exampleOf(schema) }),
  };
}

function headerParameters({ access }: Route): Json[] {
  if (access in ACCESS) return [];
  // No security schemes: a generated client would send its one credential, a session's token, as all of them.
  return [
    {
      name: "X-Api-Key",
      in: "header",
      required: false,
      description:
        "An API key from `POST /auth/keys`. It takes the place of a session, and needs X-Timestamp and X-Signature.",
      schema: { type: "string" },
    },
    {
      name: "X-Timestamp",
      in: "header",
      required: false,
      description: "With an API key: the time of the signature, in milliseconds since the epoch.",
      schema: { type: "integer", minimum: 0 },
    },
    {
      name: "X-Signature",
      in: "header",
      required: false,
      description: "With an API key: hex HMAC-SHA256(secret, timestamp + method + path with query + body).",
      schema: { type: "string", pattern: "^[0-9a-fA-F]{64}$" },
    },
    {
      name: "X-Recv-Window",
      in: "header",
      required: false,
      description: "With an API key: the maximum age of the timestamp in milliseconds.",
      schema: { type: "integer", minimum: 1, maximum: MAX_RECV_WINDOW_MS, default: DEFAULT_RECV_WINDOW_MS },
    },
  ];
}

function requestBody(route: Route, body: TSchema, printer: SchemaPrinter): Json {
  const schema = printer.print(body, "CLIENT");
  const named = Object.entries(route.examples ?? {}).map(([name, value]) => [name, { value }]);
  const examples =
    named.length > 0 ? { examples: Object.fromEntries(named) } : { example: exampleOf(body, "REQUIRED") };
  return { required: route.bodyOptional !== true, content: { "application/json": { schema, ...examples } } };
}

function successes(route: Route, printer: SchemaPrinter): Json {
  const answers: Json = {};
  for (const [status, reply] of Object.entries(route.replies)) {
    const schemas = Array.isArray(reply) ? (reply as TSchema[]) : [reply as TSchema];
    const schema = printer.printAny(schemas, "EXCHANGE");
    const { description = route.summary } = (schemas[0] ?? {}) as { description?: string };
    const content = { schema, example: exampleOf(schemas[0] ?? {}) };
    answers[status] = { description, headers: headersOf(route, 200), content: { [contentTypeOf(route)]: content } };
  }
  return answers;
}

const contentTypeOf = ({ contentType }: Route): string => (contentType ?? "application/json").replace(/;.*/, "");

function failures(route: Route, printer: SchemaPrinter, errors: ErrorResponses): Json {
  const answers: Json = {};
  const error = printer.print(ErrorBody, "EXCHANGE");
  for (const [status, codes] of byStatus(errorsOf(route))) {
    const schema = { allOf: [error, { properties: { code: { enum: codes } } }] };
    answers[status] = errors.refer(status, codes, {
      description: errorTable(codes),
      headers: { ...headersOf(route, status), ...retryHeaderOf(status, codes) },
      content: { "application/json": { schema, examples: Object.fromEntries(codes.map(exampleOfCode)) } },
    });
  }
  return answers;
}

const exampleOfCode = (code: ErrorCode): [string, Json] => [code, { $ref: `#/components/examples/${code}` }];

function headersOf(route: Route, status: number): Json {
  const headers: Json = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };
  if (status === 200) headers[SEQUENCE_HEADER] = { $ref: "#/components/headers/Sequence" };
  if (isLimited(route) || status === 429) Object.assign(headers, RATE_LIMIT_HEADERS);
  if (status === 401) headers["WWW-Authenticate"] = { $ref: "#/components/headers/Authenticate" };
  return headers;
}

/** A refusal for a state that ends has the header only if the time of that end is known. */
function retryHeaderOf(status: number, codes: readonly ErrorCode[]): Json {
  if (RETRY_AFTER_STATUSES.includes(status)) return { "Retry-After": { $ref: "#/components/headers/RetryAfter" } };
  if (!codes.some((code) => specOf(code).retryable)) return {};
  return { "Retry-After": { $ref: "#/components/headers/RetryAfterIfKnown" } };
}

/** The error responses of a document. Equal responses of several operations are printed once. */
class ErrorResponses {
  /** By its JSON text. */
  private readonly names = new Map<string, string>();
  private readonly responses: Record<string, Json> = {};
  /** Of all responses. */
  readonly codes = new Set<ErrorCode>();

  refer(status: number, codes: readonly ErrorCode[], response: Json): Json {
    for (const code of codes) this.codes.add(code);
    const text = JSON.stringify(response);
    let name = this.names.get(text);
    if (name === undefined) {
      const before = Object.keys(this.responses).filter((each) => each.startsWith(`Error${status}`));
      name = `Error${status}-${before.length + 1}`;
      this.names.set(text, name);
      this.responses[name] = response;
    }
    return { $ref: `#/components/responses/${name}` };
  }

  /** The responses that refer() has named. */
  components(): Json {
    return this.responses;
  }
}
