import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { CreatedApiKey, OpenSessionList } from "../../../src/client/types.ts";
import { declaredRoutes } from "../../../src/reference/declared.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { CHANNELS, PRIVATE_CHANNELS } from "../../../src/wire/schema/channels.ts";
import { TRADING_PARAMS } from "../../../src/wire/schema/trading.ts";
import { Api, type Headers } from "../support/api.ts";
import { KeyHolder, openKey, signed } from "../support/keys.ts";
import { OPERATOR_TOKEN, startServer, type TestServer } from "../support/server.ts";
import { SocketClient, type SocketMessage } from "../support/socket.ts";
import { openTrader, type Trader } from "../support/trader.ts";
import { leavesUntouched, openTarget, type Target } from "../support/untouched.ts";
import { inTime, until } from "../support/wait.ts";
import { login } from "../support/wallet.ts";

/**
 * The access matrix: every endpoint, channel and operation against every kind of missing permission. Anything missing
 * in these tables fails, so a new endpoint must be entered here.
 */

type Access = "PUBLIC" | "READ" | "TRADE" | "WITHDRAW" | "SESSION" | "OPERATOR" | "METRICS";

/** The access level, and a request that would succeed with it. `:order`, `:key`: ids of the attacked account. */
interface Endpoint {
  access: Access;
  path?: string;
  body?: object;
  /** The error for another account that uses the attacked one's ids; none where no id is given. */
  foreign?: ErrorCode;
}

const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.001" };
const { symbol, ...ITEM } = ORDER;
const BATCH = { symbol, items: [{ action: "PLACE", ...ITEM }] };
const WITHDRAWAL = { asset: "USDC", amount: "1", address: "0x0000000000000000000000000000000000000001" };
const KEY = { label: "x", permissions: ["READ"] };

