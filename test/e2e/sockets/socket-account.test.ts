import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import type { Balance, CreatedApiKey, Position, PositionList } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { login } from "../support/wallet.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

/** Without what differs from one look to the next. */
const figures = ({ updatedAt: _, sequence: __, ...rest }: Balance) => rest;

/** What the stream has told last of the account's balance. */
const lastBalance = (client: SocketClient): Balance | undefined => client.ofChannel("balance").at(-1)?.data;

const lastPosition = (client: SocketClient, symbol: string): Position | undefined =>
  client
    .ofChannel("positions")
    .flatMap((message) => message.data)
    .filter((position) => position.symbol === symbol)
    .at(-1);

test("balance and positions: a snapshot, then an update for each fill, order, price and transfer", async () => {
  const client = await SocketClient.openAs(server.wsUrl, alice.token);
  await client.subscribe({ channel: "balance" }, { channel: "positions" });
  await until(
    "both snapshots",
    () => client.ofChannel("balance").length > 0 && client.ofChannel("positions").length > 0,
  );
  assert.deepEqual(client.ofChannel("positions")[0]?.data, []);
  const [first] = client.ofChannel("balance");
  assert.deepEqual([first?.type, first?.data.equity, first?.prevSequence], ["SNAPSHOT", "100000", null]);

  /** What streams must come to show is what REST shows now. */
  const expectInStep = async () => {
    const balance = figures(await alice.balance());
    await until(`the balance ${JSON.stringify(balance)}`, () => {
      const last = lastBalance(client);
      return last !== undefined && JSON.stringify(figures(last)) === JSON.stringify(balance);
    });
    for (const symbol of ["BTC-PERP", "ETH-PERP"]) {
      const position = await alice.position(symbol);
      await until(`the position in ${symbol}`, () => {
        const last = lastPosition(client, symbol);
        if (position === null) return last === undefined || last.size === "0";
        return last !== undefined && JSON.stringify(last) === JSON.stringify(position);
      });
    }
  };

  await bob.sell("0.3", "65000");
  for (const quantity of ["0.1", "0.05"]) {
    const order = await alice.buy(quantity, "65000");
    await expectInStep();
    assert.ok((client.ofChannel("positions").at(-1)?.sequence ?? 0) >= order.sequence);
  }
  const resting = await alice.buy("0.2", "60000");
  await expectInStep();
  assert.equal(lastBalance(client)?.openOrderInitialMargin, "1206"); // 1200 + 6
  await alice.cancel(resting.orderId);
  await expectInStep();
  await bob.place({ symbol: "ETH-PERP", side: "BUY", type: "LIMIT", price: "3000", quantity: "1" });
  await alice.place({ symbol: "ETH-PERP", side: "SELL", type: "MARKET", quantity: "1" });
  await expectInStep();
  await bob.cancelAll();
  await operator.setIndex("BTC-PERP", "66000");
  await expectInStep();
  assert.equal(lastPosition(client, "BTC-PERP")?.markPrice, "66000");
  await alice.deposit("1234.5");
  await expectInStep();
  await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 20 });
  await expectInStep();
  await alice.call(200, "POST", "/positions/BTC-PERP/margin-mode", { mode: "ISOLATED" });
  await expectInStep();
  assert.equal(lastPosition(client, "BTC-PERP")?.marginMode, "ISOLATED");
  await alice.call(200, "POST", "/positions/BTC-PERP/margin", { amount: "12.5" });
  await expectInStep();
  await operator.setIndex("BTC-PERP", "65000");
  await bob.buy("1", "64900");
  await alice.call(201, "POST", "/positions/BTC-PERP/close", {});
  await expectInStep();
  await bob.cancelAll();

  for (const channel of ["balance", "positions"] as const) {
    let sequence: number | null = null;
    for (const message of client.ofChannel(channel)) {
      assert.equal(message.prevSequence, sequence, `${channel}: each message names the one before it`);
      sequence = message.sequence;
    }
  }

  // One symbol alone.
  const single = await SocketClient.openAs(server.wsUrl, alice.token);
  await single.subscribe({ channel: "positions", symbol: "ETH-PERP" });
  await until("its snapshot", () => single.ofChannel("positions").length > 0);
  // SOL has no position.
  await alice.call(200, "POST", "/positions/SOL-PERP/leverage", { leverage: 7 });
  await until("the leverage", () => lastPosition(client, "SOL-PERP")?.leverage === 7);
  assert.equal(lastPosition(client, "SOL-PERP")?.size, "0");
  const { data } = await alice.get<PositionList>("/positions?symbol=ETH-PERP");
  assert.deepEqual(single.ofChannel("positions")[0]?.data, data);
  await Promise.all([client.close(), single.close()]);
});

