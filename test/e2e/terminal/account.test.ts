import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import type { ApiKeyList, Session } from "../../../src/client/types.ts";
import { CHROMIUM, openBrowser } from "../support/browser.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Tab } from "../support/tab.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { newPrivateKey } from "../support/wallet.ts";

/** The account's side of the terminal: lists, charts and switches, in Chromium on a real exchange. */

const options = { skip: CHROMIUM === null && "no Chromium is installed: the terminal was not tested" };

let server: TestServer;
let browser: Browser;
let operator: Operator;
let maker: Trader;
let tab: Tab;
let page: Page;
/** The account that is signed in in the page, as a bot of its owner uses it. */
let owner: Trader;

before(async () => {
  if (CHROMIUM === null) return;
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  maker = await openTrader(server, "1000000");
  await maker.sell("5", "65010");
  await maker.buy("5", "64990");
  await maker.sell("50", "3001", { symbol: "ETH-PERP" });
  browser = await openBrowser();
  tab = await Tab.open(browser, new URL("/", server.url).href);
  ({ page } = tab);
  const [login] = await Promise.all([
    page.waitForResponse((response) => response.url().endsWith("/auth/login")),
    page.getByRole("banner").getByRole("button", { name: "Try it" }).click(),
  ]);
  const { token, accountId, address } = (await login.json()) as Session;
  owner = new Trader(server.url, token, accountId, address, newPrivateKey());
  await shows(region("Account").getByText("100,000.00 USDC"));
});
after(async () => {
  await browser?.close();
  await server?.dispose();
});

const region = (name: string): Locator => page.getByRole("region", { name });
const table = (name: string): Locator => page.getByRole("table", { name });
const rows = (name: string): Locator =>
  table(name)
    .getByRole("row")
    .filter({ has: page.getByRole("cell") });
const openTable = (name: string): Promise<void> => page.getByRole("tab", { name }).click();
const shows = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 20_000 });
const choose = (label: string, option: string): Promise<string[]> =>
  page.getByLabel(label, { exact: true }).selectOption(option);

test("a history is filtered by market, kind and time, and the file has what is shown", options, async () => {
  await owner.market("BUY", "0.02", { clientOrderId: "bot-1" });
  await owner.market("BUY", "0.5", { symbol: "ETH-PERP" });
  const { orderId } = await owner.buy("0.1", "60000");
  await owner.cancel(orderId);
  await openTable("Order history");
  await shows(table("Order history").getByText("bot-1"));
  assert.equal(await rows("Order history").count(), 3);
  await choose("Market", "BTC-PERP");
  await choose("Kind", "Canceled");
  await rows("Order history").filter({ hasText: "bot-1" }).waitFor({ state: "hidden" });
  await shows(rows("Order history").filter({ hasText: "60,000.0" }));
  assert.equal(await rows("Order history").count(), 1);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save CSV" }).click(),
  ]);
  const lines = readFileSync(await file.path(), "utf8")
    .trim()
    .split("\r\n");
  assert.equal(lines.length, 2);
  assert.match(lines[1] ?? "", new RegExp(`^${orderId},.*,CANCELED,`));
  await choose("Time range", "From … to …");
  await page.getByLabel("From", { exact: true }).fill("2020-01-02T00:00");
  await page.getByLabel("To", { exact: true }).fill("2020-01-01T00:00");
  await shows(page.getByRole("alert").filter({ hasText: "The end is before the beginning." }));
  assert.ok(await page.getByRole("button", { name: "Save CSV" }).isDisabled());
  assert.deepEqual(await tab.axe(), []);
  await page.getByLabel("To", { exact: true }).fill("2020-01-03T00:00");
  await shows(page.getByText("Nothing matches the filter."));
  await choose("Time range", "24 hours");
  await choose("Kind", "All kinds");
  await shows(table("Order history").getByText("bot-1"));
  // The choice stays while another list is shown, and new rows come by themselves.
  await openTable("Ledger");
  await choose("Kind", "Fee");
  await shows(rows("Ledger").filter({ hasText: "ETH-PERP" }));
  assert.equal(await rows("Ledger").count(), 2);
  await owner.market("BUY", "0.01");
  await shows(rows("Ledger").nth(2));
  await openTable("Order history");
  assert.equal(await page.getByLabel("Time range").inputValue(), "day");
  await choose("Market", "All markets");
  await choose("Time range", "All time");
  tab.assertClean();
});

