import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import type { CreatedApiKey } from "../../../src/client/types.ts";
import { CHROMIUM, openBrowser } from "../support/browser.ts";
import { KeyHolder } from "../support/keys.ts";
import { OPERATOR_TOKEN, startServer, type TestServer } from "../support/server.ts";
import { Tab } from "../support/tab.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { login, newPrivateKey } from "../support/wallet.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { announceWallets } from "./wallets.ts";

/** What goes wrong between a page and the exchange, in Chromium: the page says it, repairs it, and never makes it worse. */

const options = { skip: CHROMIUM === null && "no Chromium is installed: faults of connections were not tested" };

let proxy: FaultProxy;
let server: TestServer;
let operator: Operator;
let browser: Browser;
let maker: Trader;
/** The same account as that of the first tab's wallet. */
let alice: Trader;
let first: Tab;
/** The operator's console, from the halt on. */
let desk: Tab;

before(async () => {
  if (CHROMIUM === null) return;
  proxy = await FaultProxy.open();
  // Wallets sign in to the address that the browser shows.
  server = await startServer({
    environment: {
      PERPD_LOGIN_DOMAIN: proxy.authority,
      PERPD_WALLET_APPROVAL: "on",
      PERPD_WITHDRAWAL_ADDRESS_BOOK: "on",
      PERPD_WITHDRAWAL_ADDRESS_HOLD_MS: "0",
      PERPD_WITHDRAWAL_DELAY_MS: "100",
    },
  });
  proxy.target = server.port;
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  maker = await openTrader(server, "1000000");
  await maker.sell("5", "65010");
  await maker.buy("5", "64990");
  alice = await openTrader(server, "100000");
  browser = await openBrowser();
  first = await openPage(alice);
});
after(async () => {
  await browser?.close();
  proxy?.close();
  await server?.dispose();
});

/** The browser itself writes each request that fails to the console, also one for an order that is not there yet. */
const LOST_CONNECTION = /ERR_(CONNECTION_|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)|WebSocket connection|status of 404/;

/** A tab in which the trader's wallet has signed in. */
async function openPage(trader: Trader): Promise<Tab> {
  const wallet = { name: "Own", privateKey: trader.privateKey };
  const tab = await Tab.open(browser, proxy.url, { init: (page) => announceWallets(page, [wallet]) });
  await connect(tab);
  return tab;
}

async function connect({ page }: Tab): Promise<void> {
  await region(page, "Account").getByRole("button", { name: "Connect Own" }).click();
  await shows(page.getByRole("button", { name: /^Account 0x/ }));
  await shows(light(page, "Live"));
}

const region = (page: Page, name: string): Locator => page.getByRole("region", { name });
const light = (page: Page, name: string): Locator =>
  page.getByRole("status").filter({ hasText: new RegExp(`^${name}$`) });
const table = (page: Page, name: string): Locator => page.getByRole("table", { name });
const openTable = (page: Page, name: string): Promise<void> => page.getByRole("tab", { name }).click();
const button = (page: Page, name: string | RegExp): Locator => page.getByRole("button", { name });
const banner = (page: Page, text: RegExp): Locator => page.getByRole("alert").filter({ hasText: text });
const notice = (page: Page, text: string | RegExp): Locator => region(page, "Notifications").getByText(text);
const shows = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 20_000 });
const hides = (locator: Locator): Promise<void> => locator.first().waitFor({ state: "hidden", timeout: 20_000 });
const book = (page: Page): Locator => region(page, "Order book");

async function fillOrder(page: Page, fields: Record<string, string>): Promise<void> {
  const form = region(page, "Place an order");
  await form.getByRole("button", { name: "Price" in fields ? "Limit" : "Market", exact: true }).click();
  for (const [label, value] of Object.entries(fields)) await form.getByLabel(label, { exact: true }).fill(value);
}

async function buy(page: Page, fields: Record<string, string>): Promise<void> {
  await fillOrder(page, fields);
  await button(page, `Buy ${fields.Size} BTC`).click();
}

/** The cell "filled / size" of an open order. */
const openOrder = (page: Page, size: string): Locator =>
  table(page, "Open orders").getByRole("cell", { name: `0 / ${size}`, exact: true });

