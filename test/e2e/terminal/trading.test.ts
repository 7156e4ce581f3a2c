import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { DEFAULTS, type Settings } from "../../../src/terminal/state/choices.ts";
import { CHROMIUM, openBrowser } from "../support/browser.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Tab } from "../support/tab.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { newPrivateKey, walletOf } from "../support/wallet.ts";

/** A person trades in Chromium on a real exchange. By role and accessible name only, and no policy is bypassed. */

const options = { skip: CHROMIUM === null && "no Chromium is installed: the terminal was not tested" };

let server: TestServer;
let browser: Browser;
let maker: Trader;
let tab: Tab;
let page: Page;

before(async () => {
  if (CHROMIUM === null) return;
  server = await startServer();
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  maker = await openTrader(server, "1000000");
  await maker.sell("5", "65010");
  await maker.buy("5", "64990");
  browser = await openBrowser();
  tab = await Tab.open(browser, new URL("/", server.url).href);
  ({ page } = tab);
});
after(async () => {
  await browser?.close();
  await server?.dispose();
});

const region = (name: string): Locator => page.getByRole("region", { name });
const form = (): Locator => region("Place an order");
const table = (name: string): Locator => page.getByRole("table", { name });
const openTable = (name: string): Promise<void> => page.getByRole("tab", { name }).click();
/** Waits until the page shows it: the first refusal of an element that never comes is its name. */
const focused = (locator: Locator): Promise<void> => page.locator(":focus").and(locator).waitFor();
const shows = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 20_000 });

async function fill(fields: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await form().getByLabel(label, { exact: true }).fill(value);
}

test("the page shows a living market whose book is verified", options, async () => {
  await shows(region("Order book").getByRole("button", { name: /^Ask 65,010\.0/ }));
  await shows(region("Order book").getByRole("button", { name: /^Bid 64,990\.0/ }));
  await shows(region("Order book").getByText("✓ verified"));
  await shows(page.getByText("Live", { exact: true }));
  await maker.sell("1", "65005");
  await shows(region("Order book").getByRole("button", { name: /^Ask 65,005\.0/ }));
  await maker.cancelAll("?side=SELL");
  await maker.sell("5", "65010");
  tab.assertClean();
});

test("Try it opens an account with test money", options, async () => {
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  await shows(region("Account").getByText("100,000.00 USDC"));
  tab.assertClean();
});

test("a market order opens a position, after the engine's dry run", options, async () => {
  await form().getByRole("button", { name: "Market" }).click();
  await fill({ Size: "0.02" });
  await shows(form().getByText("1,300.20 USDC"));
  // 0.05 % of 1,300.20.
  await shows(form().getByText("0.6501 USDC"));
  await form().getByRole("button", { name: "Buy 0.02 BTC" }).click();
  await shows(page.getByText("Bought 0.02 BTC").first());
  const row = table("Positions").getByRole("row").filter({ hasText: "BTC-PERP" });
  await shows(row.getByRole("cell", { name: "0.02 BTC" }));
  await shows(row.getByRole("cell", { name: "65,010.0" }));
  tab.assertClean();
});

test("a click on the book fills the price, and a limit order rests until it is canceled", options, async () => {
  await region("Order book")
    .getByRole("button", { name: /^Bid 64,990\.0/ })
    .click();
  assert.equal(await form().getByLabel("Price", { exact: true }).inputValue(), "64990.0");
  await fill({ Price: "64,000.00", Size: "0.05" });
  await form().getByRole("button", { name: "Buy 0.05 BTC" }).click();
  await openTable("Open orders");
  const row = table("Open orders").getByRole("row").filter({ hasText: "64,000.0" });
  await shows(row.getByRole("cell", { name: "0 / 0.05" }));
  const level = region("Order book").getByRole("button", { name: /^Bid .*64,000\.0 .* your order$/ });
  await shows(level);
  await row.getByRole("button", { name: /^Cancel order/ }).click();
  await shows(page.getByText("No open orders."));
  await level.waitFor({ state: "hidden" });
  await openTable("Order history");
  await shows(table("Order history").getByRole("cell", { name: /^Canceled/ }));
  tab.assertClean();
});

