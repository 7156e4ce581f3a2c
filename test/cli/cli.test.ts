import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import { PerpdClient } from "../../src/client/client.ts";
import type { Order, OrderBook, PlacedOrder, Transfer } from "../../src/client/types.ts";
import { startServer, type TestServer } from "../e2e/support/server.ts";
import { Operator, openTrader, type Trader } from "../e2e/support/trader.ts";
import { until } from "../e2e/support/wait.ts";
import { type Ended, type Environment, start } from "./support/program.ts";

/** The commands of the built program, against a running exchange. */

let server: TestServer;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
  await new Operator(server).setIndex("BTC-PERP", "65000");
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
});

after(() => server.dispose());

const run = (args: readonly string[], env: Environment = asAlice()): Promise<Ended> => start(args, env).ended;
const asAlice = (): Environment => ({ PERPD_URL: server.url, PERPD_TOKEN: alice.token as string });

/** What a command that must succeed prints. */
async function out(...args: string[]): Promise<string> {
  const { code, out: printed, error } = await run(args);
  assert.deepEqual([code, error], [0, ""], printed);
  return printed;
}

test("an order rests, is listed, trades and is canceled", async () => {
  const placed = await out("order", "sell", "BTC-PERP", "0.5", "65010", "--post-only", "--name", "ask-1");
  assert.match(placed, /^order +name +symbol/);
  assert.match(placed, /ask-1 +BTC-PERP +SELL +LIMIT +65010 +0\.5 +0 +- +NEW/);
  const taken = await bob.market("BUY", "0.2");
  assert.equal(taken.status, "FILLED");
  assert.match(await out("orders"), /ask-1 .*65010 +0\.5 +0\.2 +65010 +PARTIALLY_FILLED/);
  assert.match(await out("positions"), /BTC-PERP +SHORT +0\.2 +65010 +65000/);
  assert.equal(await out("positions", "--symbol", "ETH-PERP"), "no open positions\n");
  const book = await out("book", "BTC-PERP", "--depth", "1");
  assert.match(book, /65010 +0\.3/);
  assert.match(book, /sequence +\d+/);
  assert.match(await out("balance"), /^equity +\d+(\.\d+)? USDC\n(.*\n)*available +\d/);
  assert.equal(await out("margin-call"), "0.8\n");
  assert.equal(await out("margin-call", "0.7"), "0.7\n");
  assert.match(await out("max-size", "BTC-PERP", "65000"), /^side +quantity +limited by\nBUY +\d.* +[A-Z_]+\nSELL +\d/);
  assert.match(await out("max-size", "BTC-PERP", "market", "--reduce-only"), /SELL +0 +REDUCE_ONLY_NO_POSITION\n$/);
  assert.match(await out("markets"), /BTC-PERP +TRADING +65010 +65000/);
  assert.match(await out("cancel", "client:ask-1"), /ask-1 .*CANCELED/);
  assert.equal(await out("orders", "--symbol", "BTC-PERP"), "no open orders\n");
  const bought = await out("order", "BUY", "BTC-PERP", "0.2", "65005", "--time-in-force", "ioc", "--reduce-only");
  assert.match(bought, /EXPIRED/);
});

test("an order without --name gets a clientOrderId, so that it can be retried", async () => {
  const placed = JSON.parse(await out("order", "buy", "BTC-PERP", "0.1", "60000", "--json")) as PlacedOrder;
  assert.match(placed.clientOrderId ?? "", /^[0-9a-f-]{36}$/);
  await out("order", "buy", "BTC-PERP", "0.1", "60001");
  const [canceled, ...others] = JSON.parse(await out("cancel", placed.orderId, "--json")) as Order[];
  assert.deepEqual([canceled?.orderId, canceled?.status, others], [placed.orderId, "CANCELED", []]);
  assert.match(await out("cancel", "--all", "--side", "buy"), /60001 .*CANCELED/);
  const waits = await out("order", "sell", "BTC-PERP", "0.1", "market", "--stop", "61000");
  assert.match(waits, /SELL +STOP_MARKET +market from 61000 +0\.1 +0 +- +UNTRIGGERED/);
  const limit = await out("order", "sell", "BTC-PERP", "0.1", "71000", "--take-profit", "70000");
  assert.match(limit, /SELL +TAKE_PROFIT +71000 from 70000 /);
  const stop = await out("order", "sell", "BTC-PERP", "0.1", "60900", "--stop", "61000");
  assert.match(stop, /SELL +STOP +60900 from 61000 /);
  assert.match(await out("order", "buy", "BTC-PERP", "0.1", "60002"), /60002/);
  assert.match(await out("order", "buy", "BTC-PERP", "0.2", "queue", "--post-only"), /LIMIT +60002 +0\.2 /);
  const iceberg = await out("order", "buy", "BTC-PERP", "0.3", "60003", "--display", "0.1", "--json");
  assert.equal((JSON.parse(iceberg) as Order).displayQuantity, "0.1");
  assert.equal((JSON.parse(await out("cancel", "--all", "--json")) as Order[]).length, 6);
  assert.equal(await out("cancel", "--all"), "no open orders\n");
});