test("two tabs of an account show the same, and one that signs out leaves the other", options, async () => {
  const second = await openPage(alice);
  for (const { page } of [first, second]) await openTable(page, "Open orders");
  await buy(first.page, { Price: "64000", Size: "0.05" });
  for (const { page } of [first, second]) await shows(openOrder(page, "0.05"));
  await button(second.page, /^Cancel order/).click();
  for (const { page } of [first, second]) await shows(page.getByText("No open orders."));
  await shows(notice(first.page, "Limit order: canceled"));
  await buy(second.page, { Size: "0.02" });
  for (const { page } of [first, second]) {
    await openTable(page, "Positions");
    await shows(table(page, "Positions").getByRole("cell", { name: "0.02 BTC", exact: true }));
  }
  await button(second.page, /^Account 0x/).click();
  await second.page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  await shows(second.page.getByText("Open an account to see its positions and orders."));
  assert.equal(await table(second.page, "Positions").count(), 0);
  await button(first.page, "Close BTC-PERP at market").click();
  await shows(first.page.getByText("No open positions."));

  // Another session, as one sees it who has lost a device.
  await connect(second);
  await button(first.page, /^Account 0x/).click();
  await button(first.page, "Sessions").click();
  const dialog = first.page.getByRole("dialog", { name: "Sessions" });
  await shows(dialog.getByText("This page"));
  const others = dialog.getByRole("button", { name: /^End (?!all )/ });
  await shows(others);
  while ((await others.count()) > 0) {
    const name = (await others.first().textContent()) ?? "";
    await dialog.getByRole("button", { name, exact: true }).click();
    await hides(dialog.getByRole("button", { name, exact: true }));
  }
  await first.page.keyboard.press("Escape");
  await shows(notice(second.page, "Signed out"));
  await shows(button(second.page, "Connect Own"));
  await shows(light(first.page, "Live"));
  first.assertClean();
  second.assertClean();
  await second.page.close();
  // The session of the test's own requests has ended, too.
  alice = new Trader(
    server.url,
    (await login(server.url, alice.privateKey)).token,
    alice.accountId,
    alice.address,
    alice.privateKey,
  );
});

test("a page whose channels were refused comes back by itself", options, async () => {
  for (const isFirst of [true, false]) {
    let refused: string | null = null;
    let isAccepted = false;
    proxy.toPage = (message) => {
      const { op, id, channels } = JSON.parse(message);
      if (op !== "subscribed" || message.includes('"orderbook"') !== isFirst) return message;
      if (refused !== null) {
        isAccepted ||= message.includes(refused);
        return message;
      }
      refused = JSON.stringify(channels[0]);
      return JSON.stringify({ op: "error", id, code: "BAD_VALUE", message: "refused", retryable: false });
    };
    const { page } = await Tab.open(browser, proxy.url);
    await until("the channels to be accepted", () => isAccepted);
    await shows(light(page, "Live"));
    await shows(book(page).getByText("✓ verified"));
    proxy.heal();
    await page.close();
  }
});

test("a lost message and a damaged one of the book are repaired, and the page counts them", options, async () => {
  const { page } = first;
  await shows(book(page).getByText("✓ verified"));
  const isBook = (message: string): boolean =>
    message.startsWith('{"channel":"orderbook"') && message.includes('"DELTA"');
  let faults = 0;
  proxy.toPage = (message) => (isBook(message) && faults++ === 0 ? null : message);
  const order = await maker.sell("1.5", "65001");
  await until("a message to be lost", () => faults > 0);
  // Only the next message shows the gap.
  await maker.sell("1.25", "65003");
  await shows(book(page).getByText("✓ verified · repaired once"));
  for (const [price, size] of [
    ["65,001.0", "1.500"],
    ["65,003.0", "1.250"],
  ])
    await shows(book(page).getByRole("button", { name: new RegExp(`^Ask ${price}.*${size}`) }));

  faults = 0;
  proxy.toPage = (message) => (isBook(message) && faults++ === 0 ? message.replace(/"1\.75"/, '"9.75"') : message);
  await maker.sell("1.75", "65005");
  await shows(book(page).getByText("✓ verified · repaired 2 times"));
  await shows(book(page).getByRole("button", { name: /^Ask 65,005\.0.*1\.750/ }));
  assert.ok(faults > 0);

  // A snapshot that is wrong, too, is asked for again, but not in a circle.
  let asked = 0;
  proxy.toExchange = (message) => {
    if (message.includes('"op":"subscribe"') && message.includes('"orderbook"')) asked++;
    return message;
  };
  let isWrong = true;
  proxy.toPage = (message) =>
    isWrong && message.startsWith('{"channel":"orderbook"') ? message.replace(/"1\.75"/, '"9.75"') : message;
  await maker.cancel(order.orderId);
  await maker.sell("1.75", "65007");
  await until("two repairs", () => asked >= 2);
  assert.equal(await book(page).getByText("✓ verified").count(), 0);
  isWrong = false;
  await shows(book(page).getByText("✓ verified"));
  assert.ok(asked < 10, `${asked} snapshots were asked for`);

  // What is no JSON at all ends the connection, and the page makes another one.
  faults = 0;
  proxy.toPage = (message) =>
    message.startsWith('{"channel":"tickers"') && faults++ === 0 ? message.slice(0, 9) : message;
  await maker.sell("0.5", "65009");
  await until("a broken message", () => faults > 0);
  await shows(book(page).getByRole("button", { name: /^Ask 65,009\.0/ }));
  await shows(light(page, "Live"));
  proxy.heal();
  first.assertClean();
});

