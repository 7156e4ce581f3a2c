import { test } from "node:test";
import type { Trader } from "../support/trader.ts";
import { type Arena, inArena } from "./arena.ts";
import { loseOffMark, prepareElsewhere } from "./off-mark.ts";

/** Incidents on other exchanges, in small. Each has its own sizes and path of prices, and the same measures. */
const SOL = "SOL-PERP";
const SOL_PRICE = 150;
const BTC = "BTC-PERP";
const BTC_PRICE = 60_000;

/** Prices from `from`, each by `rate` further, for so many steps. */
const path = (from: number, rate: number, steps: number, digits = 3): number[] =>
  Array.from({ length: steps }, (_, i) => Number((from * (1 + rate) ** (i + 1)).toFixed(digits)));

/** Both sides of one position, in orders that the exchange takes. */
async function build(arena: Arena, long: Trader, short: Trader, symbol: string, lots: number, price: number) {
  for (let left = lots; left > 0; left -= 10_000)
    await arena.cross(long, short, symbol, String(Math.min(left, 10_000)), String(price));
}

/** Hyperliquid, 26 March 2025: a large short goes to the vault, since its owner takes the margin out, and the price is pumped. */
async function jelly(arena: Arena): Promise<void> {
  await arena.setIndex(SOL, SOL_PRICE);
  const [honestLong, honestShort] = (await arena.citizens(2, "600000", 1, SOL)) as [Trader, Trader];
  await arena.trade(honestLong, honestShort, SOL, "1000", String(SOL_PRICE));
  const longs = (await arena.members(2, "400000", 10, SOL)) as [Trader, Trader];
  const [short] = (await arena.members(1, "900000", 5, SOL)) as [Trader];
  await arena.isolate([short], SOL);
  for (const long of longs) await build(arena, long, short, SOL, 14_000, SOL_PRICE);
  // A little for the short, so that there is something to take out.
  await arena.path(SOL, [SOL_PRICE * 0.99]);
  await short.call(200, "POST", `/positions/${SOL}/leverage`, { leverage: 10 });
  for (let amount = 400_000; amount > 1000; amount /= 2)
    await short.request("POST", `/positions/${SOL}/margin`, { amount: String(-Math.floor(amount)) });
  await arena.withdraw(short);
  await arena.path(SOL, path(SOL_PRICE, 0.07, 8));
  await arena.closeAll(SOL, 3);
  await arena.withdrawAll();
}

/** dYdX v3, November 2023 (YFI): gains become the margin of ever more longs, and the price falls at last. */
async function yfi(arena: Arena): Promise<void> {
  await arena.setIndex(SOL, SOL_PRICE);
  const shorts = await arena.citizens(4, "900000", 1, SOL);
  const [owner, accomplice] = (await arena.members(2, "60000", 10, SOL)) as [Trader, Trader];
  await prepareElsewhere(arena, [owner, accomplice]);
  for (const [i, price] of [SOL_PRICE, ...path(SOL_PRICE, 0.08, 3)].entries()) {
    await arena.step(() => arena.setIndex(SOL, price));
    const offer = { symbol: SOL, type: "LIMIT", price: String(price), quantity: "3000" } as const;
    const { orderId } = await (shorts[i] as Trader).place({ ...offer, side: "SELL" });
    for (const quantity of ["3000", "2000", "1000"])
      await arena.attempt(owner, { ...offer, quantity, side: "BUY", timeInForce: "IOC" });
    await (shorts[i] as Trader).request("DELETE", `/orders/${orderId}`);
    await arena.step(() => loseOffMark(arena, owner, accomplice));
  }
  for (const price of path(SOL_PRICE * 1.26, -0.08, 4)) await arena.step(() => arena.setIndex(SOL, price));
  await arena.closeAll(SOL, 3);
  await arena.withdrawAll();
}

/** Mango Markets, 11 October 2022: one buys from the other, pumps the price and spends the gain, which is its collateral. */
async function mango(arena: Arena): Promise<void> {
  await arena.setIndex(SOL, SOL_PRICE);
  const [honestLong, honestShort] = (await arena.citizens(2, "900000", 1, SOL)) as [Trader, Trader];
  await arena.trade(honestLong, honestShort, SOL, "2000", SOL_PRICE);
  const [long, short, receiver] = (await arena.members(3, "300000", 10, SOL)) as [Trader, Trader, Trader];
  await prepareElsewhere(arena, [long, receiver]);
  await build(arena, long, short, SOL, 18_000, SOL_PRICE);
  for (const price of path(SOL_PRICE, 0.095, 5)) {
    await arena.step(() => arena.setIndex(SOL, price));
    await arena.step(() => loseOffMark(arena, long, receiver));
  }
  for (const price of path(SOL_PRICE * 1.57, -0.095, 3)) await arena.step(() => arena.setIndex(SOL, price));
  await arena.closeAll(SOL, 3);
  await arena.withdrawAll();
}

/** 10 October 2025: a fall through all books. Hedged accounts lose one leg to deleveraging, and then the other one fails. */
async function cascade(arena: Arena): Promise<void> {
  await arena.setIndex(BTC, BTC_PRICE);
  await arena.setIndex(SOL, SOL_PRICE);
  const hedged = await arena.citizens(3, "40000", 5, BTC);
  const others = (await arena.citizens(2, "400000", 1, SOL)) as [Trader, Trader];
  const crowd = await arena.members(6, "6500", 25, BTC);
  for (const trader of hedged) await trader.call(200, "POST", `/positions/${SOL}/leverage`, { leverage: 5 });
  // Each is short in one market and long in the other by the same notional.
  for (const [i, trader] of hedged.entries()) {
    for (const long of crowd.slice(2 * i, 2 * i + 2)) await arena.trade(long, trader, BTC, "1", String(BTC_PRICE));
    await arena.trade(trader, others[0], SOL, "400", String(SOL_PRICE));
  }
  await arena.trade(others[1], others[0], SOL, "200", String(SOL_PRICE));
  const falls = path(1, -0.08, 4, 4);
  for (const part of falls) {
    await arena.step(() => arena.setIndex(BTC, Math.round(BTC_PRICE * part)));
    await arena.step(() => arena.setIndex(SOL, Number((SOL_PRICE * part).toFixed(3))));
  }
  await arena.closeAll(BTC);
  await arena.withdrawAll();
}

const INCIDENTS: Record<string, { fund: string; run: (arena: Arena) => Promise<void> }> = {
  "a short with little margin is handed over and the price is pumped (JELLY)": { fund: "500000", run: jelly },
  "gains are the margin of more longs until the price falls (YFI)": { fund: "100000", run: yfi },
  "a pumped gain is spent as collateral (Mango)": { fund: "100000", run: mango },
  "a fall of 28 % closes one leg of hedged accounts (10 October 2025)": { fund: "1000", run: cascade },
};

for (const [name, { fund, run }] of Object.entries(INCIDENTS))
  test(`${name}: nobody takes what nobody paid in`, async (t) => {
    t.diagnostic(await inArena({ fund }, run));
  });