test("order options are sent with the order", async () => {
  const resting = await out("order", "buy", "BTC-PERP", "0.1", "60000", "--post-only", "--json");
  assert.equal((JSON.parse(resting) as Order).postOnly, true);
  await out("cancel", "--all");
  const dora = await openTrader(server);
  const closing = ["order", "buy", "BTC-PERP", "0.1", "60000", "--reduce-only"];
  const refused = await run(closing, { PERPD_URL: server.url, PERPD_TOKEN: dora.token as string });
  assert.match(refused.error, /^REDUCE_ONLY_NO_POSITION: /);
});

test("--symbol lists and cancels only that symbol's orders", async () => {
  await new Operator(server).setIndex("ETH-PERP", "3000");
  const names = async (...args: string[]) =>
    (JSON.parse(await out(...args, "--json")) as Order[]).map(({ clientOrderId }) => clientOrderId);
  await out("order", "buy", "BTC-PERP", "0.1", "60000", "--name", "of-btc");
  await out("order", "buy", "ETH-PERP", "1", "2900", "--name", "of-eth");
  assert.deepEqual(await names("orders"), ["of-eth", "of-btc"]);
  assert.deepEqual(await names("orders", "--symbol", "ETH-PERP"), ["of-eth"]);
  assert.deepEqual(await names("cancel", "--all", "--symbol", "ETH-PERP"), ["of-eth"]);
  assert.deepEqual(await names("orders"), ["of-btc"]);
  await out("cancel", "--all");
});

test("all open orders are listed, over several pages", async () => {
  const carol = await openTrader(server);
  await new Operator(server).setIndex("ETH-PERP", "3000");
  const client = new PerpdClient({ baseUrl: server.url, token: carol.token as string });
  const order = { action: "PLACE", side: "BUY", type: "LIMIT", quantity: "0.01" } as const;
  const batchOf = (symbol: string, price: string) =>
    client.batch({ symbol, items: Array.from({ length: 20 }, () => ({ ...order, price })) });
  for (let i = 0; i < 26; i++) await Promise.all([batchOf("BTC-PERP", "64000"), batchOf("ETH-PERP", "2950")]);
  const env = { PERPD_URL: server.url, PERPD_TOKEN: carol.token as string };
  const listed = JSON.parse((await run(["orders", "--json"], env)).out) as Order[];
  assert.equal(new Set(listed.map(({ orderId }) => orderId)).size, 1040);
  await client.cancelOrders();
});

test("--json prints the exchange's reply", async () => {
  const shown = JSON.parse(await out("book", "BTC-PERP", "--json")) as OrderBook;
  const { time: _time, ...book } = await alice.get<OrderBook>("/market/orderbook?symbol=BTC-PERP&depth=10");
  assert.deepEqual({ ...shown, time: undefined }, { ...book, time: undefined });
  assert.equal(JSON.parse(await out("balance", "--json")).equity, (await alice.balance()).equity);
  const { status, reference } = JSON.parse(await out("deposit", "12.5", "--reference", "gift", "--json")) as Transfer;
  assert.deepEqual([status, reference], ["COMPLETED", "gift"]);
  assert.equal(await out("deposit", "12.5", "--reference", "gift"), "COMPLETED 12.5 USDC\n");
});

