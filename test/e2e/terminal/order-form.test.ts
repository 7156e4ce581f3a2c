import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { CHROMIUM, openBrowser } from "../support/browser.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Tab } from "../support/tab.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

/** The order form and the dialogs with fields, in Chromium on a real exchange. */

const options = { skip: CHROMIUM === null && "no Chromium is installed: the order form was not tested" };

let server: TestServer;
let browser: Browser;
let maker: Trader;
let tab: Tab;
let page: Page;
/** Requests of the page that change something or try an order, in the order in which it sent them. */
const sent: { op: string; id: number; params: Record<string, unknown>; at: number }[] = [];
const replies = new Map<number, Record<string, unknown>>();

before(async () => {
  if (CHROMIUM === null) return;
  server = await startServer();
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  maker = await openTrader(server, "1000000");
  await maker.sell("5", "65010");
  await maker.buy("5", "64990");
  browser = await openBrowser();
  tab = await Tab.open(browser, new URL("/", server.url).href, { init: watchSockets });
  ({ page } = tab);
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  await shows(region("Account").getByText("100,000.00 USDC"));
});
after(async () => {
  await browser?.close();
  await server?.dispose();
});

const region = (name: string): Locator => page.getByRole("region", { name });
const form = (): Locator => region("Place an order");
const field = (label: string): Locator => form().getByLabel(label, { exact: true });
const table = (name: string): Locator => page.getByRole("table", { name });
const dialog = (): Locator => page.getByRole("dialog");
const openTable = (name: string): Promise<void> => page.getByRole("tab", { name }).click();
const shows = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 20_000 });
const hides = (locator: Locator): Promise<void> => locator.first().waitFor({ state: "hidden", timeout: 20_000 });
const focused = (locator: Locator): Promise<void> => page.locator(":focus").and(locator).waitFor({ timeout: 20_000 });
const figure = (name: string): Locator =>
  form().getByText(name, { exact: true }).locator("xpath=following-sibling::dd");

/**
 * Writes down what goes over the page's sockets, with the time that the page read last: it may be kept from its processor before
 * it sends. While `isMute`, dry runs are held back.
 */
async function watchSockets(page: Page): Promise<void> {
  await page.exposeFunction("noteSent", (text: string, at: number) => {
    const { op, id, params } = JSON.parse(text);
    if (/^(order|orders|position)\./.test(op)) sent.push({ op, id, params, at });
  });
  await page.addInitScript({
    content: `{
      const { now } = performance;
      let readAt = 0;
      performance.now = () => (readAt = now.call(performance));
      const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (data) {
        if (globalThis.isMute && /"dryRun":true/.test(data)) return;
        noteSent(String(data), readAt);
        return send.call(this, data);
      };
    }`,
  });
  page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) => {
      const message = JSON.parse(String(payload));
      if (message.id !== undefined && message.result !== undefined) replies.set(message.id, message.result);
    }),
  );
}

type Fields = Readonly<Record<string, string | boolean>>;

const DEFAULTS: Fields = {
  ...{ "Time in force": "GTC", "Price from the book": "Fixed", "Unit of the size": "BTC" },
  ...{ "Reduce only": false, "Post only": false, Iceberg: false, "TP / SL": false },
};
const touched = new Set<string>();

/** Fills in fields, chooses in lists and ticks boxes, by their labels. */
async function fill(fields: Fields): Promise<void> {
  for (const [label, value] of Object.entries(fields)) {
    const control = field(label);
    if (typeof value === "boolean") await control.setChecked(value);
    else if (label in DEFAULTS || label === "Price that triggers") await control.selectOption(value);
    else await control.fill(value);
    if (label in DEFAULTS) touched.add(label);
  }
}

async function chooseType(name: string): Promise<void> {
  if (name === "Limit" || name === "Market") await form().getByRole("button", { name, exact: true }).click();
  else await form().getByLabel("Conditional order types").selectOption(name);
}

