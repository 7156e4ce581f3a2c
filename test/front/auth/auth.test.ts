import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { LEDGER } from "../../../src/core/base/enums.ts";
import type { Describe } from "../../../src/core/protocol/commands.ts";
import {
  AccountOpened,
  KeyCreated,
  KeyRevoked,
  SessionClosed,
  SessionOpened,
} from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { KeyRecord } from "../../../src/core/protocol/payloads.ts";
import { LedgerDescription } from "../../../src/core/protocol/replies.ts";
import { Auth } from "../../../src/front/auth/auth.ts";
import { newApiKey, newSecret, SignatureCheck } from "../../../src/front/auth/keys.ts";
import { type OperatorAccess, Operators, type OperatorTokens } from "../../../src/front/auth/operators.ts";
import { SeenSignatures } from "../../../src/front/auth/seen-signatures.ts";
import { isListed, parseAddressList } from "../../../src/front/common/address-list.ts";
import { ApiError } from "../../../src/front/common/errors.ts";
import { Credentials } from "../../../src/front/exchange/credentials.ts";
import type { Call } from "../../../src/front/http/call.ts";
import { Vault } from "../../../src/store/files/vault.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { hashToken, newToken } from "../../../src/wire/token.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { fakeCall } from "../support/fake-call.ts";
import { make, ScriptedEngine } from "../support/scripted-engine.ts";

fc.configureGlobal({ seed: takeSeed("auth.test") });

const ACCOUNT = 16;
const vault = new Vault(Buffer.alloc(32, 7));

interface Fixture {
  engine: ScriptedEngine;
  credentials: Credentials;
  auth: Auth;
  token: string;
}

/** A ledger with one session, and credentials that follow it. */
async function start(tokens: Partial<OperatorTokens> = {}): Promise<Fixture> {
  const operators = new Operators({ operatorToken: "", operators: {}, metricsToken: "", ...tokens });
  const engine = new ScriptedEngine();
  const opening = Credentials.open(engine);
  const token = newToken();
  const session = { tokenHash: hashToken(token), accountId: ACCOUNT, expiresAt: Date.now() + 60_000 };
  // The ledger's state comes in pages; the session is on the second.
  const none = { gate: 0, deficitQuanta: 0, accounts: [], sessions: [], keys: [] };
  engine.answer(() => [make(LedgerDescription, { state: { ...none, next: 1 } })]);
  await Promise.resolve();
  engine.answer(({ command }) => {
    assert.equal((command as MessageOf<typeof Describe>).from, 1);
    return [
      make(LedgerDescription, { state: { ...none, next: null, accounts: [[ACCOUNT, "0xa1"]], sessions: [session] } }),
    ];
  });
  const credentials = await opening;
  return { engine, credentials, auth: new Auth({ credentials, vault, operators }), token };
}

const bearer = (token: string): Call => fakeCall("GET", "/v1/orders", { authorization: `Bearer ${token}` }).call;

function assertRefused(read: () => unknown, code: ErrorCode): ApiError {
  try {
    read();
  } catch (thrown) {
    assert.ok(thrown instanceof ApiError, String(thrown));
    assert.equal(thrown.code, code);
    return thrown;
  }
  throw new Error(`accepted where ${code} was due`);
}

test("a session lasts from its event to its end, and is not found in a cache afterwards", async () => {
  const { engine, auth, token } = await start();
  assert.equal(auth.principal(bearer(token)).accountId, ACCOUNT);
  const second = newToken();
  assertRefused(() => auth.principal(bearer(second)), "INVALID_TOKEN");
  const tokenHash = hashToken(second);
  engine.transaction(LEDGER, make(SessionOpened, { accountId: 17, tokenHash, expiresAt: Date.now() + 60_000 }));
  assert.equal(auth.principal(bearer(second)).accountId, 17);
  assert.equal(auth.session(bearer(second)).accountId, 17);
  assert.deepEqual(auth.principal(bearer(second)).permissions, ["READ", "TRADE", "WITHDRAW"]);
  engine.transaction(LEDGER, make(SessionClosed, { accountId: 17, tokenHash }));
  assertRefused(() => auth.principal(bearer(second)), "INVALID_TOKEN");
  assert.equal(auth.principal(bearer(token)).accountId, ACCOUNT);
});

