import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import type { ApiKeyList, Challenge, CreatedApiKey, OpenSessionList, Session } from "../../../src/client/types.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { Api } from "../support/api.ts";
import { KeyHolder, signed } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { inTime, until } from "../support/wait.ts";
import { login, newPrivateKey, walletOf } from "../support/wallet.ts";

let server: TestServer;
let nobody: Api;
let alice: Trader;

const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.01" };
const WITHDRAWAL = {
  asset: "USDC",
  amount: "1",
  address: "0x0000000000000000000000000000000000000001",
};

before(async () => {
  server = await startServer();
  nobody = new Api(server.url);
  await new Operator(server).setIndex("BTC-PERP", "65000");
  alice = await openTrader(server);
});

after(() => server.dispose());

const createKey = (permissions: string[], more: object = {}) =>
  alice.call<CreatedApiKey>(201, "POST", "/auth/keys", { label: "test", permissions, ...more });

// ---- wallets -------------------------------------------------------------------------------------------------------

test("a challenge is an EIP-4361 message of this exchange; the same wallet is the same account", async () => {
  const wallet = walletOf(newPrivateKey());
  const challenge = await nobody.call<Challenge>(200, "POST", "/auth/challenge", {
    address: wallet.address,
    chainId: 137,
  });
  const { host } = new URL(server.url);
  assert.ok(
    challenge.message.startsWith(`${host} wants you to sign in with your Ethereum account:\n${wallet.address}`),
  );
  assert.match(challenge.message, /\nChain ID: 137\n/);
  assert.ok(challenge.message.includes(`\nNonce: ${challenge.nonce}\n`));
  assert.ok(challenge.expiresAt > Date.now());
  const signature = await wallet.signMessage({ message: challenge.message });
  const body = { message: challenge.message, signature };
  const session = await nobody.call<Session>(200, "POST", "/auth/login", body);
  assert.equal(session.address, wallet.address);
  assert.ok(session.expiresAt > Date.now());
  const mine = new Api(server.url, session.token);
  await mine.get("/account/balance");

  // The challenge is spent.
  await nobody.refused("CHALLENGE_NOT_FOUND", "POST", "/auth/login", body);
});

test("a second login of a wallet opens the same account, and logout ends one session", async () => {
  const first = await login(server.url, alice.privateKey);
  assert.equal(first.accountId, alice.accountId);
  assert.notEqual(first.token, alice.token);
  const second = new Api(server.url, first.token);
  assert.deepEqual(await second.call(200, "POST", "/auth/logout"), { accountId: alice.accountId, loggedOut: true });
  await second.refused("INVALID_TOKEN", "GET", "/account/balance");
  await second.refused("INVALID_TOKEN", "POST", "/auth/logout");
  await alice.get("/account/balance");
});

test("a session can end all sessions and sockets of its account, but not keys or other accounts", async () => {
  const carol = await openTrader(server, "0");
  const [here, lost] = [new Api(server.url, carol.token), await login(server.url, carol.privateKey)];
  const socket = await SocketClient.openAs(server.wsUrl, lost.token);
  const key = await here.call<CreatedApiKey>(201, "POST", "/auth/keys", { label: "bot", permissions: ["READ"] });
  assert.deepEqual(await here.call(200, "DELETE", "/auth/sessions"), { accountId: carol.accountId, ended: 2 });
  assert.deepEqual(await socket.closed, { code: 4401, reason: "SESSION_CLOSED" });
  for (const token of [carol.token, lost.token])
    await new Api(server.url, token).refused("INVALID_TOKEN", "GET", "/account/balance");
  assert.equal((await new KeyHolder(server.url, key).request("GET", "/account/balance")).status, 200);
  await alice.get("/account/balance");
  assert.equal((await login(server.url, carol.privateKey)).accountId, carol.accountId);
});

test("an account lists its sessions and ends one by its id", async () => {
  const privateKey = newPrivateKey();
  const [mine, lost] = [await login(server.url, privateKey), await login(server.url, privateKey)];
  const here = new Api(server.url, mine.token);
  const socket = await SocketClient.openAs(server.wsUrl, lost.token);
  const shown = ({ token, expiresAt }: Session) => ({
    sessionId: createHash("sha256").update(token).digest("hex").slice(0, 16),
    expiresAt,
    current: token === mine.token,
  });
  const { data } = await here.get<OpenSessionList>("/auth/sessions");
  assert.deepEqual(new Set(data), new Set([shown(mine), shown(lost)]));
  const path = `/auth/sessions/${shown(lost).sessionId}`;
  await alice.refused("SESSION_NOT_FOUND", "DELETE", path);
  assert.deepEqual(await here.call(200, "DELETE", path), { accountId: mine.accountId, ended: 1 });
  assert.deepEqual(await socket.closed, { code: 4401, reason: "SESSION_CLOSED" });
  await new Api(server.url, lost.token).refused("INVALID_TOKEN", "GET", "/auth/sessions");
  await here.refused("SESSION_NOT_FOUND", "DELETE", path);
  assert.deepEqual((await here.get<OpenSessionList>("/auth/sessions")).data, [shown(mine)]);
});

