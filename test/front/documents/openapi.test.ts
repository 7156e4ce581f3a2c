import assert from "node:assert/strict";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { PerpdClient } from "../../../src/client/index.ts";
import { asyncApiDocument } from "../../../src/front/documents/asyncapi.ts";
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

test("operation ids are the names of the client's methods", () => {
  const ids = operations.map((operation) => operation.operationId);
  assert.equal(new Set(ids).size, ids.length);
  const methods = Object.getOwnPropertyNames(PerpdClient.prototype);
  // The last one is for gateways.
  const notInTheClient = ["metrics", "socket", "reference", "referenceScript", "symbolPage"];
  assert.deepEqual(ids.filter((id) => !methods.includes(id)).toSorted(), notInTheClient.toSorted());
});

/** The paths of all nodes for which `matches` is true, without examples. */
function pathsOf(value: unknown, matches: (node: Record<string, unknown>) => boolean, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  const found = !Array.isArray(value) && matches(value as Record<string, unknown>) ? [path] : [];
  const inside = Object.entries(value).filter(([name]) => name !== "example" && name !== "examples");
  return [...found, ...inside.flatMap(([name, each]) => pathsOf(each, matches, `${path}/${name}`))];
}
const COMPONENT = /^\/components\/schemas\/\w+$/;

for (const [name, printed] of Object.entries({ openapi: document, asyncapi: asyncApiDocument(routes, "1.2.3") }))
  test(`${name}.json names each set of texts and each object, so that generators make one type of it`, () => {
    const isTextEnum = (node: Record<string, unknown>): boolean => node.type === "string" && Array.isArray(node.enum);
    const hasFields = (node: Record<string, unknown>): boolean =>
      node.type === "object" && Object.keys((node.properties as object | undefined) ?? {}).length > 0;
    // A code is one of the codes of that request.
    const unnamed = (matches: typeof isTextEnum): string[] =>
      pathsOf(printed, matches).filter((path) => !COMPONENT.test(path) && !/\/(code|op)$/.test(path));
    assert.deepEqual(unnamed(isTextEnum), []);
    assert.deepEqual(unnamed(hasFields), []);
    const { schemas } = printed.components as { schemas: Record<string, { title?: string; enum?: unknown[] }> };
    for (const [title, schema] of Object.entries(schemas)) assert.equal(schema.title, title);
    const sets = Object.values(schemas).flatMap((schema) => (schema.enum === undefined ? [] : [schema.enum.join()]));
    assert.equal(new Set(sets).size, sets.length, "two names for the same set");
    assert.deepEqual(
      pathsOf(printed, (node) => typeof node.format === "string"),
      [],
      "no format that tools do not know",
    );
  });

test("the items of a batch are told apart by their action", () => {
  const { BatchBody } = document.components.schemas as Record<
    string,
    { properties: Record<string, { items: object }> }
  >;
  assert.deepEqual(BatchBody?.properties.items?.items, {
    oneOf: ["PlaceItem", "AmendItem", "CancelItem"].map((name) => ({ $ref: `#/components/schemas/${name}` })),
    discriminator: {
      propertyName: "action",
      mapping: {
        PLACE: "#/components/schemas/PlaceItem",
        AMEND: "#/components/schemas/AmendItem",
        CANCEL: "#/components/schemas/CancelItem",
      },
    },
  });
});

test("the rate limit of a batch is that of an item", () => {
  const limitOf = (id: string): unknown =>
    (operations.find(({ operationId }) => operationId === id) as { "x-rate-limit"?: unknown } | undefined)?.[
      "x-rate-limit"
    ];
  assert.deepEqual(limitOf("batch"), { budget: "ORDER", weight: 1, per: "ITEM" });
  assert.deepEqual(limitOf("placeOrder"), { budget: "ORDER", weight: 1, per: "REQUEST" });
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
  const order = operations.find(({ operationId }) => operationId === "cancelOrder");
  assert.deepEqual(
    order?.parameters?.filter((each) => each.in === "path").map(({ name, required }) => [name, required]),
    [["id", true]],
  );
  assert.deepEqual(order?.security, [{ session: [] }, {}]);
  assert.match(order?.responses["409"]?.description ?? "", /ORDER_NOT_OPEN/);
  assert.match(order?.responses["401"]?.description ?? "", /UNAUTHENTICATED/);
  const book = operations.find(({ operationId }) => operationId === "orderBook");
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
  const answered = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ content }) => Object.values(content["application/json"]?.examples ?? {})),
  );
  const referred = answered.flatMap(({ $ref }) => ($ref === undefined ? [] : [$ref.split("/").at(-1) ?? ""]));
  assert.deepEqual(Object.keys(document.components.examples), [...new Set(referred)].toSorted(), "none is unused");
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
