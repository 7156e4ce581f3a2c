import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { CHROMIUM, openBrowser } from "../support/browser.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Tab } from "../support/tab.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";

/** The chart: indicators, other prices, orders on it and from it, own fills, and its table. By role and accessible name. */

const options = { skip: CHROMIUM === null && "no Chromium is installed: the chart was not tested" };

/** Of a page of the table of candles. */
const ROWS = 100;

let server: TestServer;
let browser: Browser;
let tab: Tab;
let page: Page;
/** Channels that the page has subscribed to or left, and its WebSockets. */
let asked: string[] = [];

const watch = async (opened: Page): Promise<void> => {
  opened.on("request", (request) => /priceType=(MARK|INDEX)/.test(request.url()) && asked.push(request.url()));
  opened.on("websocket", (socket) => {
    asked.push("socket");
    socket.on("framesent", ({ payload }) => {
      const { op, channels = [] } = JSON.parse(String(payload));
      for (const { channel, symbol, interval, priceType, depth, updateMs } of channels)
        asked.push(
          [op, channel, symbol, interval, priceType, depth, updateMs].filter((each) => each !== undefined).join(" "),
        );
    });
  });
};

before(async () => {
  if (CHROMIUM === null) return;
  server = await startServer();
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const [maker, taker] = [await openTrader(server, "1000000"), await openTrader(server, "1000000")];
  await maker.sell("5", "65010");
  await maker.buy("5", "64990");
  await taker.market("BUY", "0.1");
  browser = await openBrowser();
  tab = await Tab.open(browser, new URL("/", server.url).href, { init: watch });
  ({ page } = tab);
});
after(async () => {
  await browser?.close();
  await server?.dispose();
});

const region = (name: string): Locator => page.getByRole("region", { name });
const chart = (): Locator => region("Price chart");
const candles = (): Locator => chart().getByRole("application", { name: "Candles" });
const form = (): Locator => region("Place an order");
const dialog = (): Locator => page.getByRole("dialog", { name: "Lines and indicators" });
const press = (name: string): Promise<void> => chart().getByRole("button", { name, exact: true }).click();
const shows = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 20_000 });

test("the page keeps one WebSocket, with the channels of what it shows", options, async () => {
  const subscribed = (): string[] => {
    const channels = new Set<string>();
    for (const [op, channel = ""] of asked.map((each) => each.split(/ (.*)/))) {
      if (op === "subscribe") channels.add(channel);
      else channels.delete(channel);
    }
    return [...channels].filter((each) => !/^(symbols|ticker)/.test(each)).sort();
  };
  const shown = async (symbol: string, interval: string): Promise<void> => {
    const channels = [`klines ${symbol} ${interval} LAST`, `orderbook ${symbol} 500 100`, `trades ${symbol} 100`];
    await until(`the channels of ${symbol}`, () => subscribed().join() === channels.join());
  };
  const toMarket = async (name: string): Promise<void> => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type(`to ${name.slice(0, 3).toLowerCase()}`);
    await page.keyboard.press("Enter");
    const market = page.getByRole("banner").getByRole("button", { name: /^Market/ });
    await shows(market.filter({ hasText: name }));
  };
  await shows(page.getByText("Live", { exact: true }));
  await press("5m");
  await shown("BTC-PERP", "5m");
  await toMarket("ETH-PERP");
  await shown("ETH-PERP", "5m");
  await toMarket("BTC-PERP");
  await press("1m");
  await shown("BTC-PERP", "1m");
  await shows(page.getByRole("region", { name: "Order book" }).getByText("✓ verified"));
  assert.deepEqual(
    asked.filter((each) => each === "socket"),
    ["socket"],
  );
  tab.assertClean();
});

