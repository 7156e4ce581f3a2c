import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page, Route } from "playwright-core";
import type { Position } from "../../../src/client/types.ts";
import { CHROMIUM, openBrowser } from "../support/browser.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Tab } from "../support/tab.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { announceWallets } from "./wallets.ts";

/** Presses at a bad time, in Chromium over a slow connection: each of them does at most what the person meant. */

const options = { skip: CHROMIUM === null && "no Chromium is installed: double clicks were not tested" };

let proxy: FaultProxy;
let server: TestServer;
let browser: Browser;
let maker: Trader;
/** The same account as that of the page's wallet. */
let alice: Trader;
let tab: Tab;
let page: Page;
/** Requests of the page that change something, in the order in which it sent them. */
const sent: { op: string; params: Record<string, unknown> }[] = [];

before(async () => {
  if (CHROMIUM === null) return;
  proxy = await FaultProxy.open();
  server = await startServer({ environment: { PERPD_LOGIN_DOMAIN: proxy.authority } });
  proxy.target = server.port;
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  maker = await openTrader(server, "1000000");
  await maker.sell("5", "65010");
  await maker.buy("5", "64990");
  for (const [side, price] of [
    ["SELL", "3001"],
    ["BUY", "2999"],
  ] as const)
    await maker.place({ symbol: "ETH-PERP", side, type: "LIMIT", price, quantity: "50" });
  alice = await openTrader(server, "100000");
  browser = await openBrowser();
  const wallet = { name: "Own", privateKey: alice.privateKey };
  tab = await Tab.open(browser, proxy.url, { init: (opened) => announceWallets(opened, [wallet]) });
  ({ page } = tab);
  await region("Account").getByRole("button", { name: "Connect Own" }).click();
  await shows(page.getByText("Live", { exact: true }));
  await shows(region("Account").getByText("100,000.00 USDC"));
});
after(async () => {
  await browser?.close();
  proxy?.close();
  await server?.dispose();
});

const region = (name: string): Locator => page.getByRole("region", { name });
const form = (): Locator => region("Place an order");
const field = (label: string): Locator => form().getByLabel(label, { exact: true });
const dialog = (): Locator => page.getByRole("dialog");
const rows = (name: string): Locator => page.getByRole("table", { name }).getByRole("row");
const openTable = (name: string): Promise<void> => page.getByRole("tab", { name }).click();
const notice = (text: string | RegExp): Locator => region("Notifications").getByText(text);
const shows = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 20_000 });
const hides = (locator: Locator): Promise<void> => locator.first().waitFor({ state: "hidden", timeout: 20_000 });

/** Long enough for a second press to come before the answer. */
const SLOW_MS = 700;

/** Keeps answers to trading back, and notes what is sent. Streams and dry runs are not slowed down. */
function slowDown(): void {
  const waiting = new Set<unknown>();
  sent.length = 0;
  proxy.toExchange = (message) => {
    const { op, id, params } = JSON.parse(message);
    if (/^(order|orders|position)\./.test(op) && params.dryRun !== true) {
      sent.push({ op, params });
      waiting.add(id);
    }
    return message;
  };
  proxy.toPage = (message, pair) => {
    const { id } = JSON.parse(message);
    if (id === undefined || !waiting.delete(id)) return message;
    setTimeout(() => pair.page.send(message), SLOW_MS);
    return null;
  };
}

/** After so long nothing more would be sent. */
const settle = (): Promise<void> => page.waitForTimeout(2 * SLOW_MS);

const sizeOf = async (symbol: string): Promise<string> => {
  const position = await alice.position(symbol);
  return position === null ? "0" : `${position.side === "SHORT" ? "-" : ""}${position.size}`;
};