const ENDPOINTS: Record<string, Endpoint> = {
  "POST /orders": { access: "TRADE", body: ORDER },
  "GET /orders": { access: "READ" },
  "DELETE /orders": { access: "TRADE" },
  "POST /orders/batch": { access: "TRADE", body: BATCH },
  "POST /orders/cancel-after": { access: "TRADE", body: { timeoutMs: 60_000 } },
  "GET /orders/max-size": { access: "READ", path: "/orders/max-size?symbol=BTC-PERP&type=MARKET" },
  "GET /orders/history": { access: "READ" },
  "GET /orders/:id": { access: "READ", path: "/orders/:order", foreign: "ORDER_NOT_FOUND" },
  "PATCH /orders/:id": {
    access: "TRADE",
    path: "/orders/:order",
    body: { price: "64000" },
    foreign: "ORDER_NOT_FOUND",
  },
  "DELETE /orders/:id": { access: "TRADE", path: "/orders/:order", foreign: "ORDER_NOT_FOUND" },
  "GET /positions": { access: "READ" },
  "GET /positions/history": { access: "READ" },
  "GET /positions/:symbol": { access: "READ", path: "/positions/BTC-PERP" },
  "POST /positions/:symbol/close": { access: "TRADE", path: "/positions/BTC-PERP/close" },
  "POST /positions/:symbol/leverage": {
    access: "TRADE",
    path: "/positions/BTC-PERP/leverage",
    body: { leverage: 3 },
  },
  "POST /positions/:symbol/margin-mode": {
    access: "TRADE",
    path: "/positions/BTC-PERP/margin-mode",
    body: { mode: "ISOLATED" },
  },
  "POST /positions/:symbol/margin": { access: "TRADE", path: "/positions/BTC-PERP/margin", body: { amount: "1" } },
  "GET /account/balance": { access: "READ" },
  "POST /account/deposit": { access: "TRADE", body: { asset: "USDC", amount: "1" } },
  "POST /account/withdraw": { access: "WITHDRAW", body: WITHDRAWAL },
  "GET /account/withdrawal-addresses": { access: "READ" },
  "POST /account/withdrawal-addresses": {
    access: "SESSION",
    body: { address: "0x0000000000000000000000000000000000000001", label: "x" },
  },
  "DELETE /account/withdrawal-addresses/:address": {
    access: "SESSION",
    path: "/account/withdrawal-addresses/:address",
    foreign: "ADDRESS_NOT_FOUND",
  },
  "GET /account/margin-call": { access: "READ" },
  "POST /account/margin-call": { access: "TRADE", body: { ratio: "0.7" } },
  "GET /account/trades": { access: "READ" },
  "GET /account/deposits": { access: "READ" },
  "GET /account/withdrawals": { access: "READ" },
  "GET /account/funding": { access: "READ" },
  "GET /account/ledger": { access: "READ" },
  "GET /account/equity/history": { access: "READ", path: "/account/equity/history?interval=1h" },
  "GET /market/ticker": { access: "PUBLIC" },
  "GET /market/sparklines": { access: "PUBLIC" },
  "GET /market/orderbook": { access: "PUBLIC", path: "/market/orderbook?symbol=BTC-PERP" },
  "GET /market/trades": { access: "PUBLIC", path: "/market/trades?symbol=BTC-PERP" },
  "GET /market/liquidations": { access: "PUBLIC", path: "/market/liquidations?symbol=BTC-PERP" },
  "GET /market/klines": { access: "PUBLIC", path: "/market/klines?symbol=BTC-PERP&interval=1m" },
  "GET /market/symbols": { access: "PUBLIC" },
  "GET /market/funding": { access: "PUBLIC", path: "/market/funding?symbol=BTC-PERP" },
  "GET /market/insurance": { access: "PUBLIC" },
  "GET /market/open-interest": { access: "PUBLIC" },
  "GET /market/open-interest/history": {
    access: "PUBLIC",
    path: "/market/open-interest/history?symbol=BTC-PERP&interval=1h",
  },
  "POST /auth/challenge": { access: "PUBLIC", body: { address: `0x${"0".repeat(40)}` } },
  // The signature decides who gets access: see auth.test.ts.
  "POST /auth/login": { access: "PUBLIC" },
  "POST /auth/logout": { access: "SESSION" },
  "GET /auth/sessions": { access: "SESSION" },
  "DELETE /auth/sessions": { access: "SESSION" },
  "DELETE /auth/sessions/:sessionId": {
    access: "SESSION",
    path: "/auth/sessions/:session",
    foreign: "SESSION_NOT_FOUND",
  },
  "POST /auth/keys": { access: "SESSION", body: KEY },
  "GET /auth/keys": { access: "SESSION" },
  "DELETE /auth/keys/:apiKey": { access: "SESSION", path: "/auth/keys/:key", foreign: "KEY_NOT_FOUND" },
  "GET /time": { access: "PUBLIC" },
  "GET /health": { access: "PUBLIC" },
  "GET /health/live": { access: "PUBLIC" },
  "GET /replication": { access: "PUBLIC" },
  "GET /replication/symbols/:symbol": { access: "PUBLIC", path: "/replication/symbols/BTC-PERP" },
  "GET /health/ready": { access: "PUBLIC" },
  "GET /ws": { access: "PUBLIC" },
  "GET /openapi.json": { access: "PUBLIC" },
  "GET /asyncapi.json": { access: "PUBLIC" },
  "GET /docs": { access: "PUBLIC" },
  "GET /docs/scalar.js": { access: "PUBLIC" },
  "GET /operator/audit": { access: "OPERATOR" },
  "GET /operator/acts": { access: "OPERATOR" },
  "POST /operator/step-down": { access: "OPERATOR" },
  "GET /metrics": { access: "METRICS" },
  "PUT /operator/index/:symbol": { access: "OPERATOR", path: "/operator/index/BTC-PERP", body: { price: "1" } },
  "POST /operator/symbols/:symbol/halt": { access: "OPERATOR", path: "/operator/symbols/BTC-PERP/halt" },
  "POST /operator/symbols/:symbol/resume": { access: "OPERATOR", path: "/operator/symbols/BTC-PERP/resume" },
};

const PUBLIC_CHANNELS: Record<string, object> = {
  orderbook: { symbol: "BTC-PERP" },
  trades: { symbol: "BTC-PERP" },
  liquidations: { symbol: "BTC-PERP" },
  ticker: { symbol: "BTC-PERP" },
  tickers: {},
  "mark-price": {},
  symbols: {},
  klines: { symbol: "BTC-PERP", interval: "1m" },
};
const ACCOUNT_CHANNELS = [
  "orders",
  "fills",
  "positions",
  "positions-history",
  "balance",
  "transfers",
  "funding",
  "margin-calls",
];
/** Each with what would be taken from the account; `:order` as above. */
const OPS: Record<string, object> = {
  "order.place": ORDER,
  "order.cancel": { orderId: ":order" },
  "order.amend": { orderId: ":order", price: "64000" },
  "order.batch": BATCH,
  "order.cancelAll": {},
  "order.cancelAfter": { timeoutMs: 60_000 },
  "position.close": { symbol: "BTC-PERP" },
  "position.leverage": { symbol: "BTC-PERP", leverage: 3 },
  "position.marginMode": { symbol: "BTC-PERP", mode: "ISOLATED" },
  "position.margin": { symbol: "BTC-PERP", amount: "1" },
};