test("another time zone has a history printed again, and not read again", options, async () => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Emulation.setTimezoneOverride", { timezoneId: "Asia/Tokyo" });
  await openTable("Fills");
  const printed = (): Promise<string | null> => rows("Fills").first().getByRole("cell").first().textContent();
  await shows(rows("Fills"));
  const local = await printed();
  await page.waitForTimeout(1_500);
  let reads = 0;
  const count = (request: { url(): string }): unknown => request.url().includes("/account/trades") && reads++;
  page.on("request", count);
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Time zone").selectOption("UTC");
  await until("other times", async () => (await printed()) !== local);
  await page.waitForTimeout(1_500);
  assert.equal(reads, 0);
  page.off("request", count);
  await page.getByLabel("Time zone").selectOption("Local");
  await page.keyboard.press("Escape");
  await devtools.send("Emulation.setTimezoneOverride", { timezoneId: "" });
  tab.assertClean();
});

test("deposits and withdrawals are one list, newest first", options, async () => {
  await owner.deposit("7");
  await owner.call(201, "POST", "/account/withdraw", { asset: "USDC", amount: "8", address: owner.address });
  await openTable("Transfers");
  await shows(rows("Transfers").filter({ hasText: "8.00 USDC" }));
  const amounts = await rows("Transfers").getByText("USDC").allTextContents();
  assert.deepEqual(amounts, ["8.00 USDC", "7.00 USDC", "100,000.00 USDC"]);
  await choose("Kind", "Withdrawal");
  await rows("Transfers").filter({ hasText: "7.00 USDC" }).waitFor({ state: "hidden" });
  await shows(rows("Transfers").filter({ hasText: "8.00 USDC" }));
  assert.equal(await rows("Transfers").count(), 1);
  tab.assertClean();
});

test("markup that the exchange sends as a client order id is shown as text", options, async () => {
  // The exchange itself takes no such id: see the pattern in its reference.
  const markup = '<img src="x" onerror="throw new Error(1)">';
  await page.route("**/v1/orders/history*", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ body: (await answer.text()).replace('"bot-1"', JSON.stringify(markup)) });
  });
  await openTable("Fills");
  await openTable("Order history");
  await shows(table("Order history").getByText(markup, { exact: true }));
  assert.equal(await table("Order history").getByRole("img").count(), 0);
  await page.unroute("**/v1/orders/history*");
  tab.assertClean();
});

test("equity and profit are a chart and a table, and follow the price", options, async () => {
  await openTable("Equity and PnL");
  const chart = page.getByRole("img", { name: /^Equity and PnL: / });
  await shows(chart);
  // Fees and the spread.
  await shows(page.getByRole("img", { name: /^Equity and PnL: −[1-9]/ }));
  // 0.03 BTC are long, and the mark rises by at least 269.
  await operator.setIndex("BTC-PERP", "65400");
  await shows(page.getByRole("img", { name: /^Equity and PnL: [1-9]/ }));
  for (const range of ["1d", "1w", "1M", "All", "1h"]) {
    await page.getByRole("tabpanel").getByRole("button", { name: range, exact: true }).click();
    await shows(chart);
  }
  await page.getByRole("tabpanel").getByRole("button", { name: "Equity", exact: true }).click();
  // 100,000 and 7 in, 8 out, and a profit of some USDC.
  await shows(page.getByRole("img", { name: /^Equity and PnL: 100,0[0-9]{2}\.[0-9]{2} USDC/ }));
  assert.deepEqual(await tab.axe(), []);
  await page.getByRole("tabpanel").getByRole("button", { name: "Table", exact: true }).click();
  await shows(rows("Equity and PnL").getByText(/^100,0[0-9]{2}/));
  assert.deepEqual(await tab.axe(), []);
  await operator.setIndex("BTC-PERP", "65000");
  tab.assertClean();
});

