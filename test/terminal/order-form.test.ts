import assert from "node:assert/strict";
import { test } from "node:test";
import { PerpdError } from "../../src/client/error.ts";
import type { DryRunOrder, Instrument, Position } from "../../src/client/types.ts";
import { quantityToClose } from "../../src/terminal/dialogs/close-quantity.ts";
import {
  buildOrder,
  type Draft,
  EMPTY_DRAFT,
  KINDS,
  PRICE_MATCHES,
  shareOf,
  smallestQuantity,
} from "../../src/terminal/order-form/draft.ts";
import { positionIfFilled } from "../../src/terminal/order-form/position-if-filled.ts";
import { liquidationPriceAt, removableMargin, termsAfter } from "../../src/terminal/state/margin-change.ts";
import { nearestOf, readDecimal, refusalText } from "../../src/terminal/text/refusals.ts";
import { ERRORS, type ErrorCode, messageOf } from "../../src/wire/error-codes.ts";

const BTC = {
  ...{ symbol: "BTC-PERP", baseAsset: "BTC", quoteAsset: "USDC", tickSize: "0.1", stepSize: "0.001" },
  ...{ minQuantity: "0.001", maxQuantity: "100", minNotional: "5", maxPrice: "1000000", takerFeeRate: "0.0005" },
} as Instrument;
const NOW = 1_700_000_000_000;
const build = (fields: Partial<Draft>, market = 65_000) => buildOrder({ ...EMPTY_DRAFT, ...fields }, BTC, market, NOW);
const order = (fields: Partial<Draft>, market?: number) => {
  const { order, faults } = build(fields, market);
  assert.deepEqual([...faults], []);
  return order;
};
const LIMIT = { price: "64,000", size: "0.05" };

test("each type of the form has the fields of the API that the type takes, and no others", () => {
  const common = { symbol: "BTC-PERP", side: "BUY", quantity: "0.05" };
  const all = {
    ...LIMIT,
    triggerPrice: "66000",
    activationPrice: "60000",
    maxSlippage: "0.5",
    displayQuantity: "0.01",
  };
  const triggered = { triggerPrice: "66000", triggerBy: "MARK" };
  const expected = [
    { price: "64000" },
    { maxSlippage: "0.005" },
    { ...triggered, maxSlippage: "0.005" },
    { ...triggered, price: "64000" },
    { ...triggered, maxSlippage: "0.005" },
    { ...triggered, price: "64000" },
    { callbackRate: "0.01", triggerBy: "MARK", activationPrice: "60000", maxSlippage: "0.005" },
  ];
  for (const [i, kind] of KINDS.entries())
    assert.deepEqual(order({ ...all, kind }), { ...common, type: kind, ...expected[i] });
});

test("options reach the orders that take them", () => {
  const rows: [fields: Partial<Draft>, part: object][] = [
    [{ timeInForce: "IOC" }, { timeInForce: "IOC" }],
    [
      { timeInForce: "GTD", goodForMinutes: "2" },
      { timeInForce: "GTD", goodTillDate: NOW + 120_000 },
    ],
    [{ postOnly: true }, { postOnly: true }],
    [{ timeInForce: "GTD", postOnly: true }, { postOnly: true }],
    [{ isIceberg: true, displayQuantity: "0.01" }, { displayQuantity: "0.01" }],
    [{ reduceOnly: true }, { reduceOnly: true }],
    [{ hasExits: true, takeProfit: "70000" }, { takeProfit: { triggerPrice: "70000" } }],
    [{ kind: "MARKET", timeInForce: "FOK" }, { timeInForce: "FOK" }],
    [{ kind: "STOP", triggerPrice: "66000", timeInForce: "IOC" }, { timeInForce: "IOC" }],
    [{ kind: "STOP", triggerPrice: "66000", postOnly: true }, { postOnly: true }],
    ...PRICE_MATCHES.map((priceMatch): [Partial<Draft>, object] => [{ priceMatch }, { priceMatch }]),
  ];
  for (const [fields, part] of rows) {
    const made = order({ ...LIMIT, ...fields });
    assert.deepEqual(made, { ...made, ...part });
  }
  // What the type or another option excludes is left out, not sent to be refused.
  assert.ok(!("price" in (order({ ...LIMIT, priceMatch: "QUEUE" }) ?? {})));
  assert.ok(!("postOnly" in (order({ ...LIMIT, timeInForce: "IOC", postOnly: true }) ?? {})));
  assert.ok(!("timeInForce" in (order({ ...LIMIT, kind: "MARKET", timeInForce: "GTD" }) ?? {})));
  assert.ok(!("takeProfit" in (order({ ...LIMIT, hasExits: true, takeProfit: "70000", reduceOnly: true }) ?? {})));
});