test("a double click on the order form places one order, and what is typed meanwhile stays", options, async () => {
  await form().getByRole("button", { name: "Market", exact: true }).click();
  await field("Size").fill("0.04");
  slowDown();
  await form().getByRole("button", { name: "Buy 0.04 BTC" }).dblclick();
  await shows(form().getByRole("button", { name: "Sending…" }));
  await field("Size").press("Enter");
  await field("Size").fill("0.07");
  await shows(notice("Bought 0.04 BTC"));
  await settle();
  assert.deepEqual([sent.length, await sizeOf("BTC-PERP")], [1, "0.04"]);
  assert.equal(await field("Size").inputValue(), "0.07");
  // Without a change, the size goes with the order: another Enter sends nothing.
  await field("Size").press("Enter");
  await shows(notice("Bought 0.07 BTC"));
  await until("the answer", async () => (await field("Size").inputValue()) === "");
  await field("Size").press("Enter");
  await settle();
  assert.deepEqual([sent.length, await sizeOf("BTC-PERP")], [2, "0.11"]);
  proxy.heal();
  tab.assertClean();
});

/** Chooses a market by the command palette. */
async function goTo(base: "BTC" | "ETH", position: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.keyboard.type(`go to ${base.toLowerCase()}`);
  await page.keyboard.press("Enter");
  await shows(form().getByText(`${position} ${base}`));
}

test("a refusal that is shown goes with its market", options, async () => {
  const refusal = form().getByText(/post-only order must not/);
  await form().getByRole("button", { name: "Limit", exact: true }).click();
  await field("Post only").check();
  await field("Price").fill("66000");
  await field("Size").fill("0.02");
  await shows(refusal);
  await goTo("ETH", "0");
  assert.equal(await refusal.count(), 0);
  assert.equal(await form().locator("[aria-invalid=true]").count(), 0);
  await goTo("BTC", "0.11");
  tab.assertClean();
});

test(
  "a refusal that comes after the market was changed is not shown at the other market's order",
  options,
  async () => {
    await form().getByRole("button", { name: "Limit", exact: true }).click();
    await field("Post only").check();
    await field("Price").fill("64000");
    await field("Size").fill("0.02");
    await shows(form().getByRole("button", { name: "Buy 0.02 BTC", disabled: false }));
    // The market moves below the order after its dry run.
    const wall = await openTrader(server, "1000000");
    await maker.cancelAll("?symbol=BTC-PERP&side=BUY");
    slowDown();
    const { toExchange } = proxy;
    let isHeld = true;
    let release = (): void => {};
    proxy.toExchange = (message, pair) => {
      if (!isHeld || !message.includes('"order.place"') || message.includes('"dryRun"'))
        return toExchange(message, pair);
      isHeld = false;
      release = () => pair.exchange.send(toExchange(message, pair) ?? "");
      return null;
    };
    await form().getByRole("button", { name: "Buy 0.02 BTC" }).click();
    await until("the order to be sent", () => !isHeld);
    await wall.sell("0.5", "63999");
    release();
    await goTo("ETH", "0");
    await shows(notice(/^A post-only order must not trade at once/));
    assert.equal(
      await form()
        .getByText(/post-only order must not/)
        .count(),
      0,
    );
    assert.equal(await form().locator("[aria-invalid=true]").count(), 0);
    proxy.heal();
    await wall.cancelAll();
    await maker.buy("5", "64990");
    await goTo("BTC", "0.11");
    tab.assertClean();
  },
);

test(
  "the leverage of another market is neither shown nor compared with, and a failed read is repeated",
  options,
  async () => {
    const leverage = (name: string): Locator => form().getByRole("button", { name: `Leverage ${name}`, exact: true });
    await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 20 });
    await alice.market("BUY", "0.001");
    await shows(leverage("20×"));
    tab.expected = /ERR_FAILED/;
    let failures = 0;
    const read = (url: URL): boolean => url.pathname === "/v1/positions/ETH-PERP";
    await page.route(read, async (route) => {
      failures++;
      await route.abort();
    });
    await goTo("ETH", "0");
    await shows(leverage("–"));
    assert.ok(await leverage("–").isDisabled());
    assert.equal(
      await form()
        .getByRole("button", { name: /^Margin mode –$/ })
        .count(),
      1,
    );
    await until("another read", () => failures >= 3);
    await page.unroute(read);
    await leverage("10×").click();
    await dialog().getByRole("textbox", { name: "Leverage" }).fill("20");
    await dialog().getByRole("button", { name: "Confirm" }).click();
    await hides(dialog());
    await shows(leverage("20×"));
    assert.equal((await alice.get<Position>("/positions/ETH-PERP")).leverage, 20);
    tab.expected = null;
    for (const symbol of ["BTC-PERP", "ETH-PERP"])
      await alice.call(200, "POST", `/positions/${symbol}/leverage`, { leverage: 10 });
    await alice.market("SELL", "0.001");
    await goTo("BTC", "0.11");
    await shows(leverage("10×"));
    tab.assertClean();
  },
);