test("a price between two ticks is refused in place, with the prices beside it", options, async () => {
  await fill({ Price: "64000.12", Size: "0.05" });
  await shows(form().getByText("Must be a multiple of 0.1."));
  assert.ok(await form().getByRole("button", { name: "Enter an order" }).isDisabled());
  await form().getByRole("button", { name: "Use 64000.1" }).click();
  assert.equal(await form().getByLabel("Price", { exact: true }).inputValue(), "64000.1");
  for (const nonsense of ["", "abc", "1e9", "-5", "0", "9".repeat(40)]) {
    await fill({ Size: nonsense });
    assert.ok(await form().getByRole("button", { name: "Enter an order" }).isDisabled(), nonsense);
  }
  await fill({ Size: "90000" });
  await shows(form().getByText("Must be at most 100."));
  await fill({ Size: "50" });
  // The engine's own refusal, before anything is sent.
  await shows(form().getByText(/^Not enough free margin: /));
  await fill({ Price: "", Size: "" });
  tab.assertClean();
});

test("a position is protected, and its stop is dragged, amended and canceled", options, async () => {
  await openTable("Positions");
  await table("Positions").getByRole("button", { name: "TP / SL BTC-PERP" }).click();
  const dialog = page.getByRole("dialog", { name: "Protect BTC-PERP" });
  await dialog.getByLabel("Take profit at").fill("64000");
  await dialog.getByLabel("Stop loss at").fill("64900");
  assert.deepEqual(await tab.axe(), []);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  // It would trigger at once: the dialog stays, and says so.
  await shows(dialog.getByText(/trigger/i));
  await dialog.getByLabel("Take profit at").fill("70000");
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.waitFor({ state: "hidden" });
  await openTable("Open orders");
  const row = table("Open orders").getByRole("row").filter({ hasText: "Stop market" });
  await shows(row.getByRole("cell", { name: "64,900.0 Mark" }));
  const handle = region("Price chart").getByRole("button", { name: "Stop market" });
  const place = await handle.boundingBox();
  assert.ok(place !== null, "the stop has no handle on the chart");
  await page.mouse.move(place.x + 5, place.y + 10);
  await page.mouse.down();
  await page.mouse.move(place.x + 5, place.y + 30, { steps: 3 });
  await page.mouse.up();
  await row.getByRole("cell", { name: "64,900.0 Mark" }).waitFor({ state: "hidden" });
  await row.getByRole("button", { name: /^Amend/ }).click();
  await page.getByRole("dialog").getByLabel("Trigger").fill("64800.05");
  await page.getByRole("dialog").getByRole("button", { name: "Amend" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Use 64800.1" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Amend" }).click();
  await shows(row.getByRole("cell", { name: "64,800.1 Mark" }));
  await region("Positions and orders").getByRole("button", { name: "Cancel all" }).click();
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});

test("a position is halved, reversed and reversed back", options, async () => {
  await openTable("Positions");
  const row = table("Positions").getByRole("row").filter({ hasText: "BTC-PERP" });
  await row.getByRole("button", { name: "Close… BTC-PERP" }).click();
  const dialog = page.getByRole("dialog", { name: "Close BTC-PERP" });
  await dialog.getByText("50%", { exact: true }).click();
  await dialog.getByRole("button", { name: "Close 50%" }).click();
  await shows(row.getByRole("cell", { name: "0.01 BTC", exact: true }));
  await row.getByRole("button", { name: "Reverse BTC-PERP" }).click();
  await shows(row.getByRole("cell", { name: "−0.01 BTC" }));
  await row.getByRole("button", { name: "Reverse BTC-PERP" }).click();
  await shows(row.getByRole("cell", { name: "0.01 BTC", exact: true }));
  tab.assertClean();
});

test("a position is closed at market, and its profit is in the fills", options, async () => {
  await openTable("Positions");
  await table("Positions").getByRole("button", { name: "Close BTC-PERP at market" }).click();
  await shows(page.getByText("No open positions."));
  await openTable("Fills");
  // 0.01 × (64,990 − 65,010)
  await shows(table("Fills").getByRole("cell", { name: "−0.20" }));
  tab.assertClean();
});