test("a size in the quote asset or by risk becomes a quantity, and the risk sets the stop", () => {
  assert.equal(order({ kind: "MARKET", sizeUnit: "QUOTE", size: "1,300" })?.quantity, "0.02");
  assert.equal(order({ price: "50000", sizeUnit: "QUOTE", size: "100" })?.quantity, "0.002");
  // A share of the largest order is no more than that at any price.
  const share = { kind: "MARKET", sizeUnit: "QUOTE", size: "6500000", shareQuantity: "100" } as const;
  for (const market of [64_000, 65_000, 66_000]) assert.equal(order(share, market)?.quantity, "100");
  const risk = { kind: "MARKET", sizeUnit: "RISK", size: "100", stopDistance: "2" } as const;
  // 65,000 − 2 % = 63,700; a unit loses 1,300 and 0.05 % of 65,000 and of 63,700: 1,364.35.
  const long = order(risk);
  assert.deepEqual([long?.quantity, long?.stopLoss], ["0.073", { triggerPrice: "63700" }]);
  const short = order({ ...risk, side: "SELL", stopUnit: "QUOTE", stopDistance: "1000" });
  assert.deepEqual([short?.quantity, short?.stopLoss], ["0.093", { triggerPrice: "66000" }]);
  const both = order({ ...risk, hasExits: true, takeProfit: "70000", stopLoss: "1" });
  assert.deepEqual([both?.takeProfit, both?.stopLoss], [{ triggerPrice: "70000" }, { triggerPrice: "63700" }]);
  // A type that cannot bring its stop takes the size as one of the base asset.
  assert.equal(order({ ...risk, kind: "STOP_MARKET", triggerPrice: "66000", size: "0.1" })?.quantity, "0.1");
  for (const [fields, field] of [
    [{ size: "0.1" }, "size"],
    [{ stopDistance: "100" }, "stopDistance"],
    [{ stopDistance: "0" }, "stopDistance"],
    [{ stopDistance: "70000", stopUnit: "QUOTE" }, "stopDistance"],
    [{ stopDistance: "" }, "stopDistance"],
  ] as const) {
    const built = build({ ...risk, ...fields });
    assert.deepEqual([built.order, [...built.faults.keys()]], [null, [field]], JSON.stringify(fields));
  }
  assert.deepEqual([...build(risk, 0).faults.keys()], ["size"]);
  assert.deepEqual(build({ kind: "MARKET", sizeUnit: "QUOTE", size: "10" }).faults.get("size")?.details, {
    nearest: ["0.001"],
  });
});