test(
  "an order whose answer is lost is found and sent once, and one that never arrived is not placed",
  options,
  async () => {
    const { page } = first;
    let sent = 0;
    const isThere = async (): Promise<boolean> => (await alice.openOrders()).data.length === 1;
    const cutAfter = (isForwarded: boolean): void => {
      proxy.toExchange = (message, pair) => {
        if (!message.includes('"order.place"') || message.includes('"dryRun"')) return message;
        sent++;
        pair.isMute = proxy.isDown = true;
        const arrives = isForwarded ? until("the order", isThere) : Promise.resolve();
        void arrives.then(() => proxy.cut());
        return isForwarded ? message : null;
      };
    };
    first.expected = LOST_CONNECTION;
    await openTable(page, "Open orders");
    cutAfter(true);
    await buy(page, { Price: "64000", Size: "0.07" });
    await shows(notice(page, "Outcome unknown"));
    await shows(banner(page, /connection to the exchange is lost/));
    assert.ok(await button(page, "Sending…").isDisabled());
    await until("the order", isThere);
    assert.equal(await notice(page, /Not placed|Refused/).count(), 0);
    proxy.heal();
    await shows(notice(page, "Limit order placed"));
    await shows(openOrder(page, "0.07"));
    assert.equal(await notice(page, "Outcome unknown").count(), 0);
    const { data } = await alice.openOrders();
    assert.deepEqual([data.length, sent], [1, 1]);
    assert.match(data[0]?.clientOrderId ?? "", /^web-/);

    cutAfter(false);
    await buy(page, { Price: "64000", Size: "0.08" });
    await shows(notice(page, "Outcome unknown"));
    proxy.heal();
    // Only once it can no longer arrive.
    await shows(notice(page, "Not placed"));
    assert.deepEqual([(await alice.openOrders()).data.length, sent], [1, 2]);
    await shows(light(page, "Live"));
    await button(page, /^Cancel order/).click();
    await shows(page.getByText("No open orders."));
    first.assertClean();
  },
);

test("an order whose answer is lost on a living connection is found, and the form is free again", options, async () => {
  const { page } = first;
  const orders = new Set<unknown>();
  proxy.toExchange = (message) => {
    const { op, id, params } = JSON.parse(message);
    if (op === "order.place" && params.dryRun !== true) orders.add(id);
    return message;
  };
  proxy.toPage = (message) => (orders.has(JSON.parse(message).id) ? null : message);
  await buy(page, { Price: "64000", Size: "0.09" });
  await shows(openOrder(page, "0.09"));
  await shows(notice(page, "Limit order placed"));
  await shows(light(page, "Live"));
  assert.equal(orders.size, 1);
  proxy.heal();
  await buy(page, { Price: "64000", Size: "0.091" });
  await shows(openOrder(page, "0.091"));
  await button(page, "Cancel all").first().click();
  await shows(page.getByText("No open orders."));
  first.assertClean();
});

test("an order that never reached the exchange is told, and stays in the form", options, async () => {
  const { page } = first;
  let isLost = false;
  proxy.toExchange = (message) => {
    const { op, params } = JSON.parse(message);
    if (op !== "order.place" || params.dryRun === true) return message;
    isLost = true;
    return null;
  };
  await buy(page, { Price: "64000", Size: "0.093" });
  await shows(notice(page, "The order did not reach the exchange."));
  assert.ok(isLost);
  const size = page.getByRole("region", { name: "Place an order" }).getByLabel("Size", { exact: true });
  assert.equal(await size.inputValue(), "0.093");
  proxy.heal();
  first.assertClean();
});

