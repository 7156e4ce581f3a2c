import { BUY, BY_LAST, BY_MARK, SELL } from "../../src/core/base/enums.ts";
import type { Random } from "../../src/sandbox/random.ts";
import { RUN_SLOTS, type Scenario, START_TICKS } from "./scenario.ts";
import { type Action, action, type Strategy } from "./strategy.ts";
import { SLOT_MS } from "./world.ts";

/** Where the search begins: the attacks of issue 20, A1 to A8, as far as a scenario allows them. */

/** The largest move of a market within one price: the slot at which it comes, and its sign. */
interface Move {
  readonly symbol: number;
  readonly slot: number;
  readonly sign: number;
  readonly rate: number;
}

const slots = (ms: number): number => Math.round(ms / SLOT_MS);

function largestMove({ markets }: Scenario, onlySymbol: number | null = null): Move {
  let largest: Move = { symbol: 0, slot: RUN_SLOTS / 2, sign: 1, rate: 0 };
  for (const [symbol, { path }] of markets.entries()) {
    if (onlySymbol !== null && symbol !== onlySymbol) continue;
    for (let i = 1; i < path.length; i++) {
      const rate = path[i].ticks / path[i - 1].ticks - 1;
      if (Math.abs(rate) > Math.abs(largest.rate))
        largest = { symbol, slot: path[i].slot, sign: Math.sign(rate), rate };
    }
  }
  return largest;
}

/** Any step of a market that moves. */
function someMove(random: Random, { markets }: Scenario): Move {
  const symbol = Math.floor(random.uniform() * markets.length);
  const { path } = markets[symbol];
  const moves = path.map(({ ticks }, i) => (i === 0 ? 0 : ticks / path[i - 1].ticks - 1));
  const steps = path.flatMap(({ slot }, i) => (i > 1 && moves[i] !== 0 ? [{ slot, rate: moves[i] }] : []));
  if (steps.length === 0) return { symbol, slot: RUN_SLOTS / 2, sign: 1, rate: 0 };
  const { slot, rate } = random.pick(steps);
  return { symbol, slot, sign: Math.sign(rate), rate };
}

/** A market's lowest and highest price, as slots. */
function extremesOf({ markets }: Scenario, symbol: number): { low: number; high: number } {
  const { path } = markets[symbol];
  const by = (sign: number): number =>
    path.reduce((best, each) => (sign * each.ticks > sign * best.ticks ? each : best)).slot;
  return { low: by(-1), high: by(1) };
}

const equal = ({ accounts }: Scenario): number[] => Array.from({ length: accounts }, () => 1);

/** Almost all of the capital for some accounts, and very little for the others. */
const unequal = ({ accounts }: Scenario, rich: (account: number) => boolean): number[] =>
  Array.from({ length: accounts }, (_, account) => (rich(account) ? 1 : 0.002));

/** Every second account is long, its neighbour short, before the price moves by `leadSlots`. */
function openPairs(scenario: Scenario, { symbol, slot, sign }: Move, leadSlots: number, pairs = 6): Action[] {
  const actions: Action[] = [];
  for (let i = 0; i + 1 < scenario.accounts && i / 2 < pairs; i += 2)
    actions.push(
      action({
        slot: Math.max(0, slot - leadSlots),
        kind: "PAIR",
        account: i,
        partner: i + 1,
        symbol,
        side: sign > 0 ? BUY : SELL,
      }),
    );
  return actions;
}

/** A1: pairs at the highest leverage before a move that is already known, and patience. */
function knownMove(random: Random, scenario: Scenario): Strategy {
  const move = largestMove(scenario);
  const lead = slots(random.pick([50, 500, 1500, 3000, 8000]));
  // A pending jump moves the mark only later: then the pairs open after the first price.
  const open = openPairs(scenario, move, random.chance(0.3) ? -slots(random.pick([50, 500, 1200])) : lead);
  return { origin: "A1", shares: equal(scenario), actions: open };
}

/** A1 without a partner: quotes of a market maker are hit while a price that jumped waits for confirmation. */
function hitQuotes(random: Random, scenario: Scenario): Strategy {
  const { symbol, slot, sign } = largestMove(scenario);
  const actions: Action[] = [];
  for (let account = 0; account < scenario.accounts; account++) {
    const at = slot + slots(random.pick([50, 500, 1500]));
    actions.push(action({ slot: at, kind: "MARKET", account, symbol, side: sign > 0 ? BUY : SELL }));
  }
  return { origin: "A1 with quotes", shares: equal(scenario), actions };
}