test("bad input of a field is a fault with its limit and the values beside it, and no order", () => {
  const rows: [typed: string, fault: RegExp, nearest: string[]][] = [
    ["", /^Enter a value\.$/, []],
    ["abc", /^Enter a number/, []],
    ["0.5e3", /^Enter a number/, []],
    ["６５", /^Enter a number/, []],
    ["0,5", /^Enter a number/, []],
    ["1 5", /^Enter a number/, []],
    ["0x10", /^Enter a number/, []],
    ["5 BTC", /^Enter a number/, []],
    ["-5", /above 0/, ["0.001"]],
    ["0", /above 0/, ["0.001"]],
    ["0.0004", /multiple of 0\.001/, ["0.001"]],
    ["0.0015", /multiple of 0\.001/, ["0.001", "0.002"]],
    ["100.001", /at most 100/, ["100"]],
    ["9".repeat(40), /at most 100/, ["100"]],
  ];
  for (const [typed, text, nearest] of rows) {
    const { order, faults } = build({ ...LIMIT, size: typed });
    const fault = faults.get("size") as PerpdError;
    assert.equal(order, null, typed);
    assert.match(refusalText(fault), text, typed);
    assert.deepEqual(nearestOf(fault), nearest, typed);
    for (const value of nearest) assert.equal(readDecimal("size", value, { step: "0.001", most: "100" }), value);
  }
  // A price of one step would help nobody.
  for (const typed of ["-5", "0"])
    assert.deepEqual(nearestOf(build({ ...LIMIT, price: typed }).faults.get("price") as PerpdError), [], typed);
  const tooHigh = build({ ...LIMIT, price: "2000000" }).faults.get("price");
  assert.equal(refusalText(tooHigh), "Must be at most 1,000,000.");
  for (const typed of [" 1,000.5 ", "1 000.5", "1\u00a0000.5", "1000.50", "01000.5"])
    assert.equal(Number(order({ ...LIMIT, price: typed })?.price), 1000.5, typed);
  // The exits were asked for, and are missing.
  assert.deepEqual([...build({ ...LIMIT, hasExits: true }).faults.keys()], ["stopLoss"]);
});

test("each code of the exchange is told in words of the screen, without names of the API", () => {
  const figures = ["limit", "required", "available", "best", "current", "filled", "min", "max", "tickSize", "stepSize"];
  const details = Object.fromEntries(figures.map((name) => [name, "64000.1"]));
  for (const code of Object.keys(ERRORS) as ErrorCode[])
    for (const parts of [{ details }, {}]) {
      const shown = refusalText(new PerpdError(422, { code, message: messageOf(code), ...parts }));
      assert.doesNotMatch(shown, /details|\b[a-z]+[A-Z]|[A-Z]_[A-Z]|\b(GET|POST|DELETE) \/|^$/, code);
      if ("details" in parts) assert.doesNotMatch(shown, /undefined/, code);
      assert.match(shown, /^[A-Z].*[.]$/, code);
    }
  const money = { required: "99223.28", available: "98667.352485" };
  const tooDear = new PerpdError(422, { code: "INSUFFICIENT_MARGIN", message: "No.", details: money });
  assert.match(refusalText(tooDear), /: 99,223\.28 USDC is needed, and 98,667\.35 USDC is free\.$/);
  const ofField = (message: string): string => refusalText(new PerpdError(400, { code: "BAD_VALUE", message }));
  assert.equal(ofField("displayQuantity must be above 0."), "Shown size must be above 0.");
  assert.match(ofField("An entry of allowedIps is no address."), /^An entry of allowed IP addresses is/);
  assert.equal(ofField("maxSlippage must be a share from details.minimum to 1."), "The exchange refuses this.");
});

test("the valid values beside a refused one come from its limits", () => {
  const rows: [code: string, field: string, details: Record<string, unknown>, nearest: string[]][] = [
    ["PRICE_OUT_OF_BAND", "price", { limit: "68250", mark: "65000" }, ["68250"]],
    ["QUANTITY_TOO_LARGE", "quantity", { limit: "100" }, ["100"]],
    ["PRICE_NOT_ON_TICK", "price", { tickSize: "0.1", nearest: ["1", "1.1"] }, ["1", "1.1"]],
    ["NOTIONAL_TOO_SMALL", "quantity", { limit: "5", nearest: "0.002" }, ["0.002"]],
    ["DISPLAY_QUANTITY_OUT_OF_RANGE", "displayQuantity", { min: "0.01", max: "1" }, ["0.01", "1"]],
    ["INSUFFICIENT_MARGIN", "amount", { required: "9", available: "5" }, ["5"]],
    // The margin that is free is no size.
    ["INSUFFICIENT_MARGIN", "quantity", { required: "9", available: "5" }, []],
    ["POSITION_LIMIT", "quantity", { limit: "100" }, []],
  ];
  for (const [code, field, details, nearest] of rows)
    assert.deepEqual(nearestOf(new PerpdError(422, { code, field, message: "No.", details })), nearest, code);
});