test("indicators and other prices are chosen, named on the chart, and kept", options, async () => {
  await press("1m");
  await press("Indicators");
  for (const name of ["Mark price", "Index price", /^SMA/, /^Volume average/, /^RSI/, /^MACD/])
    await dialog().getByLabel(name).check();
  await dialog().getByRole("textbox", { name: "SMA: length 1" }).fill("1");
  for (const [typed, answer] of [
    ["0", "Enter a whole number from 1 to 500."],
    ["", "Enter a whole number from 1 to 500."],
    ["2.5", "Enter a whole number from 1 to 500."],
    ["1e9", "Enter a whole number from 1 to 500."],
  ] as const) {
    await dialog().getByRole("textbox", { name: "RSI: length" }).fill(typed);
    await shows(dialog().getByRole("alert").getByText(answer));
  }
  await dialog().getByRole("textbox", { name: "RSI: length" }).fill("21");
  assert.equal(await dialog().getByRole("alert").count(), 0);
  assert.deepEqual(await tab.axe(), []);
  await page.keyboard.press("Escape");
  const lines = async (): Promise<void> => {
    // The mean of one close is the price of the trade.
    await shows(chart().getByText(/^SMA\s*1 65,010\.0/));
    await shows(chart().getByText(/^Index\s*65,000\.0$/));
    await shows(chart().getByText(/^Mark\s*6[45],\d{3}\.\d$/));
    for (const name of [/^Volume average 20/, /^RSI 21/, /^MACD 12 26 9/]) await shows(chart().getByText(name));
  };
  await lines();
  // Another theme or indicator neither reads the prices again nor subscribes to them again.
  asked = [];
  const setChecked = async (name: string | RegExp, isOn: boolean): Promise<void> => {
    await press("Indicators");
    await dialog().getByRole("checkbox", { name }).setChecked(isOn);
    await page.keyboard.press("Escape");
  };
  const theme = page.getByRole("button", { name: "Light theme" });
  await theme.click();
  await setChecked(/^ATR/, true);
  await shows(chart().getByText(/^ATR 14/));
  await setChecked(/^ATR/, false);
  await lines();
  assert.deepEqual(asked, []);
  const index = chart().getByText(/^Index/);
  await setChecked("Index price", false);
  await index.waitFor({ state: "hidden" });
  await setChecked("Index price", true);
  await lines();
  assert.ok(asked.length > 0 && !asked.join().includes("MARK"), asked.join());
  await theme.click();
  await page.reload();
  await lines();
  // Candles of a second have trades only.
  await press("1s");
  await chart().getByText(/^Mark/).waitFor({ state: "hidden" });
  await press("Indicators");
  assert.ok(await dialog().getByLabel("Mark price").isDisabled());
  await page.keyboard.press("Escape");
  await press("1m");
  await shows(chart().getByText(/^Mark/));
  tab.assertClean();
});

test("candles that could not be read are asked for again, and the chart says why there are none", options, async () => {
  let isFailing = true;
  let reads = 0;
  const other = await Tab.open(browser, new URL("/?market=BTC-PERP", server.url).href, {
    init: async (opened) => {
      await opened.route("**/v1/market/klines?**", async (route) => {
        if (!isFailing) return route.continue();
        reads++;
        await route.fulfill({
          status: 503,
          json: { code: "UNAVAILABLE", message: "No candles now.", retryable: false },
        });
      });
    },
  });
  other.expected = /status of 503/;
  const note = other.page.getByRole("region", { name: "Price chart" }).getByText("No candles now.");
  await shows(note);
  // It is on top of the canvas. It lets the pointer through, which must be off to ask what is on top.
  const isOnTop = await other.page.evaluate(`(() => {
    const note = document.querySelector(".chart-note");
    note.style.pointerEvents = "auto";
    const { left, top, width, height } = note.getBoundingClientRect();
    const found = document.elementFromPoint(left + width / 2, top + height / 2);
    note.style.pointerEvents = "";
    return found === note;
  })()`);
  assert.equal(isOnTop, true);
  const before = reads;
  await until("another read", () => reads > before + 1);
  await shows(note);
  isFailing = false;
  await note.waitFor({ state: "hidden" });
  await other.page.getByRole("button", { name: "Table", exact: true }).click();
  await shows(other.page.getByRole("table", { name: /^Candles/ }).getByRole("row"));
  other.assertClean();
  await other.page.close();
});

