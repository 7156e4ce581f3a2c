import { test } from "node:test";
import type { NewOrder } from "../../../src/client/types.ts";
import type { Trader } from "../support/trader.ts";
import { type Arena, type ArenaOptions, inArena } from "./arena.ts";

/**
 * Attack A2: W is short and L is long, both at 100x. The index falls in one step. Before L is liquidated W buys back from C,
 * who has almost nothing, and withdraws the gain that L cannot pay. Then deleveraging meets C.
 */
const SYMBOL = "BTC-PERP";
const QUANTITY = "4.9";
const START = 60_000;
const FALLEN = 54_000;
const GROUPS = 3;

type OrderTerms = Pick<NewOrder, "type" | "triggerPrice" | "triggerBy">;

interface Attack {
  /** The orders wait for the mark: no reaction time is needed. */
  triggers?: boolean;
  isolated?: boolean;
  crashes?: boolean;
}

async function attack(arena: Arena, { triggers, isolated, crashes }: Attack): Promise<void> {
  await arena.setIndex(SYMBOL, START);
  const [honestLong, honestShort] = (await arena.citizens(2, "200000", 2)) as [Trader, Trader];
  await arena.trade(honestLong, honestShort, SYMBOL, "2", START);
  const winners = await arena.members(GROUPS, "3400", 100);
  const losers = await arena.members(GROUPS, "3400", 100);
  const accomplices = await arena.members(GROUPS, "3400", 100);
  if (isolated) await arena.isolate(arena.coalition);
  for (const [i, loser] of losers.entries()) await arena.trade(loser, winners[i] as Trader, SYMBOL, QUANTITY, START);
  const order = { symbol: SYMBOL, price: String(FALLEN), quantity: QUANTITY } as const;
  const buyBack = async (sell: OrderTerms, buy: OrderTerms) => {
    for (const [i, winner] of winners.entries()) {
      await arena.attempt(accomplices[i] as Trader, { ...order, ...sell, side: "SELL" });
      await arena.attempt(winner, { ...order, ...buy, side: "BUY" });
    }
  };
  const trigger = { triggerPrice: "56800", triggerBy: "MARK" } as const;
  if (triggers) await buyBack({ ...trigger, type: "STOP" }, { ...trigger, type: "TAKE_PROFIT" });

  await arena.step(async () => {
    await arena.setIndex(SYMBOL, FALLEN);
    if (!triggers) await buyBack({ type: "LIMIT" }, { type: "LIMIT" });
    if (crashes) await arena.crash();
    await arena.withdrawAll();
  });
  await arena.closeAll(SYMBOL);
  await arena.withdrawAll();
}

const ATTACKS: Record<string, Attack & ArenaOptions> = {
  "from an accomplice before the loser is liquidated": { fund: "1000" },
  "by orders that waited for the mark, with isolated margin": {
    fund: "1000",
    triggers: true,
    isolated: true,
    workers: 2,
  },
  "from an accomplice, and a rich fund pays for the loser": { fund: "1000000" },
  "by orders that waited for the mark, and the server crashes": { fund: "1000", triggers: true, crashes: true },
};

for (const [name, options] of Object.entries(ATTACKS))
  test(`A2: a coalition that buys back ${name} takes nothing`, async (t) => {
    // The longer the tick, the more time there is before a liquidation.
    t.diagnostic(await inArena({ tickMs: 120, ...options }, (arena) => attack(arena, options)));
  });
