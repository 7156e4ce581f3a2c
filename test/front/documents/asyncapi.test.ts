import assert from "node:assert/strict";
import { test } from "node:test";
import asyncapi from "@asyncapi/parser";
import { asyncApiDocument } from "../../../src/front/documents/asyncapi.ts";
import { errorsOf } from "../../../src/front/documents/route-errors.ts";
import { socketRequests } from "../../../src/front/documents/socket-requests.ts";
import { declaredRoutes } from "../../../src/reference/declared.ts";
import { ERRORS, type ErrorCode, SOCKET_ERRORS } from "../../../src/wire/error-codes.ts";
import { CHANNELS } from "../../../src/wire/schema/channels.ts";
import { TRADING_PARAMS, TRADING_TWINS, type TradingOp } from "../../../src/wire/schema/trading.ts";
import { Checker, closed, type Json } from "../../e2e/support/documents/document-checks.ts";

interface Document {
  channels: Record<string, { messages: Record<string, { payload: Json; examples: { payload: unknown }[] }> }>;
  operations: Record<string, { title: string; action: string }>;
  components: Json;
}

const document = asyncApiDocument(declaredRoutes(), "1.2.3") as unknown as Document;

test("asyncapi.json is valid AsyncAPI 3.0", async () => {
  const { diagnostics } = await new asyncapi.Parser().parse(JSON.stringify(document));
  const faults = diagnostics.filter(({ code }) => code !== "asyncapi-latest-version");
  assert.deepEqual(
    faults.map(({ code, message, path }) => `${code} ${path.join("/")}: ${message}`),
    [],
  );
});

test("every op and every channel is documented", () => {
  const operations = Object.values(document.operations);
  const received = operations.filter(({ action }) => action === "receive").map(({ title }) => title);
  const sent = operations.filter(({ action }) => action === "send").map(({ title }) => title);
  assert.deepEqual(received, ["ping", "auth", "subscribe", "unsubscribe", ...Object.keys(TRADING_PARAMS)]);
  assert.deepEqual(sent.toSorted(), Object.keys(CHANNELS).toSorted());
});

test("every example is valid by its schema", () => {
  const { channels, components } = closed(document) as Document;
  const checker = new Checker(components);
  let count = 0;
  for (const [channel, { messages }] of Object.entries(channels))
    for (const [name, { payload, examples }] of Object.entries(messages)) {
      assert.ok(examples.length > 0, name);
      for (const example of examples) checker.check(payload, example.payload, `the example of ${channel} ${name}`);
      count += examples.length;
    }
  assert.ok(count >= 3 * (Object.keys(CHANNELS).length + Object.keys(TRADING_PARAMS).length + 4));
});

test("every code of the WebSocket alone is documented, and only existing codes are", () => {
  const listed = JSON.stringify(document).matchAll(/"enum":(\["BAD_JSON"[^\]]+\])/g);
  const codes = new Set([...listed].flatMap(([, list = "[]"]) => JSON.parse(list) as string[]));
  const known = [...Object.keys(ERRORS), ...Object.keys(SOCKET_ERRORS)];
  for (const code of codes) assert.ok(known.includes(code), code);
  const everywhere = JSON.stringify(document);
  for (const code of Object.keys(SOCKET_ERRORS)) assert.ok(everywhere.includes(code), code);
});

/** Codes of HTTP, and of credentials, which a socket sends once. */
const NOT_OF_OPS = new Set<ErrorCode>([
  ...(["BAD_REQUEST", "BAD_ENCODING", "BAD_QUERY", "UNEXPECTED_BODY", "BODY_TOO_LARGE", "REQUEST_TIMEOUT"] as const),
  ...(["INVALID_TOKEN", "INVALID_KEY_OR_SIGNATURE", "KEY_EXPIRED", "TIMESTAMP_OUT_OF_WINDOW"] as const),
  ...(["IP_NOT_ALLOWED", "SIGNATURE_REPLAYED"] as const),
]);

test("a trading op documents every code of its equivalent REST route", () => {
  const routes = declaredRoutes();
  const requests = new Map(socketRequests(routes).map(({ op, errors }) => [op, errors]));
  for (const op of Object.keys(TRADING_TWINS) as TradingOp[]) {
    const twin = routes.find(({ method, path }) => `${method} ${path}` === TRADING_TWINS[op]);
    assert.ok(twin);
    const missing = errorsOf(twin).filter((code) => !NOT_OF_OPS.has(code) && !requests.get(op)?.includes(code));
    assert.deepEqual(missing, [], op);
  }
});