test("the preview of an order comes over a slow connection, and is never that of another order", options, async () => {
  const after = form().getByText("Position after", { exact: true }).locator("xpath=following-sibling::dd");
  const dryRuns = new Set<unknown>();
  const answerAfter = (waitMs: number): void => {
    proxy.toExchange = (message) => {
      const { id, params } = JSON.parse(message);
      if (params?.dryRun === true) dryRuns.add(id);
      return message;
    };
    proxy.toPage = (message, pair) => {
      if (waitMs === 0 || !dryRuns.has(JSON.parse(message).id)) return message;
      setTimeout(() => pair.page.send(message), waitMs);
      return null;
    };
  };
  answerAfter(900);
  // Positions change before each answer.
  let isTrading = true;
  const trades = (async () => {
    for (let side: "BUY" | "SELL" = "BUY"; isTrading || side === "SELL"; side = side === "BUY" ? "SELL" : "BUY") {
      await alice.place({ symbol: "ETH-PERP", side, type: "MARKET", quantity: "0.01" });
      await page.waitForTimeout(300);
    }
  })();
  await form().getByRole("button", { name: "Market", exact: true }).click();
  await field("Size").fill("0.02");
  await shows(after.and(page.getByText("0.13 BTC", { exact: true })));
  await field("Size").fill("0.03");
  await shows(form().getByRole("button", { name: "Buy 0.03 BTC" }));
  assert.equal(await after.textContent(), "–");
  await shows(after.and(page.getByText("0.14 BTC", { exact: true })));
  await form().getByRole("button", { name: "Limit", exact: true }).click();
  await field("Post only").check();
  await field("Price").fill("66000");
  await shows(form().getByText(/post-only order must not/));
  await field("Post only").uncheck();
  isTrading = false;
  await trades;

  // Prices alone do not have it asked for sooner than every four seconds.
  answerAfter(0);
  await field("Price").fill("64000");
  await shows(form().getByText(/^12\d\.\d\d USDC$|^19\d\.\d\d USDC$/));
  await page.waitForTimeout(500);
  dryRuns.clear();
  const operator = new Operator(server);
  for (let i = 1; i <= 12; i++) {
    await operator.setIndex("BTC-PERP", String(65000 + (i % 2)));
    await page.waitForTimeout(250);
  }
  await operator.setIndex("BTC-PERP", "65000");
  assert.ok(dryRuns.size <= 1, `${dryRuns.size} dry runs`);
  proxy.heal();
  await field("Size").fill("");
  tab.assertClean();
});

test("a double click closes a part once, and amends once", options, async () => {
  await openTable("Positions");
  const row = rows("Positions").filter({ hasText: "BTC-PERP" });
  await row.getByRole("button", { name: "Close… BTC-PERP" }).click();
  await dialog().getByText("50%", { exact: true }).click();
  slowDown();
  await dialog().getByRole("button", { name: "Close 50%" }).dblclick();
  await page.keyboard.press("Enter");
  await hides(dialog());
  await settle();
  assert.deepEqual([sent.length, await sizeOf("BTC-PERP")], [1, "0.055"]);
  await row.getByRole("button", { name: "TP / SL BTC-PERP" }).click();
  await dialog().getByLabel("Stop loss at").fill("60000");
  await dialog().getByRole("button", { name: "Confirm" }).dblclick();
  await hides(dialog());
  await settle();
  assert.deepEqual([sent.length, (await alice.openOrders()).data.length], [2, 1]);
  proxy.heal();
  tab.assertClean();
});