test("a signature of another wallet is refused, and the error names both addresses", async () => {
  const [victim, thief] = [walletOf(newPrivateKey()), walletOf(newPrivateKey())];
  const { message } = await nobody.call<Challenge>(200, "POST", "/auth/challenge", { address: victim.address });
  const forged = { message, signature: await thief.signMessage({ message }) };
  const error = await nobody.refused("BAD_SIGNATURE", "POST", "/auth/login", forged);
  assert.deepEqual(error.details, { recovered: thief.address, expected: victim.address });
  // A stranger's try does not spend the challenge.
  const right = { message, signature: await victim.signMessage({ message }) };
  await nobody.call(200, "POST", "/auth/login", right);
  await nobody.refused("CHALLENGE_NOT_FOUND", "POST", "/auth/login", right);
});

test("a message that differs from the issued challenge is refused", async () => {
  const wallet = walletOf(newPrivateKey());
  const ask = () => nobody.call<Challenge>(200, "POST", "/auth/challenge", { address: wallet.address });
  const tryMessage = async (code: ErrorCode, change: (message: string) => string) => {
    const message = change((await ask()).message);
    const signature = await wallet.signMessage({ message });
    await nobody.refused(code, "POST", "/auth/login", { message, signature });
  };
  const { host } = new URL(server.url);
  await tryMessage("CHALLENGE_MISMATCH", (message) => message.replace(host, "evil.example"));
  await tryMessage("CHALLENGE_MISMATCH", (message) => message.replace("Chain ID: 1", "Chain ID: 10"));
  await tryMessage("CHALLENGE_MISMATCH", (message) =>
    message.replace(wallet.address, walletOf(newPrivateKey()).address),
  );
  await tryMessage("CHALLENGE_NOT_FOUND", (message) => message.replace(/Nonce: .*/, `Nonce: ${"0".repeat(32)}`));
  await tryMessage("CHALLENGE_NOT_FOUND", () => "let me in");
});

test("malformed signatures are refused without a server error", async () => {
  const wallet = walletOf(newPrivateKey());
  const { message } = await nobody.call<Challenge>(200, "POST", "/auth/challenge", { address: wallet.address });
  for (const signature of ["", "0x", "0x12", `0x${"zz".repeat(65)}`, "ab".repeat(65), `0x${"ab".repeat(2049)}`])
    await nobody.refused("BAD_VALUE", "POST", "/auth/login", { message, signature });
  // It may be that of a contract wallet.
  const long = { message, signature: `0x${"ab".repeat(66)}` };
  await nobody.refused("CONTRACT_WALLET_NOT_SUPPORTED", "POST", "/auth/login", long);
  // The right length, but no point of the curve, or the twin with the high s.
  const tryBytes = async (change: (signature: string) => string) => {
    const fresh = await nobody.call<Challenge>(200, "POST", "/auth/challenge", { address: wallet.address });
    const signature = change(await wallet.signMessage({ message: fresh.message }));
    await nobody.refused("BAD_SIGNATURE", "POST", "/auth/login", { message: fresh.message, signature });
  };
  await tryBytes(() => `0x${"00".repeat(65)}`);
  await tryBytes(() => `0x${"ff".repeat(65)}`);
  await tryBytes((signature) => `${signature.slice(0, -2)}63`);
  await tryBytes((signature) => {
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const twin = order - BigInt(`0x${signature.slice(66, 130)}`);
    const v = signature.endsWith("1b") ? "1c" : "1b";
    return `${signature.slice(0, 66)}${twin.toString(16).padStart(64, "0")}${v}`;
  });
});

