import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Operator } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import {
  alice,
  answer,
  closeTerminal,
  dialog,
  field,
  form,
  hides,
  notice,
  openTable,
  openTerminal,
  options,
  page,
  proxy,
  region,
  rows,
  sent,
  server,
  settle,
  shows,
  sizeOf,
  slowDown,
  tab,
} from "./slow-terminal.ts";

/** Presses at a bad time, over a slow connection: each of them does at most what the person meant. */

before(openTerminal);
after(closeTerminal);

test("a double click on the order form places one order, and what is typed meanwhile stays", options, async () => {
  await form().getByRole("button", { name: "Market", exact: true }).click();
  await field("Size").fill("0.04");
  slowDown();
  await form().getByRole("button", { name: "Buy 0.04 BTC" }).dblclick();
  await shows(form().getByRole("button", { name: "Sending…" }));
  await field("Size").press("Enter");
  await field("Size").fill("0.07");
  await answer();
  await shows(notice("Bought 0.04 BTC"));
  await settle();
  assert.deepEqual([sent.length, await sizeOf("BTC-PERP")], [1, "0.04"]);
  assert.equal(await field("Size").inputValue(), "0.07");
  // Without a change, the size goes with the order: another Enter sends nothing.
  await field("Size").press("Enter");
  await answer();
  await shows(notice("Bought 0.07 BTC"));
  await until("the answer", async () => (await field("Size").inputValue()) === "");
  await field("Size").press("Enter");
  await settle();
  assert.deepEqual([sent.length, await sizeOf("BTC-PERP")], [2, "0.11"]);
  proxy.heal();
  tab.assertClean();
});

test("a double click closes a part once, and amends once", options, async () => {
  await openTable("Positions");
  const row = rows("Positions").filter({ hasText: "BTC-PERP" });
  await row.getByRole("button", { name: "Close… BTC-PERP" }).click();
  await dialog().getByText("50%", { exact: true }).click();
  slowDown();
  await dialog().getByRole("button", { name: "Close 50%" }).dblclick();
  await page.keyboard.press("Enter");
  await answer();
  await hides(dialog());
  await settle();
  assert.deepEqual([sent.length, await sizeOf("BTC-PERP")], [1, "0.055"]);
  await row.getByRole("button", { name: "TP / SL BTC-PERP" }).click();
  await dialog().getByLabel("Stop loss at").fill("60000");
  await dialog().getByRole("button", { name: "Confirm" }).dblclick();
  await answer();
  await hides(dialog());
  await settle();
  assert.deepEqual([sent.length, (await alice.openOrders()).data.length], [2, 1]);
  proxy.heal();
  tab.assertClean();
});

test("a protection that was changed elsewhere while the dialog was open stays", options, async () => {
  const row = rows("Positions").filter({ hasText: "BTC-PERP" });
  await row.getByRole("button", { name: "TP / SL BTC-PERP" }).click();
  const order = { symbol: "BTC-PERP", side: "SELL", closePosition: true } as const;
  await alice.place({ ...order, type: "TAKE_PROFIT_MARKET", triggerPrice: "70000" });
  await shows(row.getByText("70,000.0"));
  await dialog().getByLabel("Stop loss at").fill("61000");
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await hides(dialog());
  await shows(row.getByRole("cell", { name: "70,000.0 61,000.0" }));
  await alice.cancelAll();
  tab.assertClean();
});

