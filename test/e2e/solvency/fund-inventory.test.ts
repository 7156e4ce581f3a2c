import { test } from "node:test";
import type { Trader } from "../support/trader.ts";
import { type Arena, inArena } from "./arena.ts";

/**
 * Attack A5: the coalition is long and short by the same amount. The price moves in steps of 1 %, so that the side which fails
 * is never bankrupt when it is liquidated. The insurance fund takes over what nobody buys, and the price goes on.
 */
const SYMBOL = "SOL-PERP";
const START = 150;
const MOST_PER_ORDER = 15_000;

interface Attack {
  pairs: number;
  /** Of each side of a pair. */
  quantity: number;
  money: string;
  leverage: number;
  steps: number;
  /** 0.01 = up by 1 % at each step. */
  rate: number;
  isolated?: boolean;
}

async function attack(arena: Arena, options: Attack): Promise<void> {
  const { pairs, quantity, money, leverage, steps, rate, isolated } = options;
  await arena.setIndex(SYMBOL, START);
  const [long, short] = (await arena.citizens(2, "400000", 1, SYMBOL)) as [Trader, Trader];
  await arena.trade(long, short, SYMBOL, "1000", START);
  const longs = await arena.members(pairs, money, leverage, SYMBOL);
  const shorts = await arena.members(pairs, money, leverage, SYMBOL);
  if (isolated) await arena.isolate(arena.coalition, SYMBOL);
  for (const [i, member] of longs.entries())
    for (let left = quantity; left > 0; left -= MOST_PER_ORDER)
      await arena.trade(member, shorts[i] as Trader, SYMBOL, String(Math.min(left, MOST_PER_ORDER)), START);
  for (let step = 1; step <= steps; step++)
    await arena.step(() => arena.setIndex(SYMBOL, Number((START * (1 + rate * step)).toFixed(3))));
  await arena.closeAll(SYMBOL, 3);
  await arena.withdrawAll();
}

test("A5: a coalition that pumps a price by 16 % in steps against its own shorts of 18 million takes nothing", async (t) => {
  const options = { pairs: 4, quantity: 30_000, money: "470000", leverage: 10, steps: 16, rate: 0.01 };
  t.diagnostic(await inArena({ fund: "1000000" }, (arena) => attack(arena, options)));
});

test("A5: a coalition whose isolated longs fail one after the other takes nothing", async (t) => {
  const options = { pairs: 3, quantity: 10_000, money: "90000", leverage: 20, steps: 8, rate: -0.015, isolated: true };
  t.diagnostic(await inArena({ fund: "1000000", workers: 2 }, (arena) => attack(arena, options)));
});