test("leverage and margin mode are set, and an isolated position gets margin", options, async () => {
  await form().getByRole("button", { name: "Leverage 10×" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Isolated", { exact: true }).click();
  await dialog.getByRole("textbox", { name: "Leverage" }).fill("20");
  assert.deepEqual(await tab.axe(), []);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await shows(form().getByRole("button", { name: "Leverage 20×" }));
  await form().getByRole("button", { name: "Market" }).click();
  await fill({ Size: "0.01" });
  await form().getByRole("button", { name: "Buy 0.01 BTC" }).click();
  await openTable("Positions");
  const row = table("Positions").getByRole("row").filter({ hasText: "Isolated 20×" });
  await row.getByRole("button", { name: "Margin BTC-PERP" }).click();
  await dialog.getByLabel("Amount").fill("100");
  await shows(dialog.getByText(/^99,[\d.,]+ USDC$/));
  const price = dialog.getByText("Liquidation price", { exact: true }).locator("xpath=following-sibling::dd");
  const after = /→ ≈ ([\d.,]+)\./.exec((await price.textContent()) ?? "")?.[1] ?? assert.fail("no price after it");
  await dialog.getByRole("button", { name: "Add margin" }).click();
  await dialog.waitFor({ state: "hidden" });
  // The page's arithmetic is that of the exchange.
  await shows(row.getByText(`${after}.`));
  // 650.1 / 20 + 100, and the loss at the mark.
  await shows(row.getByRole("cell", { name: /^13[12]\.[0-9]{2}$/ }));
  await row.getByRole("button", { name: "Close BTC-PERP at market" }).click();
  await shows(page.getByText("No open positions."));
  tab.assertClean();
});

test("a trade goes by keyboard alone, and hotkeys trade only while they are armed", options, async () => {
  const { keyboard } = page;
  await openTable("Positions");
  await keyboard.press("m");
  await page
    .locator(":focus-visible")
    .and(form().getByLabel("Size", { exact: true }))
    .waitFor();
  await keyboard.press("Control+a");
  await keyboard.type("0.03");
  await shows(form().getByRole("button", { name: "Buy 0.03 BTC", disabled: false }));
  await keyboard.press("Enter");
  await shows(table("Positions").getByRole("cell", { name: "0.03 BTC", exact: true }));
  await page.getByRole("tab", { name: "Positions" }).focus();
  // Disarmed: nothing happens.
  await keyboard.press("c");
  await keyboard.press("Control+k");
  assert.deepEqual(await tab.axe(), []);
  await keyboard.type("arm the");
  await keyboard.press("Enter");
  await shows(page.getByRole("button", { name: "Hotkeys armed" }));
  assert.equal(await table("Positions").getByRole("cell", { name: "0.03 BTC", exact: true }).count(), 1);
  await keyboard.press("c");
  await shows(page.getByText("No open positions."));
  await page.getByRole("button", { name: "Hotkeys armed" }).click();
  tab.assertClean();
});

test("the palette switches the market, and takes the keys that are typed at once", options, async () => {
  const { keyboard } = page;
  const market = page.getByRole("banner").getByRole("button", { name: /^Market/ });
  for (const name of ["ETH-PERP", "BTC-PERP"]) {
    await keyboard.press("Control+k");
    await keyboard.type(`to ${name.slice(0, 3).toLowerCase()}`);
    const palette = page.getByRole("dialog", { name: "Commands" });
    await shows(palette.getByRole("option", { name: `Go to ${name}`, selected: true }));
    const active = await palette.getByRole("combobox").getAttribute("aria-activedescendant");
    assert.equal(await palette.getByRole("option", { selected: true }).getAttribute("id"), active);
    await keyboard.press("Enter");
    await shows(market.filter({ hasText: name }));
  }
  // The letters were no hotkeys.
  await shows(page.getByRole("button", { name: "Hotkeys disarmed" }));
  tab.assertClean();
});

test("an order is placed and canceled by keyboard alone, after a question", options, async () => {
  const { keyboard } = page;
  const command = async (typed: string): Promise<void> => {
    await keyboard.press("Control+k");
    await keyboard.type(typed);
    await keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Commands" }).waitFor({ state: "hidden" });
  };
  const askOrNot = async (): Promise<void> => {
    await command("settings");
    await page.getByRole("checkbox", { name: "Ask before an order is sent" }).press("Space");
    await keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  };
  await askOrNot();
  await command("show open orders");
  await focused(page.getByRole("tab", { name: "Open orders" }));
  await keyboard.press("q");
  await focused(form().getByLabel("Size", { exact: true }));
  await command("show open orders");
  await focused(page.getByRole("tab", { name: "Open orders" }));
  await keyboard.press("l");
  await focused(form().getByLabel("Price", { exact: true }));
  await keyboard.press("Control+a");
  await keyboard.type("64000");
  await keyboard.press("Tab");
  await focused(form().getByLabel("Price from the book"));
  await keyboard.press("Tab");
  await focused(form().getByLabel("Size", { exact: true }));
  await keyboard.press("Control+a");
  await keyboard.type("0.05");
  // In a field a letter is text.
  await keyboard.type("x");
  assert.equal(await form().getByLabel("Size", { exact: true }).inputValue(), "0.05x");
  await keyboard.press("Backspace");
  // While the connection is slow, Enter sends nothing and says so.
  await shows(form().getByRole("button", { name: "Buy 0.05 BTC", disabled: false }));
  await keyboard.press("Enter");
  const asked = page.getByRole("dialog", { name: "Send this?" });
  await shows(asked.getByText("Buy 0.05 BTC-PERP · Limit @ 64000"));
  assert.deepEqual(await tab.axe(), []);
  await keyboard.press("Enter");
  await asked.waitFor({ state: "hidden" });
  await command("show open orders");
  await focused(page.getByRole("tab", { name: "Open orders" }));
  const order = table("Open orders").getByRole("cell", { name: "0 / 0.05" });
  await shows(order);
  await keyboard.press("x");
  await command("arm");
  await shows(page.getByRole("button", { name: "Hotkeys armed" }));
  // Disarmed, the key did nothing.
  assert.equal(await order.count(), 1);
  // The light is seen in a narrow window, too.
  await tab.resize(390, 844);
  await shows(page.getByRole("button", { name: "Hotkeys armed" }));
  await tab.resize(1440, 900);
  await keyboard.press("x");
  await shows(page.getByText("No open orders."));
  await keyboard.press("a");
  await shows(page.getByRole("button", { name: "Hotkeys disarmed" }));
  await askOrNot();
  tab.assertClean();
});

test("settings survive a reload, hold nothing of the account, and are reset", options, async () => {
  const other = await Tab.open(browser, new URL("/", server.url).href);
  const { keyboard } = other.page;
  const dialog = other.page.getByRole("dialog", { name: "Settings" });
  const openSettings = () => other.page.getByRole("button", { name: "Settings" }).click();
  await other.page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  await shows(other.page.getByRole("region", { name: "Account" }).getByText("100,000.00 USDC"));
  await openSettings();
  await dialog.getByLabel("Theme").selectOption("Light");
  await dialog.getByLabel("Colours of up and down").selectOption("Blue and orange");
  await dialog.getByLabel("Update pace").selectOption("4 times a second");
  await dialog.getByLabel("Sounds for fills").check();
  await dialog.getByRole("button", { name: "Go to the price: P" }).click();
  for (const [key, answer] of [
    ["b", /^B is taken: Buy/],
    ["Control+p", /^Ctrl\+P cannot be used/],
    ["Enter", /^Enter cannot be used/],
  ] as const) {
    await keyboard.press(key);
    await shows(dialog.getByRole("alert").filter({ hasText: answer }));
  }
  await keyboard.press("k");
  await shows(dialog.getByRole("button", { name: "Go to the price: K" }));
  assert.deepEqual(await other.axe(), []);
  await other.page.reload();
  await shows(other.page.getByText("Live", { exact: true }));
  const stored = await other.page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })");
  const entries = Object.entries(JSON.parse(String(stored)) as Record<string, string>);
  assert.deepEqual(
    entries.map(([name, value]) => [name, Object.keys(JSON.parse(value) as object)]),
    [["perpd.settings", Object.keys(DEFAULTS)]],
  );
  assert.doesNotMatch(String(stored), /token|0x/i);
  await keyboard.press("k");
  await other.page
    .locator(":focus")
    .and(other.page.getByLabel("Price", { exact: true }))
    .waitFor();
  await openSettings();
  assert.equal(await dialog.getByLabel("Theme").inputValue(), "light");
  assert.equal(await dialog.getByLabel("Colours of up and down").inputValue(), "colour-blind");
  assert.ok(await dialog.getByLabel("Sounds for fills").isChecked());
  await dialog.getByRole("button", { name: "Reset all settings" }).click();
  await shows(dialog.getByRole("button", { name: "Go to the price: P" }));
  assert.equal(await dialog.getByLabel("Theme").inputValue(), "dark");
  assert.deepEqual(await other.axe(), []);
  other.assertClean();
  await other.page.close();
});