test("a position is reversed once by a double click, and by the size of the moment of sending", options, async () => {
  const row = rows("Positions").filter({ hasText: "BTC-PERP" });
  const reverse = row.getByRole("button", { name: "Reverse BTC-PERP" });
  slowDown();
  await reverse.dblclick();
  await reverse.click({ delay: 50 });
  await answer();
  await shows(row.getByRole("cell", { name: "−0.055 BTC", exact: true }));
  await settle();
  assert.deepEqual([sent.length, await sizeOf("BTC-PERP")], [1, "-0.055"]);
  proxy.heal();

  // While the person is asked, the position shrinks, and then goes.
  const askOrNot = async (): Promise<void> => {
    await page.getByRole("button", { name: "Settings" }).click();
    await dialog().getByRole("checkbox", { name: "Ask before an order is sent" }).press("Space");
    await page.keyboard.press("Escape");
  };
  await askOrNot();
  await reverse.click();
  await shows(dialog().getByText("Reverse BTC-PERP at market"));
  await alice.market("BUY", "0.025");
  await shows(row.getByRole("cell", { name: "−0.03 BTC", exact: true }));
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await shows(row.getByRole("cell", { name: "0.03 BTC", exact: true }));
  // A press does nothing before the answer to the one before.
  await shows(row.getByRole("button", { name: "Reverse BTC-PERP", exact: true }));
  await reverse.click();
  await shows(dialog().getByText("Reverse BTC-PERP at market"));
  await alice.market("SELL", "0.03");
  await hides(row);
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await shows(notice("There is no position in BTC-PERP any more."));
  assert.equal(await sizeOf("BTC-PERP"), "0");
  await askOrNot();
  tab.assertClean();
});

test("neither a changed setting nor a chart that is loading keeps an order back", options, async () => {
  const subscriptions: string[] = [];
  proxy.toExchange = (message) => {
    if (message.includes('"subscribe"') && message.includes('"klines"')) subscriptions.push(message);
    return message;
  };
  // The chart's stream gets no answer.
  proxy.toPage = (message) => (message.includes('"klines"') ? null : message);
  await page.getByRole("button", { name: "Settings" }).click();
  const asks = dialog().getByRole("checkbox", { name: "Ask before an order is sent" });
  await asks.press("Space");
  await asks.press("Space");
  await page.keyboard.press("Escape");
  await page.waitForTimeout(300);
  assert.deepEqual(subscriptions, []);
  await region("Price chart").getByRole("button", { name: "5m", exact: true }).click();
  await until("the chart's subscription", () => subscriptions.length === 1);
  for (const size of ["0.021", "0.022", "0.023"]) {
    await form().getByRole("button", { name: "Market", exact: true }).click();
    await field("Size").fill(size);
    await form()
      .getByRole("button", { name: `Buy ${size} BTC` })
      .click();
    await shows(notice(`Bought ${size} BTC`));
  }
  proxy.heal();
  await region("Price chart").getByRole("button", { name: "1m", exact: true }).click();
  await alice.market("SELL", "0.066");
  await hides(rows("Positions").filter({ hasText: "BTC-PERP" }));
  tab.assertClean();
});

test("the second click of a double click does not reach the row that moves up", options, async () => {
  for (const price of ["60000", "60001", "60002"]) await alice.buy("0.002", price);
  await openTable("Open orders");
  await shows(rows("Open orders").filter({ hasText: "60,002.0" }));
  await rows("Open orders")
    .filter({ hasText: "60,002.0" })
    .getByRole("button", { name: /^Cancel order/ })
    .dblclick({ delay: 40 });
  await hides(rows("Open orders").filter({ hasText: "60,002.0" }));
  await settle();
  assert.equal((await alice.openOrders()).data.length, 2);
  await alice.cancelAll();
  await alice.market("BUY", "0.01");
  await alice.place({ symbol: "ETH-PERP", side: "BUY", type: "MARKET", quantity: "1" });
  await openTable("Positions");
  await shows(rows("Positions").filter({ hasText: "ETH-PERP" }));
  await page.getByRole("button", { name: "Close BTC-PERP at market" }).dblclick({ delay: 40 });
  await hides(rows("Positions").filter({ hasText: "BTC-PERP" }));
  await settle();
  assert.deepEqual([await sizeOf("BTC-PERP"), await sizeOf("ETH-PERP")], ["0", "1"]);
  tab.assertClean();
});