test("an API key authenticates, and options override the environment", async () => {
  const key = await alice.call<{ apiKey: string; secret: string }>(201, "POST", "/auth/keys", {
    label: "cli",
    permissions: ["READ"],
  });
  const env = { PERPD_API_KEY: key.apiKey, PERPD_SECRET: key.secret, PERPD_URL: "http://127.0.0.1:2" };
  // The path of the API may be left out.
  const { code, out: printed } = await run(["balance", "--url", server.url.replace("/v1", "/")], env);
  assert.equal(code, 0);
  assert.match(printed, /^equity/);
  const refused = await run(["order", "buy", "BTC-PERP", "0.1", "60000", "--url", server.url], env);
  assert.deepEqual([refused.code, refused.out], [1, ""]);
  assert.match(refused.error, /^PERMISSION_DENIED: /);
});

test("colours are printed only to a terminal", async () => {
  const bold = "\u001b[1m";
  assert.ok(!(await out("markets")).includes(bold));
  const forced = async (...args: string[]) => (await run(args, { ...asAlice(), FORCE_COLOR: "1" })).out;
  assert.ok((await forced("markets")).includes(`${bold}symbol`));
  const [red, green] = ["\u001b[31m", "\u001b[32m"];
  const bought = await forced("order", "buy", "BTC-PERP", "0.1", "60000");
  assert.ok(bought.includes(`${green}BUY`), bought);
  const sold = await forced("order", "sell", "BTC-PERP", "0.1", "66000");
  assert.ok(sold.includes(`${red}SELL`), sold);
  const positions = await forced("positions");
  assert.ok(positions.includes(`${red}SHORT`), positions);
  const news = await forced("stream", "positions", "--count", "1");
  assert.ok(news.includes(`${red}SHORT`), news);
  const book = await forced("book", "BTC-PERP");
  assert.ok(book.includes(`${green}60000`) && book.includes(`${red}66000`), book);
  await out("cancel", "--all");
});

test("a book is printed from the highest price to the lowest, with --depth levels of each side", async () => {
  for (const [side, price] of [
    ["sell", "66000"],
    ["sell", "66100"],
    ["sell", "66200"],
    ["buy", "60000"],
    ["buy", "59900"],
  ] as const)
    await (side === "sell" ? alice.sell("0.1", price) : alice.buy("0.1", price));
  const book = await out("book", "BTC-PERP", "--depth", "2");
  assert.match(book, /^price +quantity\n66100 +0\.1\n66000 +0\.1\n\n60000 +0\.1\n59900 +0\.1\nat /);
  await out("cancel", "--all");
});

test("a refusal prints the exchange's code, message and details, with exit code 1", async () => {
  const { code, out: printed, error } = await run(["order", "buy", "BTC-PERP", "90", "65000"]);
  assert.deepEqual([code, printed], [1, ""]);
  assert.match(error, /^INSUFFICIENT_MARGIN: .* \(quantity\)\n {2}required: \d.*\n {2}available: \d/);
  const unknown = await run(["cancel", "999999"]);
  assert.deepEqual([unknown.code, unknown.out], [1, ""]);
  assert.match(unknown.error, /^999999: ORDER_NOT_FOUND: .*\n$/);
});

test("cancel tries every id and names each that failed", async () => {
  for (const name of ["first", "last", "again"]) await out("order", "buy", "BTC-PERP", "0.1", "60000", "--name", name);
  const ended = await run(["cancel", "client:first", "999999", "client:nobody", "client:last"]);
  assert.equal(ended.code, 1);
  assert.match(ended.out, /^order .*\n\d+ +first .*CANCELED.*\n\d+ +last .*CANCELED.*\n$/);
  assert.match(ended.error, /^999999: ORDER_NOT_FOUND: .*\nclient:nobody: ORDER_NOT_FOUND: .*\n$/);
  const json = await run(["cancel", "999999", "client:again", "--json"]);
  const [canceled, ...others] = JSON.parse(json.out) as Order[];
  assert.deepEqual([json.code, canceled?.clientOrderId, canceled?.status, others], [1, "again", "CANCELED", []]);
  assert.match(json.error, /^999999: ORDER_NOT_FOUND: .*\n$/);
  // What is no id would be another request: all orders, say.
  await out("order", "buy", "BTC-PERP", "0.1", "60000", "--name", "still");
  const astray = await run(["cancel", "../orders", "history"]);
  assert.deepEqual([astray.code, astray.out], [1, ""]);
  assert.match(astray.error, /^\.\.\/orders: BAD_VALUE: .*nothing was sent.*\nhistory: BAD_VALUE: .*\n$/);
  await out("cancel", "client:still");
  const none = await run(["cancel", "999999", "--json"]);
  assert.deepEqual([none.code, none.out], [1, "[]\n"]);
});