test("older candles are asked for until a page is not full", options, async () => {
  const MINUTE = 60_000;
  for (const [total, reads] of [
    [300, 0],
    [1010, 2],
  ] as const) {
    const last = Math.floor(Date.now() / MINUTE) * MINUTE;
    const first = last - (total - 1) * MINUTE;
    const candleAt = (openTime: number) => ({
      ...{ openTime, closeTime: openTime + MINUTE - 1, closed: openTime < last, trades: 1 },
      ...{ open: "65000.0", high: "65000.0", low: "65000.0", close: "65000.0" },
      ...{ volume: "1.000", turnover: "65000.00", takerBuyVolume: "1.000", takerBuyTurnover: "65000.00" },
    });
    let olderReads = 0;
    const other = await Tab.open(browser, new URL("/?market=BTC-PERP", server.url).href, {
      init: async (opened) => {
        await opened.route("**/v1/market/klines?**", async (route) => {
          const { searchParams } = new URL(route.request().url());
          const endTime = searchParams.get("endTime");
          if (endTime !== null) olderReads++;
          const end = Math.min(last, endTime === null ? last : Math.floor(Number(endTime) / MINUTE) * MINUTE);
          const from = Math.max(first, end - (Number(searchParams.get("limit")) - 1) * MINUTE);
          const count = Math.max(0, (end - from) / MINUTE + 1);
          const data = Array.from({ length: count }, (_, i) => candleAt(from + i * MINUTE));
          await route.fulfill({ json: { data, nextCursor: null } });
        });
      },
    });
    await other.page.getByRole("button", { name: "Table", exact: true }).click();
    const rows = other.page.getByRole("table", { name: /^Candles/ }).getByRole("row");
    await shows(rows);
    assert.equal(olderReads, 0, "the chart shows the newest ones");
    const older = other.page.getByRole("button", { name: "Older candles" });
    for (let presses = 0; presses < total / ROWS + 2; presses++) {
      await older.click();
      await pause(50);
    }
    assert.equal(olderReads, reads);
    other.assertClean();
    await other.page.close();
  }
});

test("a price of the chart fills the order form, and sends nothing", options, async () => {
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  await shows(region("Account").getByText("100,000.00 USDC"));
  const box = await candles().boundingBox();
  assert.ok(box !== null);
  // Beside the messages at the left.
  await page.mouse.click(box.x + 500, box.y + 40, { button: "right" });
  const menu = page.getByRole("menu", { name: /^Order at 65,\d{3}\.\d$/ });
  await shows(menu.getByRole("menuitem", { name: /^Buy stop at/ }));
  assert.deepEqual(await tab.axe(), []);
  const item = menu.getByRole("menuitem", { name: /^Sell limit at/ });
  const price = ((await item.textContent()) ?? "").replace(/^.* /, "").replace(",", "");
  await item.click();
  assert.equal(await form().getByLabel("Price", { exact: true }).inputValue(), price);
  await page
    .locator(":focus")
    .and(form().getByLabel("Size", { exact: true }))
    .waitFor();
  assert.ok(await form().getByRole("radio", { name: "Sell / Short" }).isChecked());
  // The button at the crosshair opens the same menu.
  await page.mouse.move(box.x + 500, box.y + 45);
  await chart()
    .getByRole("button", { name: /^Order at/ })
    .click();
  await shows(menu);
  await page.mouse.click(box.x + 500, box.y + 250);
  await menu.waitFor({ state: "hidden" });
  await page.getByRole("tab", { name: "Open orders" }).click();
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});

