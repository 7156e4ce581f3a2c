import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Locator, Route } from "playwright-core";
import type { Position } from "../../../src/client/types.ts";
import { CHROMIUM } from "../support/browser.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";
import {
  alice,
  answer,
  closeTerminal,
  dialog,
  field,
  form,
  goTo,
  hides,
  maker,
  notice,
  openTable,
  openTerminal,
  options,
  page,
  proxy,
  region,
  rows,
  server,
  settle,
  shows,
  sizeOf,
  slowDown,
  tab,
} from "./slow-terminal.ts";

/** What belongs to another market, order, account or position is neither shown nor sent. */

before(async () => {
  await openTerminal();
  if (CHROMIUM !== null) await alice.market("BUY", "0.11");
});
after(closeTerminal);

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
    await answer();
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
  /** Keeps answers back until the wait is over. */
  const answerAfter = (wait: () => Promise<void>): void => {
    proxy.toExchange = (message) => {
      const { id, params } = JSON.parse(message);
      if (params?.dryRun === true) dryRuns.add(id);
      return message;
    };
    proxy.toPage = (message, pair) => {
      if (!dryRuns.has(JSON.parse(message).id)) return message;
      void wait().then(() => pair.page.send(message));
      return null;
    };
  };
  answerAfter(() => pause(900));
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
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  answerAfter(() => released);
  await field("Size").fill("0.03");
  await shows(form().getByRole("button", { name: "Buy 0.03 BTC" }));
  const { size } = dryRuns;
  await until("further dry runs", () => dryRuns.size > size + 4);
  assert.equal(await after.textContent(), "–");
  release();
  await shows(after.and(page.getByText("0.14 BTC", { exact: true })));
  await form().getByRole("button", { name: "Limit", exact: true }).click();
  await field("Post only").check();
  await field("Price").fill("66000");
  await shows(form().getByText(/post-only order must not/));
  await field("Post only").uncheck();
  isTrading = false;
  await trades;

  // Prices alone do not have it asked for sooner than every four seconds.
  answerAfter(async () => {});
  await field("Price").fill("64000");
  await shows(form().getByText(/^12\d\.\d\d USDC$|^19\d\.\d\d USDC$/));
  const from = performance.now();
  await page.waitForTimeout(500);
  dryRuns.clear();
  const operator = new Operator(server);
  for (let i = 1; i <= 12; i++) {
    await operator.setIndex("BTC-PERP", String(65000 + (i % 2)));
    await page.waitForTimeout(250);
  }
  await operator.setIndex("BTC-PERP", "65000");
  // On a slow machine the prices took longer.
  const most = Math.ceil((performance.now() - from) / 4_000);
  assert.ok(dryRuns.size <= most, `${dryRuns.size} dry runs, at most ${most}`);
  proxy.heal();
  await field("Size").fill("");
  tab.assertClean();
});

test("a dialog does not come back over the next position", options, async () => {
  const row = rows("Positions").filter({ hasText: "BTC-PERP" });
  await alice.market("SELL", "0.11");
  await openTable("Positions");
  await hides(row);
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

test("hotkeys, the order, the filters and the choices of the switch do not outlast a session", options, async () => {
  const button = (name: string | RegExp): Locator => page.getByRole("button", { name });
  await button("Hotkeys disarmed").click();
  await form().getByRole("button", { name: "Market", exact: true }).click();
  await form().getByText("Sell / Short", { exact: true }).click();
  await field("Size").fill("0.02");
  await openTable("Open orders");
  const switchGroup = page.getByRole("group", { name: "Cancel-after switch" });
  await switchGroup.getByRole("combobox").selectOption("10 s");
  await switchGroup.getByRole("checkbox").check();
  await openTable("Order history");
  await page.getByLabel("Kind", { exact: true }).selectOption("Canceled");
  await button(/^Account 0x/).click();
  await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  await shows(button("Hotkeys disarmed"));
  assert.equal(await field("Size").inputValue(), "");
  // What somebody fills in before they sign in is theirs.
  await field("Price").fill("61000");
  await region("Account").getByRole("button", { name: "Connect Own" }).click();
  await shows(page.getByText("Live", { exact: true }));
  assert.equal(await page.getByLabel("Kind", { exact: true }).inputValue(), "");
  await openTable("Open orders");
  assert.equal(await switchGroup.getByRole("combobox").inputValue(), "60000");
  assert.equal(await switchGroup.getByRole("checkbox").isChecked(), false);
  assert.equal(await field("Price").inputValue(), "61000");
  assert.ok(await form().getByRole("radio", { name: "Buy / Long" }).isChecked());
  await field("Price").fill("");
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
  await until("the size", async () => (await size()) !== "");
  assert.deepEqual([await size(), requests], [quarter, 1]);
  await side("Buy / Long");
  await field("Size").fill("");
  tab.assertClean();
});

test("a share that is pressed again counts with the money and the price of that moment", options, async () => {
  const operator = new Operator(server);
  const share = (): Promise<void> => form().getByRole("button", { name: "25%", exact: true }).click();
  const sizeAfter = async (before: string): Promise<string> => {
    await share();
    return until("another size", async () => {
      const size = await field("Size").inputValue();
      return size !== "" && size !== before && size;
    });
  };
  await form().getByRole("button", { name: "Limit", exact: true }).click();
  await form().getByText("Sell / Short", { exact: true }).click();
  await field("Price").fill("65200");
  const first = await sizeAfter("");
  await alice.deposit("50000");
  await shows(region("Account").getByText(/^149,9\d\d/));
  // What a person sees is what they send.
  assert.equal(await field("Size").inputValue(), first);
  const second = await sizeAfter(first);
  assert.ok(Number(second) > 1.4 * Number(first), `${second} after ${first}`);
  await operator.setIndex("BTC-PERP", "65400");
  await shows(page.getByText("65,400.0", { exact: true }));
  assert.equal(await field("Size").inputValue(), second);
  assert.ok(Number(await sizeAfter(second)) < Number(second));
  await operator.setIndex("BTC-PERP", "65000");
  await field("Size").fill("");
  tab.assertClean();
});

test("a share in another unit stays the same order while the market moves, and none is told", options, async () => {
  const share = (): Promise<void> => form().getByRole("button", { name: "100%", exact: true }).click();
  const order = form().getByRole("button", { name: /^Buy / });
  await form().getByRole("button", { name: "Market", exact: true }).click();
  await form().getByText("Buy / Long", { exact: true }).click();
  await field("Unit of the size").selectOption("USDC");
  await share();
  await shows(order);
  const before = await order.textContent();
  const { orderId } = await maker.sell("0.01", "64995");
  await shows(region("Order book").getByRole("button", { name: /^Ask 64,995/ }));
  // The order is computed again.
  await field("TP / SL").check();
  await field("Take profit at").fill("70000");
  assert.equal(await order.textContent(), before);
  await field("Size").fill("1000");
  await shows(form().getByRole("button", { name: "Buy 0.015 BTC" }));
  await maker.cancel(orderId);
  await field("TP / SL").uncheck();

  await field("Reduce only").check();
  await share();
  await shows(form().getByRole("status").getByText("You have no position that the order could reduce."));
  assert.equal(await field("Size").inputValue(), "");
  await field("Reduce only").uncheck();
  await field("Unit of the size").selectOption("BTC");
  tab.assertClean();
});
