import assert from "node:assert/strict";
import { test } from "node:test";
import Type from "typebox";
import { Limits, ORDER_COST } from "../../../src/front/auth/limits.ts";
import { ApiError } from "../../../src/front/common/errors.ts";
import type { Principal } from "../../../src/front/exchange/credentials.ts";
import type { OperatorLog } from "../../../src/front/http/answer.ts";
import { costOf, route } from "../../../src/front/routing/route.ts";
import { type Authenticator, Router } from "../../../src/front/routing/router.ts";
import { object } from "../../../src/wire/schema/scalars.ts";
import { type FakeResponse, fakeCall } from "../support/fake-call.ts";

const reader: Principal = { accountId: 16, permissions: ["READ"], credential: "", expiresAt: 0, record: null };

/** Authenticates a call with the header "let me in", with the permission READ. */
const gatekeeper: Authenticator = {
  principal(call) {
    if (call.authorization !== "let me in") throw new ApiError("UNAUTHENTICATED");
    return reader;
  },
  session: () => {
    throw new ApiError("SESSION_REQUIRED");
  },
  operator: () => {
    throw new ApiError("OPERATOR_REQUIRED");
  },
};

const logged: string[] = [];
const note = (_fields: object, message: string) => void logged.push(message);
const log: OperatorLog = { error: note, warn: () => {}, info: () => {}, debug: () => {} };

const name = Type.String();
const replies = {};
const routes = [
  route({
    method: "GET",
    path: "/things",
    access: "PUBLIC",
    summary: "",
    query: object({ limit: Type.Optional(Type.Integer()) }),
    replies,
    handle: ({ call, query }) => call.reply(200, JSON.stringify(query)),
  }),
  route({
    method: "POST",
    path: "/things",
    access: "READ",
    summary: "",
    body: object({ name }),
    replies,
    handle: ({ call, body, principal }) => call.reply(201, JSON.stringify({ ...body, account: principal.accountId })),
  }),
  route({
    method: "GET",
    path: "/things/all",
    access: "PUBLIC",
    summary: "",
    replies,
    handle: ({ call }) => call.reply(200, '{"all":true}'),
  }),
  route({
    method: "GET",
    path: "/things/:id",
    access: "PUBLIC",
    summary: "",
    replies,
    handle: ({ call, parameter }) => call.reply(200, JSON.stringify({ id: parameter })),
  }),
  route({
    method: "POST",
    path: "/things/:id/close",
    access: "PUBLIC",
    summary: "",
    body: object({ name: Type.Optional(name) }),
    bodyOptional: true,
    replies,
    handle: ({ call, parameter, body }) => call.reply(200, JSON.stringify({ closed: parameter, ...body })),
  }),
  route({ method: "DELETE", path: "/things", access: "TRADE", summary: "", replies, handle: () => assert.fail() }),
  route({ method: "GET", path: "/session", access: "SESSION", summary: "", replies, handle: () => assert.fail() }),
  route({ method: "GET", path: "/operator", access: "OPERATOR", summary: "", replies, handle: () => assert.fail() }),
  route({
    method: "GET",
    path: "/later/:how",
    access: "PUBLIC",
    summary: "",
    replies,
    async handle({ call, parameter }) {
      await Promise.resolve();
      if (parameter === "refused") throw new ApiError("ORDER_NOT_FOUND");
      if (parameter === "failed") throw new Error("a bug");
      call.reply(200, '{"late":true}');
    },
  }),
];
const router = new Router(routes, gatekeeper, log);

/** Like the server: an error that is thrown becomes the answer. */
function send(method: string, target: string, body = "", authorization = ""): FakeResponse {
  const { call, response } = fakeCall(method, target, { body, authorization });
  try {
    router.handle(call);
  } catch (thrown) {
    call.fail(thrown, log);
  }
  return response;
}

const codeOf = (response: FakeResponse): unknown => [response.status, response.json.code];