test("an unreachable exchange gives exit code 1", async () => {
  for (const args of [["markets"], ["stream", "trades", "BTC-PERP"]]) {
    const { code, error } = await run(args, { PERPD_URL: "http://127.0.0.1:2" });
    assert.equal(code, 1);
    assert.match(error, /^the exchange cannot be reached: .*ECONNREFUSED/);
  }
});

test("an invalid command line gives exit code 2 and prints the usage", async () => {
  const cases: [args: string[], said: RegExp, env?: Environment][] = [
    [["book"], /^book takes SYMBOL\nusage: perpd book SYMBOL\n$/],
    [["markets", "BTC-PERP"], /takes no arguments/],
    [["book", "BTC-PERP", "--depth", "0"], /depth: "0" is not a whole number/],
    [["book", "BTC-PERP", "--deep"], /Unknown option '--deep'/],
    [["order", "hold", "BTC-PERP", "1", "2"], /side: "hold" is not one of buy, sell/],
    [["order", "buy", "BTC-PERP", "1", "queue_5", "--stop", "2"], /a conditional order takes a PRICE/],
    [["order", "buy", "BTC-PERP", "1"], /^order takes buy\|sell SYMBOL QUANTITY PRICE\|queue\|opponent\|market/],
    [
      ["order", "buy", "X", "1", "2", "--stop", "3", "--take-profit", "4"],
      /only one of --stop, --take-profit and --trail/,
    ],
    [["order", "buy", "X", "1", "2", "--trail", "0.01"], /a trailing order is a market order/],
    [["order", "buy", "X", "1", "market", "--from", "2"], /--from needs --trail/],
    [["amend", "../orders", "--price", "1"], /amend takes an order id, or client:NAME/],
    [["order", "buy", "X", "1", "2", "--until", "noon"], /--until takes a time such as 2026-12-01T12:00Z/],
    [["order", "buy", "X", "1", "2", "--until", "2100-01-01T00:00Z", "--time-in-force", "ioc"], /or --until/],
    [
      ["amend", "1"],
      /amend takes at least one of --price, --quantity, --display, --trigger, --trail, --from, --max-slippage, --then-stop, --then-take-profit and --until/,
    ],
    [["margin", "X"], /margin takes one of cross, isolated, --add and --remove/],
    [["margin", "X", "cross", "--add", "1"], /margin takes one of cross, isolated, --add and --remove/],
    [["margin", "X", "portfolio"], /mode: "portfolio" is not one of cross, isolated/],
    [["cancel"], /cancel takes order ids, or --all/],
    [["cancel", "1", "--all"], /cancel takes order ids, or --all/],
    [["cancel", "1", "--symbol", "BTC-PERP"], /--symbol and --side need --all/],
    [["cancel", "1", "--side", "buy"], /--symbol and --side need --all/],
    [["stream", "news"], /channel: "news" is not one of orderbook, trades/],
    [["stream", "ticker"], /ticker takes a SYMBOL/],
    [["balance"], /set PERPD_TOKEN, or PERPD_API_KEY and PERPD_SECRET/, {}],
    [["balance"], /set PERPD_TOKEN, or PERPD_API_KEY and PERPD_SECRET/, { PERPD_TOKEN: "" }],
    [["balance"], /set both PERPD_API_KEY and PERPD_SECRET/, { PERPD_API_KEY: "k" }],
    [["markets", "--url", "localhost"], /"localhost" is not valid/, {}],
  ];
  await Promise.all(
    cases.map(async ([args, said, env]) => {
      const { code, out: printed, error } = await run(args, env);
      assert.deepEqual([code, printed], [2, ""], args.join(" "));
      assert.match(error, said);
      assert.match(error, /\nusage: perpd /);
    }),
  );
});