test("wallets with an account are known from the ledger's pages and its events", async () => {
  const { engine, credentials } = await start();
  assert.equal(credentials.hasAccount("0xa1"), true);
  assert.equal(credentials.hasAccount("0xb2"), false);
  engine.transaction(LEDGER, make(AccountOpened, { accountId: 17, address: "0xb2" }));
  assert.equal(credentials.hasAccount("0xb2"), true);
});

test("an expired session is refused before the ledger has closed it", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { engine, auth } = await start();
  const token = newToken();
  engine.transaction(
    LEDGER,
    make(SessionOpened, { accountId: 17, tokenHash: hashToken(token), expiresAt: Date.now() + 1 }),
  );
  assert.equal(auth.principal(bearer(token)).accountId, 17);
  t.mock.timers.tick(1);
  assertRefused(() => auth.principal(bearer(token)), "INVALID_TOKEN");
});

test("the sessions of an account are the open ones that have not expired, the longest first", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { engine, credentials, token } = await start();
  const own = () => credentials.sessionsOf(ACCOUNT, Date.now()).map(({ credential }) => credential);
  const open = (accountId: number, tokenHash: string, inMs: number) =>
    engine.transaction(LEDGER, make(SessionOpened, { accountId, tokenHash, expiresAt: Date.now() + inMs }));
  open(ACCOUNT, "brief", 1);
  open(ACCOUNT, "long", 90_000);
  open(17, "bob's", 90_000);
  assert.deepEqual(own(), ["long", hashToken(token), "brief"]);
  t.mock.timers.tick(1);
  assert.deepEqual(own(), ["long", hashToken(token)]);
  for (const tokenHash of ["long", hashToken(token)])
    engine.transaction(LEDGER, make(SessionClosed, { accountId: ACCOUNT, tokenHash }));
  assert.deepEqual(own(), []);
});

test("a header without a token is refused", async () => {
  const { auth, token } = await start();
  assertRefused(() => auth.principal(fakeCall("GET", "/v1/orders").call), "UNAUTHENTICATED");
  const headers = [
    token,
    "Bearer",
    `Bearer  ${token}`,
    `Bearer ${token} `,
    `Basic ${token}`,
    `Bearer ${token.slice(1)}`,
    "Bearer __proto__",
  ];
  for (const authorization of headers)
    assertRefused(() => auth.principal(fakeCall("GET", "/v1/orders", { authorization }).call), "INVALID_TOKEN");
  assert.equal(auth.principal(fakeCall("GET", "/", { authorization: `bearer ${token}` }).call).accountId, ACCOUNT);
});

test("the error for a malformed Authorization header shows the right form", async () => {
  const { auth, token } = await start();
  const send = (authorization: string) => () => auth.principal(fakeCall("GET", "/v1/orders", { authorization }).call);
  for (const authorization of ["", token, `Basic ${token}`])
    assert.throws(send(authorization), ({ message }: ApiError) => message.includes("Authorization: Bearer TOKEN"));
  assert.throws(send("Bearer mallory"), { message: /unknown, expired or logged out/ });
});

interface TestKey {
  apiKey: string;
  secret: string;
}

function createKey(engine: ScriptedEngine, changes: Partial<KeyRecord> = {}): TestKey {
  const [apiKey, secret] = [newApiKey(), newSecret()];
  const record: KeyRecord = {
    label: "bot",
    permissions: ["READ", "TRADE"],
    allowedIps: [],
    sealedSecret: vault.seal(secret, apiKey),
    expiresAt: 0,
    createdAt: Date.now(),
    ...changes,
  };
  engine.transaction(LEDGER, make(KeyCreated, { accountId: ACCOUNT, apiKey, record }));
  return { apiKey, secret };
}