test("exact paths win over parameters, and a parameter is one segment", () => {
  assert.deepEqual(send("GET", "/v1/things/all").json, { all: true });
  assert.deepEqual(send("GET", "/v1/things/17").json, { id: "17" });
  assert.deepEqual(send("GET", "/v1/things/client%3Aa").json, { id: "client:a" });
  assert.deepEqual(send("POST", "/v1/things/17/close").json, { closed: "17" });
  for (const path of [
    "/",
    "/v1",
    "/v1/",
    "/v1/thing",
    "/v1/things/",
    "/v1/things/1/2",
    "/v1//things",
    "/things",
    "/v1/things//close",
    "/v1/THINGS",
    "/v2/things",
  ])
    assert.deepEqual(codeOf(send("GET", path)), [404, "NOT_FOUND"], path);
  assert.match(String(send("GET", "/things").json.message), /begin with \/v1 and end without a slash/);
  for (const path of ["/v1/things/%zz", "/v1/things/%ff"])
    assert.deepEqual(codeOf(send("GET", path)), [400, "BAD_QUERY"]);
});

test("an escaped slash stays a part of its segment", () => {
  assert.deepEqual(send("GET", "/v1/things/a%2Fb").json, { id: "a/b" });
});

test("an unknown method of a path is refused with the allowed ones", () => {
  const response = send("PUT", "/v1/things");
  assert.deepEqual(codeOf(response), [405, "METHOD_NOT_ALLOWED"]);
  assert.deepEqual(response.headers.allow, "GET, POST, DELETE, HEAD, OPTIONS");
  const options = send("OPTIONS", "/v1/things/17/close");
  assert.deepEqual([options.status, options.headers.allow, options.text], [204, "POST, OPTIONS", ""]);
});

test("a page of another site reads public data, errors included, and does nothing else", () => {
  const read = (method: string, target: string): FakeResponse => {
    const { call, response } = fakeCall(method, target, {
      body: method === "POST" ? "{}" : "",
      authorization: "let me in",
    });
    call.isForeign = true;
    try {
      router.handle(call);
    } catch (thrown) {
      call.fail(thrown, log);
    }
    return response;
  };
  const allowed = "access-control-allow-origin";
  for (const target of ["/v1/things/all", "/v1/things?limit=x"])
    assert.equal(read("GET", target).headers[allowed], "*", target);
  for (const target of [
    "POST /v1/things",
    "POST /v1/things/17/close",
    "DELETE /v1/things",
    "GET /v1/session",
    "GET /v1/operator",
  ]) {
    const [method, path] = target.split(" ");
    const refused = read(method, path);
    assert.deepEqual(codeOf(refused), [403, "ORIGIN_NOT_ALLOWED"], target);
    assert.equal(refused.headers[allowed], undefined, target);
  }
});

test("HEAD answers like GET, without the body", () => {
  const response = send("HEAD", "/v1/things/all");
  assert.deepEqual([response.status, response.headers["content-length"], response.text], [200, "12", ""]);
});

test("authentication comes before the check of query and body", () => {
  const nonsense = "{";
  assert.deepEqual(codeOf(send("POST", "/v1/things", nonsense)), [401, "UNAUTHENTICATED"]);
  assert.equal(send("POST", "/v1/things", nonsense).headers["www-authenticate"], "Bearer");
  assert.deepEqual(codeOf(send("POST", "/v1/things", nonsense, "let me in")), [400, "BAD_JSON"]);
  assert.deepEqual(send("POST", "/v1/things", '{"name":"x"}', "let me in").json, { name: "x", account: 16 });
  assert.deepEqual(codeOf(send("DELETE", "/v1/things", "", "let me in")), [403, "PERMISSION_DENIED"]);
  assert.deepEqual(codeOf(send("GET", "/v1/session")), [403, "SESSION_REQUIRED"]);
  assert.deepEqual(codeOf(send("GET", "/v1/operator")), [403, "OPERATOR_REQUIRED"]);
});

test("a query or body is refused on a route without one", () => {
  assert.deepEqual(send("GET", "/v1/things?limit=5").json, { limit: 5 });
  assert.deepEqual(codeOf(send("GET", "/v1/things?offset=5")), [400, "UNKNOWN_FIELD"]);
  assert.deepEqual(codeOf(send("GET", "/v1/things/all?limit=5")), [400, "UNKNOWN_FIELD"]);
  assert.deepEqual(codeOf(send("GET", "/v1/things", "{}")), [400, "UNEXPECTED_BODY"]);
  assert.deepEqual(codeOf(send("POST", "/v1/things", "", "let me in")), [400, "BAD_JSON"]);
  assert.deepEqual(codeOf(send("POST", "/v1/things/17/close", '{"names":"x"}')), [400, "UNKNOWN_FIELD"]);
});

