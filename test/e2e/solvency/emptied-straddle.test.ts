import { test } from "node:test";
import type { Trader } from "../support/trader.ts";
import { type Arena, inArena } from "./arena.ts";

/**
 * Attack A9: after a move of the index, two members open the same position on both sides with the margin that opening needs
 * then. They take it out again at once, down to that of the leverage if they may. The next jump makes one of them bankrupt, and the
 * other one gains what honest winners of that step lose.
 */
const SYMBOL = "BTC-PERP";
const START = 65_000;
const MOVED = 68_250;
const JUMP = 0.05;

type Emptying = (arena: Arena, member: Trader) => Promise<unknown>;

const withdraw: Emptying = (arena, member) => arena.withdraw(member);

const isolate: Emptying = async (arena, member) => {
  await arena.isolate([member]);
  const { isolatedMargin } = (await member.position(SYMBOL))!;
  for (const share of [0.8, 0.5, 0.1]) {
    const amount = `-${(Number(isolatedMargin) * share).toFixed(6)}`;
    await member.request("POST", `/positions/${SYMBOL}/margin`, { amount });
  }
  await arena.withdraw(member);
};

const moveElsewhere: Emptying = async (arena, member) => {
  const [partner] = (await arena.citizens(1, "100000", 10, "ETH-PERP")) as [Trader];
  await arena.isolate([member], "ETH-PERP");
  await arena.trade(member, partner, "ETH-PERP", "0.1", 3000);
  const { withdrawable } = await member.balance();
  for (const amount of ["5000", withdrawable]) await member.request("POST", "/positions/ETH-PERP/margin", { amount });
};

async function attack(arena: Arena, empty: Emptying, direction: number): Promise<void> {
  await arena.setIndex("ETH-PERP", 3000);
  await arena.setIndex(SYMBOL, START);
  const [seller, buyer] = (await arena.citizens(2, "900000", 10)) as [Trader, Trader];
  const [long, short] = (await arena.members(2, "7200", 100)) as [Trader, Trader];
  await arena.step(() => arena.setIndex(SYMBOL, MOVED));
  await arena.trade(long, seller, SYMBOL, "1", MOVED);
  await arena.trade(buyer, short, SYMBOL, "1", MOVED);
  for (const member of [long, short]) await empty(arena, member);
  await arena.step(() => arena.setIndex(SYMBOL, MOVED * (1 + direction * JUMP)));
}

const ATTACKS: [string, number, Emptying][] = [
  ["a withdrawal", -1, withdraw],
  ["isolated margin that is taken out again", 1, isolate],
  ["margin of an isolated position in another symbol", -1, moveElsewhere],
];

for (const [way, direction, empty] of ATTACKS)
  test(`A9: a straddle that is emptied by ${way} gains nothing`, async (t) => {
    t.diagnostic(await inArena({ fund: "1000000" }, (arena) => attack(arena, empty, direction)));
  });
