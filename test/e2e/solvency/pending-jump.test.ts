import { test } from "node:test";
import type { Trader } from "../support/trader.ts";
import { type Arena, type ArenaOptions, inArena } from "./arena.ts";

/**
 * Attack A1: the coalition knows the next index price and opens both sides at 100x before it counts. One side gains the
 * whole move, the other loses no more than its margin.
 */
const SYMBOL = "BTC-PERP";
const QUANTITY = "4.9";
const START = 60_000;
const PAIRS = 3;

interface Attack {
  /** The index moves there in one step. */
  price: number;
  isolated?: boolean;
  /** The coalition opens while the exchange waits until the feed confirms the price. */
  whilePending?: boolean;
  crashes?: boolean;
}

async function attack(arena: Arena, { price, isolated, whilePending, crashes }: Attack): Promise<void> {
  await arena.setIndex(SYMBOL, START);
  const [honestLong, honestShort] = (await arena.citizens(2, "100000", 2)) as [Trader, Trader];
  await arena.trade(honestLong, honestShort, SYMBOL, "1", START);
  const longs = await arena.members(PAIRS, "3400", 100);
  const shorts = await arena.members(PAIRS, "3400", 100);
  if (isolated) await arena.isolate(arena.coalition);

  if (whilePending) await arena.announce(SYMBOL, price);
  for (const [i, long] of longs.entries()) {
    const short = shorts[i] as Trader;
    if (whilePending) await arena.cross(long, short, SYMBOL, QUANTITY, START);
    else await arena.trade(long, short, SYMBOL, QUANTITY, START);
  }

  await arena.step(async () => {
    if (whilePending) while (!(await arena.announce(SYMBOL, price)));
    else await arena.setIndex(SYMBOL, price);
    if (crashes) await arena.crash();
  });
  await arena.closeAll(SYMBOL);
  await arena.withdrawAll();
}

const ATTACKS: Record<string, Attack & ArenaOptions> = {
  "while a jump of 13.5 % down waits for its confirmation": {
    ...{ fund: "1000000", price: START * 0.865, whilePending: true, workers: 2 },
  },
  "before a rise of 2 %": { fund: "1000000", price: START * 1.02 },
  "before a fall of 8 %, with isolated margin": { fund: "1000000", price: START * 0.92, isolated: true, workers: 2 },
  "before a fall of 6 %, and the server crashes right behind the price": {
    ...{ fund: "100000", price: START * 0.94, crashes: true },
  },
};

for (const [name, options] of Object.entries(ATTACKS))
  test(`A1: a coalition that opens both sides ${name} takes nothing`, async (t) => {
    t.diagnostic(await inArena(options, (arena) => attack(arena, options)));
  });
