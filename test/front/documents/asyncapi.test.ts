import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { asyncApiDocument } from "../../../src/front/documents/asyncapi.ts";
import { errorsOf } from "../../../src/front/documents/route-errors.ts";
import { socketRequests } from "../../../src/front/documents/socket-requests.ts";
import { TrustedProxies } from "../../../src/front/http/trusted-proxies.ts";
import { documentRoutes } from "../../../src/front/routes/documents.ts";
import { declaredRoutes } from "../../../src/reference/declared.ts";
import { ERRORS, type ErrorCode, SOCKET_ERRORS } from "../../../src/wire/error-codes.ts";
import { CHANNELS } from "../../../src/wire/schema/channels.ts";
import { TRADING_PARAMS, TRADING_ROUTES, type TradingOp } from "../../../src/wire/schema/trading.ts";
import { Checker, closed, type Json } from "../../e2e/support/documents/document-checks.ts";
import { fakeCall } from "../support/fake-call.ts";

interface Reference {
  $ref: string;
}
interface Operation {
  title: string;
  action: string;
  channel: Reference;
  messages: Reference[];
  reply?: { channel: Reference; messages: Reference[] };
}
interface Document {
  channels: Record<string, { messages: Record<string, { payload: Json; examples: { payload: unknown }[] }> }>;
  operations: Record<string, Operation>;
  components: Json;
}

const document = asyncApiDocument(declaredRoutes(), "1.2.3") as unknown as Document;

/** The JSON Schema of AsyncAPI 3.0. */
const SPECIFICATION = fileURLToPath(import.meta.resolve("@asyncapi/specs/schemas/3.1.0.json"));

test("asyncapi.json is valid AsyncAPI 3.0", () => {
  // The schema has its own copy of the meta-schema of JSON Schema.
  const ajv = new Ajv({ meta: false, strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile(JSON.parse(readFileSync(SPECIFICATION, "utf8")));
  const plain = JSON.parse(JSON.stringify(document)) as Document;
  assert.ok(validate(plain), JSON.stringify(validate.errors, null, 1));
  Object.values(plain.operations)[0]!.action = "neither";
  assert.equal(validate(plain), false);
});

test("asyncapi.json names wss if the client uses TLS, also as a trusted proxy says", async () => {
  const { routes } = documentRoutes(declaredRoutes(), "1.2.3");
  const route = routes.find(({ path }) => path === "/asyncapi.json");
  const trusted = new TrustedProxies(["127.0.0.1"]);
  for (const [proxies, forwardedProto, protocol] of [
    [trusted, "https", "wss"],
    [trusted, "http", "ws"],
    [new TrustedProxies(["10.0.0.1"]), "https", "ws"],
    [null, "https", "ws"],
    [null, "tls", "wss"],
  ] as const) {
    const { call, response } = fakeCall("GET", "/v1/asyncapi.json");
    Object.assign(call, { host: "perpd.example", proxies, forwardedProto, isTls: forwardedProto === "tls" });
    await route?.handle({ call } as Parameters<typeof route.handle>[0]);
    // A long body is sent in pieces, and this is the first one.
    const [, exchange = ""] = /"servers":\{"exchange":(\{[^}]*\})/.exec(response.text) ?? [];
    assert.deepEqual(JSON.parse(exchange), { host: "perpd.example", protocol, description: "This exchange." });
  }
});

test("every reference of asyncapi.json resolves", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)];
  assert.ok(references.length > 100);
  for (const [, reference = ""] of references) {
    assert.ok(reference.startsWith("#/"), reference);
    const names = reference.slice(2).split("/");
    const target = names.reduce<unknown>((at, name) => (at as Json | undefined)?.[name], document);
    assert.ok(target !== undefined, reference);
  }
});

test("the messages of an operation are those of its channel, and each message belongs to an operation", () => {
  const used = new Set<string>();
  for (const [name, { channel, messages, reply }] of Object.entries(document.operations))
    for (const part of reply === undefined ? [{ channel, messages }] : [{ channel, messages }, reply]) {
      assert.ok(part.messages.length > 0, name);
      for (const { $ref } of part.messages) {
        assert.ok($ref.startsWith(`${part.channel.$ref}/messages/`), `${name}: ${$ref}`);
        used.add($ref);
      }
    }
  const declared = Object.entries(document.channels).flatMap(([channel, { messages }]) =>
    Object.keys(messages).map((message) => `#/channels/${channel}/messages/${message}`),
  );
  assert.deepEqual(declared.toSorted(), [...used].toSorted());
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

/** Codes of HTTP, of the handshake, and of credentials, which a socket sends once. */
const NOT_OF_OPS = new Set<ErrorCode>([
  ...(["BAD_REQUEST", "BAD_ENCODING", "BAD_QUERY", "UNEXPECTED_BODY", "BODY_TOO_LARGE", "REQUEST_TIMEOUT"] as const),
  ...(["INVALID_TOKEN", "INVALID_KEY_OR_SIGNATURE", "KEY_EXPIRED", "TIMESTAMP_OUT_OF_WINDOW"] as const),
  ...(["IP_NOT_ALLOWED", "ORIGIN_NOT_ALLOWED", "SIGNATURE_REPLAYED"] as const),
]);

test("a trading op documents every code of its equivalent REST route", () => {
  const routes = declaredRoutes();
  const requests = new Map(socketRequests(routes).map(({ op, errors }) => [op, errors]));
  for (const op of Object.keys(TRADING_ROUTES) as TradingOp[]) {
    const route = routes.find(({ method, path }) => `${method} ${path}` === TRADING_ROUTES[op]);
    assert.ok(route);
    const missing = errorsOf(route).filter((code) => !NOT_OF_OPS.has(code) && !requests.get(op)?.includes(code));
    assert.deepEqual(missing, [], op);
  }
});