/** Of the same exchange. */
let earlier: TestServer;
let server: TestServer;
let target: Target;
let nobody: Api;
let mallory: Trader;
/** Of alice, who is attacked, and who has all permissions. */
let key: CreatedApiKey;
let revoked: CreatedApiKey;
let expired: CreatedApiKey;
let elsewhere: CreatedApiKey;
let only: Record<"READ" | "TRADE" | "WITHDRAW", CreatedApiKey>;
let sessionId: string;
let loggedOut: string;
let outlived: string;

const ALL = ["READ", "TRADE", "WITHDRAW"];
/** In alice's address book. */
const BOOKED = "0x000000000000000000000000000000000000dEaD";

before(async () => {
  // Opens a session while sessions live for a second; then they live longer.
  earlier = await startServer({ environment: { PERPD_SESSION_TTL_MS: "1000" } });
  outlived = (await login(earlier.url)).token;
  const endsAt = Date.now() + 1000;
  await earlier.stop();
  await until("the session's end", () => Date.now() > endsAt);
  // No withdrawal completes while a test expects that nothing changes.
  const environment = { PERPD_WITHDRAWAL_DELAY_MS: "86400000" };
  server = await startServer({ dataFolder: earlier.dataFolder, environment });
  target = await openTarget(server);
  mallory = await openTrader(server);
  nobody = new Api(server.url);
  const { alice } = target;
  await alice.call(201, "POST", "/account/withdrawal-addresses", { address: BOOKED, label: "alice's" });
  const make = async (permissions: string[], more: object = {}) =>
    (await openKey(server, alice, permissions, more)).key;
  key = await make(ALL);
  elsewhere = await make(ALL, { allowedIps: ["203.0.113.0/24", "2001:db8::/32"] });
  only = { READ: await make(["READ"]), TRADE: await make(["TRADE"]), WITHDRAW: await make(["WITHDRAW"]) };
  revoked = await make(ALL);
  await alice.call(200, "DELETE", `/auth/keys/${revoked.apiKey}`);
  const [brief, expiresAt] = await inTime(300, async (time) => [await make(ALL, { expiresAt: time }), time]);
  expired = brief;
  await until("the key's end", () => Date.now() > expiresAt);
  sessionId = (await alice.get<OpenSessionList>("/auth/sessions")).data[0]?.sessionId ?? "";
  const again = await login(server.url, alice.privateKey);
  await new Api(server.url, again.token).call(200, "POST", "/auth/logout");
  loggedOut = again.token;
});

after(async () => {
  assert.deepEqual(server.loggedErrors, []);
  await server.dispose();
  await earlier.dispose();
});

const pathOf = (name: string): string => {
  const { path = name.replace(/^\w+ /, "") } = ENDPOINTS[name] ?? {};
  const ids = { ":order": target.orderId, ":key": only.READ.apiKey, ":session": sessionId, ":address": BOOKED };
  return Object.entries(ids).reduce((filled, [name, id]) => filled.replace(name, id), path);
};

/** Every endpoint of these, with what to send. */
function endpoints(...accesses: Access[]): [method: string, path: string, body: object | undefined, access: Access][] {
  return Object.entries(ENDPOINTS)
    .filter(([, { access }]) => accesses.includes(access))
    .map(([name, { access, body }]) => [name.replace(/ .*/, ""), pathOf(name), body, access]);
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });
const sign = (by: CreatedApiKey, method: string, path: string, body: object | undefined, at = Date.now()): Headers =>
  signed(by, method, path, body === undefined ? "" : JSON.stringify(body), at);

test("the access tables cover every endpoint, channel and operation", () => {
  const declared = Object.fromEntries(
    declaredRoutes().map(({ method, path, access }) => [`${method} ${path}`, access]),
  );
  assert.deepEqual(Object.fromEntries(Object.entries(ENDPOINTS).map(([name, { access }]) => [name, access])), declared);
  assert.deepEqual([...Object.keys(PUBLIC_CHANNELS), ...ACCOUNT_CHANNELS].sort(), Object.keys(CHANNELS).sort());
  assert.deepEqual(new Set(ACCOUNT_CHANNELS), PRIVATE_CHANNELS);
  assert.deepEqual(Object.keys(OPS), Object.keys(TRADING_PARAMS));
});