/** The loser passes its position on to an account of the same owner before the move: who pays when that is bankrupt? */
function passOn(random: Random, scenario: Scenario): Strategy {
  const move = largestMove(scenario);
  const { symbol, slot, sign } = move;
  const lead = slots(random.pick([1000, 3000, 9000, 16_000]));
  const actions = openPairs(scenario, move, lead, Math.max(1, Math.floor(scenario.accounts / 3)));
  const passed = Math.max(0, slot - lead) + Math.floor(random.uniform() * lead);
  const heirs = 2 * Math.max(1, Math.floor(scenario.accounts / 3));
  for (let i = 0; i + 1 < heirs; i += 2) {
    const account = i + 1;
    const partner = (heirs + i / 2) % scenario.accounts;
    actions.push(action({ slot: passed, kind: "PAIR", account, partner, symbol, side: sign > 0 ? BUY : SELL }));
    actions.push(action({ slot: slot + 1, kind: "WITHDRAW", account: i }));
  }
  return { origin: "passed on", shares: equal(scenario), actions };
}

/** A2: the winner sells to an account with almost nothing before the loser is liquidated, and withdraws. */
function sellToPauper(random: Random, scenario: Scenario): Strategy {
  const move = random.chance(0.5) ? largestMove(scenario) : someMove(random, scenario);
  const { symbol, slot, sign } = move;
  const actions = openPairs(scenario, move, slots(random.pick([500, 1500, 3000])), Math.floor(scenario.accounts / 3));
  const paupers = Math.max(2, 2 * Math.floor(scenario.accounts / 3));
  const shares = unequal(scenario, (account) => account < paupers);
  for (let i = 0; i < paupers; i += 2) {
    const pauper = paupers + ((i / 2) % Math.max(1, scenario.accounts - paupers));
    const after = slot + slots(random.pick([0, 50, 100, 200]));
    const side = sign > 0 ? SELL : BUY;
    if (pauper < scenario.accounts)
      actions.push(action({ slot: after, kind: "PAIR", account: i, partner: pauper, symbol, side }));
    actions.push(action({ slot: after, kind: "WITHDRAW", account: i }));
    actions.push(action({ slot: after + 1, kind: "WITHDRAW", account: i }));
  }
  return { origin: "A2", shares, actions };
}

/** A2 without a reaction time: the winner's take-profit meets a bid that rests already. */
function sellByTrigger(random: Random, scenario: Scenario): Strategy {
  const move = largestMove(scenario);
  const { symbol, slot, sign, rate } = move;
  const actions = openPairs(scenario, move, slots(3000), 1);
  const out = sign > 0 ? SELL : BUY;
  const target = Math.round(rate * 1e6 * random.pick([0.3, 0.6, 0.9]));
  actions.push(
    action({ slot: slot - slots(2000), kind: "TAKE_PROFIT", account: 0, symbol, side: out, ppm: target, by: BY_MARK }),
    action({
      slot: slot - slots(1000),
      kind: "ENTRY_STOP",
      account: 2 % scenario.accounts,
      symbol,
      side: out ^ 1,
      ppm: target,
      by: BY_MARK,
    }),
    action({
      slot: slot - slots(1000),
      kind: "LIMIT",
      account: 3 % scenario.accounts,
      symbol,
      side: out ^ 1,
      ppm: Math.min(49_000, Math.max(-49_000, target)),
    }),
    action({ slot: slot + 1, kind: "WITHDRAW", account: 0 }),
    action({ slot: slot + slots(300), kind: "WITHDRAW", account: 0 }),
  );
  return { origin: "A2 by trigger", shares: unequal(scenario, (account) => account < 2), actions };
}

/** Accounts that lose in one symbol hold a position in another, whose price stands still: who pays for the loss? */
function twoSymbols(random: Random, scenario: Scenario): Strategy {
  const move = largestMove(scenario);
  const other = (move.symbol + 1) % scenario.markets.length;
  const lead = slots(random.pick([500, 3000]));
  const actions: Action[] = [];
  for (let i = 0; i + 1 < scenario.accounts; i += 2)
    for (const symbol of [other, move.symbol])
      actions.push(
        action({
          slot: Math.max(0, move.slot - lead),
          kind: random.chance(0.3) ? "MARKET" : "PAIR",
          account: i,
          partner: i + 1,
          symbol,
          side: move.sign > 0 ? SELL : BUY,
          size: symbol === other ? random.pick([0.2, 0.5, 0.8]) : 1,
        }),
      );
  return { origin: "two symbols", shares: equal(scenario), actions };
}