test("a rejected promise becomes the answer, and a bug is logged", async () => {
  const sent = ["right", "refused", "failed"].map((how) => send("GET", `/v1/later/${how}`));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    sent.map((response) => [response.status, response.json.code]),
    [
      [200, undefined],
      [404, "ORDER_NOT_FOUND"],
      [500, "INTERNAL"],
    ],
  );
  assert.deepEqual(logged, ["a request failed"]);
});

test("a route cannot be declared twice", () => {
  const twice = { ...routes[0]! };
  assert.throws(() => new Router([twice, twice], gatekeeper, log), /declared twice/);
});

const openLimits = () =>
  Limits.open({
    rateLimit: "on",
    host: "0.0.0.0",
    trustedProxies: [],
    orderRate: 10,
    cancelRate: 10,
    requestRate: 10,
    rateBurst: 2,
    maxSocketsPerAddress: 1,
    accountRate: 1,
  });

test("a malformed path is charged, and refused after authentication", (t) => {
  t.mock.method(performance, "now", () => 0); // no tokens are added meanwhile
  const router = new Router(routes, gatekeeper, log, openLimits());
  const answer = (method: string, path: string) => {
    const { call, response } = fakeCall(method, path);
    try {
      router.handle(call);
    } catch (thrown) {
      call.fail(thrown, log);
    }
    return [response.status, response.json.code, response.headers["ratelimit-remaining"]];
  };
  assert.deepEqual(answer("GET", "/v1/later/%ff"), [400, "BAD_QUERY", "79"]);
  assert.deepEqual(answer("GET", "/v1/later/%"), [400, "BAD_QUERY", "78"]);
  assert.deepEqual(answer("DELETE", "/v1/later/%"), [405, "METHOD_NOT_ALLOWED", undefined]);
});

test("a large body is charged by its size before it is parsed", (t) => {
  t.mock.method(performance, "now", () => 0); // no tokens are added meanwhile
  const router = new Router(routes, gatekeeper, log, openLimits());
  const send = () => {
    const { call, response } = fakeCall("POST", "/v1/things/7/close", { body: `{}${" ".repeat(60_000)}` });
    const json = t.mock.method(call, "json");
    try {
      router.handle(call);
    } catch (thrown) {
      call.fail(thrown, log);
    }
    return [response.status, json.mock.callCount()];
  };
  // The address has 80 tokens. A request takes one, and its body eight.
  for (let i = 0; i < 8; i++) assert.deepEqual(send(), [200, 1]);
  for (let i = 0; i < 2; i++) assert.deepEqual(send(), [429, 0]);
});

test("failed operator requests are logged and limited by address, and a valid token is never refused", (t) => {
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  const lines: [level: string, fields: Record<string, unknown>][] = [];
  const level = (name: string) => (fields: object) => void lines.push([name, { ...fields }]);
  const log: OperatorLog = { error: level("error"), warn: level("warn"), info: level("info"), debug: level("debug") };
  const operator: Authenticator["operator"] = ({ authorization }) => {
    if (authorization !== "let me in") throw new ApiError("OPERATOR_REQUIRED");
    return "alice";
  };
  const act = route({
    ...{ method: "POST", path: "/operator/symbols/:symbol/halt", access: "OPERATOR", summary: "", replies },
    handle: ({ call }) => call.reply(200, "{}"),
  });
  const frequent = { ...act, method: "PUT", isFrequent: true } as const;
  for (const limits of [openLimits(), null]) {
    const router = new Router([act, frequent], { ...gatekeeper, operator }, log, limits);
    const send = (authorization: string, remoteAddress = "192.0.2.1", method = "POST") => {
      const { call, response } = fakeCall(method, "/v1/operator/symbols/hush/halt", { authorization });
      response.remoteAddress = remoteAddress;
      try {
        router.handle(call);
      } catch (thrown) {
        call.fail(thrown, log);
      }
      return response;
    };
    for (let i = 0; i < 10; i++) assert.equal(send("hush").status, 403);
    assert.equal(lines.length, 10);
    const { requestId: _, ...first } = lines[0]![1];
    const path = "/operator/symbols/:symbol/halt";
    assert.deepEqual(first, { address: "192.0.2.1", method: "POST", path, attemptsNotLogged: 0 });
    const refused = send("hush");
    assert.equal(refused.status, limits === null ? 403 : 429);
    if (limits !== null) {
      const { scope, budget, limit, retryAfterMs } = refused.json.details as Record<string, unknown>;
      assert.deepEqual([scope, budget, limit, retryAfterMs], ["IP", "OPERATOR", 10, 6000]);
      assert.equal(refused.headers["retry-after"], "6");
    }
    assert.equal(send("hush", "192.0.2.2").status, 403, "another address");
    assert.equal(lines.at(-1)?.[1].attemptsNotLogged, 1);
    nowMs += 6000;
    assert.deepEqual([send("hush").status, send("let me in").status], [403, 200]);
    assert.ok(!JSON.stringify(lines.slice(0, -1)).includes("hush"), "what a stranger sends may be a secret");
    const { requestId: __, ...acted } = lines.at(-1)![1];
    assert.deepEqual(acted, { operator: "alice", method: "POST", path, parameter: "hush", body: {} });
    assert.equal(send("let me in", "192.0.2.1", "PUT").status, 200);
    assert.deepEqual(lines.map(([level]) => level).slice(-3), ["warn", "info", "debug"]);
    lines.length = 0;
  }
});