interface SignedCall {
  method?: string;
  target?: string;
  body?: string;
  timestamp?: number | string;
  recvWindow?: string;
  signature?: string;
  remoteAddress?: string;
}

function signed({ apiKey, secret }: TestKey, options: SignedCall = {}): Call {
  const { method = "GET", target = "/v1/orders?symbol=BTC-PERP", body = "", recvWindow = "" } = options;
  const timestamp = String(options.timestamp ?? Date.now());
  const text = timestamp + method + target + body;
  const signature = options.signature ?? createHmac("sha256", secret).update(text).digest("hex");
  const { call, response } = fakeCall(method, target, { apiKey, timestamp, signature, recvWindow, body });
  if (options.remoteAddress !== undefined) response.remoteAddress = options.remoteAddress;
  return call;
}

test("a signature covers timestamp, method, path, query and body, byte for byte", async () => {
  const { engine, auth } = await start();
  const key = createKey(engine);
  const body = '{"symbol":"BTC-PERP","label":"\u00e9"}';
  const order = { method: "POST", target: "/v1/orders", body };
  const principal = auth.principal(signed(key, order));
  assert.deepEqual([principal.accountId, principal.permissions], [ACCOUNT, ["READ", "TRADE"]]);
  assert.equal(auth.principal(signed(key)).accountId, ACCOUNT);

  const changes: Partial<Pick<Call, "method" | "target" | "bytes" | "timestamp">>[] = [
    { method: "PUT" },
    { target: "/v1/order" },
    { target: "/v1/orders?a=1" },
    { target: "/v1/orders?" },
    { bytes: new TextEncoder().encode(`${body} `) },
    { timestamp: String(Date.now() - 1) },
  ];
  for (const change of changes)
    assertRefused(() => auth.principal(Object.assign(signed(key, order), change)), "INVALID_KEY_OR_SIGNATURE");
});

test("an unknown key and a wrong signature get the same error, for any signature", async () => {
  const { engine, auth } = await start();
  const key = createKey(engine);
  const stranger = { apiKey: newApiKey(), secret: key.secret };
  const unknown = assertRefused(() => auth.principal(signed(stranger)), "INVALID_KEY_OR_SIGNATURE");
  for (const signature of ["0".repeat(64), "f", "zz".repeat(32), "0".repeat(63), "0".repeat(65), "\u0660".repeat(64)]) {
    const wrong = assertRefused(() => auth.principal(signed(key, { signature })), "INVALID_KEY_OR_SIGNATURE");
    assert.deepEqual({ ...wrong }, { ...unknown });
  }
  assert.equal(auth.principal(signed(key)).accountId, ACCOUNT);
});

test("the error for a timestamp outside the window has the server's time and the skew", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { engine, auth } = await start();
  const key = createKey(engine);
  const at = (skewMs: number, recvWindow = "") =>
    auth.principal(signed(key, { timestamp: Date.now() + skewMs, recvWindow }));
  at(-5_000);
  at(1_000);
  at(-60_000, "60000");
  at(-1, "1");
  for (const [skewMs, recvWindow] of [
    [-5_001, ""],
    [1_001, ""],
    [1_001, "60000"],
    [-60_001, "60000"],
    [-501, "500"],
  ] as const) {
    const { details } = assertRefused(() => at(skewMs, recvWindow), "TIMESTAMP_OUT_OF_WINDOW");
    assert.deepEqual(details, { serverTime: Date.now(), skewMs, recvWindowMs: Number(recvWindow || 5000) });
  }
  for (const recvWindow of ["0", "60001", "-1", "1e3", "x", "999999"])
    assertRefused(() => at(0, recvWindow), "BAD_VALUE");
  for (const timestamp of ["now", "1.5", "-1", "1e12"])
    assertRefused(() => auth.principal(signed(key, { timestamp })), "BAD_VALUE");
  assertRefused(() => auth.principal(Object.assign(signed(key), { signature: "" })), "UNAUTHENTICATED");
  assertRefused(() => auth.principal(Object.assign(signed(key), { timestamp: "" })), "UNAUTHENTICATED");
});