test("help lists the commands and explains each", async () => {
  assert.match(
    await out("help"),
    /perpd start \[flags\][\s\S]*perpd order buy\|sell SYMBOL QUANTITY PRICE\|queue\|opponent\|market/,
  );
  const explained = await out("help", "order");
  assert.match(
    explained,
    /^usage: perpd order .*\n\nplace an order[\s\S]*\n {2}--display QUANTITY {2,}iceberg[\s\S]*PERPD_URL/,
  );
  assert.match(explained, /\n {2}--post-only {2,}refuse/);
  assert.equal(await out("order", "--help"), explained);
});

test("stream follows a channel until --count messages or a signal", async (t: TestContext) => {
  await bob.sell("0.1", "65020");
  const trades = start(["stream", "trades", "BTC-PERP", "--count", "2"], asAlice());
  t.after(() => trades.child.kill("SIGKILL"));
  await until("the snapshot", () => trades.said.out.includes("65010"));
  const placed = await alice.market("BUY", "0.01");
  const { code, out: printed, error } = await trades.ended;
  assert.deepEqual([code, error], [0, ""]);
  assert.match(printed.trimEnd().split("\n").at(-1) ?? "", /BTC-PERP {2}BUY {2}0\.01 @ 65020$/);

  const orders = start(["stream", "orders", "--json"], asAlice());
  t.after(() => orders.child.kill("SIGKILL"));
  await until("the snapshot", () => orders.said.out.includes("SNAPSHOT"));
  const { orderId } = await alice.buy("0.1", "60000");
  await until("the order", () => orders.said.out.includes(`"${orderId}"`));
  orders.child.kill("SIGINT");
  assert.equal((await orders.ended).code, 0);
  assert.equal(placed.status, "FILLED");
});

test("stream prints a line for each kind of message", async () => {
  const shown: [args: string[], line: RegExp][] = [
    [["orderbook", "BTC-PERP"], /0\.1 @ 60000 {2}65020 @ 0\.09$/],
    [["ticker", "BTC-PERP"], /last 65020 {2}mark 65000 .* funding 0$/],
    [["klines", "BTC-PERP", "--interval", "1M"], / 65010 65020 65010 65020 {2}0\.21$/],
    [["klines", "BTC-PERP", "--price", "mark", "--interval", "1M"], / 65000 65000 65000 65000 {2}0$/],
    [["tickers"], /-PERP {2}last .* {2}mark .* funding 0$/],
    [["mark-price"], /-PERP {2}mark .* {2}index .* {2}funding 0$/],
    [["symbols", "BTC-PERP"], /^BTC-PERP {2}TRADING {2}open interest \d/],
    [["positions"], /BTC-PERP {2}SHORT 0\.19 @ 65010 .* profit /],
    [["balance"], /equity \d.* available \d/],
    [["transfers"], /DEPOSIT {2}12\.5 USDC {2}COMPLETED$/],
    [["fills"], /BTC-PERP {2}BUY {2}0\.01 @ 65020 {2}fee /],
    [["orders"], /BUY {2}0\/0\.1 @ 60000 {2}NEW$/],
  ];
  await Promise.all(
    shown.map(async ([args, line]) => {
      const lines = (await out("stream", ...args, "--count", "1")).trimEnd().split("\n");
      assert.match(lines.at(-1) ?? "", line);
    }),
  );
  const { code, error } = await run(["stream", "balance"], { PERPD_URL: server.url });
  assert.equal(code, 1);
  assert.match(error, /^UNAUTHENTICATED: /);
});

test("a closed pipe, such as of head, ends a command silently", async (t: TestContext) => {
  const trades = start(["stream", "trades", "BTC-PERP"], asAlice());
  t.after(() => trades.child.kill("SIGKILL"));
  await until("the snapshot", () => trades.said.out.includes("65010"));
  trades.child.stdout?.destroy();
  await alice.market("BUY", "0.01");
  await bob.market("SELL", "0.01");
  const listed = start(["book", "BTC-PERP"], asAlice());
  listed.child.stdout?.destroy();
  for (const { code, error } of await Promise.all([trades.ended, listed.ended]))
    assert.deepEqual([code, error], [0, ""]);
});