test("the keyboard reads candles, opens an order at the crosshair, and moves its stop", options, async () => {
  const { keyboard } = page;
  await candles().focus();
  await keyboard.press("ArrowLeft");
  await shows(page.getByText(/^20\d\d-\d\d-\d\d \d\d:\d\d: open 65,010\.0, high/));
  for (const key of ["ArrowUp", "ArrowUp", "Shift+ArrowDown"]) await keyboard.press(key);
  await keyboard.press("Enter");
  const menu = page.getByRole("menu", { name: /^Order at 65,01\d\.\d$/ });
  await page
    .locator(":focus")
    .and(menu.getByRole("menuitem", { name: /^Sell limit at/ }))
    .waitFor();
  await keyboard.press("ArrowDown");
  await page
    .locator(":focus")
    .and(menu.getByRole("menuitem", { name: /^Buy stop at/ }))
    .waitFor();
  await keyboard.press("Escape");
  await page.locator(":focus").and(candles()).waitFor();
  await keyboard.press("Enter");
  await keyboard.press("ArrowDown");
  await keyboard.press("Enter");
  await page
    .locator(":focus")
    .and(form().getByLabel("Size", { exact: true }))
    .waitFor();
  await form().getByLabel("Trigger", { exact: true }).fill("65100");
  await form().getByLabel("Size", { exact: true }).fill("0.01");
  await form().getByRole("button", { name: "Buy 0.01 BTC" }).click();
  const orders = page.getByRole("table", { name: "Open orders" });
  await shows(orders.getByRole("cell", { name: "65,100.0 Mark" }));
  const handle = chart().getByRole("button", { name: /^Stop market 0\.01 BTC/ });
  await shows(handle);
  await handle.focus();
  // Moved and given up, moved and taken.
  await keyboard.press("PageUp");
  await shows(chart().getByRole("button", { name: "Stop market 0.01 BTC → 65,110.0" }));
  // Out of view the handle waits at the edge, and keeps the focus.
  for (let i = 0; i < 9; i++) await keyboard.press("PageUp");
  await page
    .locator(":focus")
    .and(chart().getByRole("button", { name: "Stop market 0.01 BTC → 65,200.0" }))
    .waitFor();
  await keyboard.press("Escape");
  await shows(chart().getByRole("button", { name: "Stop market 0.01 BTC", exact: true }));
  await keyboard.press("Shift+ArrowDown");
  await keyboard.press("ArrowUp");
  await keyboard.press("Enter");
  await shows(orders.getByRole("cell", { name: "65,099.1 Mark" }));
  // Without a move, Enter opens the dialog.
  await keyboard.press("Enter");
  await shows(page.getByRole("dialog", { name: "Amend: Buy BTC-PERP" }));
  await keyboard.press("Escape");
  tab.assertClean();
});

test("the mouse drags a stop, and the scale fits orders that are far away", options, async () => {
  const orders = page.getByRole("table", { name: "Open orders" });
  const handle = chart().getByRole("button", { name: /^Stop market 0\.01 BTC/ });
  const place = await handle.boundingBox();
  assert.ok(place !== null);
  await page.mouse.move(place.x + 5, place.y + 10);
  await page.mouse.down();
  // Out of the handle, and out of the chart: the pointer is captured.
  await page.mouse.move(place.x + 900, place.y - 20, { steps: 3 });
  await page.mouse.up();
  await orders.getByRole("cell", { name: "65,099.1 Mark" }).waitFor({ state: "hidden" });
  await orders.getByRole("button", { name: /^Amend/ }).click();
  await page.getByRole("dialog").getByLabel("Trigger").fill("70000");
  await page.getByRole("dialog").getByRole("button", { name: "Amend" }).click();
  await shows(orders.getByRole("cell", { name: "70,000.0 Mark" }));
  await handle.waitFor({ state: "hidden" });
  await press("Fit orders");
  await shows(handle);
  await press("Fit orders");
  await handle.waitFor({ state: "hidden" });
  await region("Positions and orders").getByRole("button", { name: "Cancel all" }).click();
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});

test("handles of orders at nearly the same price lie beside each other", options, async () => {
  await form().getByRole("button", { name: "Limit", exact: true }).click();
  for (const [price, size] of [
    ["64980", "0.011"],
    ["64980.1", "0.012"],
    ["64980", "0.013"],
  ] as const) {
    await form().getByLabel("Price", { exact: true }).fill(price);
    await form().getByLabel("Size", { exact: true }).fill(size);
    await form()
      .getByRole("button", { name: `Buy ${size} BTC`, disabled: false })
      .click();
    await shows(chart().getByRole("button", { name: `Limit ${size} BTC`, exact: true }));
  }
  const boxes = async () => {
    const handles = await chart()
      .getByRole("button", { name: /^Limit 0\.01\d BTC/ })
      .all();
    const found = await Promise.all(handles.map((each) => each.boundingBox()));
    return found.flatMap((box) => box ?? []).sort((a, b) => a.x - b.x);
  };
  await until("three handles beside each other", async () => {
    const [left, middle, right] = await boxes();
    if (left === undefined || middle === undefined || right === undefined) return false;
    return left.x + left.width <= middle.x && middle.x + middle.width <= right.x;
  });
  await region("Positions and orders").getByRole("button", { name: "Cancel all" }).click();
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});