test("a signed change works once; a signed read may be repeated", async () => {
  const { engine, auth } = await start();
  const key = createKey(engine);
  const timestamp = Date.now();
  const order = { method: "POST", target: "/v1/orders", body: "{}", timestamp };
  auth.principal(signed(key, order));
  assertRefused(() => auth.principal(signed(key, order)), "SIGNATURE_REPLAYED");
  // The window is not signed, so a longer one must not help.
  assertRefused(() => auth.principal(signed(key, { ...order, recvWindow: "60000" })), "SIGNATURE_REPLAYED");
  const upper = signed(key, order);
  assertRefused(
    () => auth.principal(Object.assign(upper, { signature: upper.signature.toUpperCase() })),
    "SIGNATURE_REPLAYED",
  );
  auth.principal(signed(key, { ...order, timestamp: timestamp + 1 }));
  for (const method of ["GET", "HEAD"])
    for (let times = 0; times < 2; times++) auth.principal(signed(key, { method, timestamp }));
});

test("a signature is checked when its request is complete, not when it began", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { engine, auth } = await start();
  const key = createKey(engine);
  const order = { method: "POST", target: "/v1/orders", body: "{}", timestamp: Date.now(), recvWindow: "60000" };
  auth.principal(signed(key, order));
  t.mock.timers.tick(59_000);
  // The head has arrived, the body has not.
  const again = signed(key, order);
  t.mock.timers.tick(2_000);
  // Meanwhile other signatures come, and old ones are forgotten.
  for (const target of ["/v1/a", "/v1/b"]) auth.principal(signed(key, { method: "POST", target }));
  assertRefused(() => auth.principal(again), "TIMESTAMP_OUT_OF_WINDOW");
});

test("a change that was signed before the server started is refused", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { engine, auth } = await start();
  const key = createKey(engine);
  const timestamp = Date.now() - 2_000;
  assertRefused(
    () => auth.principal(signed(key, { method: "DELETE", target: "/v1/orders", timestamp })),
    "TIMESTAMP_OUT_OF_WINDOW",
  );
  auth.principal(signed(key, { timestamp }));
});

test("keys expire, can be revoked, and can be bound to addresses", async () => {
  const { engine, auth, credentials } = await start();
  const expired = createKey(engine, { expiresAt: Date.now() - 1 });
  assertRefused(() => auth.principal(signed(expired)), "KEY_EXPIRED");
  assertRefused(() => auth.principal(signed(expired, { signature: "0".repeat(64) })), "INVALID_KEY_OR_SIGNATURE");
  const bound = createKey(engine, { allowedIps: ["10.0.0.0/8", "2001:db8::1"] });
  for (const remoteAddress of [
    "10.1.2.3",
    "0000:0000:0000:0000:0000:ffff:0a01:0203",
    "2001:0db8:0000:0000:0000:0000:0000:0001",
  ])
    assert.equal(auth.principal(signed(bound, { remoteAddress })).accountId, ACCOUNT, remoteAddress);
  for (const remoteAddress of ["11.1.2.3", "127.0.0.1", "2001:0db8:0000:0000:0000:0000:0000:0002"])
    assertRefused(() => auth.principal(signed(bound, { remoteAddress })), "IP_NOT_ALLOWED");
  assert.equal(credentials.keysOf(ACCOUNT).length, 2);
  assert.deepEqual(credentials.keysOf(ACCOUNT + 1), []);
  engine.transaction(LEDGER, make(KeyRevoked, { accountId: ACCOUNT, apiKey: bound.apiKey }));
  assertRefused(() => auth.principal(signed(bound, { remoteAddress: "10.1.2.3" })), "INVALID_KEY_OR_SIGNATURE");
  assert.deepEqual(
    credentials.keysOf(ACCOUNT).map((key) => key.credential),
    [expired.apiKey],
  );
});