test("the figures of the account add up, with isolated positions beside the cross account", options, async () => {
  const figure = async (list: string, label: string): Promise<number> => {
    const term = region("Account").locator(`dl[aria-label="${list}"] dt`).getByText(label, { exact: true });
    const shown = (await term.locator("xpath=following-sibling::dd").textContent()) ?? "";
    return Number(shown.replace("−", "-").replace(/[+,]|USDC/g, ""));
  };
  const cross = (label: string): Promise<number> => figure("Cross account", label);
  const apart = (label: string): Promise<number> => figure("Cross account and isolated margin", label);
  // To the cent, as they are shown.
  const isNear = (sum: number, shown: number): boolean => Math.abs(sum - shown) < 0.02;
  const crossFits = async (): Promise<boolean> => {
    const equity = await cross("Equity");
    const isWhole = isNear((await cross("Wallet balance")) + (await cross("Unrealized PnL")), equity);
    return isWhole && isNear((await cross("Available")) + (await cross("Initial margin")), equity);
  };
  await until("figures that fit", crossFits);
  assert.equal(await region("Account").getByText("Isolated margin").count(), 0);
  await owner.call(200, "POST", "/positions/ETH-PERP/margin-mode", { mode: "ISOLATED" });
  await operator.setIndex("ETH-PERP", "3010");
  await shows(region("Account").getByText("Isolated margin"));
  await until("a profit", async () => (await apart("Isolated PnL, included")) > 0);
  await until("figures that fit", async () => {
    const all = (await cross("Equity")) + (await apart("Isolated margin"));
    return (await crossFits()) && isNear(all, await apart("Total equity"));
  });
  assert.deepEqual(await tab.axe(), []);
  await operator.setIndex("ETH-PERP", "3000");
  await owner.call(200, "POST", "/positions/ETH-PERP/margin-mode", { mode: "CROSS" });
  await region("Account").getByText("Isolated margin").waitFor({ state: "hidden" });
  tab.assertClean();
});

test("the cancel-after switch counts down, renews itself, is disarmed, and cancels", options, async () => {
  for (let order = 0; order < 5; order++) await owner.buy("0.001", String(60_000 + order));
  await openTable("Open orders");
  await page.getByLabel("Cancel all after").selectOption("10 s");
  await page.getByLabel("Renew while connected").check();
  await page.getByRole("button", { name: "Arm", exact: true }).click();
  const countdown = page.getByRole("timer", { name: "Cancel-after switch" });
  const inStatus = page.getByRole("contentinfo").getByRole("timer");
  await shows(countdown.getByText(/00:00:0[78]/));
  await shows(countdown.getByText(/00:00:(09|10)/));
  assert.deepEqual(await tab.axe(), []);
  await page.getByRole("button", { name: "Disarm", exact: true }).click();
  await shows(page.getByText("Cancel-after switch disarmed"));
  await inStatus.waitFor({ state: "hidden" });
  await page.getByLabel("Renew while connected").uncheck();
  await page.getByRole("button", { name: "Arm", exact: true }).click();
  // It is seen in a narrow window, too.
  await tab.resize(390, 844);
  await shows(inStatus);
  assert.deepEqual(await tab.axe(), []);
  await tab.resize(1440, 900);
  await shows(page.getByText("No open orders."));
  // One message for all of them.
  await shows(page.getByText("5 orders canceled", { exact: true }));
  const { data } = await owner.history("?limit=5");
  assert.deepEqual(new Set(data.map(({ reason }) => reason)), new Set(["CANCEL_AFTER"]));
  tab.assertClean();
});

test("the tapes show what is large enough, and liquidations of all markets", options, async () => {
  const tape = region("Trades");
  const trades = tape.getByRole("list", { name: "Trades" }).getByRole("listitem");
  await owner.market("BUY", "0.02");
  await shows(trades.filter({ hasText: "0.020" }));
  await tape.getByLabel("Smallest value in USDC").selectOption("≥ 10K");
  await trades.filter({ hasText: "0.020" }).first().waitFor({ state: "hidden" });
  await owner.market("BUY", "0.2");
  await owner.market("SELL", "0.2");
  await shows(trades.filter({ hasText: /^Buy65,010\.0\s*0\.200/ }));
  await tape.getByLabel("Smallest value in USDC").selectOption("All");
  // Small ones that were dropped come back.
  await shows(trades.filter({ hasText: "0.020" }));
  await tape.getByRole("button", { name: "Liquidations" }).click();
  await shows(tape.getByText("No liquidation of this size yet."));
  const victim = await openTrader(server, "100");
  await victim.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 50 });
  await victim.market("BUY", "0.06");
  for (const price of ["64550", "64100", "63650", "63200"]) await operator.setIndex("BTC-PERP", price);
  const forced = tape.getByRole("list", { name: "Liquidations of all markets" }).getByRole("listitem");
  await shows(forced.filter({ hasText: /^Long liquidatedBTC 6/ }));
  assert.deepEqual(await tab.axe(), []);
  await tape.getByLabel("Smallest value in USDC").selectOption("≥ 1M");
  await shows(tape.getByText("No liquidation of this size yet."));
  await tape.getByLabel("Smallest value in USDC").selectOption("All");
  await shows(forced);
  await tape.getByRole("button", { name: "Trades", exact: true }).click();
  await shows(trades.filter({ hasText: /liquidation/ }));
  for (const price of ["63650", "64100", "64550", "65000"]) await operator.setIndex("BTC-PERP", price);
  tab.assertClean();
});