/** A gain against market makers: the position is opened well before the move, when a pumped price has not risen yet. */
function hitBeforeTop({ symbol, slot, sign }: Move): Action[] {
  const at = Math.max(1, slot - slots(6000));
  return [action({ slot: at, kind: "MARKET", account: 0, symbol, side: sign > 0 ? BUY : SELL })];
}

/** The top of a pumped price. */
function topOf(scenario: Scenario): Move | null {
  const symbol = scenario.markets.findIndex(({ kind }) => kind === "pump");
  if (symbol < 0) return null;
  const { low, high } = extremesOf(scenario, symbol);
  const isHigh = scenario.markets[symbol].path.some(({ ticks }) => ticks > START_TICKS * 1.04);
  return { symbol, slot: isHigh ? high : low, sign: isHigh ? 1 : -1, rate: 0.1 };
}

/** A3: a gain that may not be withdrawn is lost to an accomplice in another symbol, off the mark. */
function moveGain(random: Random, scenario: Scenario): Strategy {
  const move = (random.chance(0.5) ? topOf(scenario) : null) ?? largestMove(scenario);
  const other = (move.symbol + 1) % scenario.markets.length;
  const actions = random.chance(0.5)
    ? openPairs(scenario, move, slots(random.pick([1000, 3000])), 2)
    : hitBeforeTop(move);
  const accomplice = scenario.accounts - 1;
  const side = random.chance(0.5) ? BUY : SELL;
  const off = side === BUY ? 48_000 : -48_000;
  for (let i = 0; i < 4; i++) {
    const at = move.slot + slots(50 + i * random.pick([50, 500, 1500]));
    const size = random.pick([1, 0.5]);
    actions.push(
      action({ slot: at, kind: "PAIR", account: 0, partner: accomplice, symbol: other, side, ppm: off, size }),
      action({ slot: at + 1, kind: "PAIR", account: accomplice, partner: 0, symbol: other, side, ppm: 0 }),
      action({ slot: at + 2, kind: "WITHDRAW", account: accomplice }),
    );
  }
  return { origin: "A3", shares: equal(scenario), actions };
}

/**
 * The margin of an isolated position comes from the gain of a cross position, which is lost again. Before its orders fill, the
 * settled money that they have reserved has left: it is withdrawn, or lost to an accomplice off the mark of a third symbol.
 */
function isolateGain(random: Random, scenario: Scenario): Strategy {
  const { markets, accounts } = scenario;
  const { symbol, slot, sign } = topOf(scenario) ?? largestMove(scenario);
  const [other, third] = [1, 2].map((next) => (symbol + next) % markets.length);
  const accomplice = accounts - 1;
  const actions = [action({ slot: 0, kind: "MODE", account: 0, symbol: other })];
  // All is opened before the price moves. So a price that comes back takes the gains and little more.
  const start = markets[symbol].path.find(({ ticks }) => Math.abs(ticks / START_TICKS - 1) > 0.01)?.slot ?? slot;
  for (let at = start - slots(500); at > 0; at -= slots(1000))
    actions.push(action({ slot: at, kind: "MARKET", account: 0, symbol, side: sign > 0 ? BUY : SELL }));
  for (let left = random.pick([1, 2, 4]); left > 0; left--)
    actions.push(action({ slot: slot + 1, kind: "LIMIT", account: 0, symbol: other, side: BUY }));
  if (third === symbol || random.chance(0.5)) actions.push(action({ slot: slot + 2, kind: "WITHDRAW", account: 0 }));
  else {
    const pair = { kind: "PAIR", symbol: third, side: BUY } as const;
    actions.push(action({ ...pair, slot: slot + 2, account: 0, partner: accomplice, ppm: 48_000 }));
    actions.push(action({ ...pair, slot: slot + 3, account: accomplice, partner: 0 }));
  }
  actions.push(action({ slot: slot + 4, kind: "IOC", account: accomplice, symbol: other, side: SELL }));
  return { origin: "gain isolated", shares: equal(scenario), actions };
}

