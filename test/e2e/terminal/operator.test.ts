import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import type { Instrument, InstrumentList } from "../../../src/client/types.ts";
import { CHROMIUM, openBrowser } from "../support/browser.ts";
import { OPERATOR_TOKEN, startServer, type TestServer } from "../support/server.ts";
import { Tab } from "../support/tab.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";

/** An operator in Chromium on a real exchange. By role and accessible name only, and no policy is bypassed. */

const options = { skip: CHROMIUM === null && "no Chromium is installed: the operator's console was not tested" };

let server: TestServer;
let browser: Browser;
let tab: Tab;
let page: Page;

before(async () => {
  if (CHROMIUM === null) return;
  server = await startServer();
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  const maker = await openTrader(server, "1000000");
  const taker = await openTrader(server, "1000000");
  await maker.sell("1", "65010");
  await taker.market("BUY", "1");
  browser = await openBrowser();
  tab = await Tab.open(browser, new URL("/operator", server.url).href);
  ({ page } = tab);
});
after(async () => {
  await browser?.close();
  await server?.dispose();
});

const region = (name: string): Locator => page.getByRole("region", { name, exact: true });
const button = (name: string): Locator => page.getByRole("button", { name, exact: true });
const dialog = (name: string): Locator => page.getByRole("dialog", { name });
const row = (symbol: string): Locator => page.getByRole("row").filter({ hasText: symbol });
const shows = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 20_000 });

async function symbolOf(name: string): Promise<Instrument> {
  const { data } = await new Operator(server).get<InstrumentList>("/market/symbols");
  const found = data.find(({ symbol }) => symbol === name);
  assert.ok(found !== undefined, name);
  return found;
}

test("a wrong token is refused in place, and the right one is kept in memory only", options, async () => {
  const token = page.getByLabel("Operator token");
  await button("Sign in").click();
  await shows(page.getByText("Enter the token."));
  assert.deepEqual(await tab.axe(), []);
  tab.expected = /status of 403/;
  await token.fill("x".repeat(40));
  await button("Sign in").click();
  await shows(page.getByRole("status").getByText("This is not a token of an operator."));
  assert.equal(await region("Symbols").count(), 0);
  tab.expected = null;
  await token.fill(OPERATOR_TOKEN);
  await button("Sign in").click();
  await shows(row("BTC-PERP").getByText("Trading"));
  await shows(page.getByRole("status").getByText("Live"));
  const kept = await page.evaluate<string>(
    "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])",
  );
  assert.ok(!kept.includes(OPERATOR_TOKEN), kept);
  assert.deepEqual(await page.evaluate("Promise.all([indexedDB.databases(), caches.keys()])"), [[], []]);
  tab.assertClean();
});

test("a symbol is halted and resumed only when its name is typed", options, async () => {
  await button("Halt BTC-PERP").click();
  const halt = dialog("Halt BTC-PERP");
  const send = halt.getByRole("button", { name: "Halt BTC-PERP" });
  await halt.getByLabel("Type BTC-PERP").fill("ETH-PERP");
  assert.ok(await send.isDisabled());
  await halt.getByLabel("Type BTC-PERP").press("Enter");
  assert.equal((await symbolOf("BTC-PERP")).status, "TRADING");
  await halt.getByText("Reduce only", { exact: true }).click();
  await halt.getByLabel("Type BTC-PERP").fill("BTC-PERP");
  assert.deepEqual(await tab.axe(), []);
  await send.click();
  await shows(row("BTC-PERP").getByText("Reduce only"));
  assert.equal((await symbolOf("BTC-PERP")).statusReason, "OPERATOR");
  await shows(page.getByRole("table", { name: "Actions of operators" }).getByRole("cell", { name: "Halt" }));
  await button("Resume BTC-PERP").click();
  const resume = dialog("Resume BTC-PERP");
  assert.ok(await resume.getByRole("button", { name: "Resume BTC-PERP" }).isDisabled());
  await resume.getByLabel("Type BTC-PERP").fill("BTC-PERP");
  await resume.getByRole("button", { name: "Resume BTC-PERP" }).click();
  await shows(row("BTC-PERP").getByText("Trading"));
  assert.equal((await symbolOf("BTC-PERP")).status, "TRADING");
  tab.assertClean();
});