test("private endpoints refuse missing, invented and ended tokens, and the operator's", () =>
  leavesUntouched(target, async () => {
    const almost = `${target.alice.token?.slice(0, -1)}${target.alice.token?.endsWith("A") ? "B" : "A"}`;
    const wrong = ["A".repeat(43), almost, loggedOut, outlived, OPERATOR_TOKEN, "", "__proto__", "x".repeat(3000)];
    for (const [method, path, body] of endpoints("READ", "TRADE", "WITHDRAW", "SESSION")) {
      await nobody.refused("UNAUTHENTICATED", method, path, body);
      for (const token of wrong) await nobody.refused("INVALID_TOKEN", method, path, body, bearer(token));
      // Credentials belong into their header.
      const query = `${path}${path.includes("?") ? "&" : "?"}token=${target.alice.token}`;
      await nobody.refused("UNAUTHENTICATED", method, query, body);
    }
  }));

test("endpoints refuse keys that are unknown, revoked, expired, or used from a wrong address, with a wrong signature or clock", () =>
  leavesUntouched(target, async () => {
    const stranger = { apiKey: "0".repeat(32), secret: key.secret };
    const guess = { apiKey: key.apiKey, secret: only.READ.secret };
    for (const [method, path, body] of endpoints("READ", "TRADE", "WITHDRAW")) {
      const refuse = (code: ErrorCode, headers: Headers) => nobody.refused(code, method, path, body, headers);
      for (const by of [stranger, guess, revoked])
        await refuse("INVALID_KEY_OR_SIGNATURE", sign(by, method, path, body));
      await refuse("INVALID_KEY_OR_SIGNATURE", sign(key, method, `${path}x`, body));
      await refuse("INVALID_KEY_OR_SIGNATURE", sign(key, method, path, { other: 1 }));
      await refuse("INVALID_KEY_OR_SIGNATURE", sign(key, method === "GET" ? "POST" : "GET", path, body));
      await refuse("INVALID_KEY_OR_SIGNATURE", { ...sign(key, method, path, body), "x-signature": "0".repeat(64) });
      await refuse("KEY_EXPIRED", sign(expired, method, path, body));
      await refuse("IP_NOT_ALLOWED", sign(elsewhere, method, path, body));
      // The address is that of the connection, whatever a header says.
      const posing = { "x-forwarded-for": "203.0.113.7", "x-real-ip": "203.0.113.7", forwarded: "for=203.0.113.7" };
      await refuse("IP_NOT_ALLOWED", { ...sign(elsewhere, method, path, body), ...posing });
      for (const skewMs of [-3_600_000, -60_000, 60_000, 3_600_000])
        await refuse("TIMESTAMP_OUT_OF_WINDOW", sign(key, method, path, body, Date.now() + skewMs));
      const { "x-signature": signature = "", "x-timestamp": timestamp = "" } = sign(key, method, path, body);
      await refuse("UNAUTHENTICATED", { "x-api-key": key.apiKey });
      await refuse("UNAUTHENTICATED", { "x-api-key": key.apiKey, "x-timestamp": timestamp });
      await refuse("UNAUTHENTICATED", { "x-api-key": key.apiKey, "x-signature": signature });
      await refuse("UNAUTHENTICATED", { "x-timestamp": timestamp, "x-signature": signature });
      // A sound token does not heal a bad signature.
      await refuse("INVALID_KEY_OR_SIGNATURE", {
        ...sign(guess, method, path, body),
        ...bearer(target.alice.token ?? ""),
      });
    }
  }));

test("keys are refused outside their permissions and where only a session is allowed", () =>
  leavesUntouched(target, async () => {
    for (const [method, path, body, access] of endpoints("READ", "TRADE", "WITHDRAW"))
      for (const [permission, by] of Object.entries(only)) {
        if (permission === access) continue;
        const error = await nobody.refused("PERMISSION_DENIED", method, path, body, sign(by, method, path, body));
        assert.deepEqual(error.details, { required: access });
      }
    for (const [method, path, body] of endpoints("SESSION"))
      for (const by of [key, revoked, expired, elsewhere])
        await nobody.refused("SESSION_REQUIRED", method, path, body, sign(by, method, path, body));
  }));