test("close closes a position, and leverage sets its leverage", async () => {
  const carol = await openTrader(server);
  await bob.sell("0.3", "65005");
  await carol.market("BUY", "0.3");
  const env = { PERPD_URL: server.url, PERPD_TOKEN: carol.token as string };
  await bob.buy("0.3", "65000");
  const part = await run(["close", "BTC-PERP", "0.1"], env);
  assert.match(part.out, /SELL +MARKET +- +0\.1 +0\.1 +65000 +FILLED\n {2}0\.1 at 65000, fee 3\.25 USDC \(TAKER\)\n$/);
  await run(["close", "BTC-PERP"], env);
  assert.equal(await carol.position(), null);
  assert.equal((await run(["leverage", "BTC-PERP", "20"], env)).out, "BTC-PERP 20x\n");
  assert.match((await run(["leverage", "BTC-PERP", "x"], env)).error, /leverage: "x" is not a whole number/);
});

test("--until sets an order's expiry, and amend changes it", async () => {
  await out("order", "buy", "BTC-PERP", "0.3", "60000", "--until", "2100-01-01T00:00Z", "--name", "ends");
  const { timeInForce, goodTillDate } = await alice.order("client:ends");
  assert.deepEqual([timeInForce, goodTillDate], ["GTD", Date.UTC(2100, 0, 1)]);
  await out("amend", "client:ends", "--until", "2100-02-01T12:30:00.250Z");
  assert.equal((await alice.order("client:ends")).goodTillDate, Date.UTC(2100, 1, 1, 12, 30, 0, 250));
  const past = await run(["amend", "client:ends", "--until", "2001-01-01T00:00Z"]);
  assert.deepEqual([past.code, past.out], [1, ""]);
  await out("cancel", "client:ends");
});

test("amend changes price, quantity and trigger of an open order", async () => {
  await out("order", "buy", "BTC-PERP", "0.3", "60000", "--name", "amended");
  assert.match(await out("amend", "client:amended", "--price", "60010"), /amended .*LIMIT +60010 +0\.3 +0 +- +NEW/);
  const { orderId } = await alice.order("client:amended");
  assert.match(await out("amend", orderId, "--quantity", "0.2"), /amended .*LIMIT +60010 +0\.2 +0 +- +NEW/);
  const protectedText = await out("amend", orderId, "--then-stop", "59000", "--then-take-profit", "70000");
  assert.match(protectedText, /then stop at 59000 \(MARK\), market\n {2}then take-profit at 70000 \(MARK\), market\n$/);
  await out("amend", orderId, "--display", "0.05", "--then-stop", "none");
  const { takeProfit, stopLoss } = await alice.order(orderId);
  assert.deepEqual([takeProfit?.triggerPrice, stopLoss], ["70000", null]);
  assert.equal((await alice.order(orderId)).displayQuantity, "0.05");
  await out("cancel", orderId);
  const gone = await run(["amend", orderId, "--price", "60020"]);
  assert.deepEqual([gone.code, gone.out], [1, ""]);
  await out(
    "order",
    "sell",
    "BTC-PERP",
    "0.1",
    "market",
    "--stop",
    "50000",
    "--max-slippage",
    "0.01",
    "--name",
    "stop",
  );
  assert.equal((await alice.order("client:stop")).maxSlippage, "0.01");
  await out("amend", "client:stop", "--trigger", "51000", "--max-slippage", "0.02");
  const stop = await alice.order("client:stop");
  assert.deepEqual([stop.triggerPrice, stop.maxSlippage], ["51000", "0.02"]);
  await out("cancel", "client:stop");
  await out("order", "sell", "BTC-PERP", "0.1", "market", "--trail", "0.02", "--from", "70000", "--name", "trails");
  await out("amend", "client:trails", "--trail", "0.03", "--from", "71000");
  const { callbackRate, activationPrice } = await alice.order("client:trails");
  assert.deepEqual([callbackRate, activationPrice], ["0.03", "71000"]);
  await out("cancel", "client:trails");
});