test("invalid addresses are refused", async () => {
  const challenge = (address: unknown) => ({ address });
  for (const address of [
    "",
    "0x12",
    "8ba1f109551bD432803012645Ac136ddd64DBA72",
    "0x8ba1f109551bD432803012645Ac136ddd64DBA7g",
  ])
    await nobody.refused("BAD_VALUE", "POST", "/auth/challenge", challenge(address));
  await nobody.refused("BAD_TYPE", "POST", "/auth/challenge", challenge(1));
  // One letter of the wrong case fails the checksum.
  await nobody.refused("BAD_VALUE", "POST", "/auth/challenge", challenge("0x8Ba1f109551bD432803012645Ac136ddd64DBA72"));
});

// ---- tokens --------------------------------------------------------------------------------------------------------

test("private endpoints need a session or key, public ones do not", async () => {
  const paths: [string, string, object?][] = [
    ["GET", "/orders"],
    ["POST", "/orders", ORDER],
    ["DELETE", "/orders"],
    ["GET", "/orders/261"],
    ["DELETE", "/orders/261"],
    ["GET", "/orders/history"],
    ["GET", "/positions"],
    ["POST", "/positions/BTC-PERP/close", {}],
    ["POST", "/positions/BTC-PERP/leverage", { leverage: 5 }],
    ["GET", "/account/balance"],
    ["GET", "/account/trades"],
    ["POST", "/account/deposit", { asset: "USDC", amount: "1" }],
    ["POST", "/account/withdraw", WITHDRAWAL],
    ["GET", "/account/deposits"],
    ["GET", "/account/withdrawals"],
    ["GET", "/auth/keys"],
    ["POST", "/auth/keys", { label: "x", permissions: ["READ"] }],
    ["DELETE", "/auth/keys/abc"],
    ["POST", "/auth/logout"],
  ];
  const forged = new Api(server.url, "A".repeat(43));
  const almost = new Api(server.url, `${alice.token?.slice(0, -1)}${alice.token?.endsWith("A") ? "B" : "A"}`);
  for (const [method, path, body] of paths) {
    const none = await nobody.refused("UNAUTHENTICATED", method, path, body);
    assert.equal(none.field, undefined);
    await forged.refused("INVALID_TOKEN", method, path, body);
    await almost.refused("INVALID_TOKEN", method, path, body);
  }
  for (const scheme of ["Basic YTpi", "Bearer", "Bearer ", `bearer  ${alice.token}`, `Token ${alice.token}`])
    await nobody.refused("INVALID_TOKEN", "GET", "/account/balance", undefined, { authorization: scheme });
  for (const path of [
    "/time",
    "/health",
    "/openapi.json",
    "/market/symbols",
    "/market/ticker",
    "/market/orderbook?symbol=BTC-PERP",
    "/market/trades?symbol=BTC-PERP",
    "/market/klines?symbol=BTC-PERP&interval=1m",
  ])
    await nobody.get(path);
});

test("operator endpoints need the operator's token", async () => {
  const paths: [string, string, object?][] = [
    ["GET", "/operator/audit"],
    ["PUT", "/operator/index/BTC-PERP", { price: "1" }],
  ];
  for (const api of [nobody, alice, new Api(server.url, "wrong")])
    for (const [method, path, body] of paths) await api.refused("OPERATOR_REQUIRED", method, path, body);
  // And the operator is no trader.
  await new Operator(server).refused("INVALID_TOKEN", "GET", "/account/balance");
});

test("a session expires", async () => {
  const short = await startServer({ environment: { PERPD_SESSION_TTL_MS: "5000" } });
  try {
    const trader = await until("a session that is used before it expires", async () => {
      const opened = await openTrader(short, "0");
      const { status } = await opened.request("GET", "/account/balance");
      return status === 200 && opened;
    });
    await until("the session to expire", async () => {
      const { status } = await trader.request("GET", "/account/balance");
      return status === 401;
    });
    await trader.refused("INVALID_TOKEN", "GET", "/account/balance");
  } finally {
    await short.dispose();
  }
});

// ---- keys ----------------------------------------------------------------------------------------------------------

