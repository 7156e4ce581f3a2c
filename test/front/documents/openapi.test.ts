import assert from "node:assert/strict";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { openApiDocument } from "../../../src/front/documents/openapi.ts";
import { declaredRoutes } from "../../../src/reference/declared.ts";
import { ERRORS, errorsIn } from "../../../src/wire/error-codes.ts";
import { Checker, closed } from "../../e2e/support/documents/document-checks.ts";
import { responsesOf } from "../../e2e/support/documents/documented-replies.ts";

interface Content {
  schema: Record<string, unknown>;
  example?: unknown;
  examples?: Record<string, { value?: unknown; $ref?: string }>;
}
interface Operation {
  operationId: string;
  security: object[];
  parameters?: { name: string; in: string; required: boolean; schema: Record<string, unknown>; example?: unknown }[];
  requestBody?: { content: Record<string, Content> };
  responses: Responses;
}
type Responses = Record<string, { description: string; content: Record<string, Content> }>;
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, unknown>;
    responses: Responses;
    securitySchemes: Record<string, object>;
    examples: Record<string, { value: unknown }>;
  };
}

const routes = declaredRoutes();
const document = openApiDocument(routes, "1.2.3") as unknown as Document;
const operations = Object.values(document.paths)
  .flatMap((path) => Object.values(path))
  .map((each) => ({ ...each, responses: responsesOf(each.responses, document.components.responses) }));

/** The endpoints that the service must have. */
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

test("openapi.json is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(JSON.parse(JSON.stringify(document)));
  assert.ok(valid, JSON.stringify(errors, null, 1));
  assert.equal(validator.version, "3.1");
});

test("the document has exactly the routes, and the required ones under their names", () => {
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const declared = routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/, "{$1}")}`);
  assert.deepEqual(documented.toSorted(), declared.toSorted());
  for (const fixed of FIXED) assert.ok(documented.includes(fixed), fixed);
});

test("operation ids are unique", () => {
  assert.equal(new Set(operations.map((operation) => operation.operationId)).size, operations.length);
});

test("every reference resolves", () => {
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
  const order = operations.find(({ operationId }) => operationId === "deleteOrdersId");
  assert.deepEqual(
    order?.parameters?.filter((each) => each.in === "path").map(({ name, required }) => [name, required]),
    [["id", true]],
  );
  assert.deepEqual(order?.security, [{ session: [] }, { apiKey: [], timestamp: [], signature: [] }]);
  assert.match(order?.responses["409"]?.description ?? "", /ORDER_NOT_OPEN/);
  assert.match(order?.responses["401"]?.description ?? "", /UNAUTHENTICATED/);
  const book = operations.find(({ operationId }) => operationId === "getMarketOrderbook");
  assert.deepEqual(book?.security, []);
  assert.equal(book?.responses["401"], undefined);
  const names = Object.keys(document.components.securitySchemes);
  for (const { security } of operations)
    for (const scheme of security.flatMap(Object.keys)) assert.ok(names.includes(scheme), scheme);
});

test("every error code belongs to some endpoint, and every documented code exists", () => {
  const documented = new Set<string>(errorsIn("NO_ENDPOINT"));
  for (const { operationId, responses } of operations)
    for (const [status, { content }] of Object.entries(responses))
      for (const code of Object.keys((Number(status) >= 400 && content["application/json"]?.examples) || {})) {
        assert.equal(ERRORS[code as keyof typeof ERRORS]?.status, Number(status), `${operationId} ${code}`);
        documented.add(code);
      }
  for (const { itemErrors = [] } of routes) for (const code of itemErrors) documented.add(code);
  assert.deepEqual([...documented].toSorted(), Object.keys(ERRORS).toSorted());
  assert.deepEqual(Object.keys(document.components.examples).toSorted(), Object.keys(ERRORS).toSorted());
});

test("every code of a single order request is also a code of a batch item", () => {
  const routeOf = (name: string) => routes.find(({ method, path }) => `${method} ${path}` === name);
  const { errors = [], itemErrors = [] } = routeOf("POST /orders/batch") ?? {};
  for (const name of ["POST /orders", "PATCH /orders/:id", "DELETE /orders/:id"])
    for (const code of routeOf(name)?.errors ?? [])
      assert.ok(errors.includes(code) || itemErrors.includes(code), `${code} of ${name}`);
});

test("every example is valid by its schema", () => {
  const { components } = closed(document) as Document;
  const checker = new Checker(components);
  let count = 0;
  const check = (schema: Record<string, unknown>, value: unknown, what: string) => {
    checker.check(closed(schema) as Record<string, unknown>, value, `the example of ${what}`);
    count++;
  };
  for (const { operationId, parameters = [], requestBody, responses } of operations) {
    for (const { name, schema, example } of parameters)
      if (example !== undefined) check(schema, example, `${operationId} ${name}`);
    for (const [part, content] of [["request", requestBody?.content] as const, ...contentsOf(responses)]) {
      const { schema, example, examples = {} } = content?.["application/json"] ?? { schema: {} };
      if (example !== undefined) check(schema, example, `${operationId} ${part}`);
      for (const [name, { value, $ref }] of Object.entries(examples))
        check(schema, $ref === undefined ? value : document.components.examples[name]?.value, `${operationId} ${name}`);
    }
  }
  assert.ok(count > 10 * routes.length);
});

const contentsOf = (responses: Operation["responses"]) =>
  Object.entries(responses).map(([status, { content }]) => [status, content] as const);

test("every object from clients refuses unknown fields", () => {
  for (const route of routes)
    for (const schema of [route.body, route.query])
      if (schema !== undefined)
        assert.equal((schema as { additionalProperties?: unknown }).additionalProperties, false, route.path);
});

test("no field of a body has a default: openapi-typescript would make it required", () => {
  for (const { body } of routes)
    for (const [name, field] of Object.entries((body as { properties?: Record<string, object> })?.properties ?? {}))
      assert.ok(!("default" in field), name);
});