test(
  "a tab takes over the settings that another tab changes, and keeps them when it changes its own",
  options,
  async () => {
    const context = await browser.newContext();
    const [a, b] = [await Tab.open(context, page.url()), await Tab.open(context, page.url())];
    const stored = async () => JSON.parse(String(await b.page.evaluate(`localStorage["perpd.settings"]`))) as Settings;
    for (const { page } of [a, b]) await shows(page.getByText("Live", { exact: true }));
    await b.page.evaluate(`{
    globalThis.writes = 0;
    const { setItem } = Storage.prototype;
    Storage.prototype.setItem = function (...entry) { globalThis.writes++; setItem.apply(this, entry); };
  }`);
    await a.page.getByRole("button", { name: "Settings" }).click();
    await a.page.getByRole("checkbox", { name: "Ask before an order is sent" }).check();
    await a.page.getByRole("combobox", { name: "Theme" }).selectOption("Light");
    await b.page.locator("[data-theme=light]").waitFor();
    assert.equal(await b.page.evaluate("globalThis.writes"), 0);
    await b.page.getByRole("button", { name: "5m", exact: true }).click();
    await a.page.getByRole("button", { name: "5m", exact: true, pressed: true, includeHidden: true }).waitFor();
    const { confirmsOrders, theme, interval } = await stored();
    assert.deepEqual({ confirmsOrders, theme, interval }, { confirmsOrders: true, theme: "light", interval: "5m" });
    // A tab that has heard of nothing changes its own field only, and what is no setting changes nothing.
    await a.page.evaluate(`localStorage["perpd.settings"] = "{"`);
    // The tabs are processes: the later write must not overtake the earlier one.
    await b.page.waitForFunction(`localStorage["perpd.settings"] === "{"`);
    await b.page.evaluate(`localStorage["perpd.settings"] = JSON.stringify({ sounds: true, theme: "blue" })`);
    await b.page.getByRole("button", { name: "15m", exact: true }).click();
    assert.deepEqual(await stored(), { ...DEFAULTS, sounds: true, interval: "15m" });
    for (const each of [a, b]) each.assertClean();
    await context.close();
  },
);