test("a position shows its exits, the list of markets its figures, and a key its limits", options, async () => {
  for (const [type, triggerPrice] of [
    ["STOP_MARKET", "60000"],
    ["TAKE_PROFIT_MARKET", "70000"],
  ] as const)
    await owner.place({ symbol: "BTC-PERP", side: "SELL", type, closePosition: true, triggerPrice });
  await openTable("Positions");
  await shows(rows("Positions").getByRole("cell", { name: "70,000.0 60,000.0" }));
  for (const title of ["Liq. price", "Margin", "PnL (ROE)", "Funding (next)", "TP / SL", "ADL"])
    assert.equal(await table("Positions").getByRole("columnheader", { name: title, exact: true }).count(), 1, title);
  await owner.cancelAll();
  await rows("Positions").getByText("70,000.0").waitFor({ state: "hidden" });

  await page
    .getByRole("banner")
    .getByRole("button", { name: /^Market/ })
    .click();
  const markets = page.getByRole("dialog", { name: "Markets" });
  await shows(
    markets
      .getByRole("row")
      .filter({ hasText: "BTC-PERP" })
      .getByText(/^\d\d:\d\d:\d\d$/),
  );
  assert.deepEqual(await tab.axe(), []);
  await page.keyboard.type("eth");
  assert.equal(
    await markets
      .getByRole("row")
      .filter({ has: page.getByRole("cell") })
      .count(),
    1,
  );
  await page.keyboard.press("Escape");

  await region("Account").getByRole("button", { name: "API keys" }).click();
  const dialog = page.getByRole("dialog", { name: "API keys" });
  await dialog.getByLabel("Name").fill("limited");
  await dialog.getByText("Limits and expiry").click();
  await dialog.getByLabel("Only in these markets").fill("btc-perp, DOGE-PERP");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await shows(dialog.getByText("There is no market called DOGE-PERP."));
  await dialog.getByLabel("Only in these markets").fill("btc-perp");
  await dialog.getByLabel("Largest position (USDC)").fill("5000");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await shows(dialog.getByText(/only BTC-PERP · positions up to 5,000\.00 USDC/));
  const { data } = await owner.get<ApiKeyList>("/auth/keys");
  assert.deepEqual([data[0]?.allowedSymbols, data[0]?.maxPositionNotional], [["BTC-PERP"], "5000"]);
  await dialog.getByRole("button", { name: "I have saved it" }).click();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  tab.assertClean();
});

test("of 1,000 open orders those in view are drawn, and all can be reached and canceled", options, async () => {
  for (let batch = 0; batch < 50; batch++) {
    const items = Array.from({ length: 20 }, (_, index) => {
      const price = String(50_000 + 20 * batch + index);
      return { action: "PLACE", side: "BUY", type: "LIMIT", price, quantity: "0.001" };
    });
    await owner.call(200, "POST", "/orders/batch", { symbol: "BTC-PERP", items });
  }
  await openTable("Open orders");
  await shows(rows("Open orders").filter({ hasText: "50,999.0" }));
  assert.equal(await table("Open orders").getAttribute("aria-rowcount"), "1001");
  assert.ok((await rows("Open orders").count()) < 100);
  const handles = region("Price chart").getByRole("button", { name: /^Limit 0\.001 BTC/, includeHidden: true });
  assert.equal(await handles.count(), 50);
  assert.deepEqual(await tab.axe(), []);
  await page.getByRole("tabpanel").focus();
  await page.keyboard.press("End");
  const last = rows("Open orders").filter({ hasText: "50,000.0" });
  await shows(last);
  assert.equal(await last.getAttribute("aria-rowindex"), "1001");
  await last.getByRole("button", { name: /^Cancel order/ }).click();
  await last.waitFor({ state: "hidden" });
  await shows(rows("Open orders").filter({ hasText: "50,001.0" }));
  await region("Positions and orders").getByRole("button", { name: "Cancel all" }).click();
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});
