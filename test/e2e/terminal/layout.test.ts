import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { CHROMIUM, openBrowser } from "../support/browser.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Tab } from "../support/tab.ts";

/** The page of a first visitor on a living sandbox: its tour, its panels, and that nothing moves or is cut off. */

const options = { skip: CHROMIUM === null && "no Chromium is installed: the terminal's layout was not tested" };

let server: TestServer;
let browser: Browser;
let tab: Tab;
let page: Page;

before(async () => {
  if (CHROMIUM === null) return;
  server = await startServer({ quiet: false });
  browser = await openBrowser();
  tab = await Tab.open(browser, new URL("/", server.url).href, { init: countShifts, isFirstVisit: true });
  ({ page } = tab);
});
after(async () => {
  await browser?.close();
  await server?.dispose();
});

const shows = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 20_000 });
const focused = (locator: Locator): Promise<void> => page.locator(":focus").and(locator).waitFor();

/** The page adds up how far its parts move without a person's doing. */
const countShifts = (page: Page): Promise<void> =>
  page.addInitScript({
    content: `globalThis.shifted = [];
      new PerformanceObserver((list) => {
        for (const { hadRecentInput, value, sources } of list.getEntries())
          if (!hadRecentInput) shifted.push([value, ...sources.map(({ node }) => node?.className ?? String(node))]);
      }).observe({ type: "layout-shift", buffered: true });`,
  }) as unknown as Promise<void>;

const dialog = (name: string): Locator => page.getByRole("dialog", { name });
const STEPS = [
  "Choose a market",
  "Watch the price",
  "Pick a price",
  "Place an order",
  "Manage what you hold",
  "Make it yours",
];

/** Fails when the element is not wholly in the window. */
async function assertInWindow(element: Locator, what: string): Promise<void> {
  const { width, height } = page.viewportSize()!;
  const box = (await element.boundingBox())!;
  const isInside = box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
  assert.ok(isInside, `${what} at ${JSON.stringify(box)} in ${width} x ${height}`);
}

test("a first visitor who presses Try it gets money and a tour that the keyboard walks through", options, async () => {
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  for (const [index, title] of STEPS.entries()) {
    const step = dialog(title);
    await shows(step.getByText(`${index + 1} of ${STEPS.length}`));
    await focused(step.getByRole("button", { name: index < 5 ? "Next" : "Start trading" }));
    await assertInWindow(step, title);
    if (index === 0) assert.deepEqual(await tab.axe(), []);
    await page.keyboard.press("Enter");
  }
  await dialog(STEPS[5]!).waitFor({ state: "hidden" });
  await focused(page.getByRole("region", { name: "Place an order" }).getByLabel("Size", { exact: true }));
  await shows(page.getByRole("region", { name: "Account" }).getByText("100,000.00 USDC"));
  tab.assertClean();
});

test("the tour is offered once, comes again when asked for, and Escape leaves it at any step", options, async () => {
  await page.reload();
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  await shows(page.getByRole("region", { name: "Account" }).getByText("100,000.00 USDC"));
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("tour");
  await page.keyboard.press("Enter");
  await dialog(STEPS[0]!).getByRole("button", { name: "Next" }).click();
  await shows(dialog(STEPS[1]!));
  // The page below stays usable, and the key works from there, too.
  await page.getByRole("tab", { name: "Open orders" }).click();
  await page.keyboard.press("Escape");
  await dialog(STEPS[1]!).waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Settings" }).click();
  await dialog("Settings").getByRole("button", { name: "Take the tour" }).click();
  await tab.resize(390, 844);
  for (const title of STEPS.slice(0, 5)) {
    await focused(dialog(title).getByRole("button", { name: "Next" }));
    await assertInWindow(dialog(title), `${title} on a phone`);
    await page.keyboard.press("Enter");
  }
  await dialog(STEPS[5]!).getByRole("button", { name: "Leave the tour" }).click();
  await dialog(STEPS[5]!).waitFor({ state: "hidden" });
  await tab.resize(1440, 900);
  tab.assertClean();
});