test("a protection that was changed elsewhere while the dialog was open stays", options, async () => {
  const row = rows("Positions").filter({ hasText: "BTC-PERP" });
  await row.getByRole("button", { name: "TP / SL BTC-PERP" }).click();
  const order = { symbol: "BTC-PERP", side: "SELL", closePosition: true } as const;
  await alice.place({ ...order, type: "TAKE_PROFIT_MARKET", triggerPrice: "70000" });
  await shows(row.getByText("70,000.0"));
  await dialog().getByLabel("Stop loss at").fill("61000");
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await hides(dialog());
  await shows(row.getByRole("cell", { name: "70,000.0 61,000.0" }));
  await alice.cancelAll();
  tab.assertClean();
});

test("a position is reversed once by a double click, and by the size of the moment of sending", options, async () => {
  const row = rows("Positions").filter({ hasText: "BTC-PERP" });
  const reverse = row.getByRole("button", { name: "Reverse BTC-PERP" });
  slowDown();
  await reverse.dblclick();
  await reverse.click({ delay: 50 });
  await shows(row.getByRole("cell", { name: "−0.055 BTC", exact: true }));
  await settle();
  assert.deepEqual([sent.length, await sizeOf("BTC-PERP")], [1, "-0.055"]);
  proxy.heal();

  // While the person is asked, the position shrinks, and then goes.
  const askOrNot = async (): Promise<void> => {
    await page.getByRole("button", { name: "Settings" }).click();
    await dialog().getByRole("checkbox", { name: "Ask before an order is sent" }).press("Space");
    await page.keyboard.press("Escape");
  };
  await askOrNot();
  await reverse.click();
  await shows(dialog().getByText("Reverse BTC-PERP at market"));
  await alice.market("BUY", "0.025");
  await shows(row.getByRole("cell", { name: "−0.03 BTC", exact: true }));
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await shows(row.getByRole("cell", { name: "0.03 BTC", exact: true }));
  await page.waitForTimeout(100);
  await reverse.click();
  await shows(dialog().getByText("Reverse BTC-PERP at market"));
  await alice.market("SELL", "0.03");
  await hides(row);
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await shows(notice("There is no position in BTC-PERP any more."));
  assert.equal(await sizeOf("BTC-PERP"), "0");
  await askOrNot();
  tab.assertClean();
});

test("neither a changed setting nor a chart that is loading keeps an order back", options, async () => {
  const subscriptions: string[] = [];
  proxy.toExchange = (message) => {
    if (message.includes('"klines"')) subscriptions.push(message);
    return message;
  };
  // The chart's stream gets no answer.
  proxy.toPage = (message, pair) => {
    if (message.includes('"klines"')) pair.isMute = true;
    return pair.isMute ? null : message;
  };
  await page.getByRole("button", { name: "Settings" }).click();
  const asks = dialog().getByRole("checkbox", { name: "Ask before an order is sent" });
  await asks.press("Space");
  await asks.press("Space");
  await page.keyboard.press("Escape");
  await page.waitForTimeout(300);
  assert.deepEqual(subscriptions, []);
  await region("Price chart").getByRole("button", { name: "5m", exact: true }).click();
  await until("the chart's subscription", () => subscriptions.length === 1);
  for (const size of ["0.021", "0.022", "0.023"]) {
    await form().getByRole("button", { name: "Market", exact: true }).click();
    await field("Size").fill(size);
    await form()
      .getByRole("button", { name: `Buy ${size} BTC` })
      .click();
    await shows(notice(`Bought ${size} BTC`));
  }
  proxy.heal();
  await region("Price chart").getByRole("button", { name: "1m", exact: true }).click();
  await alice.market("SELL", "0.066");
  await hides(rows("Positions").filter({ hasText: "BTC-PERP" }));
  tab.assertClean();
});