test("orders that traded while a page was away are told and listed when it is back", options, async () => {
  const { page } = first;
  first.expected = LOST_CONNECTION;
  const cut = (): void => {
    proxy.isDown = true;
    proxy.cut();
  };
  // Nothing says that a connection is frozen: only the silence does.
  const freeze = (): void => {
    proxy.toPage = proxy.toExchange = () => null;
  };
  for (const [lose, size] of [
    [cut, "0.03"],
    [freeze, "0.031"],
  ] as const) {
    await openTable(page, "Open orders");
    await buy(page, { Price: "64991", Size: size });
    await shows(openOrder(page, size));
    lose();
    await shows(banner(page, /connection to the exchange is lost/));
    await maker.sell(size, "64991");
    proxy.heal();
    await shows(notice(page, `Bought ${size} BTC`));
    await shows(page.getByText("No open orders."));
    await shows(light(page, "Live"));
    await openTable(page, "Order history");
    await shows(table(page, "Order history").getByRole("cell", { name: `${size} / ${size}`, exact: true }));
    await openTable(page, "Fills");
    await shows(
      table(page, "Fills")
        .getByRole("row")
        .filter({ hasText: `${size} BTC` }),
    );
  }
  first.assertClean();
});

test("a liquidation is announced before, told when it happens, and found in the histories", options, async () => {
  // The larger the age of the index price, the less an account may open.
  await operator.setIndex("BTC-PERP", "65000");
  await maker.cancelAll();
  await maker.sell("1", "65000");
  const bob = await openTrader(server, "1000");
  await bob.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  const tab = await openPage(bob);
  const { page } = tab;
  await buy(page, { Size: "1" });
  await shows(table(page, "Positions").getByRole("cell", { name: "1 BTC", exact: true }));
  const far = await bob.buy("0.002", "62000");
  await maker.buy("0.4", "64240");
  // Equity 967.5 − 670 = 297.5; maintenance margin 0.4 % of 64330 = 257.32.
  await operator.setIndex("BTC-PERP", "64330");
  await shows(banner(page, /^Margin call: your account has a margin ratio of 8\d\.\d%/));
  assert.deepEqual(await tab.axe(), []);
  await operator.setIndex("BTC-PERP", "64250");
  await shows(notice(page, "BTC-PERP liquidated"));
  await shows(
    notice(page, /^The margin was too low\. Sold 1 BTC @ 64,1\d\d\.\d\d?\. PnL −8\d\d\.\d\d, fee \d+\.\d\d USDC\.$/),
  );
  // For screen readers, too.
  await shows(page.getByRole("status").filter({ hasText: /^BTC-PERP liquidated\./ }));
  await shows(page.getByText("No open positions."));
  await hides(banner(page, /^Margin call/));
  await openTable(page, "Order history");
  await shows(table(page, "Order history").getByRole("row").filter({ hasText: "62,000.0" }).getByText("Liquidation"));
  await openTable(page, "Fills");
  assert.equal((await bob.order(far.orderId)).status, "CANCELED");
  const forced = table(page, "Fills").getByRole("row").filter({ hasText: "Liquidation" });
  await shows(forced);
  assert.equal(await forced.count(), 2);
  assert.deepEqual(await tab.axe(), []);
  await button(page, "Close").first().click();
  tab.assertClean();
  await page.close();
});