const submit = (): Locator => form().getByRole("button", { name: /^(Buy|Sell|Enter) / });
const isPlaced = ({ op, params }: { op: string; params: Record<string, unknown> }): boolean =>
  op === "order.place" && params.dryRun !== true;

/** Sends the order of the form. Resolves with the exchange's answer. */
async function send(): Promise<Record<string, unknown>> {
  const before = sent.length;
  await submit().click();
  const request = await until("the order to be sent", () => sent.slice(before).find(isPlaced));
  return until("the answer to the order", () => replies.get(request.id));
}

/** Brings the form back to a plain limit order. */
async function resetForm(): Promise<void> {
  await chooseType("Limit");
  await fill(Object.fromEntries([...touched].map((label) => [label, DEFAULTS[label] ?? ""])));
  touched.clear();
}

const LIMIT = { Price: "64,000", Size: "0.01" };
const ORDERS: readonly (readonly [type: string, fields: Fields, answer: Record<string, unknown>])[] = [
  ["Limit", LIMIT, { type: "LIMIT", timeInForce: "GTC", price: "64000", status: "NEW" }],
  ["Limit", { ...LIMIT, "Time in force": "IOC" }, { timeInForce: "IOC", status: "EXPIRED" }],
  ["Limit", { ...LIMIT, Price: "65010", "Time in force": "FOK" }, { timeInForce: "FOK", status: "FILLED" }],
  ["Limit", { ...LIMIT, "Time in force": "GTD", "Good for": "5" }, { timeInForce: "GTD", status: "NEW" }],
  ["Limit", { ...LIMIT, "Post only": true }, { postOnly: true, status: "NEW" }],
  ["Limit", { ...LIMIT, Iceberg: true, "Shown size": "0.002" }, { displayQuantity: "0.002", status: "NEW" }],
  ["Limit", { "Price from the book": "Queue 1", Size: "0.01" }, { price: "64990", status: "NEW" }],
  ["Limit", { "Price from the book": "Counterparty 1", Size: "0.01" }, { price: "65010", status: "FILLED" }],
  [
    "Limit",
    { ...LIMIT, "TP / SL": true, "Take profit at": "70000", "Stop loss at": "60000" },
    { status: "NEW", takeProfit: { triggerPrice: "70000" }, stopLoss: { triggerPrice: "60000" } },
  ],
  ["Market", { Size: "0.01", "Max slippage": "0.5" }, { type: "MARKET", status: "FILLED" }],
  ["Market", { Size: "0.01", "Time in force": "FOK" }, { timeInForce: "FOK", status: "FILLED" }],
  [
    "Market",
    { "Unit of the size": "Risk", "Loss at the stop": "50", "Stop distance": "1" },
    // 65,010 − 1 % = 64,359.9; a unit loses 650.1 and the fees, 64.68.
    { quantity: "0.069", status: "FILLED", stopLoss: { triggerPrice: "64359.9" } },
  ],
  [
    "Stop market",
    { Trigger: "66000", Size: "0.01" },
    { type: "STOP_MARKET", triggerBy: "MARK", status: "UNTRIGGERED" },
  ],
  [
    "Stop limit",
    { Trigger: "66000", "Price that triggers": "Last", Price: "66010", Size: "0.01", "Post only": true },
    { type: "STOP", triggerBy: "LAST", price: "66010", postOnly: true, status: "UNTRIGGERED" },
  ],
  ["Take profit market", { Trigger: "64000", Size: "0.01" }, { type: "TAKE_PROFIT_MARKET", status: "UNTRIGGERED" }],
  [
    "Take profit limit",
    { Trigger: "64000", Price: "64010", Size: "0.01" },
    { type: "TAKE_PROFIT", price: "64010", status: "UNTRIGGERED" },
  ],
  [
    "Trailing stop",
    { Callback: "2", Activation: "64500", Size: "0.01" },
    { type: "TRAILING_STOP_MARKET", callbackRate: "0.02", activationPrice: "64500", status: "UNTRIGGERED" },
  ],
];

