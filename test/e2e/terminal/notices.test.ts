import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  alice,
  closeTerminal,
  notice,
  openTable,
  openTerminal,
  options,
  page,
  proxy,
  region,
  shows,
  tab,
} from "./slow-terminal.ts";

/** Messages at the edge of the page, and what its rows say of a request that is under way. */

before(openTerminal);
after(closeTerminal);

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
  await region("Notifications").getByRole("button", { name: "Close" }).first().click();
  tab.assertClean();
});
