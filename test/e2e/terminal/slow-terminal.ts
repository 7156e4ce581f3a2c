import type { Browser, Locator, Page } from "playwright-core";
import { CHROMIUM, openBrowser } from "../support/browser.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Tab } from "../support/tab.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { FaultProxy, type Pair } from "./fault-proxy.ts";
import { announceWallets } from "./wallets.ts";

/** The terminal in Chromium behind a FaultProxy, which can slow it down. One for each process: a test file has its own. */

export const options = { skip: CHROMIUM === null && "no Chromium is installed: the terminal was not tested" };

export let proxy: FaultProxy;
export let server: TestServer;
let browser: Browser;
export let maker: Trader;
/** The same account as that of the page's wallet. */
export let alice: Trader;
export let tab: Tab;
export let page: Page;
/** Requests of the page that change something, in the order in which it sent them. */
export const sent: { op: string; params: Record<string, unknown> }[] = [];

/** Signs the wallet of `alice` in, in a market of two symbols with deep books. Call before the tests; closeTerminal() after them. */
export async function openTerminal(): Promise<void> {
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
}

export async function closeTerminal(): Promise<void> {
  await browser?.close();
  proxy?.close();
  await server?.dispose();
}

export const region = (name: string): Locator => page.getByRole("region", { name });
export const form = (): Locator => region("Place an order");
export const field = (label: string): Locator => form().getByLabel(label, { exact: true });
export const dialog = (): Locator => page.getByRole("dialog");
export const rows = (name: string): Locator => page.getByRole("table", { name }).getByRole("row");
export const openTable = (name: string): Promise<void> => page.getByRole("tab", { name }).click();
export const notice = (text: string | RegExp): Locator => region("Notifications").getByText(text);
export const shows = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 20_000 });
export const hides = (locator: Locator): Promise<void> => locator.first().waitFor({ state: "hidden", timeout: 20_000 });

/** Answers that slowDown() keeps back. */
const held: (() => void)[] = [];

/** Keeps answers to trading back until answer(), and notes what is sent. Streams and dry runs are not slowed down. */
export function slowDown(): void {
  const waiting = new Map<Pair, Set<unknown>>();
  sent.length = held.length = 0;
  proxy.toExchange = (message, pair) => {
    const { op, id, params } = JSON.parse(message);
    if (/^(order|orders|position)\./.test(op) && params.dryRun !== true) {
      sent.push({ op, params });
      waiting.set(pair, (waiting.get(pair) ?? new Set()).add(id));
    }
    return message;
  };
  proxy.toPage = (message, pair) => {
    const { id } = JSON.parse(message);
    if (id === undefined || !waiting.get(pair)?.delete(id)) return message;
    held.push(() => pair.page.send(message));
    return null;
  };
}

/** The page gets the answers that it waits for; there must be one. */
export async function answer(): Promise<void> {
  await until("an answer", () => held.length > 0);
  for (const send of held.splice(0)) send();
}

/** After so long nothing more would be sent. */
export const settle = (): Promise<void> => page.waitForTimeout(1400);

export const sizeOf = async (symbol: string): Promise<string> => {
  const position = await alice.position(symbol);
  return position === null ? "0" : `${position.side === "SHORT" ? "-" : ""}${position.size}`;
};

/** Chooses a market by the command palette. */
export async function goTo(base: "BTC" | "ETH", position: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.keyboard.type(`go to ${base.toLowerCase()}`);
  await page.keyboard.press("Enter");
  await shows(form().getByText(`${position} ${base}`));
}