test("a key is not accepted where a session is required", async () => {
  const { engine, auth, token } = await start();
  const call = Object.assign(signed(createKey(engine)), { authorization: `Bearer ${token}` });
  assertRefused(() => auth.session(call), "SESSION_REQUIRED");
});

test("the operator's token is accepted for operator requests only, and an empty one never", async () => {
  const { auth, token } = await start({ operatorToken: "open sesame" });
  const knock = (authorization: string) =>
    auth.operator(fakeCall("GET", "/v1/operator/audit", { authorization }).call, "OPERATOR");
  assert.equal(knock("Bearer open sesame"), "operator");
  for (const wrong of ["", "Bearer ", "Bearer open", "open sesame", `Bearer ${token}`])
    assertRefused(() => knock(wrong), "OPERATOR_REQUIRED");
  assertRefused(() => auth.principal(bearer("open sesame")), "INVALID_TOKEN");
  const { auth: closed } = await start();
  const knockThere = () => closed.operator(fakeCall("GET", "/", { authorization: "Bearer " }).call, "OPERATOR");
  assertRefused(knockThere, "OPERATOR_REQUIRED");
  assert.throws(knockThere, { message: /started without an operatorToken/ });
});

test("operators are known by name, and the metrics token opens the metrics only", async () => {
  const { auth } = await start({ operators: { alice: "token a", bob: "token b" }, metricsToken: "token m" });
  const knock = (token: string, access: OperatorAccess) =>
    auth.operator(fakeCall("GET", "/", { authorization: `Bearer ${token}` }).call, access);
  for (const access of ["OPERATOR", "METRICS"] as const) {
    assert.equal(knock("token a", access), "alice");
    assert.equal(knock("token b", access), "bob");
    for (const wrong of ["", "token", "token c"]) assertRefused(() => knock(wrong, access), "OPERATOR_REQUIRED");
  }
  assert.equal(knock("token m", "METRICS"), "metrics");
  assertRefused(() => knock("token m", "OPERATOR"), "OPERATOR_REQUIRED");
});

test("a WebSocket authenticates by token or signature", async () => {
  const { engine, auth, token } = await start();
  const { apiKey, secret } = createKey(engine, { allowedIps: ["10.0.0.1"] });
  const timestamp = Date.now();
  const signature = createHmac("sha256", secret).update(`${timestamp}GET/v1/ws`).digest("hex");
  const identity = auth.socket({ apiKey, timestamp, signature }, "10.0.0.1");
  assert.deepEqual([identity.accountId, identity.credential], [ACCOUNT, apiKey]);
  assert.equal(auth.socket({ token }, "10.0.0.2").credential, hashToken(token));
  assertRefused(() => auth.socket({ apiKey, timestamp, signature }, "10.0.0.2"), "IP_NOT_ALLOWED");
  const other = { apiKey, timestamp: timestamp + 1, signature };
  assertRefused(() => auth.socket(other, "10.0.0.1"), "INVALID_KEY_OR_SIGNATURE");
  assertRefused(() => auth.socket({ token: "x" }, "10.0.0.1"), "INVALID_TOKEN");
});

test("sealed secrets open only with their own key and API key, and not when changed", () => {
  const sealed = vault.seal("secret", "key");
  assert.equal(vault.open(sealed, "key"), "secret");
  assert.notEqual(vault.seal("secret", "key"), sealed);
  assert.doesNotMatch(Buffer.from(sealed, "base64url").toString("latin1"), /secret/);
  const changed = Buffer.from(sealed, "base64url");
  changed[14] = (changed[14] ?? 0) ^ 1;
  assert.throws(() => vault.open(sealed, "other"));
  assert.throws(() => new Vault(Buffer.alloc(32, 8)).open(sealed, "key"));
  assert.throws(() => vault.open(changed.toString("base64url"), "key"));
  assert.throws(() => new Vault(Buffer.alloc(16)));
});