test("panels are resized by pointer and keyboard within limits, and the browser remembers them", options, async () => {
  const book = page.getByRole("region", { name: "Order book" });
  const line = page.getByRole("separator", { name: "Width of the order book" });
  const width = async (): Promise<number> => (await book.boundingBox())!.width;
  const now = async (): Promise<number> => Number(await line.getAttribute("aria-valuenow"));
  assert.equal(await width(), 280);
  const { x, y, height } = (await line.boundingBox())!;
  await page.mouse.move(x + 4, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x - 36, y + height / 2, { steps: 4 });
  assert.equal(await width(), 320);
  // Captured: the pointer may leave the line and the limits.
  await page.mouse.move(5, 5, { steps: 4 });
  const most = Number(await line.getAttribute("aria-valuemax"));
  assert.equal(await width(), most);
  await page.mouse.up();
  await line.focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await now(), most - 16);
  for (const [key, size] of [
    ["Home", await line.getAttribute("aria-valuemin")],
    ["ArrowRight", await line.getAttribute("aria-valuemin")],
    ["End", String(most)],
  ] as const) {
    await page.keyboard.press(key);
    assert.equal(await line.getAttribute("aria-valuenow"), size, key);
  }
  const tables = page.getByRole("separator", { name: "Height of positions and orders" });
  const before = Number(await tables.getAttribute("aria-valuenow"));
  await tables.press("ArrowUp");
  assert.deepEqual(await tab.axe(), []);
  await page.reload();
  assert.equal(await now(), most);
  assert.equal(Number(await tables.getAttribute("aria-valuenow")), before + 16);
  await line.dblclick();
  assert.equal(await width(), 280);
  await tables.press("Enter");
  assert.equal(Number(await tables.getAttribute("aria-valuenow")), before);
  tab.assertClean();
});

test("no panel is cut off at any size of the window, with the largest and the smallest panels", options, async () => {
  for (const key of ["Home", "End"])
    for (const [width, height] of [
      [1181, 600],
      [1440, 900],
      [1920, 1080],
      [1024, 768],
      [768, 1024],
    ] as const) {
      await tab.resize(1440, 900);
      for (const line of await page.getByRole("separator").all()) await line.press(key);
      await tab.resize(width, height);
      for (const name of ["Price chart", "Order book", "Place an order", "Positions and orders"]) {
        const region = page.getByRole("region", { name });
        await assertInWindow(name === "Place an order" ? region.getByRole("group").first() : region, name);
        const { width: wide, height: high } = (await region.boundingBox())!;
        assert.ok(wide >= 230 && high >= 100, `${name}: ${wide} x ${high} in ${width} x ${height}`);
      }
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      assert.equal(overflow, 0, `${width} x ${height}`);
    }
  await tab.resize(390, 844);
  await page
    .getByRole("banner")
    .getByRole("button", { name: /^Market/ })
    .click();
  await shows(dialog("Markets").getByRole("row").filter({ hasText: "SOL-PERP" }));
  const list = (await dialog("Markets").boundingBox())!;
  const last = (await dialog("Markets").getByRole("columnheader").last().boundingBox())!;
  assert.ok(last.x + last.width <= list.x + list.width, "the list of markets is cut off");
  await page.keyboard.press("Escape");
  await tab.resize(1440, 900);
  for (const line of await page.getByRole("separator").all()) await line.press("Enter");
  tab.assertClean();
});