test("a halt and its end are seen by the operator who makes them and by the traders", options, async () => {
  await operator.setIndex("BTC-PERP", "65000");
  await maker.cancelAll();
  await maker.sell("5", "65010");
  await maker.buy("5", "64990");
  const { page } = first;
  await openTable(page, "Open orders");
  await buy(page, { Price: "64000", Size: "0.04" });
  await shows(openOrder(page, "0.04"));
  await fillOrder(page, { Price: "64100", Size: "0.01" });
  desk = await Tab.open(browser, `${proxy.url}operator`);
  await desk.page.getByLabel("Operator token").fill(OPERATOR_TOKEN);
  await button(desk.page, "Sign in").click();
  // What the liquidation of the test before has left.
  const rows = (name: string): Locator => table(desk.page, name).getByRole("row");
  await shows(rows("Recent liquidations").filter({ hasText: "BTC-PERP" }).filter({ hasText: "64240" }));
  await shows(rows("Movements").filter({ hasText: "Takeover" }));
  await shows(desk.page.getByRole("img", { name: /^Money of the fund: [\d,.]+ USDC$/ }));
  const change = async (what: "Halt" | "Resume", mode?: string): Promise<void> => {
    await button(desk.page, `${what} BTC-PERP`).click();
    const dialog = desk.page.getByRole("dialog", { name: `${what} BTC-PERP` });
    if (mode !== undefined) await dialog.getByText(mode, { exact: true }).click();
    await dialog.getByLabel("Type BTC-PERP").fill("BTC-PERP");
    await dialog.getByRole("button", { name: `${what} BTC-PERP` }).click();
    await dialog.waitFor({ state: "hidden" });
  };
  const status = (text: string): Locator => desk.page.getByRole("row").filter({ hasText: "BTC-PERP" }).getByText(text);
  for (const mode of ["Reduce only", "Halted", "Cancel only"]) {
    await change("Halt", mode);
    // First, because notices go after some seconds.
    await shows(notice(page, `BTC-PERP: ${mode.toLowerCase()}`));
    await shows(notice(page, "Reason: operator."));
    await shows(status(mode));
    await shows(page.getByRole("banner").getByText(mode, { exact: true }));
    await shows(
      region(page, "Place an order")
        .getByRole("status")
        .filter({ hasText: new RegExp(mode, "i") }),
    );
  }
  assert.ok(await button(page, "Buy 0.01 BTC").isDisabled());
  assert.deepEqual(await first.axe(), []);
  // Cancels go on.
  await button(page, /^Cancel order/).click();
  await shows(page.getByText("No open orders."));
  await change("Resume");
  await shows(notice(page, "BTC-PERP: trading"));
  await shows(status("Trading"));
  await buy(page, { Price: "64100", Size: "0.01" });
  await shows(openOrder(page, "0.01"));
  await button(page, /^Cancel order/).click();
  // The operator's price is the traders' index.
  await button(desk.page, "Index price of BTC-PERP").click();
  await desk.page.getByLabel("New price").fill("65077.7");
  await button(desk.page, "Set the price").click();
  await shows(page.getByRole("banner").getByText("65,077.7"));
  desk.assertClean();
  first.assertClean();
});

test("wallets that refuse, lie or hang are told, and block no other", options, async () => {
  const html = "<img src=x onerror=alert(1)>";
  const pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=";
  const tab = await Tab.open(browser, proxy.url, {
    init: (page) =>
      announceWallets(page, [
        { name: html, accounts: "throw { code: 4001, message: 'no' }" },
        { name: "Odd", accounts: "throw undefined" },
        { name: "Empty", accounts: "return []" },
        { name: "Markup", accounts: `return ["${html}"]` },
        { name: "Stranger", privateKey: newPrivateKey(), accounts: `return ["${maker.address}"]` },
        { name: "Hanging", accounts: "return new Promise(() => {})" },
        { name: "No\u202ed\u200b", icon: pixel, signature: "throw new Error('locked')" },
        { name: "Nobody", detail: "{ info: null, provider: null }" },
        { name: "Own", icon: "https://evil.example/x.png", privateKey: alice.privateKey },
      ]),
  });
  const { page } = tab;
  const account = region(page, "Account");
  const names = await account.getByRole("button", { name: /^Connect/ }).allInnerTexts();
  assert.deepEqual(
    names.map((name) => name.replace(/^(.\n)?Connect /, "")),
    [html, "Odd", "Empty", "Markup", "Stranger", "Hanging", "Nod", "Own"],
  );
  // Only the icon that comes with its wallet: an address would tell another site who is here.
  assert.deepEqual(await page.locator("img").evaluateAll((all) => all.map((each) => Reflect.get(each, "src"))), [
    pixel,
  ]);
  for (const [name, said] of [
    [html, "You declined it in the wallet."],
    ["Odd", "The wallet refused: undefined"],
    ["Empty", "Empty gave no account of Ethereum."],
    ["Markup", "Markup gave no account of Ethereum."],
    ["Stranger", /signature/i],
    ["Nod", "The wallet refused: locked"],
  ] as const) {
    tab.expected = name === "Stranger" ? /status of 401/ : null;
    await account.getByRole("button", { name: `Connect ${name}` }).click();
    await shows(account.getByRole("alert").filter({ hasText: said }));
  }
  tab.expected = null;
  await account.getByRole("button", { name: "Connect Hanging" }).click();
  await shows(account.getByText(/^Waiting for Hanging/));
  assert.deepEqual(await tab.axe(), []);
  // The exchange's message for another site or account is not shown to a wallet.
  for (const [change, said] of [
    [(message: string) => message.replace(/^URI: .*$/m, "URI: https://evil.example"), /is for evil\.example/],
    [(message: string) => message.replace(/^(.*\n)\S+/, `$1${maker.address}`), /names another account/],
  ] as const) {
    await page.route("**/v1/auth/challenge", async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as { message: string };
      await route.fulfill({ json: { ...body, message: change(body.message) } });
    });
    await account.getByRole("button", { name: "Connect Own" }).click();
    await shows(account.getByRole("alert").filter({ hasText: said }));
    await page.unroute("**/v1/auth/challenge");
  }
  await connect(tab);
  tab.assertClean();
  await page.close();
});