test("private channels need authentication and show only the own account", async () => {
  const nobody = await SocketClient.open(server.wsUrl);
  for (const channel of ["balance", "positions"]) {
    const reply = await nobody.request("subscribe", { channels: [{ channel }] });
    assert.deepEqual([reply.op, reply.code], ["error", "UNAUTHENTICATED"]);
  }
  // All or nothing: the public channel in the same request is not subscribed to either.
  const mixed = await nobody.request("subscribe", {
    channels: [{ channel: "trades", symbol: "BTC-PERP" }, { channel: "balance" }],
  });
  assert.equal(mixed.code, "UNAUTHENTICATED");
  for (const token of ["", "x", "A".repeat(43), `${alice.token}x`]) {
    const reply = await nobody.request("auth", { token });
    assert.deepEqual([reply.op, reply.code], ["error", "INVALID_TOKEN"], token);
  }
  assert.equal((await nobody.request("subscribe", { channels: [{ channel: "balance" }] })).code, "UNAUTHENTICATED");

  const stranger = await openTrader(server);
  const watching = await SocketClient.openAs(server.wsUrl, stranger.token);
  await watching.subscribe({ channel: "balance" }, { channel: "positions" });
  await until(
    "its snapshots",
    () => watching.ofChannel("balance").length + watching.ofChannel("positions").length === 2,
  );
  await bob.sell("0.1", "65000");
  await alice.buy("0.1", "65000");
  await alice.deposit("1");
  // A change of its own comes after all that it must not have seen.
  await stranger.deposit("7");
  await until("its own deposit", () => lastBalance(watching)?.equity === "100007");
  assert.equal(watching.ofChannel("balance").length, 2);
  assert.equal(watching.ofChannel("positions").length, 1);
  assert.equal(nobody.messages.filter((message) => message.channel !== undefined).length, 0);

  // A socket stays the account's that it was opened for.
  const other = await watching.request("auth", { token: alice.token });
  assert.deepEqual([other.op, other.code], ["error", "ALREADY_AUTHENTICATED"]);
  await Promise.all([nobody.close(), watching.close()]);
});

test("an API key with READ authenticates a socket, and revoking it closes the socket", async () => {
  const createKey = (permissions: string[]) =>
    alice.call<CreatedApiKey>(201, "POST", "/auth/keys", { label: "socket", permissions });
  const authenticate = async (key: CreatedApiKey, timestamp = Date.now(), secret = key.secret) => {
    const signature = createHmac("sha256", secret).update(`${timestamp}GET/v1/ws`).digest("hex");
    const client = await SocketClient.open(server.wsUrl);
    return { client, reply: await client.request("auth", { apiKey: key.apiKey, timestamp, signature }) };
  };
  const key = await createKey(["READ"]);
  const { client, reply } = await authenticate(key);
  assert.deepEqual(
    [reply.op, reply.accountId, reply.permissions, reply.expiresAt],
    ["authenticated", alice.accountId, ["READ"], null],
  );
  await client.subscribe({ channel: "balance" });

  assert.equal((await authenticate(key, Date.now() - 3_600_000)).reply.code, "TIMESTAMP_OUT_OF_WINDOW");
  assert.equal((await authenticate(key, Date.now(), "wrong")).reply.code, "INVALID_KEY_OR_SIGNATURE");
  const trading = await authenticate(await createKey(["TRADE"]));
  assert.equal(trading.reply.op, "authenticated");
  const refused = await trading.client.request("subscribe", { channels: [{ channel: "balance" }] });
  assert.equal(refused.code, "PERMISSION_DENIED");

  await alice.call(200, "DELETE", `/auth/keys/${key.apiKey}`);
  assert.deepEqual(await client.closed, { code: 4401, reason: "KEY_REVOKED" });
});

test("logging out closes the session's sockets and no others", async () => {
  const session = await login(server.url, alice.privateKey);
  const [ending, staying] = await Promise.all([
    SocketClient.openAs(server.wsUrl, session.token),
    SocketClient.openAs(server.wsUrl, alice.token),
  ]);
  await alice.request("POST", "/auth/logout", undefined, { authorization: `Bearer ${session.token}` });
  assert.deepEqual(await ending.closed, { code: 4401, reason: "SESSION_CLOSED" });
  assert.equal((await staying.request("ping")).op, "pong");
  await staying.close();
});