test("no panel is too wide for a phone, which would show the whole page smaller", options, async () => {
  const phone = await browser.newPage({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  await phone.goto(new URL("/", server.url).href);
  await shows(phone.getByText("✓ verified").or(phone.getByRole("button", { name: "1m", exact: true })));
  for (const name of ["Chart", "Book", "Trade", "Account"]) {
    const tabs = phone.getByRole("navigation", { name: "Panels" });
    await tabs.getByRole("button", { name }).click();
    assert.equal(await phone.evaluate("innerWidth"), 390, name);
    const cut = await phone.evaluate(
      `[...document.querySelectorAll("main .panel-head > *, main .panel-head .mini")]
        .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth)
        .map((each) => each.textContent)`,
    );
    assert.deepEqual(cut, [], name);
    if (name !== "Book") continue;
    // The spread, and the time of each trade.
    for (const shown of [
      phone.getByRole("region", { name: "Order book" }).getByText(/^Spread \d/),
      phone.getByRole("region", { name: "Trades" }).getByText(/^\d\d:\d\d:\d\d$/),
    ]) {
      await shows(shown);
      const { x, width } = (await shown.first().boundingBox())!;
      assert.ok(x >= 0 && x + width <= 390, `${x} + ${width}`);
    }
  }
  await phone.setViewportSize({ width: 720, height: 450 });
  const { height } = (await phone.getByRole("main").boundingBox())!;
  assert.ok(height > 300, `${height} of 450 px are left to the panel`);
  await phone.close();
});

test("a tablet has the trades and all figures of the market", options, async () => {
  for (const [width, height] of [
    [1024, 768],
    [768, 1024],
  ] as const) {
    await tab.resize(width, height);
    await assertInWindow(page.getByRole("region", { name: "Trades" }), "the trades");
    const names = await page.getByRole("banner").getByRole("term").allInnerTexts();
    assert.ok(names.includes("Open interest") && names.includes("24 h low"), names.join());
    const { y, height: high } = (await page.getByRole("banner").boundingBox())!;
    for (const figure of await page.getByRole("banner").getByRole("definition").all()) {
      await assertInWindow(figure, `${await figure.textContent()} at ${width}`);
      const box = (await figure.boundingBox())!;
      assert.ok(box.y + box.height <= y + high, `${await figure.textContent()} is below the head at ${width}`);
    }
  }
  await tab.resize(1440, 900);
  tab.assertClean();
});

test("a phone says whether it is connected, and no message lies over the button that sends", options, async () => {
  await tab.resize(390, 844);
  const tabs = page.getByRole("navigation", { name: "Panels" });
  await tabs.getByRole("button", { name: "Account" }).click();
  for (const shown of ["Live", "Round trip", "Sequence"]) await assertInWindow(page.getByText(shown).first(), shown);
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  await tabs.getByRole("button", { name: "Trade" }).click();
  const form = page.getByRole("region", { name: "Place an order" });
  await form.getByRole("button", { name: "Limit", exact: true }).click();
  const notices = page.getByRole("region", { name: "Notifications" });
  for (const price of ["60000", "60001", "60002"]) {
    await form.getByLabel("Price", { exact: true }).fill(price);
    await form.getByLabel("Size", { exact: true }).fill("0.01");
    await form.getByRole("button", { name: "Buy 0.01 BTC", disabled: false }).click();
    await shows(notices.getByText(`Buy 0.01 BTC @ ${price.slice(0, 2)},${price.slice(2)}.0`));
  }
  const lowest = Math.max(
    ...(await Promise.all((await notices.getByRole("button").all()).map((each) => each.boundingBox()))).map(
      (box) => (box?.y ?? 0) + (box?.height ?? 0),
    ),
  );
  const { y } = (await form.boundingBox())!;
  assert.ok(lowest > 0 && lowest <= y, `messages down to ${lowest}, the form from ${y}`);
  await tab.resize(1440, 900);
  tab.assertClean();
});

test("a page that would lose a demo account with orders is not left without a question", options, async () => {
  const question = page.waitForEvent("dialog");
  const reloading = page.reload().catch(() => "stayed");
  const asked = await question;
  assert.equal(asked.type(), "beforeunload");
  await asked.dismiss();
  assert.equal(await reloading, "stayed");
  await page.getByRole("tab", { name: "Open orders" }).click();
  await page.getByRole("button", { name: "Cancel all", exact: true }).click();
  await shows(page.getByText("No open orders."));
  page.once("dialog", () => assert.fail("asked without a reason"));
  await page.reload();
  page.removeAllListeners("dialog");
  tab.assertClean();
});

test("nothing moves while prices do", options, async () => {
  await page.reload();
  await shows(page.getByText("✓ verified"));
  const price = page.getByRole("banner").locator("strong").first();
  const seen = new Set<string | null>();
  while (seen.size < 4) {
    seen.add(await price.textContent());
    await page.waitForTimeout(500);
  }
  const shifts = (await page.evaluate("shifted")) as [number, ...string[]][];
  const sum = shifts.reduce((total, [value]) => total + value, 0);
  assert.ok(sum < 0.02, `${sum}: ${JSON.stringify(shifts)}`);
  tab.assertClean();
});