test("the second click of a double click does not reach the row that moves up", options, async () => {
  for (const price of ["60000", "60001", "60002"]) await alice.buy("0.002", price);
  await openTable("Open orders");
  await shows(rows("Open orders").filter({ hasText: "60,002.0" }));
  await rows("Open orders")
    .filter({ hasText: "60,002.0" })
    .getByRole("button", { name: /^Cancel order/ })
    .dblclick({ delay: 40 });
  await hides(rows("Open orders").filter({ hasText: "60,002.0" }));
  await settle();
  assert.equal((await alice.openOrders()).data.length, 2);
  await alice.cancelAll();
  await alice.market("BUY", "0.01");
  await alice.place({ symbol: "ETH-PERP", side: "BUY", type: "MARKET", quantity: "1" });
  await openTable("Positions");
  await shows(rows("Positions").filter({ hasText: "ETH-PERP" }));
  await page.getByRole("button", { name: "Close BTC-PERP at market" }).dblclick({ delay: 40 });
  await hides(rows("Positions").filter({ hasText: "BTC-PERP" }));
  await settle();
  assert.deepEqual([await sizeOf("BTC-PERP"), await sizeOf("ETH-PERP")], ["0", "1"]);
  tab.assertClean();
});

test("a halted market that is shown keeps nobody from protecting a position in another one", options, async () => {
  const operator = new Operator(server);
  await operator.call(200, "POST", "/operator/symbols/BTC-PERP/halt", { mode: "CANCEL_ONLY" });
  await shows(form().getByText(/^Trading is restricted in this market/));
  await page.getByRole("button", { name: "TP / SL ETH-PERP" }).click();
  await dialog().getByLabel("Stop loss at").fill("2500");
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await hides(dialog());
  await shows(
    rows("Positions")
      .filter({ hasText: "ETH-PERP" })
      .getByRole("cell", { name: /2,500\.00/ }),
  );
  await operator.call(200, "POST", "/operator/symbols/BTC-PERP/resume");
  await alice.cancelAll();
  await shows(form().getByRole("button", { name: "Enter an order" }));
  tab.assertClean();
});

test("a close whose answer is lost is found, and that of a whole position is told as unknown", options, async () => {
  const lostConnection = /ERR_(CONNECTION_|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)|WebSocket connection|status of 404/;
  tab.expected = lostConnection;
  let requests = 0;
  const loseAnswerTo = (op: string): void => {
    proxy.toExchange = (message, pair) => {
      if (!message.includes(`"op":"${op}"`) || message.includes('"dryRun"')) return message;
      requests++;
      pair.isMute = true;
      setTimeout(() => proxy.cut(), 100);
      return message;
    };
  };
  await page.getByRole("button", { name: "Close… ETH-PERP" }).click();
  await dialog().getByText("50%", { exact: true }).click();
  loseAnswerTo("order.place");
  await dialog().getByRole("button", { name: "Close 50%" }).click();
  await shows(notice("Sold 0.5 ETH"));
  await hides(dialog());
  assert.deepEqual([requests, await sizeOf("ETH-PERP")], [1, "0.5"]);
  proxy.heal();
  await shows(rows("Positions").filter({ hasText: "ETH-PERP" }).getByRole("cell", { name: "0.5 ETH", exact: true }));
  await shows(page.getByText("Live", { exact: true }));

  loseAnswerTo("position.close");
  await page.getByRole("button", { name: "Close… ETH-PERP" }).click();
  await dialog().getByRole("button", { name: "Close 100%" }).click();
  await shows(notice("Outcome unknown"));
  await hides(dialog());
  assert.equal(await notice("Refused").count(), 0);
  proxy.heal();
  await hides(rows("Positions").filter({ hasText: "ETH-PERP" }));
  await shows(page.getByText("Live", { exact: true }));
  // It stays until the person has seen it.
  await page.waitForTimeout(7_000);
  assert.equal(await notice("Outcome unknown").count(), 1);
  await region("Notifications").getByRole("button", { name: "Close" }).first().click();
  tab.assertClean();
});

test("a dialog does not come back over the next position", options, async () => {
  const row = rows("Positions").filter({ hasText: "BTC-PERP" });
  await openTable("Positions");
  for (const name of ["Close… BTC-PERP", "TP / SL BTC-PERP"]) {
    await alice.market("BUY", "0.01");
    await row.getByRole("button", { name }).click();
    await shows(dialog());
    await alice.market("SELL", "0.01");
    await hides(dialog());
    await hides(row);
    await alice.market("BUY", "0.02");
    await shows(row.getByRole("cell", { name: "0.02 BTC", exact: true }));
    assert.equal(await dialog().count(), 0);
    await page.keyboard.press("Enter");
    await settle();
    assert.equal(await sizeOf("BTC-PERP"), "0.02");
    await alice.market("SELL", "0.02");
    await hides(row);
  }
  tab.assertClean();
});