test("a clock that is set back does not exhaust rate limits", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 3_600_000 });
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  const router = new Router(routes, gatekeeper, log, openLimits());
  const remaining = (): string | undefined => {
    const { call, response } = fakeCall("GET", "/v1/things/all");
    router.handle(call);
    return response.headers["ratelimit-remaining"];
  };
  assert.equal(remaining(), "79");
  t.mock.timers.setTime(0);
  assert.equal(remaining(), "78");
  nowMs += 1000;
  assert.equal(remaining(), "79", "it flows in as ever");
});

test("with a cost by body, an unreadable body costs the route's minimum", (t) => {
  t.mock.method(performance, "now", () => 0); // no tokens are added meanwhile
  const limits = openLimits();
  const weighing = route({
    method: "POST",
    path: "/batches",
    access: "READ",
    summary: "",
    cost: ORDER_COST,
    costOfBody: (body) => ({ budget: "ORDER", weight: (body as { name: string }).name.length }),
    body: object({ name }),
    replies,
    handle: ({ call }) => call.reply(200, "{}"),
  });
  const router = new Router([weighing], gatekeeper, log, limits);
  const left = (body: string, authorization: string): [status: number, remaining: string | undefined] => {
    const { call, response } = fakeCall("POST", "/v1/batches", { body, authorization });
    try {
      router.handle(call);
    } catch (thrown) {
      call.fail(thrown, log);
    }
    return [response.status, response.headers["ratelimit-remaining"]];
  };
  assert.deepEqual(left('{"name":"four"}', "let me in"), [200, "16"]);
  assert.deepEqual(left("{", "let me in"), [400, "15"]);
  assert.deepEqual(left('{"names":1}', "let me in"), [400, "14"]);
  assert.deepEqual(left('{"name":"fifteen letters"}', "let me in"), [429, "14"]);
  assert.equal(left("{", "stranger")[0], 401);
});

test("order changes cost ORDER tokens, cancels cost CANCEL tokens, and pages cost more than other reads", () => {
  const cost = (
    method: "GET" | "POST" | "DELETE",
    path: string,
    access: "TRADE" | "READ" | "PUBLIC",
    query = object({}),
  ) => costOf(route({ method, path, access, summary: "", query, replies, handle: () => assert.fail() }));
  assert.deepEqual(cost("POST", "/orders/batch", "TRADE"), { budget: "ORDER", weight: 1 });
  assert.deepEqual(cost("DELETE", "/orders/:id", "TRADE"), { budget: "CANCEL", weight: 1 });
  assert.deepEqual(cost("POST", "/positions/:symbol/leverage", "TRADE"), { budget: "ORDER", weight: 1 });
  assert.deepEqual(cost("POST", "/account/deposit", "TRADE"), { budget: "REQUEST", weight: 1 });
  assert.deepEqual(cost("GET", "/orders/:id", "READ"), { budget: "REQUEST", weight: 1 });
  const paged = object({ limit: Type.Optional(Type.Integer()) });
  assert.deepEqual(cost("GET", "/market/trades", "PUBLIC", paged), { budget: "REQUEST", weight: 5 });
});