test("signatures are remembered while they are fresh, and forgotten later", () => {
  const seen = new SeenSignatures(60_000);
  const name = (i: number) => (i + 16).toString(16).padEnd(64, "0");
  const first = 1_790_000_000_000;
  // One signature a second is received at once, and is sent again while it is fresh.
  for (let i = 0; i < 600; i++) {
    const now = first + i * 1_000;
    assert.equal(seen.add(name(i), now, now), "NEW");
    for (const age of [1, 30, 59, 60])
      if (age <= i) assert.equal(seen.add(name(i - age), now - age * 1_000, now), "SEEN");
    assert.ok(seen.size <= 60 + 2 * 16 + 1, `${seen.size} are remembered after ${i} s`);
  }
});

test("no more signatures are remembered than there is room for, until the oldest are forgotten", () => {
  const seen = new SeenSignatures(1000, 3);
  const add = (n: number, now: number) => seen.add(`${n}`.repeat(64), now, now);
  assert.deepEqual(
    [add(1, 0), add(2, 0), add(3, 500), add(4, 500), add(3, 500)],
    ["NEW", "NEW", "NEW", "FULL", "SEEN"],
  );
  assert.equal(add(4, 1001), "NEW");
  assert.equal(seen.size, 2);
});

test("a signature that was removed may be added once more, and takes no more room", () => {
  const seen = new SeenSignatures(1000, 3);
  const name = "a".repeat(64);
  for (let i = 0; i < 10; i++) {
    assert.equal(seen.add(name, 0, 0), "NEW");
    assert.equal(seen.add(name, 0, 0), "SEEN");
    seen.remove(name);
    seen.remove("b".repeat(64));
  }
  assert.equal(seen.size, 1);
});

test("addresses and subnets are parsed strictly", () => {
  for (const bad of [
    "",
    "10",
    "10.0.0.1/33",
    "10.0.0.1/",
    "10.0.0.1/8/8",
    "10.0.0.1/-1",
    "::1/129",
    "localhost",
    "10.0.0.1/8 ",
  ])
    assert.equal(parseAddressList(["10.0.0.1", bad]), null, bad);
  const list = parseAddressList(["10.0.0.0/8", "::1"]);
  assert.ok(list !== null && isListed(list, "10.255.0.1") && isListed(list, "::1") && !isListed(list, "192.0.2.1"));
});

test("signatures match those of node:crypto for any text and secret", () => {
  const text = fc.oneof(fc.string({ unit: "binary", maxLength: 300 }), fc.string({ minLength: 5000, maxLength: 9000 }));
  const secrets = fc.string({ maxLength: 64 }).filter((secret) => Buffer.byteLength(secret) <= 64);
  fc.assert(
    fc.property(secrets, text, text, (secret, signed, other) => {
      const check = new SignatureCheck(secret);
      const signature = createHmac("sha256", secret).update(signed).digest("hex");
      assert.equal(check.matches(signed, signature), true);
      assert.equal(check.matches(signed, signature.toUpperCase()), true);
      assert.equal(check.matches(other, signature), Buffer.from(other).equals(Buffer.from(signed)));
      const first = signature.startsWith("0") ? "1" : "0";
      assert.equal(check.matches(signed, first + signature.slice(1)), false);
    }),
  );
  const check = new SignatureCheck("S");
  for (const malformed of ["", "0".repeat(63), "0".repeat(65), "g".repeat(64)])
    assert.equal(check.matches("", malformed), false, malformed);
  assert.throws(() => new SignatureCheck("S".repeat(65)), /hashed first/);
});