/** Whether the browser would close or reload the page without a question. */
const mayLeave = (): Promise<boolean> =>
  page.evaluate('dispatchEvent(new Event("beforeunload", { cancelable: true }))');

test("money is withdrawn, and an API key is created and revoked", options, async () => {
  const account = region("Account");
  await account.getByRole("button", { name: "Withdraw" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Amount").fill("10.0000001");
  await dialog.getByRole("button", { name: "Withdraw" }).click();
  await dialog.getByRole("button", { name: "Use 10", exact: true }).click();
  await dialog.getByRole("button", { name: "Withdraw" }).click();
  await dialog.waitFor({ state: "hidden" });
  await openTable("Transfers");
  await shows(table("Transfers").getByRole("cell", { name: "10.00 USDC", exact: true }));
  // To another address only after a question, which a double click does not answer.
  const other = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
  await account.getByRole("button", { name: "Withdraw" }).click();
  await dialog.getByLabel("Amount").fill("7");
  await dialog.getByLabel("Address", { exact: true }).fill(other);
  await dialog.getByRole("button", { name: "Withdraw" }).dblclick();
  await shows(dialog.getByRole("alert").filter({ hasText: `7 USDC go to ${other}` }));
  await focused(dialog.getByRole("button", { name: "Back" }));
  // Also when its second click comes late.
  for (const place of [dialog.getByRole("alert"), dialog.getByRole("button", { name: "Withdraw 7 USDC" })]) {
    await place.hover();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await focused(dialog.getByRole("button", { name: "Back" }));
  }
  assert.deepEqual(await tab.axe(), []);
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Withdraw" }).click();
  await dialog.getByRole("button", { name: "Withdraw 7 USDC" }).click();
  await dialog.waitFor({ state: "hidden" });
  await shows(table("Transfers").getByRole("cell", { name: "7.00 USDC", exact: true }));
  await account.getByRole("button", { name: "API keys" }).click();
  await dialog.getByLabel("Name").fill("<b>bot</b>");
  assert.ok(await mayLeave());
  await dialog.getByRole("button", { name: "Create key" }).click();
  await shows(dialog.getByText(/The secret is shown only now/));
  const question = page.waitForEvent("dialog");
  const reloading = page.reload().catch(() => "stayed");
  const asked = await question;
  assert.equal(asked.type(), "beforeunload");
  await asked.dismiss();
  assert.equal(await reloading, "stayed");
  await shows(dialog.getByText(/The secret is shown only now/));
  // Markup in a name is text.
  await shows(dialog.getByText("<b>bot</b>", { exact: true }));
  assert.deepEqual(await tab.axe(), []);
  // The secret is not lost by one press.
  await page.keyboard.press("Escape");
  await shows(dialog.getByRole("alert").getByText(/^Nobody can show the secret again/));
  await focused(dialog.getByRole("button", { name: "I have saved it" }));
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  assert.ok(await mayLeave());
  await account.getByRole("button", { name: "API keys" }).click();
  await dialog.getByRole("button", { name: "Revoke <b>bot</b>" }).click();
  await dialog.getByRole("button", { name: "Revoke now <b>bot</b>" }).click();
  await shows(dialog.getByText("No API keys yet."));
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  // The page itself has refused the amount: nothing was sent.
  tab.assertClean();
});

test("a list is saved as CSV", options, async () => {
  await openTable("Fills");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save CSV" }).click(),
  ]);
  const lines = readFileSync(await file.path(), "utf8")
    .trim()
    .split("\r\n");
  assert.match(file.suggestedFilename(), /^perpd-fills-[0-9-]+\.csv$/);
  assert.match(lines[0] ?? "", /^tradeId,orderId,clientOrderId,symbol,side,price,quantity,/);
  assert.match(lines.at(-1) ?? "", /BTC-PERP,BUY,65010,0\.02,1300\.2,/);
  await openTable("Ledger");
  await shows(table("Ledger").getByRole("cell", { name: "+100,000.000000" }));
  tab.assertClean();
});