/** A4: the gain of a pumped price is taken out before it comes back. */
function pumpAndBack(random: Random, scenario: Scenario): Strategy {
  const pump = topOf(scenario) ?? largestMove(scenario);
  const { symbol, slot: top } = pump;
  const up: Move = { ...pump, slot: Math.max(0, top - slots(6000)) };
  const actions = openPairs(scenario, up, slots(random.pick([0, 2000])), 3);
  const last = scenario.accounts - 1;
  actions.push(
    action({ slot: top, kind: "PAIR", account: 0, partner: last, symbol, side: up.sign > 0 ? SELL : BUY }),
    action({ slot: top + 1, kind: "WITHDRAW", account: 0 }),
    action({
      slot: top + 2,
      kind: "PAIR",
      account: 2 % (last + 1),
      partner: last,
      symbol,
      side: up.sign > 0 ? SELL : BUY,
    }),
    action({ slot: top + 3, kind: "WITHDRAW", account: 2 % (last + 1) }),
  );
  return { origin: "A4", shares: equal(scenario), actions };
}

/** A5: a large long and short of one owner, opened again at each step of the price, so that the fund takes the losing side. */
function steps(random: Random, scenario: Scenario): Strategy {
  const { symbol, sign } = largestMove(scenario);
  const actions: Action[] = [];
  const { path } = scenario.markets[symbol];
  for (let i = 1, pair = 0; i < path.length; i++) {
    if (Math.abs(path[i].ticks / path[i - 1].ticks - 1) < 0.004) continue;
    const slot = path[i].slot - slots(random.pick([100, 500]));
    const account = (pair * 2) % Math.max(1, scenario.accounts - 1);
    actions.push(action({ slot, kind: "PAIR", account, partner: account + 1, symbol, side: sign > 0 ? BUY : SELL }));
    actions.push(action({ slot: path[i].slot + slots(700), kind: "CLOSE", account, symbol }));
    if (++pair > 10) break;
  }
  if (actions.length === 0) return knownMove(random, scenario);
  return { origin: "A5", shares: equal(scenario), actions };
}

/** A7: a small trade far from the mark fires a stop at the last price, and a bid waits for it. */
function fireStop(random: Random, scenario: Scenario): Strategy {
  const symbol = Math.max(
    0,
    scenario.markets.findIndex(({ stopPpm }) => stopPpm !== 0),
  );
  const { stopPpm } = scenario.markets[symbol];
  const last = scenario.accounts - 1;
  const at = 10 + Math.floor(random.uniform() * 300);
  return {
    origin: "A7",
    shares: equal(scenario),
    actions: [
      action({ slot: at, kind: "PAIR", account: 0, partner: last, symbol, side: BUY, ppm: stopPpm - 500, size: 0.01 }),
      action({
        slot: at,
        kind: "LIMIT",
        account: 1,
        symbol,
        side: BUY,
        ppm: Math.max(-49_500, stopPpm - 1000),
        by: BY_LAST,
      }),
      action({
        slot: at + 1,
        kind: "PAIR",
        account: 0,
        partner: last,
        symbol,
        side: BUY,
        ppm: stopPpm - 500,
        size: 0.01,
      }),
      action({ slot: at + 30, kind: "LIMIT", account: 1, symbol, side: SELL, ppm: 0 }),
    ],
  };
}

/** A8: quotes above the index in the last seconds of an interval lift the funding that others pay. */
function liftFunding(random: Random, scenario: Scenario): Strategy {
  const end = slots(scenario.fundingAtMs);
  const symbol = Math.floor(random.uniform() * scenario.markets.length);
  const side = random.chance(0.5) ? BUY : SELL;
  const last = scenario.accounts - 1;
  const off = side === BUY ? 7000 : -7000;
  const actions = [action({ slot: 5, kind: "MARKET", account: 0, symbol, side: side ^ 1 })];
  for (let slot = Math.max(6, end - slots(15_000)); slot < Math.min(RUN_SLOTS, end); slot += slots(3000))
    actions.push(
      action({ slot, kind: "CANCEL_ALL", account: last, symbol }),
      action({ slot: slot + 1, kind: "LIMIT", account: last, symbol, side, ppm: off }),
    );
  return { origin: "A8", shares: equal(scenario), actions };
}

export const TEMPLATES: readonly ((random: Random, scenario: Scenario) => Strategy)[] = [
  knownMove,
  hitQuotes,
  passOn,
  sellToPauper,
  sellByTrigger,
  twoSymbols,
  moveGain,
  pumpAndBack,
  steps,
  fireStop,
  liftFunding,
  isolateGain,
];