test("each type of order is placed with each of its options", options, async () => {
  for (const [type, fields, answer] of ORDERS) {
    await resetForm();
    await chooseType(type);
    await fill(fields);
    const order = await send();
    const shown = Object.fromEntries(
      Object.entries(answer).map(([name, value]) => {
        const given = order[name] as Record<string, unknown>;
        return [name, typeof value === "object" ? { triggerPrice: given?.triggerPrice } : given];
      }),
    );
    assert.deepEqual(shown, answer, `${type} ${JSON.stringify(fields)}`);
  }
  // Sell, only to reduce what has been bought.
  await resetForm();
  await chooseType("Market");
  await fill({ "Reduce only": true, Size: "50" });
  await form().getByText("Sell / Short").click();
  const { side, reduceOnly, status, filledQuantity } = await send();
  assert.deepEqual([side, reduceOnly, status, filledQuantity], ["SELL", true, "FILLED", "0.109"]);
  await form().getByText("Buy / Long").click();
  await openTable("Open orders");
  await region("Positions and orders").getByRole("button", { name: "Cancel all" }).click();
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});

test("the preview says what follows from a full fill, and how much of an order would fill", options, async () => {
  const ifFilled = (position: string): Promise<void> =>
    shows(figure("Position if filled").and(page.getByText(position, { exact: true })));
  await resetForm();
  await fill({ ...LIMIT, Size: "0.02" });
  await ifFilled("0.02 BTC @ 64,000.0");
  await shows(figure("Liquidation price until filled"));
  // A part of it trades at once, and the rest waits.
  await fill({ Price: "65010", Size: "7" });
  await ifFilled("7 BTC @ 65,010.0");
  // Nobody knows the price at which it will trade.
  await chooseType("Stop market");
  await fill({ Trigger: "66000", Size: "0.02" });
  await ifFilled("0.02 BTC");
  await chooseType("Market");
  await fill({ Size: "7" });
  await shows(form().getByText(/^Only [45]\.?\d* of 7 BTC would fill\.$/));
  await shows(figure("Position after"));
  await fill({ Size: "0.02" });
  await form()
    .getByText(/would fill/)
    .waitFor({ state: "hidden" });
  await resetForm();
  tab.assertClean();
});

test("a refusal of the engine stands at its field, and one click takes a value that it accepts", options, async () => {
  const rows: [type: string, fields: Fields, field: string, refusal: RegExp, use: string | RegExp][] = [
    ["Limit", { Price: "80000", Size: "0.01" }, "Price", /^Too far from the mark price\. .* 68,250/, "Use 68250"],
    ["Limit", { ...LIMIT, Price: "65020", "Post only": true }, "Price", /best opposite price is 65,010/, "Use 65009.9"],
    [
      "Limit",
      { ...LIMIT, Iceberg: true, "Shown size": "0.5" },
      "Shown size",
      /^Must be from 0.001 to 0.01/,
      "Use 0.001",
    ],
    ["Limit", { ...LIMIT, Size: "50" }, "Size", /^Not enough free margin: 321,600/, "Use the largest"],
    [
      "Limit",
      { Price: "", "Price from the book": "Queue 20", Size: "0.01" },
      "Price",
      /does not have that price level/,
      "",
    ],
    ["Stop market", { Trigger: "64000", Size: "0.01" }, "Trigger", /the price is 6[45],.* already/, /^Use 6[45]/],
    ["Trailing stop", { Activation: "66000", Size: "0.01" }, "Activation", /6[45],.* already/, /^Use 6[45]/],
    [
      "Limit",
      { ...LIMIT, "TP / SL": true, "Take profit at": "63000" },
      "Take profit at",
      /the price is 64,000 already/,
      "Use 64000.1",
    ],
    ["Limit", { ...LIMIT, "Reduce only": true }, "Reduce only", /no position that the order could reduce/, ""],
  ];
  for (const [type, fields, label, refusal, use] of rows) {
    await resetForm();
    await chooseType(type);
    await fill(fields);
    const described = form().getByRole("textbox", { name: label, exact: true, description: refusal });
    const box = form().getByRole("checkbox", { name: label, description: refusal });
    await shows(described.or(box));
    if (use === "") continue;
    await form().getByRole("button", { name: use }).click();
    await focused(field(label));
    await hides(described);
    // The engine has no objection any more.
    await shows(figure("Margin required").filter({ hasText: /^[0-9.,]+ USDC$/ }));
  }
  tab.assertClean();
});