test("a wallet that announces itself signs in, and only for this site", options, async () => {
  const wallet = walletOf(newPrivateKey());
  const other = await Tab.open(browser, new URL("/", server.url).href, {
    init: (page) => announce(page, wallet.address, (message) => wallet.signMessage({ message })),
  });
  const account = other.page.getByRole("region", { name: "Account" });
  await other.page.getByRole("banner").getByRole("button", { name: "Connect" }).click();
  const dialog = other.page.getByRole("dialog");
  // Only data: images are shown: an address would tell another site who is here.
  assert.equal(await dialog.locator("img").count(), 0);
  assert.deepEqual(await other.axe(), []);
  await dialog.getByRole("button", { name: "Connect Test Wallet" }).click();
  await shows(account.getByText(`Wallet ${wallet.address.slice(0, 6)}`));
  await useAccountMenu(other);
  // A relay shows the exchange's message for another site.
  await other.page.route("**/v1/auth/challenge", async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { message: string };
    await route.fulfill({ json: { ...body, message: body.message.replace(/^\S+/, "evil.example") } });
  });
  await account.getByRole("button", { name: "Connect Test Wallet" }).click();
  await shows(account.getByText(/is for evil\.example.* Nothing was signed/));
  other.assertClean();
  await other.page.close();
});

