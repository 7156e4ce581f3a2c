import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { openApiDocument } from "../../../../src/front/documents/openapi.ts";
import { declaredRoutes } from "../../../../src/reference/declared.ts";
import { errorsIn } from "../../../../src/wire/error-codes.ts";
import { Checker, closed, type Json } from "./document-checks.ts";

interface Content {
  schema: Json;
}
interface Response {
  headers?: Record<string, { $ref: string }>;
  content: Record<string, Content>;
}
interface Operation {
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, Response>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Json; responses: Record<string, Response>; headers: Record<string, { required?: boolean }> };
}

const BASE = "/v1";
const document = closed(openApiDocument(declaredRoutes(), "test")) as Document;
for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path)))
  operation.responses = responsesOf(operation.responses, document.components.responses);
const checker = new Checker(document.components);
const templates = Object.keys(document.paths)
  .filter((path) => path.includes("{"))
  .map((path) => ({ path, pattern: new RegExp(`^${path.replace(/\{\w+\}/, "[^/]+")}$`) }));

/** An operation's responses, with references resolved. */
export function responsesOf<R extends object>(
  responses: Record<string, R>,
  shared: Record<string, R>,
): Record<string, R> {
  const resolve = (response: R): R => {
    const { $ref } = response as { $ref?: string };
    return $ref === undefined ? response : (shared[$ref.split("/").at(-1) ?? ""] as R);
  };
  return Object.fromEntries(Object.entries(responses).map(([status, response]) => [status, resolve(response)]));
}

/** The documented parts of a response. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Fails unless openapi.json allows this response. `path`: as it was sent, with its query. */
export function checkReply(method: string, path: string, body: unknown, reply: Reply): void {
  const what = `${method} ${path}: ${reply.status}`;
  const place = placeOf(path.replace(/\?.*/, ""));
  const operation = place?.[method === "HEAD" ? "get" : method.toLowerCase()];
  const id = reply.headers["x-request-id"];
  assert.equal(typeof id, "string", `${what} without X-Request-Id`);
  if (place !== undefined && method === "OPTIONS" && reply.status === 204) return;
  const response = operation === undefined ? elsewhere(reply) : operation.responses[reply.status];
  assert.ok(response !== undefined, `${what} is not documented: ${reply.text.slice(0, 500)}`);
  checkHeaders(response, reply, what);
  if (method === "HEAD") return;
  checkBody(response, reply, what);
  const accepted = operation?.requestBody?.content["application/json"];
  if (reply.status < 300 && accepted !== undefined && typeof body === "object" && !Buffer.isBuffer(body))
    checker.check(accepted.schema, withoutNulls(body), `the accepted body of ${what}`);
}

/** The document says in words that a field which is null counts as left out. */
const withoutNulls = (body: unknown): Json =>
  JSON.parse(JSON.stringify(body), (_name, value: unknown) => (value === null ? undefined : value)) as Json;

/**
 * The same for responses that a client got. A fault is an uncaught exception, so that the client does not treat it as a
 * lost connection.
 */
export function insistOnReply(...parameters: Parameters<typeof checkReply>): void {
  try {
    checkReply(...parameters);
  } catch (undocumented) {
    queueMicrotask(() => {
      throw undocumented;
    });
  }
}

function placeOf(path: string): Record<string, Operation> | undefined {
  const below = path.startsWith(BASE) ? path.slice(BASE.length) : "";
  const template = templates.find(({ pattern }) => pattern.test(below))?.path ?? "";
  return document.paths[below] ?? document.paths[template];
}

/** The response where no endpoint exists, or not with this method. */
function elsewhere({ status }: Reply): Response | undefined {
  return status < 400 ? undefined : ELSEWHERE_RESPONSE;
}
const ELSEWHERE_RESPONSE: Response = {
  headers: Object.fromEntries(
    ["X-Request-Id", "Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map((name) => [
      name,
      { $ref: "" },
    ]),
  ),
  content: {
    "application/json": {
      schema: {
        allOf: [
          { $ref: "#/components/schemas/ErrorBody" },
          { properties: { code: { enum: errorsIn("NO_ENDPOINT", "HTTP") } } },
        ],
      },
    },
  },
};

function checkHeaders(response: Response, reply: Reply, what: string): void {
  for (const [name, { $ref }] of Object.entries(response.headers ?? {})) {
    const { required } = document.components.headers[$ref.split("/").at(-1) ?? ""] ?? {};
    if (required === true) assert.ok(name.toLowerCase() in reply.headers, `${what} without ${name}`);
  }
  const documented = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
  for (const name of Object.keys(reply.headers))
    if (/^ratelimit-|^retry-/.test(name)) assert.ok(documented.includes(name), `${what} with ${name}`);
}

function checkBody(response: Response, reply: Reply, what: string): void {
  const type = (reply.headers["content-type"] ?? "").replace(/;.*/, "");
  const content = response.content[type];
  assert.ok(content !== undefined, `${what} with the content type "${type}"`);
  if (type === "application/json") checker.check(content.schema, JSON.parse(reply.text), what);
}
