import { suite, test } from "node:test";
import { TRACED_MS } from "../../../src/core/state/recent-fills.ts";
import type { Trader } from "../support/trader.ts";
import { pause } from "../support/wait.ts";
import { type Arena, inArena } from "./arena.ts";

/**
 * As A1, but the exchange cannot simply see who won against whom. Each winner has much more margin than it needs, so that
 * by rank it is closed last.
 */
const SYMBOL = "BTC-PERP";
const QUANTITY = "4.9";
const START = 60_000;
const FALLEN = 57_000;
const GROUPS = 3;

/** Others that win and lose by the step: 20 BTC against each other. */
async function openHonest(arena: Arena): Promise<void> {
  const [long, short] = (await arena.citizens(2, "160000", 10)) as [Trader, Trader];
  await arena.trade(long, short, SYMBOL, "20", START);
}

async function fall(arena: Arena): Promise<void> {
  await arena.step(() => arena.setIndex(SYMBOL, FALLEN));
  await arena.closeAll(SYMBOL);
  await arena.withdrawAll();
}

/** The winners sell to an honest maker's bid, and then the losers buy at its ask: they never meet. */
async function throughMaker(arena: Arena): Promise<void> {
  await arena.setIndex(SYMBOL, START);
  await openHonest(arena);
  const [maker] = (await arena.citizens(1, "1000000", 20)) as [Trader];
  const winners = await arena.members(GROUPS, "150000", 100);
  const losers = await arena.members(GROUPS, "3400", 100);
  await maker.buy("30", "59995");
  await maker.sell("30", "60005");
  for (const winner of winners) await winner.sell(QUANTITY, "59995", { timeInForce: "IOC" });
  for (const loser of losers) await loser.buy(QUANTITY, "60005", { timeInForce: "IOC" });
  await maker.cancelAll();
  await fall(arena);
}

/**
 * The winners have held their shorts against others of the coalition for long. Right before the fall these sell their longs
 * to the losers. Nothing tells such winners from honest ones.
 */
async function agedWinners(arena: Arena): Promise<void> {
  await arena.setIndex(SYMBOL, START);
  const winners = await arena.members(GROUPS, "150000", 100);
  const holders = await arena.members(GROUPS, "3400", 100);
  const losers = await arena.members(GROUPS, "3400", 100);
  for (const [i, holder] of holders.entries()) await arena.trade(holder, winners[i] as Trader, SYMBOL, QUANTITY, START);
  await openHonest(arena);

  await pause(TRACED_MS + 500);
  await arena.step(() => arena.setIndex(SYMBOL, START + 1));
  for (const [i, loser] of losers.entries())
    await arena.trade(loser, holders[i] as Trader, SYMBOL, QUANTITY, START + 1);
  await fall(arena);
}

suite("A1", { concurrency: true }, () => {
  test("a coalition that trades through an honest maker before a fall takes nothing", async (t) => {
    t.diagnostic(await inArena({ fund: "1000" }, throughMaker));
  });
  test("winners of long ago take no more than honest winners' gain of the step beyond the losers' margin, and the allowance", async (t) => {
    t.diagnostic(await inArena({ fund: "1000000" }, agedWinners, "GAINS_OF_THE_STEP"));
  });
});