test("a halted market that is shown keeps nobody from protecting a position in another one", options, async () => {
  const operator = new Operator(server);
  await operator.call(200, "POST", "/operator/symbols/BTC-PERP/halt", { mode: "CANCEL_ONLY" });
  await shows(form().getByText(/^Trading is restricted in this market/));
  await page.getByRole("button", { name: "TP / SL ETH-PERP" }).click();
  await dialog().getByLabel("Stop loss at").fill("2500");
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await hides(dialog());
  await shows(
    rows("Positions")
      .filter({ hasText: "ETH-PERP" })
      .getByRole("cell", { name: /2,500\.00/ }),
  );
  await operator.call(200, "POST", "/operator/symbols/BTC-PERP/resume");
  await alice.cancelAll();
  await shows(form().getByRole("button", { name: "Enter an order" }));
  tab.assertClean();
});

test("a close whose answer is lost is found, and that of a whole position is told as unknown", options, async () => {
  const lostConnection = /ERR_(CONNECTION_|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)|WebSocket connection|status of 404/;
  tab.expected = lostConnection;
  let requests = 0;
  const loseAnswerTo = (op: string, sizeAfter: string): void => {
    proxy.toExchange = (message, pair) => {
      if (!message.includes(`"op":"${op}"`) || message.includes('"dryRun"')) return message;
      requests++;
      pair.isMute = true;
      void until("the fill", async () => (await sizeOf("ETH-PERP")) === sizeAfter).then(() => proxy.cut());
      return message;
    };
  };
  await page.getByRole("button", { name: "Close… ETH-PERP" }).click();
  await dialog().getByText("50%", { exact: true }).click();
  loseAnswerTo("order.place", "0.5");
  await dialog().getByRole("button", { name: "Close 50%" }).click();
  await shows(notice("Sold 0.5 ETH"));
  await hides(dialog());
  assert.deepEqual([requests, await sizeOf("ETH-PERP")], [1, "0.5"]);
  proxy.heal();
  await shows(rows("Positions").filter({ hasText: "ETH-PERP" }).getByRole("cell", { name: "0.5 ETH", exact: true }));
  await shows(page.getByText("Live", { exact: true }));

  loseAnswerTo("position.close", "0");
  await page.getByRole("button", { name: "Close… ETH-PERP" }).click();
  await dialog().getByRole("button", { name: "Close 100%" }).click();
  await shows(notice("Outcome unknown"));
  await hides(dialog());
  assert.equal(await notice("Refused").count(), 0);
  proxy.heal();
  await hides(rows("Positions").filter({ hasText: "ETH-PERP" }));
  await shows(page.getByText("Live", { exact: true }));
  // It stays until the person has seen it.
  await page.waitForTimeout(7_000);
  assert.equal(await notice("Outcome unknown").count(), 1);
  await region("Notifications").getByRole("button", { name: "Close" }).first().click();
  tab.assertClean();
});

test("an order that ends while its line is moved is told, and its line goes", options, async () => {
  const handle = region("Price chart").getByRole("button", { name: /^Limit 0\.01 BTC/ });
  const cancel = async (price: string): Promise<void> => {
    await shows(handle.filter({ hasText: "→" }));
    await alice.cancelAll();
    await shows(notice(price));
    await hides(handle);
  };
  await alice.buy("0.01", "64980");
  await handle.focus();
  await page.keyboard.press("ArrowUp");
  await cancel("64,980.0");
  // Cancelations of the same moment are one message.
  await page.waitForTimeout(500);
  await alice.buy("0.01", "64979");
  const place = await handle.boundingBox();
  assert.ok(place !== null);
  await page.mouse.move(place.x + 5, place.y + 10);
  await page.mouse.down();
  await page.mouse.move(place.x + 5, place.y - 20, { steps: 3 });
  await cancel("64,979.0");
  await page.mouse.up();
  tab.assertClean();
});