test("the page computes while a slider moves, and asks the engine at most four times a second", options, async () => {
  await resetForm();
  await chooseType("Limit");
  await fill({ Price: "50000" });
  const from = performance.now();
  let asked = 0;
  page.on("request", (request) => /max-size/.test(request.url()) && asked++);
  const slider = form().getByRole("slider", { name: "Part of the largest order" });
  await slider.focus();
  await page.evaluate("globalThis.isMute = true");
  for (let i = 0; i < 10; i++) await page.keyboard.press("ArrowRight");
  // 10 % of what 100,000 USDC can buy at 10×, with the taker's fee, without an answer of the engine.
  await shows(figure("Order value").filter({ hasText: /^99,\d{3}\.\d\d USDC$/ }));
  await shows(figure("Margin required").filter({ hasText: /^≈ 9,9\d\d\.\d\d USDC$/ }));
  await page.evaluate("globalThis.isMute = false");
  const before = sent.length;
  for (let i = 0; i < 60; i++) await page.keyboard.press("ArrowRight");
  await shows(figure("Margin required").filter({ hasText: /^69,\d{3}\.\d\d USDC$/ }));
  const runs = sent.slice(before).filter(({ params }) => params.dryRun === true);
  const times = runs.map(({ at }) => at);
  for (const [i, from] of times.entries())
    for (const [k, at] of times.slice(i + 1).entries())
      assert.ok(at - from > 245 * (k + 1), `${k + 1} within ${at - from} ms: ${times}`);
  assert.ok(runs.length > 0 && runs.length < 60, `${runs.length} dry runs`);
  const most = 1 + Math.ceil((performance.now() - from) / 2_000);
  assert.ok(asked > 0 && asked <= most, `the largest order was asked for ${asked} times, at most ${most}`);
  // A dry run that has not been answered holds up no order.
  await page.evaluate("globalThis.isMute = true");
  await fill({ "Time in force": "IOC", Size: "0.01" });
  await field("Size").press("Enter");
  await shows(region("Notifications").getByText("Limit order expired"));
  await page.evaluate("globalThis.isMute = false");
  tab.assertClean();
});

/** No number of any field. */
const NO_NUMBERS = ["abc", "-5", "1e3", "0,5", "６５", "0.0000000000001", "9".repeat(40)];

interface Described {
  readonly ariaInvalid: string | null;
  readonly ownerDocument: { getElementById(id: string | null): { readonly textContent: string } | null };
  getAttribute(name: string): string | null;
}

/** The message that describes an input at fault; false for another one. Runs in the page. */
const noteOf = (element: unknown): string | false => {
  const input = element as Described;
  const note = input.ownerDocument.getElementById(input.getAttribute("aria-describedby"));
  return input.ariaInvalid === "true" && note !== null && note.textContent.trim();
};

/** Each value in the field gets a message at the field. */
async function assertRefused(box: Locator, values: readonly string[], isSent = true): Promise<void> {
  for (const value of values) {
    await box.fill(value);
    if (isSent) await box.press("Enter");
    const note = await until("a message at the field", () => box.evaluate(noteOf));
    assert.match(note, /^(Enter|Must|USDC|There)/, value);
  }
}