test("own fills are marked on the chart, and written in its table", options, async () => {
  await form().getByText("Buy / Long", { exact: true }).click();
  await form().getByRole("button", { name: "Market", exact: true }).click();
  await form().getByLabel("Size", { exact: true }).fill("0.02");
  await form().getByRole("button", { name: "Buy 0.02 BTC" }).click();
  await press("Table");
  const table = chart().getByRole("table", { name: "Candles of 1m, newest first" });
  await shows(table.getByRole("cell", { name: "Bought 0.02 at 65,010.0" }));
  for (const name of ["Time", "Close", "Mark", "RSI 21", "MACD 12 26 9 signal"])
    await shows(table.getByRole("columnheader", { name, exact: true }));
  const times = await table.locator("tbody td:first-child").allInnerTexts();
  assert.deepEqual(times, times.toSorted().reverse());
  assert.ok(times.length <= 100);
  assert.equal(await candles().count(), 0);
  assert.deepEqual(await tab.axe(), []);
  await press("Table");
  // Nothing but the marks changes in a candle of a day.
  await press("1d");
  const { x, y, width, height } = (await candles().boundingBox()) ?? assert.fail("the chart has no place");
  // The right half, where the newest candle is: messages come and go at the left.
  const clip = { x: x + width / 2, y, width: width / 2, height };
  const picture = async (): Promise<string> => {
    // From the chart out of it: a dialog that closes above it leaves a crosshair behind.
    await page.mouse.move(x + 20, y + height / 2);
    await page.mouse.move(0, 0);
    return (await page.screenshot({ clip })).toString("base64");
  };
  const showFills = async (isOn: boolean): Promise<void> => {
    await press("Indicators");
    await dialog().getByLabel("My fills").setChecked(isOn);
    // It moves by itself.
    await dialog().getByLabel("Mark price").uncheck();
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "hidden" });
  };
  await showFills(false);
  let without = await picture();
  await until("the chart to rest", async () => {
    const before = without;
    without = await picture();
    return before === without;
  });
  await showFills(true);
  await until("a mark of the fill", async () => (await picture()) !== without);
  await showFills(false);
  await until("no mark of the fill", async () => (await picture()) === without);
  tab.assertClean();
});

test("a chart that could not draw while its colours changed goes on", options, async () => {
  const trader = await openTrader(server, "1000000");
  await press("1s");
  await trader.market("BUY", "0.01");
  await chart().getByText("Loading candles").waitFor({ state: "hidden" });
  await page.evaluate(`{
    globalThis.held = [];
    globalThis.drawNext = globalThis.requestAnimationFrame;
    globalThis.requestAnimationFrame = (draw) => globalThis.held.push(draw);
  }`);
  for (let i = 0; i < 3; i++) {
    await trader.market("BUY", "0.01");
    await pause(1100);
  }
  // As another tab of the same browser does it.
  await page.evaluate(`{
    const settings = JSON.parse(localStorage["perpd.settings"]);
    localStorage["perpd.settings"] = JSON.stringify({ ...settings, theme: "light" });
    dispatchEvent(new StorageEvent("storage", { key: "perpd.settings", storageArea: localStorage }));
  }`);
  await page.locator("html[data-theme=light]").waitFor({ state: "attached" });
  await page.evaluate(`{
    globalThis.requestAnimationFrame = globalThis.drawNext;
    for (const draw of globalThis.held) globalThis.drawNext(draw);
  }`);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  tab.assertClean();
});
