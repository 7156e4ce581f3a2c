import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Locator } from "playwright-core";
import { until } from "../support/wait.ts";
import {
  alice,
  closeTerminal,
  hides,
  notice,
  openTable,
  openTerminal,
  options,
  page,
  proxy,
  region,
  rows,
  settle,
  shows,
  tab,
} from "./slow-terminal.ts";

/** Messages at the edge of the page, and what its rows say of a request that is under way. */

before(openTerminal);
after(closeTerminal);

const closes = (): Locator => region("Notifications").getByRole("button", { name: "Close" });

/** A message may go by itself meanwhile. */
async function closeAll(): Promise<void> {
  while ((await closes().count()) > 0)
    await closes()
      .first()
      .click({ timeout: 500 })
      .catch(() => {});
}

/** Fails when a message is cut off, or lies outside of the window. */
async function assertWhole(): Promise<void> {
  const cut = await page.evaluate(`[...document.querySelectorAll("[aria-label=Notifications] > *")]
    .filter(({ scrollHeight, clientHeight, lastElementChild }) =>
      scrollHeight > clientHeight || lastElementChild.getBoundingClientRect().right > innerWidth)
    .map(({ textContent }) => textContent)`);
  assert.deepEqual(cut, [], `${page.viewportSize()?.width} px`);
}

test("a message is whole on the screen, also on a phone", options, async () => {
  tab.expected = /ERR_(CONNECTION_|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)|WebSocket connection/;
  await alice.market("BUY", "0.01");
  await openTable("Positions");
  proxy.toExchange = (message) => {
    if (!message.includes('"op":"position.close"')) return message;
    proxy.cut();
    return null;
  };
  await page.getByRole("button", { name: "Close BTC-PERP at market" }).click();
  await shows(notice("Outcome unknown"));
  await assertWhole();
  await tab.resize(390, 844);
  await assertWhole();
  await tab.resize(1440, 900);
  proxy.heal();
  await shows(page.getByText("Live", { exact: true }));
  await closeAll();
  tab.assertClean();
});

test("a button says that its action is under way", options, async () => {
  /** Keeps what is sent back until the returned function is called, which waits for it. */
  const hold = (): (() => Promise<void>) => {
    let pass: (() => void) | undefined;
    proxy.toExchange = (message, { exchange }) => {
      if (!/"op":"(order|orders|position)\./.test(message)) return message;
      pass = () => exchange.send(message);
      return null;
    };
    return () => until("a request", () => pass).then((send) => send());
  };
  const press = async (row: string, name: string): Promise<void> => {
    const button = page.getByRole("button", { name, exact: true });
    const busy = page.getByRole("button", { name: `Sending… ${name}`, exact: true });
    const pass = hold();
    await button.click();
    await shows(busy);
    assert.equal(await busy.getAttribute("aria-busy"), "true", name);
    await pass();
    await hides(busy);
    proxy.heal();
    if (row !== "") await shows(rows("Positions").getByRole("cell", { name: row, exact: true }));
  };
  await press("−0.01 BTC", "Reverse BTC-PERP");
  await press("", "Close BTC-PERP at market");
  await shows(page.getByText("No open positions."));
  const { orderId } = await alice.buy("0.01", "60000");
  await alice.buy("0.01", "60001");
  await openTable("Open orders");
  await press("", `Cancel order ${orderId}`);
  await press("", "Cancel all");
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});

/** Keeps what the exchange says of orders back until it has said it of so many, as if no time passed in between. */
function sendTogether(count: number): void {
  const held: string[] = [];
  let orders = 0;
  proxy.toPage = (text, pair) => {
    const { channel, data } = JSON.parse(text) as { channel?: string; data: unknown[] };
    if (channel !== "orders" || orders === count) return text;
    held.push(text);
    orders += data?.length ?? 0;
    if (orders === count) for (const each of held) pair.page.send(each);
    return null;
  };
}

test("orders that are canceled together are one message, in one market or in several", options, async () => {
  for (const count of [3, 8]) {
    await settle();
    await closeAll();
    await alice.place({ symbol: "ETH-PERP", side: "BUY", type: "LIMIT", price: "2500", quantity: "0.1" });
    for (let index = 1; index < count; index++) await alice.buy("0.001", String(60_000 + index));
    await shows(rows("Open orders").filter({ hasText: `60,00${count - 1}.0` }));
    sendTogether(count);
    await page.getByRole("button", { name: "Cancel all", exact: true }).click();
    await shows(notice(`${count} orders canceled`));
    await settle();
    assert.equal(await closes().count(), 1);
    proxy.heal();
  }
  tab.assertClean();
});