test("no dialog of an account outlasts its session", options, async () => {
  tab.expected = /status of 40[14]/;
  await alice.buy("0.01", "60000");
  const amend = rows("Open orders").getByRole("button", { name: /^Amend/ });
  const leverage = form().getByRole("button", { name: /^Leverage/ });
  await openTable("Open orders");
  for (const button of [amend, leverage]) {
    await button.click();
    await shows(dialog());
    const { data } = await alice.call<{ data: { sessionId: string; current: boolean }[] }>(
      200,
      "GET",
      "/auth/sessions",
    );
    for (const { sessionId, current } of data)
      if (!current) await alice.call(200, "DELETE", `/auth/sessions/${sessionId}`);
    await shows(notice("Signed out"));
    await hides(dialog());
    await region("Account").getByRole("button", { name: "Connect Own" }).click();
    await shows(amend);
    await shows(page.getByText("Live", { exact: true }));
    assert.equal(await dialog().count(), 0);
    await region("Notifications").getByRole("button", { name: "Close" }).first().click();
  }
  await alice.cancelAll();
  await hides(amend);
  tab.assertClean();
});

test("a share of the largest order does not land in an order that was changed meanwhile", options, async () => {
  let requests = 0;
  page.on("request", (request) => {
    if (request.url().includes("/orders/max-size")) requests++;
  });
  /** Keeps the next answer back until the returned function is called, which waits until the page has it. */
  const hold = async (): Promise<() => Promise<void>> => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isDone = new Promise<void>((resolve) => {
      const pass = async (route: Route): Promise<void> => {
        const response = await route.fetch();
        await held;
        await route.fulfill({ response });
        resolve();
      };
      void page.route("**/orders/max-size?*", pass, { times: 1 });
    });
    return async () => {
      release();
      await isDone;
      await page.waitForTimeout(300);
    };
  };
  const share = (percent: number): Promise<void> =>
    form()
      .getByRole("button", { name: `${percent}%`, exact: true })
      .click();
  const side = (name: string): Promise<void> => form().getByText(name, { exact: true }).click();
  const size = (): Promise<string> => field("Size").inputValue();
  await form().getByRole("button", { name: "Market", exact: true }).click();
  await field("Size").fill("");

  let answer = await hold();
  await share(50);
  await goTo("ETH", "0");
  await answer();
  assert.equal(await size(), "");
  await goTo("BTC", "0");

  // The other side has an answer of its own, which does not wait for the first one.
  answer = await hold();
  await share(50);
  await side("Sell / Short");
  await share(25);
  await until("the size", async () => (await size()) !== "");
  const quarter = await size();
  await answer();
  assert.equal(await size(), quarter);

  await side("Buy / Long");
  answer = await hold();
  await share(50);
  await field("Size").fill("0.033");
  await answer();
  assert.equal(await size(), "0.033");

  await side("Sell / Short");
  await field("Size").fill("");
  requests = 0;
  answer = await hold();
  await share(50);
  await share(25);
  await answer();
  assert.deepEqual([await size(), requests], [quarter, 1]);
  await side("Buy / Long");
  await field("Size").fill("");
  tab.assertClean();
});

test("an order that ends while its line is moved is told, and its line goes", options, async () => {
  const handle = region("Price chart").getByRole("button", { name: /^Limit 0\.01 BTC/ });
  const cancel = async (price: string): Promise<void> => {
    await shows(handle.filter({ hasText: "→" }));
    await alice.cancelAll();
    await shows(notice(price));
    await hides(handle);
  };
  await alice.buy("0.01", "64980");
  await handle.focus();
  await page.keyboard.press("ArrowUp");
  await cancel("64,980.0");
  await alice.buy("0.01", "64979");
  const place = await handle.boundingBox();
  assert.ok(place !== null);
  await page.mouse.move(place.x + 5, place.y + 10);
  await page.mouse.down();
  await page.mouse.move(place.x + 5, place.y - 20, { steps: 3 });
  await cancel("64,979.0");
  await page.mouse.up();
  tab.assertClean();
});