test("the dialog of the leverage knows what a change does to the position", () => {
  const position = {
    ...{ side: "LONG", size: "1", entryPrice: "65100", markPrice: "65000", notional: "65000", leverage: 10 },
    ...{ marginMode: "CROSS", isolatedMargin: null, unrealizedPnl: "-100", maintenanceMargin: "325" },
    liquidationPrice: "30000",
  } as Position;
  const rates = { openingMarginRate: "0.02", transferMarginRate: "0.1" };
  const cross = termsAfter(position, { leverage: 20, marginMode: "CROSS" }, rates);
  assert.deepEqual(cross, { margin: 3250, bound: 3350, liquidationPrice: "30000" });
  const isolated = termsAfter(position, { leverage: 10, marginMode: "ISOLATED" }, rates);
  assert.deepEqual([isolated.margin, isolated.bound], [6500, 6600]);
  // At this price 6,500 less the further loss is the maintenance margin of 0.5 %.
  const price = Number(isolated.liquidationPrice);
  assert.ok(Math.abs(6500 - (65_000 - price) - 0.005 * price) < 1e-6);
  const own = { ...position, marginMode: "ISOLATED", isolatedMargin: "6500" } as Position;
  // Isolated margin is not released by a higher leverage, and filled up for a lower one.
  assert.equal(termsAfter(own, { leverage: 20, marginMode: "ISOLATED" }, rates).margin, 6500);
  assert.equal(termsAfter(own, { leverage: 5, marginMode: "ISOLATED" }, rates).margin, 13_000);
  assert.equal(termsAfter(own, { leverage: 10, marginMode: "CROSS" }, rates).liquidationPrice, null);
  assert.equal(liquidationPriceAt(own, 6500), isolated.liquidationPrice);
  assert.equal(liquidationPriceAt(own, 65_000), null);
  // The largest of the rates goes along into isolation and stays, and a gain with it.
  assert.equal(termsAfter(position, { leverage: 100, marginMode: "ISOLATED" }, rates).margin, 6500);
  const rich = { ...own, isolatedMargin: "8000", leverage: 20, notional: "65000" } as Position;
  assert.equal(removableMargin(rich, rates), 1500);
  assert.equal(removableMargin({ ...rich, leverage: 5 }, rates), 0);
  assert.equal(removableMargin({ ...rich, unrealizedPnl: "400" }, rates), 1100);
});

test("a share of a position to close is a step at least, and no more than one order may have", () => {
  const shares = (size: string) => [25, 50, 75, 100].map((percent) => quantityToClose(size, percent, BTC));
  assert.deepEqual(shares("0.001"), ["0.001", "0.001", "0.001", "0.001"]);
  assert.deepEqual(shares("0.005"), ["0.001", "0.002", "0.003", "0.005"]);
  assert.deepEqual(shares("160"), ["40", "80", "100", "100"]);
});