/** Everything that the menu of a wallet's account offers. At the end nobody is signed in. */
async function useAccountMenu(tab: Tab): Promise<void> {
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  const press = (name: string): Promise<void> => dialog.getByRole("button", { name, exact: true }).click();
  const type = (label: string, value: string): Promise<void> => dialog.getByLabel(label, { exact: true }).fill(value);
  const open = async (name: string): Promise<void> => {
    await page.getByRole("button", { name: /^Account 0x/ }).click();
    await page.getByRole("banner").getByRole("button", { name, exact: true }).click();
    await page.getByRole("dialog", { name }).waitFor();
    assert.deepEqual(await tab.axe(), [], name);
  };
  const sent: string[] = [];
  page.on("request", (request) => request.method() !== "GET" && sent.push(request.url()));
  await open("Deposit");
  for (const nonsense of ["", "abc", "0", "-5", "1e9", "1.1234567", "9".repeat(80)]) {
    await type("Amount", nonsense);
    await press("Deposit");
    await shows(dialog.getByText(/^(Enter a|USDC has six)/));
  }
  assert.deepEqual(sent, []);
  // The browser itself writes each refused HTTP request to the console.
  tab.expected = /status of 4(00|22)/;
  await type("Amount", "5000000");
  await press("Deposit");
  await press("Use 1000000");
  await type("Amount", "5000");
  await press("Deposit");
  await dialog.waitFor({ state: "hidden" });
  await shows(page.getByText("5,000.00 USDC"));

  await open("Withdraw");
  await type("Amount", "6000");
  await type("Address", "0x123");
  await press("Withdraw");
  await shows(dialog.getByText(/^Enter an address/));
  await type("Address", "0x8ba1f109551bD432803012645Ac136ddd64DBA72");
  await press("Withdraw");
  await press("Withdraw 6000 USDC");
  await shows(dialog.getByText(/At most 5,000\.00 USDC/));
  await type("Amount", "50");
  // The gate closes only while the exchange cannot pay everybody.
  const gated = { code: "WITHDRAWALS_GATED", message: "Nothing is paid out to anybody.", retryable: true };
  const details = { reason: "the insurance fund is below zero", retryAfterMs: 800 };
  await page.route("**/v1/account/withdraw", (route) => route.fulfill({ status: 422, json: { ...gated, details } }), {
    times: 1,
  });
  await press("Withdraw");
  await press("Withdraw 50 USDC");
  await shows(dialog.getByText(/The reason: the insurance fund is below zero\. Try again in 1 s\./));
  await press("Withdraw");
  await press("Withdraw 50 USDC");
  await dialog.waitFor({ state: "hidden" });
  await shows(page.getByText("4,950.00 USDC"));
  await open("Withdraw");
  await dialog.getByText(/^Address book \d/).click();
  await type("Name", "cold wallet");
  await type("New address", "0x8ba1f109551bD432803012645Ac136ddd64DBA72");
  await press("Add address");
  await shows(dialog.getByText(/^usable from /));
  assert.deepEqual(await tab.axe(), []);
  await press("cold wallet");
  await press("Remove cold wallet");
  await shows(dialog.getByText(/^No addresses yet/));
  await page.keyboard.press("Escape");

  await open("API keys");
  await type("Name", "bot");
  await dialog.getByText("Limits and expiry").click();
  await type("Only from these IP addresses", "nonsense");
  await press("Create key");
  await shows(dialog.getByText(/is not an IP address/));
  await type("Only from these IP addresses", "10.0.0.0/8");
  await press("Create key");
  assert.match(await dialog.getByLabel("Secret", { exact: true }).inputValue(), /^[0-9a-f]{64}$/);
  assert.deepEqual(await tab.axe(), []);
  await press("I have saved it");
  assert.equal(await dialog.getByLabel("Secret", { exact: true }).count(), 0);
  await press("Revoke bot");
  assert.deepEqual(await tab.axe(), []);
  await press("Keep");
  await press("Revoke bot");
  await press("Revoke now bot");
  await shows(dialog.getByText("No API keys yet."));
  await page.keyboard.press("Escape");

  await open("Sessions");
  await shows(dialog.getByText("This page"));
  await press("End all sessions");
  await dialog.waitFor({ state: "hidden" });
  await shows(page.getByRole("banner").getByRole("button", { name: "Connect" }));
}