test("operator endpoints refuse every other token", () =>
  leavesUntouched(target, async () => {
    const wrong = [
      "",
      "x",
      target.alice.token ?? "",
      OPERATOR_TOKEN.slice(1),
      `${OPERATOR_TOKEN}x`,
      OPERATOR_TOKEN.toUpperCase(),
    ];
    for (const [method, path, body] of endpoints("OPERATOR", "METRICS")) {
      await nobody.refused("OPERATOR_REQUIRED", method, path, body);
      await nobody.refused("OPERATOR_REQUIRED", method, path, body, sign(key, method, path, body));
      for (const token of wrong) await nobody.refused("OPERATOR_REQUIRED", method, path, body, bearer(token));
    }
  }));

test("public endpoints answer with any credentials or none", async () => {
  for (const [method, path, body] of endpoints("PUBLIC"))
    for (const headers of [{}, bearer("wrong"), sign(revoked, method, path, body)]) {
      const { status, text } = await nobody.request(method, path, body, headers);
      assert.ok(![401, 403].includes(status) && status < 500, `${method} ${path}: ${text}`);
    }
});

test("another account's ids are unknown, and none of its data is shown", async () => {
  const { alice } = target;
  const holder = await openKey(server, mallory, ALL);
  await leavesUntouched(target, async () => {
    for (const [name, { access, foreign, body }] of Object.entries(ENDPOINTS)) {
      const method = name.replace(/ .*/, "");
      const callers: Api[] = access === "SESSION" ? [mallory] : [mallory, holder];
      for (const caller of callers)
        if (foreign !== undefined) {
          await caller.refused(foreign, method, pathOf(name), body);
          if (name.endsWith("/orders/:id")) await caller.refused(foreign, method, "/orders/client:resting", body);
        } else if (access === "READ") {
          const { text, status } = await caller.request(method, pathOf(name), body);
          assert.equal(status, 200, text);
          for (const secret of [target.orderId, alice.address, BOOKED, "resting"])
            assert.ok(!text.includes(`"${secret}"`), `${name} shows ${secret}: ${text}`);
        }
    }
    assert.deepEqual(await mallory.cancelAll(), { canceled: 0, data: [] });
    await mallory.refused("NO_POSITION", "POST", "/positions/BTC-PERP/close");
  });
});

test("a signature of a change is valid once, at every endpoint", async () => {
  const holder = await openKey(server, await openTrader(server), ALL);
  for (const [method, path, body, access] of endpoints("TRADE", "WITHDRAW")) {
    const headers = sign(holder.key, method, path, body);
    const first = await nobody.request(method, path, body, headers);
    assert.ok(![401, 403].includes(first.status), `${access} ${method} ${path}: ${first.text}`);
    await nobody.refused("SIGNATURE_REPLAYED", method, path, body, headers);
  }
});

test("a signature authenticates one socket", async () => {
  const clients = await Promise.all([1, 2].map(() => SocketClient.open(server.wsUrl)));
  const credentials = socketCredentials(key);
  const replies: SocketMessage[] = [];
  for (const client of clients) replies.push(await client.request("auth", credentials));
  assert.deepEqual([replies[0]?.op, replies[1]?.code], ["authenticated", "SIGNATURE_REPLAYED"]);
  await Promise.all(clients.map((client) => client.close()));
});

// ---- WebSocket -------------------------------------------------------------------------------------------------------

function socketCredentials(by: CreatedApiKey, at = Date.now()) {
  const { "x-signature": signature } = signed(by, "GET", "/ws", "", at);
  return { apiKey: by.apiKey, timestamp: at, signature };
}

/** Everything that needs an account, each refused with this code. */
async function refusesAll(
  client: SocketClient,
  code: ErrorCode,
  what: { channels: boolean; ops: boolean },
): Promise<void> {
  const refused = (reply: SocketMessage, of: string) =>
    assert.deepEqual([reply.op, reply.code], ["error", code], `${of}: ${JSON.stringify(reply)}`);
  if (what.channels)
    for (const channel of ACCOUNT_CHANNELS)
      refused(await client.request("subscribe", { channels: [{ channel }] }), channel);
  if (what.ops)
    for (const [op, params] of Object.entries(OPS)) {
      const text = JSON.stringify(params).replace(":order", target.orderId);
      refused(await client.request(op, { params: JSON.parse(text) }), op);
    }
}