test("--dry-run prints the expected result and places no order", async () => {
  await bob.sell("0.05", "65005");
  const resting = await out("orders");
  const tried = await out("order", "buy", "BTC-PERP", "0.1", "65005", "--dry-run");
  assert.match(tried, /\n- +- +BTC-PERP +BUY +LIMIT +65005 +0\.1 +0\.05 +65005 +PARTIALLY_FILLED\n/);
  assert.match(
    tried,
    /\n {2}0\.05 at 65005, fee 1\.625125\nnot placed; it would need [0-9.]+ of [0-9.]+ USDC available/,
  );
  assert.equal(await out("orders"), resting);
  const refused = await run(["order", "buy", "BTC-PERP", "90", "65000", "--dry-run"]);
  assert.match(refused.error, /^INSUFFICIENT_MARGIN: /);
  await bob.cancelAll();
});

test("trailing orders, and orders with an attached stop-loss and take-profit", async () => {
  const trails = await out("order", "sell", "BTC-PERP", "0.1", "market", "--trail", "0.02", "--from", "66000");
  assert.match(trails, /SELL +TRAILING_STOP_MARKET .*UNTRIGGERED/);
  await out("cancel", "--all");
  await bob.sell("0.1", "65005");
  const legs = ["--then-stop", "58000", "--then-take-profit", "70000"];
  const dora = await openTrader(server);
  const env = { PERPD_URL: server.url, PERPD_TOKEN: dora.token as string };
  assert.match((await run(["order", "buy", "BTC-PERP", "0.1", "market", ...legs], env)).out, /FILLED/);
  const waiting = (await run(["orders"], env)).out;
  assert.match(waiting, /SELL +STOP_MARKET +market from 58000 +0\.1 /);
  assert.match(waiting, /SELL +TAKE_PROFIT_MARKET +market from 70000 +0\.1 /);
  await bob.buy("0.1", "64990");
  assert.match((await run(["close", "BTC-PERP"], env)).out, /FILLED/);
});

test("fills lists the trades, and ledger the changes of money", async () => {
  const carol = await openTrader(server, "5000");
  const env = { PERPD_URL: server.url, PERPD_TOKEN: carol.token as string };
  const said = async (...args: string[]) => (await run(args, env)).out;
  assert.equal(await said("fills"), "no fills\n");
  await bob.sell("0.1", "65005");
  await carol.market("BUY", "0.1");
  const fills = await said("fills", "--symbol", "BTC-PERP");
  assert.match(
    fills,
    /^time \(UTC\) +symbol .*\n[-0-9]{10} [0-9:]{8} +BTC-PERP +BUY +0\.1 +65005 +3\.25025 +0 +TAKER +\d+\n$/,
  );
  assert.equal(await said("fills", "--symbol", "ETH-PERP"), "no fills\n");
  assert.equal(await said("ledger", "--symbol", "ETH-PERP"), "no entries\n");
  const entries = await said("ledger");
  assert.match(entries, /FEE +BTC-PERP +-3\.25025 +USDC +\d+\n[-0-9]{10} [0-9:]{8} +DEPOSIT +- +5000 +USDC +\d+\n$/);
  assert.doesNotMatch(await said("ledger", "--type", "fee"), /DEPOSIT/);
  assert.equal(JSON.parse(await said("ledger", "--limit", "1", "--json")).length, 1);
  assert.equal(await said("ledger", "--type", "funding"), "no entries\n");
  assert.match((await run(["ledger", "--type", "bonus"], env)).error, /^BAD_VALUE: /);

  // Its margin.
  assert.match((await run(["margin", "BTC-PERP", "isolated"], env)).out, /^BTC-PERP ISOLATED/);
  assert.match(
    await said("margin", "BTC-PERP", "--add", "100"),
    /^BTC-PERP ISOLATED, isolated margin \d+(\.\d+)? USDC\n$/,
  );
  const before = await carol.position();
  const removed = await said("margin", "BTC-PERP", "--remove", "40", "--reference", "r");
  assert.equal(await said("margin", "BTC-PERP", "--remove", "40", "--reference", "r"), removed);
  const after = await carol.position();
  assert.equal(Number(before?.isolatedMargin) - Number(after?.isolatedMargin), 40);
  await bob.cancelAll();
  await bob.buy("0.1", "64990");
  await said("close", "BTC-PERP");
});