test(
  "money goes where the wallet has approved, and a program trades with a key made on the page",
  options,
  async () => {
    const trader = await openTrader(server, "0");
    const signature = "if (globalThis.isUnwilling) throw { code: 4001 }; return signOutside(0, params[0])";
    const tab = await Tab.open(browser, proxy.url, {
      init: (page) => announceWallets(page, [{ name: "Own", privateKey: trader.privateKey, signature }]),
    });
    const { page } = tab;
    await connect(tab);
    const dialog = page.getByRole("dialog");
    const press = (name: string): Promise<void> => dialog.getByRole("button", { name, exact: true }).click();
    const type = (label: string, value: string): Promise<void> => dialog.getByLabel(label, { exact: true }).fill(value);
    const open = (name: string): Promise<void> => region(page, "Account").getByRole("button", { name }).click();
    await open("Deposit");
    await type("Amount", "5000");
    await press("Deposit");
    await shows(region(page, "Account").getByText("5,000.00 USDC"));

    // The browser itself writes each refused HTTP request to the console, also the first of a request that is approved.
    tab.expected = /status of 4\d\d/;
    const cold = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
    await open("Withdraw");
    await type("Amount", "50");
    await type("Address", cold);
    await press("Withdraw");
    await press("Withdraw 50 USDC");
    await shows(dialog.getByText(/Add it to the address book below/));
    await type("Name", "cold");
    await type("New address", cold);
    await page.evaluate("globalThis.isUnwilling = true");
    await press("Add address");
    await shows(dialog.getByText("You declined it in the wallet."));
    await page.evaluate("globalThis.isUnwilling = false");
    await press("Add address");
    await press("cold");
    await page.evaluate("globalThis.isUnwilling = true");
    await press("Withdraw");
    await press("Withdraw 50 USDC");
    await shows(dialog.getByText("You declined it in the wallet."));
    assert.equal((await trader.balance()).walletBalance, "5000");
    await page.evaluate("globalThis.isUnwilling = false");
    await press("Withdraw");
    await press("Withdraw 50 USDC");
    await dialog.waitFor({ state: "hidden" });
    await shows(region(page, "Account").getByText("4,950.00 USDC"));
    await openTable(page, "Transfers");
    const row = table(page, "Transfers").getByRole("row").filter({ hasText: "50.00 USDC" });
    await shows(row.getByText("Completed"));

    await open("API keys");
    await type("Name", "bot");
    await press("Create key");
    const key = {
      apiKey: await dialog.getByLabel("API key", { exact: true }).inputValue(),
      secret: await dialog.getByLabel("Secret", { exact: true }).inputValue(),
    };
    await press("I have saved it");
    await page.keyboard.press("Escape");
    const program = new KeyHolder(server.url, key as CreatedApiKey);
    // An id cannot hold markup, and the refusal says what it can hold.
    const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.011" };
    await program.refused("BAD_VALUE", "POST", "/orders", {
      ...order,
      clientOrderId: "<img src=x onerror=alert(1)>",
    });
    await program.call(201, "POST", "/orders", { ...order, clientOrderId: "bot:1" });
    await openTable(page, "Open orders");
    await shows(openOrder(page, "0.011"));
    await button(page, /^Cancel order/).click();
    await shows(page.getByText("No open orders."));
    await open("API keys");
    await press("Revoke bot");
    await press("Revoke now bot");
    await shows(dialog.getByText("No API keys yet."));
    assert.equal((await program.request("GET", "/account/balance")).status, 401);
    tab.assertClean();
    await page.close();
  },
);

