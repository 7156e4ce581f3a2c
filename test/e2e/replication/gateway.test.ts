import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { PerpdClient } from "../../../src/client/client.ts";
import type { Fill, KlineList, NewOrder, OrderBook, Page, PublicTrade } from "../../../src/client/types.ts";
import { MAX_BODY_BYTES } from "../../../src/wire/errors/gateway-errors.ts";
import { sendRaw } from "../../front/support/raw.ts";
import { Api } from "../support/api.ts";
import { Follower } from "../support/follower.ts";
import { freePort } from "../support/free-port.ts";
import { OPERATOR_TOKEN, removeFolder, TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { purgeStream, seed } from "./commands.ts";
import { NATS_SERVER, Nats } from "./nats-server.ts";
import { openPatient, patient } from "./patient.ts";
import { TcpProxy } from "./tcp-proxy.ts";

/** A leader, a standby and two gateways with a real NATS server. The tests build on each other. */

const options = {
  skip: NATS_SERVER === null && "no nats-server 2.10 or later is installed: gateways were not tested",
};

const folder = mkdtempSync(join(tmpdir(), "perpd-gateway-"));
const data = (name: string): string => join(folder, name);

let nats: Nats;
let leader: TestServer;
let standby: TestServer;
let standbyUrl: string;
let gateway: TestServer;
let second: TestServer;
let maker: Trader;
let taker: Trader;
/** The maker's account, book and trades, as a client of the first gateway sees them. */
let follower: Follower;

const at = (server: TestServer, { token, accountId, address, privateKey }: Trader): Trader =>
  patient(new Trader(server.url, token as string, accountId, address, privateKey));

const apiAt = ({ url }: TestServer, token?: string): Api => patient(new Api(url, token));

function node(
  command: "start" | "standby" | "gateway",
  name: string,
  environment: Record<string, string> = {},
  port = 0,
): TestServer {
  return new TestServer({
    ...{ command, port, dataFolder: data(name) },
    environment: {
      PERPD_REPLICATE: nats.url.replace("//", "//perpd:a%20right%3Aone@"),
      PERPD_REPLICATE_MONITORS: nats.monitor,
      PERPD_TRUSTED_PROXIES: "127.0.0.1",
      ...environment,
    },
  });
}

/** Orders that change the book in many places, and trade. */
async function trade(orders: number, [making, taking]: readonly [Trader, Trader] = [maker, taker]): Promise<void> {
  for (let i = 0; i < orders; i++) {
    const step = i % 20;
    await making.buy("0.01", String(64_900 - step));
    await making.sell("0.01", String(65_100 + step));
    if (i % 3 === 0) await taking.market(i % 2 === 0 ? "BUY" : "SELL", "0.012");
  }
}

const isInStep = (who: Follower): Promise<true> =>
  until("the client to have the exchange's state", async () => {
    const difference = await who.difference();
    lastDifference = difference ?? "";
    return difference === null;
  }).catch((error) => assert.fail(`${error.message}: ${lastDifference}`)) as Promise<true>;
let lastDifference = "";

/** Of both: the answers that do not depend on the clock. */
async function assertSameMarket(): Promise<void> {
  const paths = ["/market/ticker", "/market/orderbook?symbol=BTC-PERP&depth=1000", "/market/symbols"];
  paths.push("/market/trades?symbol=BTC-PERP&limit=200", "/market/trades?symbol=BTC-PERP&limit=10&sort=ASC");
  for (const path of [...paths, "/market/sparklines", "/market/liquidations?symbol=BTC-PERP"]) {
    const [expected, ...others] = await Promise.all(
      [leader, gateway, second].map((server) => apiAt(server).request("GET", path)),
    );
    for (const { status, text } of others) assert.deepEqual([status, text], [200, expected.text], path);
  }
}

before(async () => {
  if (NATS_SERVER === null) return;
  nats = new Nats({ password: "a right:one" });
  await nats.start();
  leader = node("start", "leader");
  await leader.start();
  standbyUrl = `http://127.0.0.1:${await freePort()}`;
  const operator = patient(new Operator(leader));
  for (const symbol of ["BTC-PERP", "ETH-PERP"]) await operator.setIndex(symbol, "65000");
  maker = await openPatient(leader, "1000000");
  taker = await openPatient(leader, "1000000");
  await trade(5);
  const upstream = { PERPD_UPSTREAM: `${standbyUrl},${leader.url}` };
  [gateway, second] = ["gateway", "second"].map((name) => node("gateway", name, upstream)) as [TestServer, TestServer];
  await gateway.start();
});
after(async () => {
  follower?.stream.close();
  for (const server of [gateway, second, leader, standby]) await server?.dispose();
  await nats?.dispose();
  await removeFolder(folder);
});

test(
  "clients of gateways see the leader's market while it trades, and one that begins meanwhile too",
  options,
  async () => {
    follower = new Follower(gateway.url, maker);
    await follower.stream.ready;
    const trading = trade(40);
    await second.start();
    const late = new Follower(second.url, taker);
    await late.stream.ready;
    await trading;
    await trade(5);
    await isInStep(follower);
    await isInStep(late);
    late.stream.close();
    const { data: fills } = await maker.get<Page<Fill>>("/account/trades?limit=1000");
    const { data: trades } = await maker.get<Page<PublicTrade>>("/market/trades?symbol=BTC-PERP&limit=1000");
    assert.ok(trades.length > 20);
    for (const { tradeId } of trades) assert.ok(follower.trades.has(tradeId), `trade ${tradeId}`);
    for (const { tradeId } of fills) assert.ok(follower.fills.has(tradeId), `fill ${tradeId}`);
    await assertSameMarket();
  },
);

test("login, deposit, signed orders and private streams go through a gateway", options, async () => {
  const trader = await openPatient(gateway, "50000");
  const order: NewOrder = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.01" };
  const session = new PerpdClient({ baseUrl: gateway.url, token: trader.token as string });
  const { apiKey, secret } = await session.createKey({
    label: "bot",
    permissions: ["READ", "TRADE"],
    allowedIps: ["127.0.0.1"],
  });
  const client = new PerpdClient({ baseUrl: gateway.url, apiKey, secret });
  const { orderId } = await client.placeOrder({ ...order, clientOrderId: "by-key" });
  assert.equal((await at(leader, trader).order(orderId)).clientOrderId, "by-key");
  const refused = await trader.request<{ code: string; requestId: string }>("POST", "/orders", {
    ...order,
    price: "0.05",
  });
  assert.deepEqual([refused.status, refused.body.code], [400, "PRICE_NOT_ON_TICK"]);
  assert.equal(refused.headers["x-request-id"], refused.body.requestId);
  const sequenced = await trader.request("POST", "/orders", { ...order, price: "60001" });
  const minSequence = sequenced.headers["perpd-sequence"];
  const book = await apiAt(gateway).request<OrderBook>(
    "GET",
    `/market/orderbook?symbol=BTC-PERP&minSequence=${minSequence}`,
  );
  assert.ok(book.body.bids.some(([price]) => price === "60001"));
  const older = await apiAt(gateway).request("GET", "/market/trades?symbol=BTC-PERP&sort=ASC");
  assert.match(String(older.headers["perpd-sequence"]), /^\d+$/);
  const head = await apiAt(gateway).request("HEAD", "/health");
  assert.deepEqual([head.status, head.text], [200, ""]);
  assert.ok(Number(head.headers["content-length"]) > 100);

  const socket = await SocketClient.open(gateway.wsUrl);
  const early = await socket.request("subscribe", { channels: [{ channel: "orders" }] });
  assert.equal(early.code, "UNAUTHENTICATED");
  assert.equal((await socket.request("order.cancelAll", {})).code, "UNAUTHENTICATED");
  assert.equal((await socket.request("auth", { token: "x".repeat(43) })).code, "INVALID_TOKEN");
  assert.equal((await socket.request("auth", { token: trader.token })).accountId, trader.accountId);
  const channels = [{ channel: "orders" }, { channel: "trades", symbol: "BTC-PERP" }, { channel: "balance" }] as const;
  const subscribed = await socket.request("subscribe", { channels });
  assert.deepEqual(
    new Set(subscribed.channels?.map(({ channel }) => channel)),
    new Set(["orders", "trades", "balance"]),
  );
  await socket.find("a snapshot of trades", ({ channel, type }) => channel === "trades" && type === "SNAPSHOT");
  await socket.find("a snapshot of orders", ({ channel, type }) => channel === "orders" && type === "SNAPSHOT");
  assert.deepEqual(
    socket.ofChannel("orders")[0]?.data.map(({ clientOrderId }) => clientOrderId),
    [null, "by-key"],
  );
  const placed = await socket.request("order.place", { params: { ...order, clientOrderId: "by-socket" } });
  assert.equal(placed.op, "order.place");
  await until("the order in the stream", () =>
    socket.ofChannel("orders").some(({ data }) => data.some(({ clientOrderId }) => clientOrderId === "by-socket")),
  );
  const ended = await socket.request("unsubscribe", { channels });
  assert.equal(ended.channels?.length, 3);
  assert.equal((await socket.request("unsubscribe", { channels })).channels?.length, 0);
  await trader.call(200, "POST", "/auth/logout");
  assert.deepEqual(await socket.closed, { code: 4401, reason: "SESSION_CLOSED" });
});

test("hostile messages at a gateway are refused as by the leader, and harm no one else", options, async () => {
  for (const server of [leader, gateway]) {
    const socket = await SocketClient.openAs(server.wsUrl, taker.token);
    const refusals: (string | undefined)[] = [];
    const texts = [
      "{",
      "[]",
      '{"op":"nope"}',
      '{"op":"order.place","params":[]}',
      '{"op":"subscribe","channels":[]}',
      "\0",
    ];
    texts.push('{"op":"auth","token":7}', '{"op":"subscribe","channels":[{"channel":"trades","symbol":"X-PERP"}]}');
    texts.push('{"op":"unsubscribe","id":{},"channels":[{"channel":"orders"}]}', '{"id":1,"id":2}');
    // The longest message: a gateway that wrote it in its own words would make it too long for the leader.
    for (const auth of ['{"op":"auth","token":"', '{"op":"auth","timestamp":1,"signature":"a","apiKey":"'])
      texts.push(`${auth}${"x".repeat(MAX_BODY_BYTES - auth.length - 2)}"}`);
    for (const text of texts) {
      const from = socket.messages.length;
      socket.send(text);
      refusals.push((await socket.find(`the refusal of ${text.slice(0, 99)}`, ({ op }) => op === "error", from)).code);
    }
    assert.deepEqual(refusals, [
      ...["BAD_JSON", "BAD_TYPE", "UNKNOWN_OP", "BAD_TYPE", "BAD_VALUE", "BAD_JSON"],
      ...["BAD_TYPE", "UNKNOWN_SYMBOL", "BAD_VALUE", "DUPLICATE_FIELD", "BAD_VALUE", "BAD_VALUE"],
    ]);
    socket.send(Buffer.from([1, 2, 3]));
    assert.deepEqual(await socket.closed, { code: 1003, reason: "TEXT_ONLY" });
    const large = await SocketClient.open(server.wsUrl);
    large.send("x".repeat(70_000));
    assert.equal((await large.closed).code, 1006);
  }
  const foreign = { Origin: "https://elsewhere.example", Authorization: `Bearer ${taker.token}` };
  const stolen = await apiAt(gateway).request<{ code: string }>("GET", "/account/balance", undefined, foreign);
  assert.equal(stolen.body.code, "ORIGIN_NOT_ALLOWED");
  await isInStep(follower);
});

/** Sends bytes, and resolves with the status and the code of all answers. */
async function answersTo({ port }: TestServer, bytes: string): Promise<string[]> {
  const { text } = await sendRaw(port, bytes);
  return text.match(/HTTP\/1\.1 \d+|"code":"\w+"/g) ?? [];
}

test("hostile requests get the leader's answers at a gateway, and no client gets another's", options, async () => {
  const end = "Host: x\r\nConnection: close\r\n\r\n";
  const bearer = `Authorization: Bearer ${taker.token}\r\n`;
  const second = `DELETE /v1/orders HTTP/1.1\r\n${bearer}${end}`;
  const requests = [
    `GET /v1/../v1/account/balance HTTP/1.1\r\n${bearer}${end}`,
    `GET /v1/account%2fbalance HTTP/1.1\r\n${bearer}${end}`,
    `GET //elsewhere.example/v1/account/balance HTTP/1.1\r\n${bearer}${end}`,
    `GET http://elsewhere.example/v1/account/balance HTTP/1.1\r\n${bearer}${end}`,
    `CONNECT elsewhere.example:80 HTTP/1.1\r\n${bearer}${end}`,
    `GET /v1/operator/audit HTTP/1.1\r\n${bearer}${end}`,
    `GET /v1/metrics HTTP/1.1\r\nX-Forwarded-For: 127.0.0.1\r\n${end}`,
    `GET /v1/account/balance HTTP/1.1\r\n${bearer}${bearer}${end}`,
    `POST /v1/orders HTTP/1.1\r\n${bearer}Content-Length: 2\r\nContent-Length: 300\r\n${end}{}${second}`,
    `POST /v1/orders HTTP/1.1\r\n${bearer}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n${end}0\r\n\r\n${second}`,
    `POST /v1/orders HTTP/1.1\r\n${bearer}Transfer-Encoding: gzip, chunked\r\n${end}0\r\n\r\n${second}`,
    `GET /v1/orders HTTP/1.1\r\n${bearer}Content-Length: ${second.length}\r\n${end}${second}`,
    `GET /v1/orders HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n${end}`,
    `GET /v1/orders?x=${"a".repeat(3900)} HTTP/1.1\r\n${bearer}${end}`,
  ];
  const { orderId } = await taker.buy("0.01", "30000");
  for (const request of requests) {
    const [expected, found] = await Promise.all([leader, gateway].map((server) => answersTo(server, request)));
    assert.deepEqual(found, expected, request);
    assert.ok(!found?.includes("HTTP/1.1 200"), request);
  }
  assert.equal((await taker.order(orderId)).status, "NEW");
  // Node cannot send this. It says nothing about the leader.
  const unprintable = `GET /v1/orders HTTP/1.1\r\nAuthorization: Bearer a\u00e9b\r\n${end}`;
  assert.deepEqual(await answersTo(gateway, unprintable), ["HTTP/1.1 400", '"code":"BAD_REQUEST"']);
  const { body } = await apiAt(gateway).request<{ leader: string | null }>("GET", "/replication");
  assert.equal(`${body.leader}/v1`, leader.url);

  const traders = [maker, taker] as const;
  const balances = await Promise.all(traders.map((trader) => trader.balance()));
  const own = (trader: Trader, i: number) =>
    at(gateway, trader)
      .balance()
      .then((balance) => {
        assert.equal(balance.walletBalance, balances[i]?.walletBalance);
      });
  assert.notEqual(balances[0]?.walletBalance, balances[1]?.walletBalance);
  for (let round = 0; round < 10; round++) {
    // Clients that go away leave answers behind that nobody must get.
    for (const trader of traders) {
      const socket = connect(gateway.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write(`GET /v1/account/balance HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${trader.token}\r\n\r\n`, () =>
        setImmediate(() => socket.destroy()),
      );
    }
    await Promise.all(Array.from({ length: 20 }, (_, i) => own(traders[i % 2] as Trader, i % 2)));
  }
  await taker.cancel(orderId);
  await isInStep(follower);
});

test("a gateway says what it does, and needs to know its upstreams", options, async () => {
  const api = apiAt(gateway);
  const { body } = await api.request<{ role: string; leader: string }>("GET", "/replication");
  assert.deepEqual([body.role, `${body.leader}/v1`], ["GATEWAY", leader.url]);
  assert.equal((await api.request("GET", "/health/ready")).status, 200);
  const metrics = await apiAt(gateway, OPERATOR_TOKEN).request("GET", "/metrics");
  assert.match(metrics.text, /^perpd_ready 1$/m);
  assert.match(metrics.text, /^perpd_gateway_sockets [1-9]/m);
  assert.equal((await api.request("GET", "/metrics")).status, 403);
  assert.equal((await fetch(new URL("/", gateway.url))).status, 200);
  const refusals: [Record<string, string>, RegExp][] = [
    [{}, /gateway needs --upstream/],
    [{ PERPD_UPSTREAM: leader.url, PERPD_REPLICATE_STREAM: "other" }, /there is no stream other on the NATS server/],
  ];
  for (const [environment, reason] of refusals) {
    const wrong = node("gateway", "wrong", environment);
    await assert.rejects(wrong.start(), reason);
    await wrong.dispose();
  }
});

test("a gateway waits for the NATS server, and says meanwhile what it waits for", options, async () => {
  const network = new TcpProxy(Number(new URL(nats.url).port));
  const port = await freePort();
  const url = `nats://perpd:a%20right%3Aone@127.0.0.1:${port}`;
  const early = node("gateway", "early", { PERPD_UPSTREAM: leader.url, PERPD_REPLICATE: url });
  try {
    const starts = early.start();
    starts.catch(() => {});
    await early.logs(/cannot connect to NATS at nats:\/\/127\.0\.0\.1/);
    await network.open(port);
    await starts;
    assert.equal((await apiAt(early).request("GET", "/market/ticker")).status, 200);
  } finally {
    await early.dispose();
    network.close();
  }
});

test("a gateway that nobody calls notices that its leader hangs, and that it is back", options, async () => {
  const logged = (line: string): number => gateway.stderr.split(line).length - 1;
  const [lost, found] = ["no upstream leads", "an upstream leads"];
  const before = [logged(lost), logged(found)] as const;
  const isReady = async (): Promise<boolean> => {
    const { status, body } = await apiAt(gateway).request<{ details?: { codes: string[] } }>("GET", "/health/ready");
    if (status !== 200) assert.deepEqual(body.details?.codes, ["NO_LEADER"]);
    return status === 200;
  };
  assert.equal(await isReady(), true);
  leader.signal("SIGSTOP");
  await until("the gateway to miss its leader", async () => !(await isReady()));
  await until("its log", () => logged(lost) > before[0]);
  leader.signal("SIGCONT");
  await until("the gateway to find its leader", isReady);
  await until("its log", () => logged(found) > before[1]);
  assert.deepEqual([logged(lost), logged(found)], [before[0] + 1, before[1] + 1]);
});

test(
  "a change of leader in the middle of orders: each acknowledged one exists once, and streams go on",
  options,
  async () => {
    await seed(leader.dataFolder, data("backup"), data("standby"));
    standby = node("standby", "standby", { PERPD_TRUSTED_PROXIES: "" }, Number(new URL(standbyUrl).port));
    const leads = standby.start();
    leads.catch(() => {});
    await standby.logs(/this process follows a leader/);
    const charts = await Promise.all([1, 2].map(() => SocketClient.open(gateway.wsUrl)));
    for (const chart of charts) {
      await chart.subscribe({ channel: "klines", symbol: "BTC-PERP", interval: "1M" });
      await chart.find("candles", ({ channel, type }) => channel === "klines" && type === "SNAPSHOT");
    }
    const client = new PerpdClient({ baseUrl: gateway.url, token: taker.token as string, retries: 10 });
    const acknowledged: string[] = [];
    const place = async (clientOrderId: string): Promise<void> => {
      const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "30000", quantity: "0.001" } as const;
      await client.placeOrder({ ...order, clientOrderId });
      acknowledged.push(clientOrderId);
    };
    for (let i = 0; i < 20; i++) await place(`before-${i}`);
    const dying = leader.kill();
    for (let i = 0; i < 20; i++) await place(`after-${i}`);
    await Promise.all([dying, leads]);
    const there = at(standby, taker);
    const open = (await there.openOrders("?limit=200")).data.map(({ clientOrderId }) => clientOrderId);
    assert.deepEqual(open.filter((id) => /^(before|after)-\d+$/.test(id ?? "")).toSorted(), acknowledged.toSorted());
    await trade(5, [at(standby, maker), there]);
    const { data: candles } = await there.get<KlineList>("/market/klines?symbol=BTC-PERP&interval=1M&limit=1");
    for (const chart of charts) {
      await until("the last candle", () =>
        isDeepStrictEqual(chart.ofChannel("klines").at(-1)?.data.at(-1), candles[0]),
      );
      await chart.close();
    }
    follower.trader = at(standby, maker);
    await isInStep(follower);
  },
);

test(
  "a gateway warns once at its start if the leader does not believe what it says of its clients",
  options,
  async () => {
    const late = node("gateway", "late", { PERPD_UPSTREAM: standby.url });
    try {
      await late.start();
      assert.equal(late.stderr.split("does not believe the X-Forwarded-For").length - 1, 1, late.stderr);
    } finally {
      await late.dispose();
    }
  },
);

test(
  "without the stream a gateway shows no market data as if it were new, and recovers by itself",
  options,
  async () => {
    const api = apiAt(second);
    const socket = await SocketClient.open(second.wsUrl);
    await socket.subscribe({ channel: "trades", symbol: "BTC-PERP" });
    await nats.kill();
    await until("old market data to be refused", async () => {
      return (await api.request("GET", "/market/ticker?symbol=BTC-PERP")).status === 503;
    });
    assert.equal((await api.request("GET", "/health/live")).status, 200);
    const { body } = await api.request<{ details: { codes: string[] } }>("GET", "/health/ready");
    assert.ok(body.details.codes.includes("STREAM_SILENT"), JSON.stringify(body));
    assert.deepEqual(await socket.closed, { code: 1001, reason: "GOING_AWAY" });
    await nats.start();
    await until("the gateway to be ready", async () => (await api.request("GET", "/health/ready")).status === 200);
    await until(
      "the leader to answer again",
      async () => (await apiAt(standby).request("GET", "/health/ready")).status === 200,
    );
    await trade(2, [at(standby, maker), at(standby, taker)]);
    await isInStep(follower);
  },
);

test(
  "a gateway that has fallen behind what the stream holds begins again with the leader's state",
  options,
  async () => {
    const socket = await SocketClient.open(second.wsUrl);
    await socket.subscribe({ channel: "trades", symbol: "BTC-PERP" });
    second.signal("SIGSTOP");
    const traders = [at(standby, maker), at(standby, taker)] as const;
    await trade(3, traders);
    await purgeStream(nats.url, 1, { user: "perpd", pass: "a right:one" });
    second.signal("SIGCONT");
    assert.deepEqual(await socket.closed, { code: 1001, reason: "GOING_AWAY" });
    await second.logs(/the gateway has fallen behind what the stream still holds/);
    await trade(3, traders);
    const bookAt = (server: TestServer) =>
      apiAt(server)
        .request("GET", "/market/orderbook?symbol=BTC-PERP&depth=1000")
        .then(({ text }) => text);
    await until("the leader's book", async () => (await bookAt(second)) === (await bookAt(standby)));
    for (const server of [gateway, second]) assert.deepEqual(await server.stop(), { code: 0, signal: null });
  },
);