test("bad input in any field of the form is told at the field, and nothing is sent", options, async () => {
  const rows: [type: string, fields: Fields, label: string][] = [
    ["Limit", { Size: "0.01" }, "Price"],
    ["Limit", { Price: "64000" }, "Size"],
    ["Limit", { Price: "64000", "Unit of the size": "USDC" }, "Size"],
    ["Limit", { Price: "64000", "Unit of the size": "Risk", "Stop distance": "1" }, "Loss at the stop"],
    ["Limit", { Price: "64000", "Loss at the stop": "50" }, "Stop distance"],
    ["Limit", { Price: "64000", "Unit of the size": "BTC", Size: "0.01", "Time in force": "GTD" }, "Good for"],
    ["Limit", { "Good for": "5", Iceberg: true }, "Shown size"],
    ["Limit", { Iceberg: false, "TP / SL": true }, "Take profit at"],
    ["Limit", { "Take profit at": "70000" }, "Stop loss at"],
    ["Stop market", { Size: "0.01" }, "Trigger"],
    ["Stop market", { Trigger: "66000" }, "Max slippage"],
    ["Trailing stop", { "Max slippage": "" }, "Callback"],
    ["Trailing stop", { Callback: "1" }, "Activation"],
  ];
  await resetForm();
  for (const [type, fields, label] of rows) {
    await chooseType(type);
    // From bad to bad, so that the order is never complete.
    await fill({ ...fields, [label]: "abc" });
    await page.evaluate("noteSent(JSON.stringify({ op: 'order.', id: 0 }), 0)");
    const before = sent.length;
    await assertRefused(field(label), NO_NUMBERS, false);
    await field(label).press("Enter");
    await focused(field(label));
    assert.ok(await submit().isDisabled(), label);
    await page.evaluate("noteSent(JSON.stringify({ op: 'order.', id: 0 }), 0)");
    assert.deepEqual(sent.slice(before, -1), [], label);
    if (!["Take profit at", "Max slippage", "Activation"].includes(label)) continue;
    await field(label).fill("");
  }
  // Empty fields are told only when the person wants to send.
  await page.reload();
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  await shows(region("Account").getByText("100,000.00 USDC"));
  assert.equal(await form().locator("[aria-invalid=true]").count(), 0);
  await field("Size").press("Enter");
  await focused(field("Price"));
  assert.equal(await form().getByText("Enter a value.").count(), 2);
  // Lines that are pasted must not become one number.
  await page.keyboard.insertText("64000\n0.05");
  await shows(form().getByText("Enter a number such as 1234.5."));
  await field("Price").fill("");
  await page.keyboard.insertText(" 64 000.5\n");
  await fill({ Size: "0.01" });
  await shows(figure("Order value").filter({ hasText: "640.01 USDC" }));
  tab.assertClean();
});

test("bad input in the dialogs is told at the field, and nothing is sent", options, async () => {
  await resetForm();
  await chooseType("Limit");
  await fill(LIMIT);
  await send();
  const input = (name: string): Locator => dialog().getByRole("textbox", { name, exact: true });
  // Everything that the page sends from here on, but for reads.
  const requests: string[] = [];
  page.on("request", (request) => request.method() !== "GET" && requests.push(request.url()));
  const changes = (): unknown[] => [...requests, ...sent.filter(({ params }) => params?.dryRun !== true)];
  const before = changes().length;

  await openTable("Open orders");
  await table("Open orders")
    .getByRole("button", { name: /^Amend/ })
    .click();
  for (const label of ["Price", "Size"]) {
    const value = await input(label).inputValue();
    await assertRefused(input(label), ["", ...NO_NUMBERS]);
    await input(label).fill(value);
  }
  await page.keyboard.press("Escape");

  await form().getByRole("button", { name: "Leverage 10×" }).click();
  await assertRefused(input("Leverage"), ["", "1.5", "0", "1000", ...NO_NUMBERS]);
  await page.keyboard.press("Escape");

  await region("Account").getByRole("button", { name: "Withdraw" }).click();
  const amounts = ["", ...NO_NUMBERS.slice(0, -1)];
  await assertRefused(input("Amount"), amounts);
  await input("Amount").fill("1");
  const addresses = ["", "0x12", "abc", `0x${"g".repeat(40)}`, `${"0x8ba1f109551bD432803012645Ac136ddd64DBA72"}00`];
  await assertRefused(input("Address"), addresses);
  await dialog()
    .getByText(/^Address book \d/)
    .click();
  await input("New address").fill("0x8ba1f109551bD432803012645Ac136ddd64DBA72");
  await assertRefused(input("Name"), ["", "é", "tab\there", "x".repeat(65)]);
  await input("Name").fill("cold");
  await assertRefused(input("New address"), addresses);
  await page.keyboard.press("Escape");
  assert.equal(changes().length, before, JSON.stringify(changes().slice(before)));

  await region("Positions and orders").getByRole("button", { name: "Cancel all" }).click();
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});

