import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { asyncApiDocument, withServer } from "../../../src/front/documents/asyncapi.ts";
import { openApiDocument } from "../../../src/front/documents/openapi.ts";
import { declaredRoutes } from "../../../src/reference/declared.ts";
import { Api } from "../support/api.ts";
import { MessageCheck } from "../support/documents/documented-messages.ts";
import { checkReply } from "../support/documents/documented-replies.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let nobody: Api;

before(async () => {
  server = await startServer();
  nobody = new Api(server.url);
});
after(() => server.dispose());

test("the exchange serves the documents against which the tests check all replies", async () => {
  const { host } = new URL(server.url);
  for (const [path, make] of [
    ["/openapi.json", openApiDocument] as const,
    ["/asyncapi.json", asyncApiDocument] as const,
  ]) {
    const served = await nobody.get<{ info: { version: string } }>(path);
    const made = JSON.stringify(make(declaredRoutes(), served.info.version));
    assert.deepEqual(served, JSON.parse(withServer(made, { host, protocol: "ws" })), path);
  }
});

const HEADERS = { "content-type": "application/json", "x-request-id": "1" };
const reply = (status: number, body: object, headers: Record<string, string> = HEADERS) => ({
  status,
  headers,
  text: JSON.stringify(body),
});
const error = (code: string, more: object = {}) => ({
  code,
  message: "m",
  retryable: false,
  requestId: "1",
  serverTime: 1,
  ...more,
});

test("a reply that the document does not allow fails the test that got it", () => {
  checkReply("GET", "/v1/time", undefined, reply(200, { serverTime: 1 }));
  checkReply("GET", "/v1/time", undefined, reply(400, error("UNEXPECTED_BODY")));
  checkReply("PATCH", "/v1/time", undefined, reply(405, error("METHOD_NOT_ALLOWED")));
  checkReply("GET", "/v1/nowhere", undefined, reply(404, error("NOT_FOUND")));
  const faults: [method: string, path: string, reply: ReturnType<typeof reply>, RegExp][] = [
    ["GET", "/v1/time", reply(200, { serverTime: 1, extra: 1 }), /must not have additional properties/],
    ["GET", "/v1/time", reply(200, {}), /must have required properties/],
    ["GET", "/v1/time", reply(200, { serverTime: "1" }), /\/serverTime must be integer/],
    ["GET", "/v1/time", reply(201, { serverTime: 1 }), /201 is not documented/],
    ["GET", "/v1/time", reply(404, error("ORDER_NOT_FOUND")), /404 is not documented/],
    ["GET", "/v1/time", reply(400, error("UNKNOWN_SYMBOL")), /\/code must be equal to one of/],
    ["GET", "/v1/time", reply(400, error("UNEXPECTED_BODY", { extra: 1 })), /must not have additional properties/],
    ["GET", "/v1/time", reply(200, { serverTime: 1 }, { "content-type": "application/json" }), /X-Request-Id/],
    ["GET", "/v1/time", reply(200, { serverTime: 1 }, { ...HEADERS, "content-type": "text/plain" }), /content type/],
    ["GET", "/v1/account/balance", reply(401, error("UNAUTHENTICATED")), /without WWW-Authenticate/],
    ["GET", "/v1/nowhere", reply(200, {}), /200 is not documented/],
    ["GET", "/v1/nowhere", reply(404, error("ORDER_NOT_FOUND")), /\/code must be equal to one of/],
  ];
  for (const [method, path, fault, expected] of faults)
    assert.throws(() => checkReply(method, path, undefined, fault), expected, `${fault.status} ${fault.text}`);
});

test("a message that the document does not allow fails the test that got it", () => {
  const check = new MessageCheck();
  const received = (message: object) => check.received(JSON.stringify(message));
  check.sent('{"op":"ping","id":1}');
  check.sent('{"op":"order.cancel","id":2,"params":{}}');
  check.sent("{");
  const refusal = (id: number | null, code: string, more: object = {}) => {
    const { requestId: _none, ...shown } = error(code, more);
    return { op: "error", id, ...shown };
  };
  const names = { channel: "trades", symbol: "BTC-PERP", sequence: 7 };
  received({ op: "pong", id: 1, serverTime: 1 });
  received(refusal(2, "ORDER_NOT_OPEN"));
  received(refusal(null, "BAD_JSON"));
  received({ ...names, type: "SNAPSHOT", prevSequence: null, data: [] });
  received({ ...names, type: "HEARTBEAT" });
  const faults: [message: object, RegExp][] = [
    [{ op: "pong", id: 1, serverTime: 1, extra: 1 }, /must not have additional properties/],
    [{ op: "pong", id: 1 }, /must have required properties/],
    [{ op: "gnop", id: 1 }, /no such message/],
    [{ op: "order.cancel", id: 2, status: 201, result: {} }, /\/status must be equal to one of/],
    [refusal(1, "ORDER_NOT_OPEN"), /\/code must be equal to one of/],
    [refusal(null, "ORDER_NOT_OPEN"), /\/code must be equal to one of/],
    [refusal(2, "ORDER_NOT_OPEN", { extra: 1 }), /must not have additional properties/],
    [{ ...names, type: "DELTA", prevSequence: 6, data: [] }, /no such message/],
    [{ ...names, type: "UPDATE", prevSequence: null, data: [] }, /\/prevSequence must be integer/],
    [{ ...names, type: "UPDATE", prevSequence: 6, data: [{}] }, /\/data\/0 must have required/],
    [{ ...names, type: "HEARTBEAT", data: [] }, /must not have additional properties/],
  ];
  for (const [message, expected] of faults) assert.throws(() => received(message), expected, JSON.stringify(message));
});
