import { test } from "node:test";
import type { Trader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";
import { type Arena, type ArenaOptions, inArena } from "./arena.ts";
import { ELSEWHERE, loseOffMark, prepareElsewhere } from "./off-mark.ts";

/**
 * Attack A3: a gain in a symbol whose index is stale cannot be withdrawn. So its owner loses it to an accomplice in another
 * symbol, off the mark. The accomplice withdraws. The next price takes the gain back from an account that no longer has it.
 */
const SYMBOL = "BTC-PERP";
const START = 60_000;
const LOW = 54_200;
const SHORT_PER_HONEST = "16";
const REFRESH_MS = 200;

interface Attack {
  /** How old an index price may be. */
  environment?: { PERPD_MAX_INDEX_AGE_MS: string };
  /** In the other symbol the losses have a margin of their own. */
  isolated?: boolean;
  crashes?: boolean;
}

async function attack(arena: Arena, { environment, isolated, crashes }: Attack): Promise<void> {
  const [owner, accomplice] = await whileFresh(arena, async () => {
    const longs = await arena.citizens(4, "1000000", 1);
    const members = (await arena.members(2, "330000", 25)) as [Trader, Trader];
    await prepareElsewhere(arena, members);
    if (isolated) await arena.isolate(members.slice(0, 1), ELSEWHERE.symbol);
    for (const long of longs) await arena.trade(long, members[0], SYMBOL, SHORT_PER_HONEST, START);
    return members;
  });

  await arena.step(() => arena.setIndex(SYMBOL, LOW));
  if (environment !== undefined) await until("the index to be stale", () => isStale(owner));
  await arena.step(async () => {
    await loseOffMark(arena, owner, accomplice);
    if (crashes) await arena.crash();
  });

  for (const price of [(START + LOW) / 2, START, START * 1.03]) await arena.step(() => arena.setIndex(SYMBOL, price));
  await arena.closeAll(SYMBOL);
  await arena.withdrawAll();
}

/** Repeats the index prices meanwhile, so that they do not become stale on a slow machine. */
async function whileFresh<T>(arena: Arena, act: () => Promise<T>): Promise<T> {
  const refresh = async () => {
    await arena.setIndex(SYMBOL, START);
    await arena.setIndex(ELSEWHERE.symbol, ELSEWHERE.price);
  };
  await refresh();
  let isOver = false;
  const feed = (async () => {
    for (; !isOver; await pause(REFRESH_MS)) await refresh();
  })();
  try {
    return await act();
  } finally {
    isOver = true;
    await feed;
  }
}

async function isStale(trader: Trader): Promise<boolean> {
  const order = { symbol: SYMBOL, side: "SELL", type: "LIMIT", price: String(LOW), quantity: "0.001", dryRun: true };
  return (await trader.request<{ code: string }>("POST", "/orders", order)).body.code === "STALE_PRICE";
}

const STALE = { environment: { PERPD_MAX_INDEX_AGE_MS: "2500" } };
const ATTACKS: Record<string, Attack & ArenaOptions> = {
  "a gain in a stale symbol": { fund: "1000", ...STALE },
  "a gain in a stale symbol, on two workers with a crash,": {
    ...{ fund: "100000", workers: 2, crashes: true, ...STALE },
  },
  "an unrealised gain by isolated positions": { fund: "1000", isolated: true },
};

for (const [name, options] of Object.entries(ATTACKS))
  test(`A3: a coalition that moves ${name} to an accomplice takes nothing`, async (t) => {
    t.diagnostic(await inArena(options, (arena) => attack(arena, options)));
  });
