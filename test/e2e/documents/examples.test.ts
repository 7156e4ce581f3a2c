import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openApiDocument } from "../../../src/front/documents/openapi.ts";
import { socketRequests } from "../../../src/front/documents/socket-requests.ts";
import { declaredRoutes } from "../../../src/reference/declared.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

/** Those that say that the request itself was wrong. What is merely not there, or not now, is no fault of an example. */
const MALFORMED =
  /^(BAD_(?!SIGNATURE).*|MISSING_FIELD|UNKNOWN_.*|DUPLICATE_FIELD|UNEXPECTED_BODY|.*_NOT_ON_.*|AMOUNT_.*)$/;

interface Content {
  example?: object;
  examples?: Record<string, { value: object }>;
}
interface Operation {
  parameters?: { name: string; in: string; example?: unknown }[];
  requestBody?: { content: Record<string, Content> };
}

let server: TestServer;
let trader: Trader;

before(async () => {
  server = await startServer();
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  trader = await openTrader(server);
});
after(() => server.dispose());

function bodiesOf({ requestBody }: Operation): (object | undefined)[] {
  const { example, examples = {} } = requestBody?.content["application/json"] ?? {};
  const named = Object.values(examples).map(({ value }) => value);
  return named.length > 0 ? named : [example];
}

function filledIn(path: string, { parameters = [] }: Operation): string {
  let full = path;
  const query = new URLSearchParams();
  for (const { name, in: place, example } of parameters) {
    if (place === "path") full = full.replace(`{${name}}`, String(example));
    else if (place === "query" && example !== undefined) query.set(name, String(example));
  }
  return query.size === 0 ? full : `${full}?${query}`;
}

test("the exchange accepts every example request of openapi.json", async () => {
  const { paths } = openApiDocument(declaredRoutes(), "test") as { paths: Record<string, Record<string, Operation>> };
  let count = 0;
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations)) {
      // They would end the session that the others need.
      if (path === "/auth/logout" || (path === "/auth/sessions" && method === "delete")) continue;
      for (const body of bodiesOf(operation)) {
        const { status, text } = await trader.request(method.toUpperCase(), filledIn(path, operation), body);
        const { code = "" } = status < 400 ? {} : (JSON.parse(text) as { code: string });
        assert.doesNotMatch(code, MALFORMED, `${method} ${path} ${JSON.stringify(body)}: ${text}`);
        count++;
      }
    }
  assert.ok(count >= declaredRoutes().length - 1);
});

test("the exchange accepts every example request of asyncapi.json", async (t) => {
  const client = await SocketClient.openAs(server.wsUrl, trader.token);
  t.after(() => client.close());
  for (const { op, examples } of socketRequests(declaredRoutes())) {
    assert.ok(examples.length > 0, op);
    for (const example of examples) {
      const { op: _op, id: _id, ...fields } = example as { op: string; id: number };
      const { code = "" } = await client.request(op, fields);
      assert.doesNotMatch(code, MALFORMED, `${JSON.stringify(example)}: ${code}`);
    }
  }
});