test("a socket without valid authentication can neither read nor trade for an account", () =>
  leavesUntouched(target, async () => {
    // Each is signed when it is its turn: a signature is good for some seconds only.
    const wrong: [ErrorCode, () => object][] = [
      ...["A".repeat(43), loggedOut, outlived, OPERATOR_TOKEN, "", "__proto__"].map(
        (token): [ErrorCode, () => object] => ["INVALID_TOKEN", () => ({ token })],
      ),
      ["INVALID_KEY_OR_SIGNATURE", () => socketCredentials({ apiKey: "0".repeat(32), secret: key.secret })],
      ["INVALID_KEY_OR_SIGNATURE", () => socketCredentials({ apiKey: key.apiKey, secret: only.READ.secret })],
      ["INVALID_KEY_OR_SIGNATURE", () => socketCredentials(revoked)],
      ["KEY_EXPIRED", () => socketCredentials(expired)],
      ["IP_NOT_ALLOWED", () => socketCredentials(elsewhere)],
      ["TIMESTAMP_OUT_OF_WINDOW", () => socketCredentials(key, Date.now() - 3_600_000)],
      ["TIMESTAMP_OUT_OF_WINDOW", () => socketCredentials(key, Date.now() + 3_600_000)],
    ];
    const client = await SocketClient.open(server.wsUrl);
    await refusesAll(client, "UNAUTHENTICATED", { channels: true, ops: true });
    for (const [code, signNow] of wrong) {
      const credentials = signNow();
      const reply = await client.request("auth", credentials);
      assert.deepEqual([reply.op, reply.code], ["error", code], JSON.stringify(credentials));
      await refusesAll(client, "UNAUTHENTICATED", { channels: true, ops: true });
    }
    for (const [channel, fields] of Object.entries(PUBLIC_CHANNELS))
      await client.subscribe({ channel, ...fields } as never);
    await client.close();
  }));

test("a socket is bound to the permissions of its key", () =>
  leavesUntouched(target, async () => {
    const denied = { READ: { channels: false, ops: true }, TRADE: { channels: true, ops: false } };
    for (const permission of ["READ", "TRADE"] as const) {
      const client = await SocketClient.open(server.wsUrl);
      assert.equal((await client.request("auth", socketCredentials(only[permission]))).op, "authenticated");
      await refusesAll(client, "PERMISSION_DENIED", denied[permission]);
      await client.close();
    }
    const client = await SocketClient.open(server.wsUrl);
    const asked = { ...socketCredentials(only.READ), cancelOnDisconnect: true };
    assert.equal((await client.request("auth", asked)).code, "PERMISSION_DENIED");
    await refusesAll(client, "UNAUTHENTICATED", { channels: true, ops: true });
    await client.close();
  }));

test("a socket of another account can neither see nor cancel orders of this one", () =>
  leavesUntouched(target, async () => {
    const client = await SocketClient.open(server.wsUrl);
    await client.request("auth", { token: mallory.token });
    for (const params of [{ orderId: target.orderId }, { clientOrderId: "resting" }])
      assert.equal((await client.request("order.cancel", { params })).code, "ORDER_NOT_FOUND");
    for (const channel of ACCOUNT_CHANNELS) await client.subscribe({ channel } as never);
    await client.request("ping");
    const text = JSON.stringify(client.messages);
    for (const secret of [target.orderId, "resting"]) assert.ok(!text.includes(`"${secret}"`), text);
    assert.equal((await client.request("auth", { token: target.alice.token })).code, "ALREADY_AUTHENTICATED");
    await client.close();
  }));

test("revoking a key or ending a session closes its sockets", async () => {
  const { alice } = target;
  const brief = await openKey(server, alice, ALL);
  const session = await login(server.url, alice.privateKey);
  const [byKey, bySession, other] = await Promise.all([1, 2, 3].map(() => SocketClient.open(server.wsUrl)));
  assert.ok(byKey && bySession && other);
  await byKey.request("auth", socketCredentials(brief.key));
  await bySession.request("auth", { token: session.token });
  await other.request("auth", { token: alice.token });
  await alice.call(200, "DELETE", `/auth/keys/${brief.key.apiKey}`);
  assert.deepEqual(await byKey.closed, { code: 4401, reason: "KEY_REVOKED" });
  await new Api(server.url, session.token).call(200, "POST", "/auth/logout");
  assert.deepEqual(await bySession.closed, { code: 4401, reason: "SESSION_CLOSED" });
  assert.equal((await other.request("ping")).op, "pong");
  await other.close();
  const holder = new KeyHolder(server.url, brief.key);
  await holder.refused("INVALID_KEY_OR_SIGNATURE", "GET", "/orders");
});
