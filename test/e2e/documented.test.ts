import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openApiDocument } from "../../src/front/documents/openapi.ts";
import { Api } from "./support/api.ts";
import { checkReply, declaredRoutes } from "./support/documented-replies.ts";
import { startServer, type TestServer } from "./support/server.ts";

let server: TestServer;
let nobody: Api;

before(async () => {
  server = await startServer();
  nobody = new Api(server.url);
});
after(() => server.dispose());

test("the exchange serves the document that the replies of all tests are held against", async () => {
  const served = await nobody.get<{ info: { version: string } }>("/openapi.json");
  const document = openApiDocument(declaredRoutes(), served.info.version);
  assert.deepEqual(served, JSON.parse(JSON.stringify(document)));
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