test("keys are created, listed without their secret, used and revoked", async () => {
  const key = await createKey(["READ", "TRADE"], { label: "bot 1" });
  assert.deepEqual(Object.keys(key).sort(), ["apiKey", "secret"]);
  const list = await alice.get<ApiKeyList>("/auth/keys");
  const [listed] = list.data;
  assert.ok(listed !== undefined);
  assert.deepEqual(listed, {
    apiKey: key.apiKey,
    label: "bot 1",
    permissions: ["READ", "TRADE"],
    allowedIps: [],
    allowedSymbols: [],
    maxOrderNotional: null,
    maxPositionNotional: null,
    maxLeverage: null,
    expiresAt: null,
    createdAt: listed.createdAt,
  });
  assert.ok(!JSON.stringify(list).includes(key.secret));

  const path = "/orders?symbol=BTC-PERP&limit=5";
  for (const each of [path, "/orders?"])
    assert.equal((await nobody.request("GET", each, undefined, signed(key, "GET", each))).status, 200, each);
  const body = JSON.stringify({ ...ORDER, clientOrderId: "by-key" });
  const placed = await nobody.request("POST", "/orders", body, signed(key, "POST", "/orders", body));
  assert.equal(placed.status, 201, placed.text);
  // The session sees what the key did: they are one account.
  await alice.cancel("client:by-key");

  const other = await openTrader(server, "0");
  await other.refused("KEY_NOT_FOUND", "DELETE", `/auth/keys/${key.apiKey}`);
  assert.deepEqual(await other.get("/auth/keys"), { data: [], nextCursor: null });
  assert.deepEqual(await alice.call(200, "DELETE", `/auth/keys/${key.apiKey}`), { apiKey: key.apiKey, revoked: true });
  await nobody.refused("INVALID_KEY_OR_SIGNATURE", "GET", path, undefined, signed(key, "GET", path));
  await alice.refused("KEY_NOT_FOUND", "DELETE", `/auth/keys/${key.apiKey}`);
});

test("each permission of a key allows only its own endpoints", async () => {
  const read = await createKey(["READ"]);
  const trade = await createKey(["TRADE"]);
  const withdraw = await createKey(["WITHDRAW"]);
  const order = JSON.stringify(ORDER);
  const withdrawal = JSON.stringify(WITHDRAWAL);
  const requests: [string, string, string, string, CreatedApiKey][] = [
    ["GET", "/account/balance", "", "READ", read],
    ["GET", "/orders", "", "READ", read],
    ["GET", "/positions", "", "READ", read],
    ["GET", "/account/trades", "", "READ", read],
    ["POST", "/orders", order, "TRADE", trade],
    ["DELETE", "/orders", "", "TRADE", trade],
    ["POST", "/positions/BTC-PERP/leverage", '{"leverage":7}', "TRADE", trade],
    ["POST", "/account/withdraw", withdrawal, "WITHDRAW", withdraw],
  ];
  for (const [method, path, body, needed, allowed] of requests)
    for (const key of [read, trade, withdraw]) {
      const headers = signed(key, method, path, body);
      const text = body === "" ? undefined : body;
      if (key === allowed) {
        const answer = await nobody.request(method, path, text, headers);
        assert.ok(answer.status === 200 || answer.status === 201, `${method} ${path}: ${answer.text}`);
      } else {
        const error = await nobody.refused("PERMISSION_DENIED", method, path, text, headers);
        assert.deepEqual(error.details, { required: needed });
      }
    }
  // A key makes no keys and sees none.
  await nobody.refused("SESSION_REQUIRED", "GET", "/auth/keys", undefined, signed(read, "GET", "/auth/keys"));
});

test("a signature covers time, method, path, query and body, and is valid once", async () => {
  const key = await createKey(["READ", "TRADE"]);
  const wrong: ErrorCode = "INVALID_KEY_OR_SIGNATURE";
  const body = JSON.stringify(ORDER);
  await nobody.refused(wrong, "GET", "/orders?limit=5", undefined, signed(key, "GET", "/orders?limit=6"));
  await nobody.refused(wrong, "GET", "/orders", undefined, signed(key, "POST", "/orders"));
  await nobody.refused(wrong, "GET", "/positions", undefined, signed(key, "GET", "/orders"));
  const larger = body.replace("0.01", "0.02");
  await nobody.refused(wrong, "POST", "/orders", larger, signed(key, "POST", "/orders", body));
  await nobody.refused(wrong, "POST", "/orders", `${body} `, signed(key, "POST", "/orders", body));
  const late = signed(key, "GET", "/orders");
  const shifted = { ...late, "x-timestamp": String(Number(late["x-timestamp"]) + 1) };
  await nobody.refused(wrong, "GET", "/orders", undefined, shifted);
  const stranger = { ...signed(key, "GET", "/orders"), "x-api-key": "nobody" };
  await nobody.refused(wrong, "GET", "/orders", undefined, stranger);
  for (const signature of ["zz", "ab".repeat(32), "ab".repeat(31), "é", `${"ab".repeat(32)}00`])
    await nobody.refused(wrong, "GET", "/orders", undefined, {
      ...signed(key, "GET", "/orders"),
      "x-signature": encodeURIComponent(signature),
    });

  const headers = signed(key, "POST", "/orders", body);
  assert.equal((await nobody.request("POST", "/orders", body, headers)).status, 201);
  await nobody.refused("SIGNATURE_REPLAYED", "POST", "/orders", body, headers);
  const upper = { ...headers, "x-signature": headers["x-signature"]?.toUpperCase() ?? "" };
  const replay = await nobody.request("POST", "/orders", body, upper);
  assert.equal(replay.status, 401, "the same signature in capitals is the same signature");
  await alice.cancelAll();
});