test(
  "a page of another site cannot frame the terminal, act as its account, or put markup into it",
  options,
  async () => {
    let token = "";
    proxy.toExchange = (message) => {
      token = /"token":"([^"]+)"/.exec(message)?.[1] ?? token;
      return message;
    };
    const html = "<img src=x onerror=alert(1)>";
    const wallet = { name: "Own", privateKey: alice.privateKey };
    const tab = await Tab.open(browser, `${proxy.url}?market=${encodeURIComponent(html)}`, {
      init: (page) => announceWallets(page, [wallet]),
    });
    const { page } = tab;
    await shows(banner(page, /^There is no market called <img src=x onerror=alert\(1\)>\./));
    assert.equal(await page.locator("img").count(), 0);
    await connect(tab);
    // The page may show the account before its socket has logged in.
    await until("the socket to log in", () => token.length > 20);
    proxy.heal();
    // The token is in memory: nothing that outlives the page, or that another script could read, holds it.
    const kept = await page.evaluate<string>(
      `(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href,
      history.state, window.name, document.documentElement.outerHTML, await indexedDB.databases(), await caches.keys(),
      Object.values(window).filter((each) => typeof each === "string")]))()`,
    );
    assert.ok(!kept.includes(token));
    // Markup from a text is refused by the browser itself.
    tab.expected = /TrustedHTML|require-trusted-types-for/;
    await assert.rejects(page.evaluate("document.body.innerHTML = '<b>x</b>'"), /TrustedHTML/);
    tab.expected = null;
    tab.assertClean();
    await page.close();

    const elsewhere = await browser.newPage();
    for (const path of ["", "operator"]) {
      await elsewhere.setContent(`<iframe src="${proxy.url}${path}"></iframe>`);
      const frame = elsewhere.frames().at(-1);
      await until("the frame to be refused", () => frame?.url().startsWith("chrome-error://"));
    }
    // Without the token it is nobody, since the exchange uses no cookies.
    const said = await elsewhere.evaluate<string[]>(`new Promise((resolve) => {
    const socket = new WebSocket("${proxy.url.replace("http", "ws")}v1/ws");
    const said = [];
    socket.onopen = () => {
      socket.send(JSON.stringify({ op: "subscribe", id: 1, channels: [{ channel: "orders" }] }));
      socket.send(JSON.stringify({ op: "order.cancelAll", id: 2, params: {} }));
    };
    socket.onmessage = ({ data }) => said.push(JSON.parse(data).code) === 2 && resolve(said);
  })`);
    assert.deepEqual(said, ["UNAUTHENTICATED", "UNAUTHENTICATED"]);
    await elsewhere.close();
  },
);

test("an exchange that is killed and starts again finds the page waiting, with its session", options, async () => {
  const { page } = first;
  await openTable(page, "Open orders");
  await buy(page, { Price: "64000", Size: "0.06" });
  await shows(openOrder(page, "0.06"));
  await fillOrder(page, { Price: "63000", Size: "0.01" });
  first.expected = desk.expected = LOST_CONNECTION;
  await server.kill();
  await shows(banner(desk.page, /^Stale: these figures are of/));
  await shows(banner(page, /connection to the exchange is lost/));
  await shows(light(page, "Disconnected"));
  assert.ok(await button(page, "Buy 0.01 BTC").isDisabled());
  assert.equal(await book(page).getByText("✓ verified").count(), 0);
  await button(page, /^Cancel order/).click();
  await shows(notice(page, /^Not sent/));
  assert.deepEqual(await first.axe(), []);
  await server.start();
  proxy.target = server.port;
  for (const each of [page, desk.page]) await shows(light(each, "Live"));
  await hides(banner(desk.page, /^Stale/));
  desk.assertClean();
  await shows(book(page).getByText("✓ verified"));
  await hides(banner(page, /connection/));
  await shows(openOrder(page, "0.06"));
  await button(page, /^Cancel order/).click();
  await shows(page.getByText("No open orders."));
  // The account is still signed in, and trades.
  await buy(page, { Price: "63000", Size: "0.01" });
  await shows(openOrder(page, "0.01"));
  await button(page, /^Cancel order/).click();
  first.assertClean();
});