test("an index price is set; a move of more than 1 % needs the symbol's name", options, async () => {
  await button("Index price of BTC-PERP").click();
  const index = dialog("Index price of BTC-PERP");
  const price = index.getByLabel("New price");
  const send = index.getByRole("button", { name: "Set the price" });
  for (const nonsense of ["abc", "0", "-5", "1e5"]) {
    await price.fill(nonsense);
    await shows(index.getByText("Enter a price above zero, in digits."));
    assert.ok(await send.isDisabled(), nonsense);
  }
  await price.fill("65,100.07");
  await shows(index.getByText("Must be a multiple of 0.1."));
  await index.getByRole("button", { name: "Use 65100.1" }).click();
  await send.click();
  await shows(row("BTC-PERP").getByRole("cell", { name: "65,100.1" }));
  await button("Index price of BTC-PERP").click();
  await price.fill("66000");
  assert.ok(await send.isDisabled());
  await index.getByLabel("Type BTC-PERP").fill("BTC-PERP");
  assert.deepEqual(await tab.axe(), []);
  await send.click();
  await shows(row("BTC-PERP").getByRole("cell", { name: "66,000.0" }));
  // Larger than the exchange takes: its own words, field and limit stay in the dialog.
  tab.expected = /status of 400/;
  await button("Index price of BTC-PERP").click();
  await price.fill("9".repeat(18));
  await index.getByLabel("Type BTC-PERP").fill("BTC-PERP");
  await send.click();
  const refusal = index.getByRole("alert");
  await shows(refusal.getByText("price", { exact: true }));
  await page.keyboard.press("Escape");
  tab.expected = null;
  tab.assertClean();
});

test("the audit, the fund and the health are shown, without a violation of axe-core at any size", options, async () => {
  await button("Run the audit").click();
  await shows(region("Audit").getByText("Balanced"));
  const { money } = await new Operator(server).audit();
  await shows(region("Audit").getByText(Number(money).toLocaleString("en-US", { minimumFractionDigits: 2 })));
  await shows(region("Health").getByText("OK", { exact: true }));
  await shows(region("Health").getByText(/^[\d,]+\.\d GiB free$/));
  await shows(region("Insurance fund").getByText(/USDC$/));
  await shows(page.getByRole("img", { name: /^Transactions: \d+\/s$/ }));
  await shows(page.getByRole("img", { name: /^Latency: [\d.]+ ms, [\d.]+ ms$/ }));
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ] as const) {
    await tab.resize(width, height);
    assert.deepEqual(await tab.axe(), [], `${width}`);
  }
  await tab.resize(1440, 900);
  await button("Light theme").click();
  assert.deepEqual(await tab.axe(), []);
  tab.assertClean();
});

test(
  "while the history does not answer, an operator signs in and sees figures, and no list says that it is empty",
  options,
  async () => {
    const stalled = await Tab.open(browser, new URL("/operator", server.url).href);
    const within = (name: string): Locator => stalled.page.getByRole("region", { name, exact: true });
    stalled.expected = /status of 503/;
    const history = /\/v1\/(operator\/acts|market\/(insurance|liquidations))/;
    const problem = { code: "TIMEOUT", message: "The history was not read in time.", requestId: "of-the-test" };
    try {
      await stalled.page.route(history, async (route) => {
        await pause(2_000);
        await route.fulfill({ status: 503, json: problem }).catch(() => {});
      });
      await stalled.page.getByLabel("Operator token").fill(OPERATOR_TOKEN);
      await stalled.page.getByRole("button", { name: "Sign in", exact: true }).click();
      await shows(within("Actions of operators").getByText("Reading…"));
      await shows(within("Health").getByText("OK", { exact: true }));
      const banner = stalled.page.getByRole("alert");
      await shows(banner.getByText(/^The fund, the liquidations and the actions of operators could not be read\./));
      for (const name of ["Insurance fund", "Recent liquidations", "Actions of operators"])
        await shows(within(name).getByText("It could not be read."));
      await shows(stalled.page.getByRole("status").getByText("Live"));
      assert.deepEqual(await stalled.axe(), []);
      const shown = (): Promise<string | null> => within("Health").textContent();
      const before = await shown();
      await until("newer figures", async () => (await shown()) !== before);
      await stalled.page.unroute(history);
      await shows(within("Recent liquidations").getByText("Nobody was liquidated."));
      await banner.getByText(/could not be read/).waitFor({ state: "hidden" });
      await stalled.page.route(history, (route) => route.fulfill({ status: 503, json: problem }));
      await stalled.page.getByRole("button", { name: "Index prices", exact: true }).click();
      await shows(banner.getByText(/^Stale: the fund, .* of operators are of \d\d:\d\d:\d\d\./));
      await shows(within("Actions of operators").getByText("It could not be read."));
      stalled.assertClean();
    } finally {
      await stalled.page.close();
    }
  },
);

test("a lost connection is said, and the token is forgotten at the end", options, async () => {
  // A request of the moment in which the exchange stops is refused.
  tab.expected = /ERR_CONNECTION_REFUSED|status of 503/;
  await server.stop();
  await shows(page.getByRole("alert").getByText(/^Stale: these figures are of \d\d:\d\d:\d\d\./));
  await shows(region("Health").getByText("Stale", { exact: true }));
  assert.deepEqual(await tab.axe(), []);
  await button("Sign out").click();
  await until("the form", async () => (await page.getByLabel("Operator token").inputValue()) === "");
  tab.assertClean();
});