test("a timestamp out of the window is refused with the server's time", async () => {
  const key = await createKey(["READ"]);
  for (const skew of [-6000, 60_000, -3_600_000]) {
    const timestamp = Date.now() + skew;
    const headers = signed(key, "GET", "/orders", "", timestamp);
    const error = await nobody.refused("TIMESTAMP_OUT_OF_WINDOW", "GET", "/orders", undefined, headers);
    assert.equal(error.retryable, true);
    const { serverTime, skewMs } = error.details as { serverTime: number; skewMs: number };
    assert.ok(Math.abs(serverTime - Date.now()) < 60_000);
    assert.equal(skewMs, timestamp - serverTime);
  }
  // Who knows of a slow way asks for a wider window, up to a minute.
  const old = { ...signed(key, "GET", "/orders", "", Date.now() - 20_000), "x-recv-window": "60000" };
  assert.equal((await nobody.request("GET", "/orders", undefined, old)).status, 200);
  for (const window of ["60001", "0", "x", "-1", "1e4"])
    await nobody.refused("BAD_VALUE", "GET", "/orders", undefined, {
      ...signed(key, "GET", "/orders"),
      "x-recv-window": window,
    });
  for (const timestamp of ["", "x", "1.5", "-1"]) {
    const headers = { ...signed(key, "GET", "/orders"), "x-timestamp": timestamp };
    const answer = await nobody.request<{ code: string }>("GET", "/orders", undefined, headers);
    assert.ok(answer.status === 400 || answer.status === 401, answer.text);
  }
});

test("a key works only from its addresses and until it expires", async () => {
  const elsewhere = await createKey(["READ"], { allowedIps: ["203.0.113.0/24"] });
  const path = "/account/balance";
  await nobody.refused("IP_NOT_ALLOWED", "GET", path, undefined, signed(elsewhere, "GET", path));
  const here = await createKey(["READ"], { allowedIps: ["127.0.0.0/8", "::1"] });
  assert.equal((await nobody.request("GET", path, undefined, signed(here, "GET", path))).status, 200);
  const brief = await inTime(4000, async (expiresAt) => {
    const key = await createKey(["READ"], { expiresAt });
    assert.equal((await nobody.request("GET", path, undefined, signed(key, "GET", path))).status, 200);
    return key;
  });
  await until("the key to expire", async () => {
    const { status } = await nobody.request("GET", path, undefined, signed(brief, "GET", path));
    return status === 401;
  });
  await nobody.refused("KEY_EXPIRED", "GET", path, undefined, signed(brief, "GET", path));
  for (const more of [{ allowedIps: ["example.org"] }, { allowedIps: ["10.0.0.0/99"] }, { expiresAt: 1 }])
    await alice.refused("BAD_VALUE", "POST", "/auth/keys", { label: "x", permissions: ["READ"], ...more });
  for (const permissions of [[], ["ADMIN"], ["READ", "READ"]])
    await alice.refused("BAD_VALUE", "POST", "/auth/keys", { label: "x", permissions });
});

test("an account has at most 50 keys, and an expired one does not count", async () => {
  const trader = await openTrader(server, "0");
  const body = { label: "one of many", permissions: ["READ"] };
  const [brief, end] = await inTime(300, async (expiresAt) => {
    const key = await trader.call<CreatedApiKey>(201, "POST", "/auth/keys", { ...body, expiresAt });
    return [key, expiresAt];
  });
  const listed = async () => (await trader.get<ApiKeyList>("/auth/keys")).data.map(({ apiKey }) => apiKey);
  while ((await listed()).length < 50) await trader.call(201, "POST", "/auth/keys", body);
  await until("the key's end", () => Date.now() > end);
  assert.ok((await listed()).includes(brief.apiKey));
  await trader.call(201, "POST", "/auth/keys", body);
  const keys = await listed();
  assert.deepEqual([keys.length, keys.includes(brief.apiKey)], [50, false]);
  const error = await trader.refused("TOO_MANY_KEYS", "POST", "/auth/keys", body);
  assert.deepEqual(error.details, { limit: 50 });
});