test("bad input in the dialogs of a position is told at the field, and nothing is sent", options, async () => {
  const input = (name: string): Locator => dialog().getByRole("textbox", { name, exact: true });
  await form().getByRole("button", { name: "Margin mode Cross" }).click();
  await dialog().getByText("Isolated", { exact: true }).click();
  await shows(dialog().getByText(/Cross → Isolated/));
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await hides(dialog());
  await chooseType("Market");
  await fill({ Size: "0.01" });
  await send();
  await openTable("Positions");
  const row = table("Positions").getByRole("row").filter({ hasText: "Isolated" });
  await shows(row);
  const before = sent.filter(({ params }) => params?.dryRun !== true).length;
  for (const [open, fields] of [
    ["Margin BTC-PERP", ["Amount"]],
    ["Close… BTC-PERP", ["Limit price"]],
    ["TP / SL BTC-PERP", ["Take profit at", "Stop loss at"]],
  ] as const) {
    await row.getByRole("button", { name: open }).click();
    for (const label of fields) {
      const values = label === "Amount" ? ["", ...NO_NUMBERS.slice(0, -1)] : NO_NUMBERS;
      await assertRefused(input(label), values);
      await input(label).fill("");
    }
    await page.keyboard.press("Escape");
  }
  assert.equal(sent.filter(({ params }) => params?.dryRun !== true).length, before);
  // A change of the leverage tells what it does to the position, and a refusal stays in the dialog.
  await form().getByRole("button", { name: "Leverage 10×" }).click();
  await dialog().getByRole("textbox", { name: "Leverage" }).fill("5");
  await shows(dialog().getByText(/^65\.\d\d → 130\.\d\d USDC\s*$/));
  await shows(dialog().getByText(/^10× → 5×\s*$/));
  assert.deepEqual(await tab.axe(), []);
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await hides(dialog());
  await shows(row.filter({ hasText: "Isolated 5×" }).getByRole("cell", { name: /^130\.\d\d$/ }));
  await chooseType("Limit");
  await fill(LIMIT);
  await send();
  await form().getByRole("button", { name: "Margin mode Isolated" }).click();
  await dialog().getByText("Cross", { exact: true }).click();
  await dialog().getByRole("button", { name: "Confirm" }).click();
  await shows(
    dialog()
      .getByRole("alert")
      .getByText(/^Cancel your orders in this market first/),
  );
  await page.keyboard.press("Escape");
  await openTable("Open orders");
  await region("Positions and orders").getByRole("button", { name: "Cancel all" }).click();
  await shows(page.getByText("No open orders."));
  tab.assertClean();
});

