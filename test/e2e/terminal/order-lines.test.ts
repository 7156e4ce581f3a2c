import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Locator } from "playwright-core";
import { until } from "../support/wait.ts";
import {
  alice,
  closeTerminal,
  dialog,
  hides,
  openTable,
  openTerminal,
  options,
  page,
  region,
  shows,
  tab,
} from "./slow-terminal.ts";

/** Lines on the chart: what gives a move up, what is asked before it is sent, and which of them the scale shows. */

before(async () => {
  await openTerminal();
  if (options.skip !== false) return;
  await alice.call(200, "POST", "/positions/BTC-PERP/margin-mode", { mode: "ISOLATED" });
  await alice.market("BUY", "0.1");
  await openTable("Open orders");
});
after(closeTerminal);

const chart = (): Locator => region("Price chart");
const handle = (name: string): Locator => chart().getByRole("button", { name, exact: true });
const moved = (name: string): Locator => chart().getByRole("button", { name: new RegExp(`^${name} → `) });
const priceOf = async (orderId: string): Promise<string | null> => (await alice.order(orderId)).price;

/** Presses the pointer on a handle, and returns where. */
async function hold(name: string): Promise<{ x: number; y: number }> {
  await shows(handle(name));
  const box = (await handle(name).boundingBox()) ?? assert.fail(`${name} has no place`);
  const at = { x: box.x + 5, y: box.y + 10 };
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  return at;
}

test("Escape ends the drag of a line, and the pointer moves nothing more", options, async () => {
  const { orderId } = await alice.buy("0.01", "64980");
  for (const further of [0, 6]) {
    const { x, y } = await hold("Limit 0.01 BTC");
    await page.mouse.move(x, y + 20, { steps: 3 });
    await shows(moved("Limit 0.01 BTC"));
    await page.keyboard.press("Escape");
    await shows(handle("Limit 0.01 BTC"));
    if (further > 0) await page.mouse.move(x, y + 20 + further, { steps: 3 });
    assert.equal(await moved("Limit 0.01 BTC").count(), 0);
    await page.mouse.up();
    await page.waitForTimeout(300);
    assert.deepEqual([await dialog().count(), await priceOf(orderId)], [0, "64980"]);
  }
  // The next press is a drag, and one without a move is a click, as before.
  const { x, y } = await hold("Limit 0.01 BTC");
  await page.mouse.move(x, y + 20, { steps: 3 });
  await page.mouse.up();
  await until("another price", async () => (await priceOf(orderId)) !== "64980");
  await handle("Limit 0.01 BTC").click();
  await shows(page.getByRole("dialog", { name: "Amend: Buy BTC-PERP" }));
  await page.keyboard.press("Escape");
  await alice.cancelAll();
  await hides(handle("Limit 0.01 BTC"));
  tab.assertClean();
});

test("a move of a line and an amendment are asked for, with both prices", options, async () => {
  const asked = page.getByRole("dialog", { name: "Send this?" });
  const askOrNot = async (): Promise<void> => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("settings");
    await page.keyboard.press("Enter");
    await dialog().getByRole("checkbox", { name: "Ask before an order is sent" }).press("Space");
    await page.keyboard.press("Escape");
    await hides(dialog());
  };
  await askOrNot();
  const { orderId } = await alice.buy("0.01", "64980");
  const line = handle("Limit 0.01 BTC");
  // By keyboard, across the spread.
  await shows(line);
  await line.focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("PageUp");
  await page.keyboard.press("Enter");
  const across = "Amend: Buy BTC-PERP · Limit · Price 64,980.0 → 65,020.0 · trades at once";
  await shows(asked.getByText(across, { exact: true }));
  assert.deepEqual(await tab.axe(), []);
  await asked.getByRole("button", { name: "Cancel", exact: true }).click();
  await hides(asked);
  await shows(line);
  assert.equal(await priceOf(orderId), "64980");
  // By pointer.
  const { x, y } = await hold("Limit 0.01 BTC");
  await page.mouse.move(x, y + 20, { steps: 3 });
  await page.mouse.up();
  await shows(asked.getByText(/^Amend: Buy BTC-PERP · Limit · Price 64,980\.0 → 64,9[\d.]+$/));
  assert.equal(await priceOf(orderId), "64980");
  await page.keyboard.press("Enter");
  await until("another price", async () => (await priceOf(orderId)) !== "64980");
  // In the dialog: it stays open after a no.
  await line.click();
  const amend = page.getByRole("dialog", { name: "Amend: Buy BTC-PERP" });
  await amend.getByLabel("Price").fill("64985");
  await amend.getByLabel("Size").fill("0.02");
  await page.keyboard.press("Enter");
  await shows(asked.getByText(/→ 64,985\.0 · Size 0\.01 → 0\.02$/));
  await page.keyboard.press("Escape");
  await hides(asked);
  await amend.getByRole("button", { name: "Amend" }).click();
  await asked.getByRole("button", { name: "Confirm" }).click();
  await hides(amend);
  assert.equal(await priceOf(orderId), "64985");
  await askOrNot();
  await alice.cancelAll();
  tab.assertClean();
});

test("the scale fits a liquidation price that is not far away", options, async () => {
  const candles = chart().getByRole("application", { name: "Candles" });
  /** The price in the lower half of the chart. */
  const lowPrice = async (): Promise<number> => {
    const box = (await candles.boundingBox()) ?? assert.fail("the chart has no place");
    await page.mouse.click(box.x + 500, box.y + 0.6 * box.height, { button: "right" });
    const menu = page.getByRole("menu", { name: /^Order at/ });
    const name = (await menu.getAttribute("aria-label")) ?? "";
    await page.keyboard.press("Escape");
    await hides(menu);
    return Number(name.replace(/[^\d.]/g, ""));
  };
  assert.ok((await lowPrice()) > 64_500);
  await chart().getByRole("button", { name: "Fit orders" }).click();
  // 65,010 × 0.9, and the maintenance margin.
  await until("the liquidation price", async () => (await lowPrice()) < 63_000);
  await alice.call(200, "POST", "/positions/BTC-PERP/margin", { amount: "1000" });
  await until("the candles alone", async () => (await lowPrice()) > 64_500);
  await chart().getByRole("button", { name: "Fit orders" }).click();
  tab.assertClean();
});

test("the price axis has no label of a line that is out of view", options, async () => {
  await chart().getByRole("button", { name: "1d", exact: true }).click();
  const box = (await chart().getByRole("application", { name: "Candles" }).boundingBox()) ?? assert.fail("no place");
  const clip = { x: box.x + box.width - 60, y: box.y, width: 60, height: box.height };
  const axis = async (): Promise<string> => {
    await page.mouse.move(0, 0);
    return (await page.screenshot({ clip })).toString("base64");
  };
  let before = "";
  await until("the axis to rest", async () => {
    const last = before;
    before = await axis();
    return before === last;
  });
  await alice.buy("0.01", "62000");
  await shows(page.getByRole("cell", { name: "62,000.0" }));
  await page.waitForTimeout(500);
  assert.equal(await axis(), before);
  await chart().getByRole("button", { name: "Fit orders" }).click();
  await shows(handle("Limit 0.01 BTC"));
  tab.assertClean();
});
