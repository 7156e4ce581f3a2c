import { statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { CHROMIUM, openBrowser } from "../e2e/support/browser.ts";
import { OPERATOR_TOKEN, startServer } from "../e2e/support/server.ts";

/**
 * `make screenshots`: the pictures of docs/images, of a sandbox that has traded for some minutes.
 * A visitor trades as the documents tell: by role and name, so that a picture cannot show what a person cannot reach.
 */

const FOLDER = "docs/images";
/** A larger picture slows down the README. */
const MOST_BYTES = 300_000;
/** Minutes of trading before the pictures. */
const minutes = Number(process.argv[2] ?? 4);

if (CHROMIUM === null || !Number.isFinite(minutes) || minutes < 0) {
  console.error("usage: main.js [MINUTES]; it needs Chromium, whose path may be in CHROMIUM");
  process.exit(2);
}

const DESKTOP = { viewport: { width: 1440, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

await mkdir(FOLDER, { recursive: true });
const server = await startServer({ quiet: false });
const browser = await openBrowser();
try {
  const address = new URL("/", server.url).href;
  const desktop = await openPage(browser, address, DESKTOP);
  await tryIt(desktop);
  const phone = await openPage(browser, address, PHONE);
  await tryIt(phone);
  const operator = await openPage(browser, `${address}operator`, DESKTOP);
  await operator.getByLabel("Operator token").fill(OPERATOR_TOKEN);
  await operator.getByRole("button", { name: "Sign in" }).click();
  console.log(`trading for ${minutes} minutes`);
  await desktop.waitForTimeout(minutes * 30_000);
  await trade(desktop);
  await phone.getByRole("navigation").getByRole("button", { name: "Trade" }).click();
  await trade(phone);
  await desktop.waitForTimeout(minutes * 30_000);
  await enter(desktop, "Limit", "0.2");
  await picture(desktop, "terminal-dark");
  await desktop.getByRole("button", { name: "Light theme" }).click();
  await picture(desktop, "terminal-light");
  await phone.getByRole("navigation").getByRole("button", { name: "Chart" }).click();
  await picture(phone, "phone");
  await picture(operator, "operator");
} finally {
  await browser.close();
  await server.dispose();
}

async function openPage(browser: Browser, url: string, options: BrowserContextOptions): Promise<Page> {
  const page = await browser.newPage({ ...options, timezoneId: "UTC", locale: "en-GB" });
  await page.goto(url);
  return page;
}

async function tryIt(page: Page): Promise<void> {
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  await page.getByRole("button", { name: "Leave the tour" }).click();
}

/** Puts an order into the form, a limit order at this part of the last price. */
async function enter(page: Page, kind: "Market" | "Limit", size: string, part = 1): Promise<void> {
  const form = page.getByRole("region", { name: "Place an order" });
  await form.getByRole("button", { name: kind, exact: true }).click();
  const last = Number((await page.getByRole("banner").locator("strong").first().textContent())?.replaceAll(",", ""));
  if (kind === "Limit") await form.getByLabel("Price", { exact: true }).fill((last * part).toFixed(0));
  await form.getByLabel("Size", { exact: true }).fill(size);
}

/** A long position, and an order below the market. */
async function trade(page: Page): Promise<void> {
  const form = page.getByRole("region", { name: "Place an order" });
  await enter(page, "Market", "0.5");
  await form.getByRole("button", { name: "Buy 0.5 BTC" }).click();
  await page.getByText("Bought 0.5 BTC").first().waitFor();
  await enter(page, "Limit", "0.25", 0.9992);
  await form.getByRole("button", { name: "Buy 0.25 BTC" }).click();
  await page.getByText("Limit order placed").first().waitFor();
}

async function picture(page: Page, name: string): Promise<void> {
  // The screen's scale would double the bytes of a desktop. Messages have gone by then, and the colours have changed.
  await page.waitForTimeout(10_000);
  const path = `${FOLDER}/${name}.png`;
  await page.screenshot({ path });
  const { size } = statSync(path);
  console.log(`${path}: ${Math.round(size / 1000)} kB`);
  if (size > MOST_BYTES) throw new Error(`${path} has more than ${MOST_BYTES / 1000} kB`);
}
