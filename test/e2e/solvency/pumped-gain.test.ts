import { test } from "node:test";
import type { Trader } from "../support/trader.ts";
import { type Arena, type ArenaOptions, inArena } from "./arena.ts";
import { loseOffMark, prepareElsewhere } from "./off-mark.ts";

/**
 * Attack A4: the coalition is long against traders who are short without leverage. The price rises by 30 % and comes back.
 * At the top the unrealised gain is lost to an accomplice in another symbol. Then deleveraging takes the principal of the
 * shorts.
 */
const SYMBOL = "SOL-PERP";
const START = 150;
const UP = [164, 180, 195];
const LONG_PER_HONEST = "5000";

interface Attack {
  down: number[];
  crashes?: boolean;
  /** The losing position stays open, so that its loss is not settled when the owner withdraws. */
  leavesOpen?: boolean;
}

async function attack(arena: Arena, { down, crashes, leavesOpen }: Attack): Promise<void> {
  await arena.setIndex(SYMBOL, START);
  const shorts = await arena.citizens(4, "800000", 1, SYMBOL);
  const [owner, accomplice] = (await arena.members(2, "330000", 10, SYMBOL)) as [Trader, Trader];
  await prepareElsewhere(arena, [owner, accomplice]);
  for (const short of shorts) await arena.trade(owner, short, SYMBOL, LONG_PER_HONEST, START);

  for (const price of UP) await arena.step(() => arena.setIndex(SYMBOL, price));
  await arena.step(() => loseOffMark(arena, owner, accomplice, !leavesOpen));
  if (crashes) await arena.crash();
  for (const price of down) await arena.step(() => arena.setIndex(SYMBOL, price));
  await arena.closeAll(SYMBOL, 3);
  await arena.withdrawAll();
}

const ATTACKS: Record<string, Attack & ArenaOptions> = {
  "before the price comes back in one step": { fund: "10000", down: [START] },
  "and leaves the loss open before the price comes back": { fund: "10000", down: [176, 160, START], leavesOpen: true },
  "before the price comes back, on two workers, and the server crashes": {
    ...{ fund: "500000", down: [176, 160, START], workers: 2, crashes: true },
  },
};

for (const [name, options] of Object.entries(ATTACKS))
  test(`A4: a coalition that moves a pumped gain away ${name} takes nothing`, async (t) => {
    t.diagnostic(await inArena(options, (arena) => attack(arena, options)));
  });