test("the name of a market alone finds no command that trades", options, async () => {
  await alice.market("BUY", "0.01");
  await openTable("Positions");
  await shows(rows("Positions").filter({ hasText: "BTC-PERP" }));
  slowDown();
  const { keyboard } = page;
  const selected = dialog().getByRole("option", { selected: true });
  for (const [typed, found] of [
    ["cancel btc", /^Cancel all orders in BTC-PERP/],
    ["close btc", /^Close BTC-PERP at market/],
    ["btc", "Go to BTC-PERP"],
    [" BTC-PERP ", "Go to BTC-PERP"],
  ] as const) {
    await keyboard.press("Control+k");
    await keyboard.type(typed);
    await shows(selected.filter({ hasText: found }));
    assert.equal(await dialog().getByRole("option").count(), 1);
    await keyboard.press(found === "Go to BTC-PERP" ? "Enter" : "Escape");
    await hides(dialog());
  }
  await settle();
  assert.deepEqual([sent, await sizeOf("BTC-PERP")], [[], "0.01"]);
  proxy.heal();
  tab.assertClean();
});

test("armed hotkeys rest while a menu or a list is open", options, async () => {
  const { keyboard } = page;
  await keyboard.press("Control+k");
  await keyboard.type("arm the");
  await keyboard.press("Enter");
  await shows(page.getByRole("button", { name: "Hotkeys armed" }));
  slowDown();
  await page.getByRole("button", { name: /^Account 0x/ }).click();
  for (const button of [/^Account 0x/, "Sessions"]) {
    await page.getByRole("button", { name: button }).focus();
    for (const key of ["c", "x", "r", "Control+Enter"]) await keyboard.press(key);
  }
  await keyboard.press("Escape");
  await page.getByRole("button", { name: /^Market: / }).click();
  await page.getByRole("searchbox").press("Control+Enter");
  await page.getByRole("dialog", { name: "Markets" }).getByRole("button", { name: "ETH-PERP" }).focus();
  for (const key of ["c", "x", "r"]) await keyboard.press(key);
  await keyboard.press("Escape");
  await settle();
  assert.deepEqual([sent, await sizeOf("BTC-PERP")], [[], "0.01"]);
  proxy.heal();
  await keyboard.press("c");
  await hides(rows("Positions").filter({ hasText: "BTC-PERP" }));
  await page.getByRole("button", { name: "Hotkeys armed" }).click();
  tab.assertClean();
});

test(
  "a session that ends in the middle of an order leaves neither a failure nor an account behind",
  options,
  async () => {
    await form().getByRole("button", { name: "Limit", exact: true }).click();
    await field("Post only").uncheck();
    await field("Price").fill("60000");
    await field("Size").fill("0.02");
    await shows(form().getByRole("button", { name: "Buy 0.02 BTC", disabled: false }));
    tab.expected = /status of 40[14]/;
    let placed: unknown = null;
    proxy.toExchange = (message) => {
      const { op, id, params } = JSON.parse(message);
      if (op === "order.place" && params.dryRun !== true) placed = id;
      return message;
    };
    // The answer does not come before the session has ended.
    proxy.toPage = (message) => (placed !== null && JSON.parse(message).id === placed ? null : message);
    await form().getByRole("button", { name: "Buy 0.02 BTC" }).click();
    await until("the order", async () => (await alice.openOrders()).data.length === 1);
    await alice.call(200, "DELETE", "/auth/sessions");
    await shows(notice("Signed out"));
    await shows(notice("You signed out before the exchange said what became of the order. Its history shows it."));
    assert.equal(await notice(/Not placed|Refused/).count(), 0);
    await shows(page.getByText("Open an account to see its positions and orders."));
    assert.ok(
      await form()
        .getByRole("button", { name: /^(Buy|Enter) / })
        .isDisabled(),
    );
    proxy.heal();
    tab.assertClean();
  },
);
