import assert from "node:assert/strict";
import { test } from "node:test";
import { apiRoutes } from "../../src/front/api.ts";
import { type Context, Symbols } from "../../src/front/context.ts";
import { openApiDocument } from "../../src/front/documents.ts";
import { ERRORS } from "../../src/front/errors.ts";
import { ScriptedRoad } from "./scripted-road.ts";

const road = new ScriptedRoad();
/** Routes are declared without touching anything but these. */
const routes = apiRoutes({ road, symbols: new Symbols(road.instruments) } as unknown as Context);

interface Operation {
  operationId: string;
  security: object[];
  parameters?: { name: string; in: string; required: boolean }[];
  requestBody?: object;
  responses: Record<string, { description: string; content: object }>;
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
  "x-error-codes": Record<string, { status: number }>;
}
const document = JSON.parse(openApiDocument(routes, "1.2.3")) as Document;
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

/** The service's fixed surface. */
const FIXED = [
  "POST /orders",
  "DELETE /orders/{id}",
  "GET /orders",
  "GET /orders/history",
  "GET /positions",
  "POST /positions/{symbol}/close",
  "POST /positions/{symbol}/leverage",
  "GET /account/balance",
  "POST /account/deposit",
  "POST /account/withdraw",
  "GET /account/trades",
  "GET /market/ticker",
  "GET /market/orderbook",
  "GET /market/klines",
  "GET /market/trades",
];

test("every route is in the document, the fixed ones by their names", () => {
  assert.equal(document.openapi, "3.1.0");
  assert.equal(operations.length, routes.length);
  for (const fixed of FIXED) {
    const [method = "", path = ""] = fixed.split(" ");
    assert.ok(document.paths[path]?.[method.toLowerCase()], fixed);
  }
});

test("operation ids are unique", () => {
  assert.equal(new Set(operations.map((operation) => operation.operationId)).size, operations.length);
});

test("every reference leads somewhere", () => {
  const references = JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g);
  let found = 0;
  for (const [, path = ""] of references) {
    const target = path.split("/").reduce<unknown>((at, name) => (at as Record<string, unknown>)?.[name], document);
    assert.ok(target, path);
    found++;
  }
  assert.ok(found > routes.length);
});

test("path parameters, security and errors follow from the route", () => {
  const order = document.paths["/orders/{id}"]?.delete;
  assert.deepEqual(
    order?.parameters?.map(({ name, in: place, required }) => [name, place, required]),
    [["id", "path", true]],
  );
  assert.deepEqual(order?.security, [{ session: [] }, { apiKey: [], timestamp: [], signature: [] }]);
  assert.match(order?.responses["409"]?.description ?? "", /ORDER_NOT_OPEN/);
  assert.match(order?.responses["401"]?.description ?? "", /UNAUTHENTICATED/);
  const book = document.paths["/market/orderbook"]?.get;
  assert.deepEqual(book?.security, []);
  assert.equal(book?.responses["401"], undefined);
  const names = Object.keys(document.components.securitySchemes);
  for (const { security } of operations)
    for (const scheme of security.flatMap(Object.keys)) assert.ok(names.includes(scheme), scheme);
});

test("every code is documented with its status, and every status is an error's", () => {
  assert.deepEqual(Object.keys(document["x-error-codes"]), Object.keys(ERRORS));
  for (const [code, { status }] of Object.entries(document["x-error-codes"]))
    assert.ok(status >= 400 && status < 600, code);
});

test("every object that a client sends refuses other fields", () => {
  for (const route of routes)
    for (const schema of [route.body, route.query])
      if (schema !== undefined)
        assert.equal((schema as { additionalProperties?: unknown }).additionalProperties, false, route.path);
});