test("a market that does not exist is told, and another is shown", options, async () => {
  for (const [name, asked] of [
    ["NONE", "There is no market called NONE. This is the first one."],
    [`<b>${"x".repeat(3000)}</b>`, /^There is no market called <b>x{37}…\. This is the first one\.$/],
    ["", ""],
    ["btc-perp", ""],
  ] as const) {
    await page.goto(new URL(`/?market=${encodeURIComponent(name)}`, server.url).href);
    if (asked !== "") await shows(page.getByRole("alert").filter({ hasText: asked }));
    await shows(
      page
        .getByRole("banner")
        .getByRole("button", { name: /^Market/ })
        .filter({ hasText: "BTC-PERP" }),
    );
    if (asked === "") assert.equal(await page.getByText(/^There is no market/).count(), 0);
  }
  tab.assertClean();
});

test("Enter without a market, an account or a connection says why nothing is sent", options, async () => {
  await shows(page.getByText("Live", { exact: true }));
  await fill(LIMIT);
  await field("Size").press("Enter");
  await shows(region("Notifications").getByText("Open an account to trade."));
  tab.assertClean();
});

test("a computer whose clock is hours wrong counts and trades by the exchange's clock", options, async () => {
  const wrong = await Tab.open(browser, new URL("/", server.url).href, {
    init: async (opened) => {
      await watchSockets(opened);
      await opened.addInitScript({
        content: "{ const now = Date.now; Date.now = () => now.call(Date) - 7_200_000; }",
      });
    },
  });
  const late = wrong.page;
  await late.getByRole("banner").getByRole("button", { name: "Try it" }).click();
  await late.getByRole("region", { name: "Account" }).getByText("100,000.00 USDC").waitFor();
  // Funding is due each hour.
  await late
    .getByRole("banner")
    .getByText(/ 00:[0-5]\d:[0-5]\d$/)
    .waitFor();
  const place = late.getByRole("region", { name: "Place an order" });
  await place.getByLabel("Time in force").selectOption("GTD");
  await place.getByLabel("Good for", { exact: true }).fill("5");
  await place.getByLabel("Price", { exact: true }).fill("64000");
  await place.getByLabel("Size", { exact: true }).fill("0.01");
  await place.getByRole("button", { name: "Buy 0.01 BTC", disabled: false }).click();
  await late.getByText("Limit order placed").waitFor();
  const leftMs = Number(sent.findLast(isPlaced)?.params.goodTillDate) - Date.now();
  assert.ok(Math.abs(leftMs - 300_000) < 20_000, `${leftMs} ms`);
  wrong.assertClean();
  await late.close();
});

interface FocusedElement {
  readonly ariaLabel: string | null;
  readonly labels?: ArrayLike<{ readonly textContent: string }>;
  readonly textContent: string | null;
}

test("a whole trade goes by keyboard alone, and the focus is never lost", options, async () => {
  const { keyboard } = page;
  await page.getByRole("banner").getByRole("button", { name: "Try it" }).press("Enter");
  await shows(region("Account").getByText("100,000.00 USDC"));
  await shows(page.getByText("Live", { exact: true }));
  const chip = form().getByRole("button", { name: /^Leverage/ });
  await chip.focus();
  const names: string[] = [];
  for (let i = 0; i < 8; i++) {
    await keyboard.press("Tab");
    names.push(
      await page.locator(":focus").evaluate((element) => {
        const { ariaLabel, labels, textContent } = element as unknown as FocusedElement;
        return ariaLabel ?? labels?.[0]?.textContent ?? textContent ?? "";
      }),
    );
  }
  const order = ["Buy / Long", "Limit", "Market", "Conditional order types", "Price", "Price from the book", "Size"];
  assert.deepEqual(names, [...order, "Unit of the size"]);
  await chip.focus();
  await keyboard.press("Enter");
  await focused(dialog().getByRole("radio", { name: "Cross" }));
  await keyboard.press("Tab");
  await keyboard.press("Control+a");
  await keyboard.type("20");
  await keyboard.press("Enter");
  await hides(dialog());
  await focused(form().getByRole("button", { name: "Leverage 20×" }));
  for (let i = 0; i < 3; i++) await keyboard.press("Tab");
  await keyboard.press("Enter");
  await keyboard.press("Tab");
  await keyboard.press("Tab");
  await focused(field("Size"));
  await keyboard.type("0.02");
  await shows(form().getByRole("button", { name: "Buy 0.02 BTC", disabled: false }));
  await keyboard.press("Enter");
  await shows(page.getByText("Bought 0.02 BTC"));
  await focused(field("Size"));
  await keyboard.press("Control+k");
  await keyboard.type("show positions");
  await keyboard.press("Enter");
  await focused(page.getByRole("tab", { name: "Positions" }));
  const close = table("Positions").getByRole("button", { name: "Close… BTC-PERP" });
  for (let i = 0; i < 20 && !(await close.evaluate((element) => element.matches(":focus"))); i++)
    await keyboard.press("Tab");
  await focused(close);
  await keyboard.press("Enter");
  await shows(dialog());
  await keyboard.press("Escape");
  await focused(close);
  await keyboard.press("Enter");
  await keyboard.press("Enter");
  await shows(page.getByText("No open positions."));
  assert.notEqual(await page.evaluate("document.activeElement.tagName"), "BODY");
  tab.assertClean();
});