test("a share of the largest order is an order that the exchange takes, or nothing", () => {
  const smallest = (fields: Partial<Draft>, instrument: Partial<Instrument> = {}): string =>
    smallestQuantity({ ...EMPTY_DRAFT, ...fields }, { ...BTC, ...instrument }, 65_000);
  assert.equal(smallest({ kind: "MARKET" }), "0.001");
  assert.equal(smallest({ kind: "MARKET" }, { minQuantity: "0.01" }), "0.01");
  // 130 / 65,000 is two steps exactly, and 131 / 65,000 is a little more.
  assert.equal(smallest({ kind: "MARKET" }, { minNotional: "130" }), "0.002");
  assert.equal(smallest({ kind: "MARKET" }, { minNotional: "131" }), "0.003");
  assert.equal(smallest({ kind: "LIMIT", price: "13,000" }, { minNotional: "130" }), "0.01");
  assert.equal(smallest({ kind: "STOP_MARKET", triggerPrice: "130000" }, { minNotional: "130" }), "0.001");
  // The exchange cuts it to the position.
  assert.equal(smallest({ kind: "MARKET", reduceOnly: true }, { minNotional: "131", minQuantity: "0.01" }), "0.01");

  assert.equal(shareOf("0.01", 25, "0.001", "0.001"), "0.002");
  assert.equal(shareOf("0.002", 25, "0.001", "0.001"), "0.001");
  assert.equal(shareOf("0.05", 25, "0.02", "0.001"), "0.02");
  assert.equal(shareOf("0.002", 100, "0.001", "0.001"), "0.002");
  assert.equal(shareOf("0.002", 0, "0.001", "0.001"), "0");
  // The market has moved since the exchange was asked.
  assert.equal(shareOf("0.002", 25, "0.003", "0.001"), "0.002");
  assert.equal(shareOf("0", 25, "0.001", "0.001"), "0");
});

test("the position after a full fill follows from the position, the fills at once and the price of the rest", () => {
  const tried = (fields: object, size = "0", fills: object[] = [], after = size): DryRunOrder =>
    ({
      ...{ side: "BUY", status: "NEW", price: "64000", remainingQuantity: "0.1", reduceOnly: false, fills },
      ...{ before: { positionSize: size }, after: { positionSize: after } },
      ...fields,
    }) as unknown as DryRunOrder;
  const position = (side: string, size: string) => ({ side, size, entryPrice: "60000" }) as Position;
  const long = position("LONG", "0.1");
  const short = position("SHORT", "0.3");
  assert.deepEqual(positionIfFilled(tried({}), undefined), { size: "0.1", entryPrice: 64_000 });
  assert.deepEqual(positionIfFilled(tried({ side: "SELL" }), undefined), { size: "-0.1", entryPrice: 64_000 });
  // It grows, shrinks, closes and turns.
  assert.deepEqual(positionIfFilled(tried({}, "0.1"), long), { size: "0.2", entryPrice: 62_000 });
  assert.deepEqual(positionIfFilled(tried({}, "-0.3"), short), { size: "-0.2", entryPrice: 60_000 });
  assert.deepEqual(positionIfFilled(tried({ side: "SELL" }, "0.1"), long), { size: "0", entryPrice: null });
  const turned = tried({ side: "SELL", remainingQuantity: "0.3" }, "0.1");
  assert.deepEqual(positionIfFilled(turned, long), { size: "-0.2", entryPrice: 64_000 });
  // A part trades at once, at a better price.
  const part = tried({}, "0", [{ price: "63000", quantity: "0.1" }], "0.1");
  assert.deepEqual(positionIfFilled(part, undefined), { size: "0.2", entryPrice: 63_500 });
  // The exchange cuts a reduce-only order to the position.
  const cut = tried({ side: "SELL", remainingQuantity: "0.3", reduceOnly: true }, "0.1");
  assert.deepEqual(positionIfFilled(cut, long), { size: "0", entryPrice: null });
  // It would trade at a price that nobody knows, or the page has another position than the engine.
  for (const unknown of [{ price: null }, { status: "UNTRIGGERED" }])
    assert.deepEqual(positionIfFilled(tried(unknown), undefined), { size: "0.1", entryPrice: null });
  assert.deepEqual(positionIfFilled(tried({}, "0.2"), long), { size: "0.3", entryPrice: null });
});