test("the name of a market alone finds no command that trades", options, async () => {
  await alice.market("BUY", "0.01");
  await openTable("Positions");
  await shows(rows("Positions").filter({ hasText: "BTC-PERP" }));
  slowDown();
  const { keyboard } = page;
  const selected = dialog().getByRole("option", { selected: true });
  for (const [typed, found] of [
    ["cancel btc", /^Cancel all orders in BTC-PERP/],
    ["close btc", /^Close BTC-PERP at market/],
    ["btc", "Go to BTC-PERP"],
    [" BTC-PERP ", "Go to BTC-PERP"],
  ] as const) {
    await keyboard.press("Control+k");
    await keyboard.type(typed);
    await shows(selected.filter({ hasText: found }));
    assert.equal(await dialog().getByRole("option").count(), 1);
    await keyboard.press(found === "Go to BTC-PERP" ? "Enter" : "Escape");
    await hides(dialog());
  }
  await settle();
  assert.deepEqual([sent, await sizeOf("BTC-PERP")], [[], "0.01"]);
  proxy.heal();
  tab.assertClean();
});

test("armed hotkeys rest while a menu or a list is open", options, async () => {
  const { keyboard } = page;
  await keyboard.press("Control+k");
  await keyboard.type("arm the");
  await keyboard.press("Enter");
  await shows(page.getByRole("button", { name: "Hotkeys armed" }));
  slowDown();
  await page.getByRole("button", { name: /^Account 0x/ }).click();
  for (const button of [/^Account 0x/, "Sessions"]) {
    await page.getByRole("button", { name: button }).focus();
    for (const key of ["c", "x", "r", "Control+Enter"]) await keyboard.press(key);
  }
  await keyboard.press("Escape");
  await page.getByRole("button", { name: /^Market: / }).click();
  await page.getByRole("searchbox").press("Control+Enter");
  await page.getByRole("dialog", { name: "Markets" }).getByRole("button", { name: "ETH-PERP" }).focus();
  for (const key of ["c", "x", "r"]) await keyboard.press(key);
  await keyboard.press("Escape");
  await settle();
  assert.deepEqual([sent, await sizeOf("BTC-PERP")], [[], "0.01"]);
  proxy.heal();
  await keyboard.press("c");
  await hides(rows("Positions").filter({ hasText: "BTC-PERP" }));
  await page.getByRole("button", { name: "Hotkeys armed" }).click();
  tab.assertClean();
});

test(
  "a session that ends in the middle of an order leaves neither a failure nor an account behind",
  options,
  async () => {
    await form().getByRole("button", { name: "Limit", exact: true }).click();
    await field("Post only").uncheck();
    await field("Price").fill("60000");
    await field("Size").fill("0.02");
    await shows(form().getByRole("button", { name: "Buy 0.02 BTC", disabled: false }));
    tab.expected = /status of 40[14]/;
    let placed: unknown = null;
    proxy.toExchange = (message) => {
      const { op, id, params } = JSON.parse(message);
      if (op === "order.place" && params.dryRun !== true) placed = id;
      return message;
    };
    // The answer does not come before the session has ended.
    proxy.toPage = (message) => (placed !== null && JSON.parse(message).id === placed ? null : message);
    await form().getByRole("button", { name: "Buy 0.02 BTC" }).click();
    await until("the order", async () => (await alice.openOrders()).data.length === 1);
    await alice.call(200, "DELETE", "/auth/sessions");
    await shows(notice("Signed out"));
    await shows(notice("You signed out before the exchange said what became of the order. Its history shows it."));
    assert.equal(await notice(/Not placed|Refused/).count(), 0);
    await shows(page.getByText("Open an account to see its positions and orders."));
    assert.ok(
      await form()
        .getByRole("button", { name: /^(Buy|Enter) / })
        .isDisabled(),
    );
    proxy.heal();
    tab.assertClean();
  },
);