test(
  "a small share of a small balance is the smallest order, and where nothing fits the page says why",
  options,
  async () => {
    const available = form().getByText("Available", { exact: true }).locator("xpath=following-sibling::dd");
    /** Withdraws all but this much. */
    const keep = async (rest: number): Promise<void> => {
      const free = Number((await available.textContent())?.replace(/[^0-9.]/g, ""));
      await region("Account").getByRole("button", { name: "Withdraw" }).click();
      await dialog()
        .getByLabel("Amount")
        .fill((free - rest).toFixed(2));
      await dialog().getByRole("button", { name: "Withdraw" }).click();
      await hides(dialog());
      await shows(available.and(page.getByText(`${rest.toFixed(2)} USDC`, { exact: true })));
    };
    const share = (percent: number): Promise<void> =>
      form()
        .getByRole("button", { name: `${percent}%`, exact: true })
        .click();
    const hasSize = (size: string): Promise<unknown> =>
      until(`the size ${size}`, async () => (await field("Size").inputValue()) === size);
    await resetForm();
    await chooseType("Market");
    await form()
      .getByRole("button", { name: /^Leverage/ })
      .click();
    await dialog().getByRole("textbox").fill("20");
    await page.keyboard.press("Enter");
    await hides(dialog());
    // At 20×, two steps and a part of the third.
    await keep(8);
    await share(100);
    await hasSize("0.002");
    await share(25);
    await hasSize("0.001");
    await shows(form().getByRole("button", { name: "Buy 0.001 BTC", disabled: false }));
    await field("Unit of the size").selectOption("USDC");
    await share(25);
    await shows(form().getByRole("button", { name: "Buy 0.001 BTC", disabled: false }));
    await field("Unit of the size").selectOption("BTC");
    // The keyboard does not stick where a step of the slider is less than one of the size.
    const slider = form().getByRole("slider", { name: "Part of the largest order" });
    await slider.press("Home");
    for (const percent of [1, 2, 3]) {
      await slider.press("ArrowRight");
      await until(`${percent} %`, async () => (await slider.getAttribute("aria-valuetext")) === `${percent} %`);
    }
    await hasSize("0.001");
    await slider.press("Home");
    await hasSize("");

    await keep(1);
    await share(25);
    const why = /^Not enough free margin: 3\.\d\d USDC is needed, and 1\.00 USDC is free\.$/;
    await shows(form().getByRole("status").getByText(why));
    assert.equal(await field("Size").inputValue(), "");
    // It goes with the next input.
    await field("Size").fill("0.001");
    await hides(form().getByRole("status").getByText(why));
    tab.assertClean();
  },
);