/** A wallet as an extension brings it: it announces itself (EIP-6963) and signs outside of the page. */
async function announce(page: Page, address: string, sign: (message: string) => Promise<string>): Promise<void> {
  await page.exposeFunction("signForTest", (hex: string) => sign(Buffer.from(hex.slice(2), "hex").toString()));
  await page.addInitScript({
    content: `{
      const provider = { request: async ({ method, params }) =>
        method === "eth_requestAccounts" ? ["${address}"] : signForTest(params[0]) };
      const info = { uuid: "1", name: "Test Wallet", icon: "https://evil.example/icon.png", rdns: "test" };
      const announce = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: { info, provider } }));
      addEventListener("eip6963:requestProvider", announce);
    }`,
  });
}

test("an order whose answer is lost is found by its clientOrderId, and placed once", options, async () => {
  let isCut = false;
  const other = await Tab.open(browser, new URL("/", server.url).href, {
    init: (page) =>
      page.routeWebSocket(/\/v1\/ws$/, (socket) => {
        const exchange = socket.connectToServer();
        let isLost = false;
        socket.onMessage((message) => {
          exchange.send(message);
          if (isCut || !/"order\.place"/.test(String(message)) || /"dryRun"/.test(String(message))) return;
          isCut = isLost = true;
          setTimeout(() => void socket.close(), 50);
        });
        exchange.onMessage((message) => {
          if (!isLost) socket.send(message);
        });
      }),
  });
  const { page } = other;
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  const form = page.getByRole("region", { name: "Place an order" });
  await form.getByLabel("Price", { exact: true }).fill("64000");
  await form.getByLabel("Size", { exact: true }).fill("0.07");
  await form.getByRole("button", { name: "Buy 0.07 BTC" }).click();
  await shows(page.getByText("Limit order placed"));
  assert.ok(isCut);
  await page.getByRole("tab", { name: "Open orders" }).click();
  await shows(page.getByRole("cell", { name: "0 / 0.07" }));
  assert.equal(await page.getByRole("cell", { name: "0 / 0.07" }).count(), 1);
  other.assertClean();
  await page.close();
});

test("no rule of axe-core is violated, in either theme and at each size", options, async () => {
  await openTable("Positions");
  for (const [width, height] of [
    [1440, 900],
    [1024, 768],
    [390, 844],
  ] as const) {
    await tab.resize(width, height);
    assert.deepEqual(await tab.axe(), [], `${width}`);
  }
  await tab.resize(1440, 900);
  await page.getByRole("button", { name: "Light theme" }).click();
  assert.deepEqual(await tab.axe(), []);
  await page.getByRole("button", { name: "Light theme" }).click();
  tab.assertClean();
});

test("a disconnected page says so, lets nobody trade, and goes on by itself", options, async () => {
  await form().getByRole("button", { name: "Limit" }).click();
  await fill({ Price: "64000", Size: "0.01" });
  tab.expected = /ERR_CONNECTION_REFUSED|status of 503|WebSocket connection/;
  await server.stop();
  await shows(page.getByRole("alert").getByText(/connection to the exchange is lost/));
  assert.ok(await form().getByRole("button", { name: "Buy 0.01 BTC" }).isDisabled());
});
