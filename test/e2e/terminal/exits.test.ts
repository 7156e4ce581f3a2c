import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Locator } from "playwright-core";
import { until } from "../support/wait.ts";
import {
  alice,
  closeTerminal,
  dialog,
  field,
  form,
  hides,
  openTable,
  openTerminal,
  options,
  page,
  region,
  rows,
  shows,
  tab,
} from "./slow-terminal.ts";

/** Take-profits and stop-losses that an order brings: in its row, in its position, and in the dialog of that. */

before(openTerminal);
after(closeTerminal);

const position = (): Locator => rows("Positions").filter({ hasText: "BTC-PERP" });

test("an open order shows its exits, its end and the size that the book shows", options, async () => {
  await openTable("Open orders");
  // Of another day than the order's.
  const goodTillDate = new Date("2035-06-07T12:00:00Z").getTime();
  await alice.buy("0.2", "64000", {
    ...{ displayQuantity: "0.05", timeInForce: "GTD", goodTillDate },
    ...{ takeProfit: { triggerPrice: "66000" }, stopLoss: { triggerPrice: "63500" } },
  });
  const cells = rows("Open orders").getByRole("cell");
  await shows(cells.filter({ hasText: /^Limit shows 0\.05 · until 06-0\d \d\d:\d\d:00$/ }));
  await shows(cells.and(page.getByText("TP 66,000.0 · SL 63,500.0", { exact: true })));
  await alice.buy("0.2", "63000", { timeInForce: "GTD", goodTillDate: Date.now() + 60_000 });
  await shows(cells.filter({ hasText: /^Limit until (\d\d-\d\d )?\d\d:\d\d:\d\d$/ }));
  await alice.cancelAll();
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});

test("a position shows exits that an order brought, and its dialog removes and replaces them", options, async () => {
  await form().getByRole("button", { name: "Market", exact: true }).click();
  await field("Size").fill("0.1");
  await form().getByRole("checkbox", { name: "TP / SL" }).check();
  await field("Take profit at").fill("70000");
  await field("Stop loss at").fill("60000");
  await form().getByRole("button", { name: "Buy 0.1 BTC", disabled: false }).click();
  await openTable("Positions");
  await shows(position().getByRole("cell", { name: "70,000.0 for 0.1 60,000.0 for 0.1" }));
  await position().getByRole("button", { name: "TP / SL BTC-PERP" }).click();
  const protect = page.getByRole("dialog", { name: "Protect BTC-PERP" });
  await shows(protect.getByText("60,000.0 for 0.1"));
  assert.deepEqual(await tab.axe(), []);
  // Confirmed without an input, nothing is placed.
  await protect.getByRole("button", { name: "Confirm" }).click();
  await hides(dialog());
  assert.equal((await alice.openOrders()).data.length, 2);

  await position().getByRole("button", { name: "TP / SL BTC-PERP" }).click();
  await protect
    .getByRole("button", { name: /^Amend order/ })
    .last()
    .click();
  const amend = page.getByRole("dialog", { name: "Amend: Sell BTC-PERP" });
  await amend.getByLabel("Trigger").fill("61000");
  await amend.getByRole("button", { name: "Amend" }).click();
  await hides(amend);
  await shows(protect.getByText("61,000.0 for 0.1"));
  await protect
    .getByRole("button", { name: /^Cancel order/ })
    .last()
    .click();
  await hides(protect.getByText("61,000.0 for 0.1"));
  await protect.getByLabel("Stop loss at").fill("62000");
  await protect.getByRole("button", { name: "Confirm" }).click();
  await hides(dialog());
  await shows(position().getByRole("cell", { name: "70,000.0 for 0.1 62,000.0", exact: true }));
  await until("two orders", async () => (await alice.openOrders()).data.length === 2);
  // More of a kind are counted.
  await alice.place({
    ...{ symbol: "BTC-PERP", side: "SELL", type: "STOP_MARKET", quantity: "0.05" },
    ...{ triggerPrice: "63000", reduceOnly: true },
  });
  await shows(position().getByRole("cell", { name: "70,000.0 for 0.1 62,000.0 +1", exact: true }));
  await region("Positions and orders").getByRole("tab", { name: "Open orders" }).click();
  await alice.cancelAll();
  tab.assertClean();
});

test(
  "an exit of the whole position says which exits of parts would close it first, and replaces them",
  options,
  async () => {
    const part = async (
      type: "STOP_MARKET" | "TAKE_PROFIT_MARKET",
      quantity: string,
      triggerPrice: string,
    ): Promise<string> => {
      const order = { symbol: "BTC-PERP", side: "SELL", reduceOnly: true, type, quantity, triggerPrice } as const;
      return (await alice.place(order)).orderId;
    };
    assert.equal((await alice.position())?.size, "0.1");
    const stops = [await part("STOP_MARKET", "0.06", "61000"), await part("STOP_MARKET", "0.04", "60500")];
    const target = await part("TAKE_PROFIT_MARKET", "0.06", "70000");
    await openTable("Positions");
    await shows(position().getByRole("cell", { name: /^70,000\.0 for 0\.06 .* \+1$/ }));
    const protect = page.getByRole("dialog", { name: "Protect BTC-PERP" });
    const open = (): Promise<void> => position().getByRole("button", { name: "TP / SL BTC-PERP" }).click();
    const confirm = (): Promise<void> => protect.getByRole("button", { name: "Confirm" }).click();
    const stopsStay = protect.getByText(/^Stop loss: 2 orders for 0\.1 of 0\.1 BTC stay open, and close /);
    const whole = async (): Promise<string[]> =>
      (await alice.openOrders()).data.flatMap(({ closePosition, triggerPrice }) =>
        closePosition ? [String(triggerPrice)] : [],
      );
    const ids = async (): Promise<string[]> =>
      (await alice.openOrders()).data.flatMap(({ closePosition, orderId }) => (closePosition ? [] : [orderId])).sort();

    await open();
    await protect.getByLabel("Take profit at").fill("71000");
    await protect.getByLabel("Stop loss at").fill("59000");
    await shows(stopsStay);
    // A target for a part leaves something to the one of the whole.
    await hides(protect.getByText(/^Take profit: /));
    assert.deepEqual(await tab.axe(), []);
    await protect.getByLabel("Stop loss at").fill("");
    await hides(stopsStay);
    await protect.getByLabel("Stop loss at").fill("59000");
    await confirm();
    await hides(dialog());
    assert.deepEqual((await whole()).sort(), ["59000", "71000"]);
    assert.deepEqual(await ids(), [...stops, target].sort());

    await open();
    await shows(stopsStay);
    await protect.getByRole("checkbox", { name: "Cancel them Stop loss" }).check();
    await protect.getByLabel("Stop loss at").fill("70000");
    await confirm();
    // The new one is refused: the others still protect the position.
    await shows(protect.getByText(/trigger/i));
    assert.deepEqual(await ids(), [...stops, target].sort());
    await protect.getByLabel("Stop loss at").fill("59500");
    await confirm();
    await hides(dialog());
    assert.deepEqual((await whole()).sort(), ["59500", "71000"]);
    assert.deepEqual(await ids(), [target]);
    await region("Positions and orders").getByRole("tab", { name: "Open orders" }).click();
    await alice.cancelAll();
    await shows(page.getByText("No open orders."));
    tab.assertClean();
  },
);
