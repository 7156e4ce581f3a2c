import type { Random } from "../../src/sandbox/random.ts";
import { RUN_SLOTS, type Scenario } from "./scenario.ts";

export const KINDS = [
  "LIMIT",
  "MARKET",
  "POST_ONLY",
  "IOC",
  "REDUCE",
  "CLOSE",
  "STOP",
  "TAKE_PROFIT",
  "ENTRY_STOP",
  "TRAILING",
  "ATTACHED",
  "LEVERAGE",
  "MODE",
  "MOVE_MARGIN",
  "WITHDRAW",
  "CANCEL_ALL",
  "PAIR",
] as const;
export type Kind = (typeof KINDS)[number];

/** One thing that an account of the coalition does. All numbers are relative, so that a mutated action still makes sense. */
export interface Action {
  slot: number;
  kind: Kind;
  account: number;
  /** Of PAIR: the account on the other side. */
  partner: number;
  symbol: number;
  side: number;
  /** 0 to 1, of what the account could open or close, withdraw or move; of the highest leverage; 1 = isolated. */
  size: number;
  /** From the mark. Of triggers: of the trigger price. */
  ppm: number;
  /** One of TRIGGER_SOURCES. */
  by: number;
}

/** A list of actions, and the part of the capital that each account deposits. */
export interface Strategy {
  origin: string;
  shares: number[];
  actions: Action[];
}

export const action = (fields: Partial<Action> & Pick<Action, "slot" | "kind" | "account">): Action => ({
  partner: 0,
  symbol: 0,
  side: 0,
  size: 1,
  ppm: 0,
  by: 0,
  ...fields,
});

const whole = (random: Random, below: number): number => Math.floor(random.uniform() * below);

/** Offsets that matter: at the mark, near it, at the mark's limit, at the band's edge. */
const drawPpm = (random: Random): number =>
  random.pick([0, 0, (random.uniform() - 0.5) * 4000, (random.uniform() - 0.5) * 20_000, -49_000, 49_000, 6700]) | 0;

export function randomAction(random: Random, scenario: Scenario): Action {
  return {
    slot: whole(random, RUN_SLOTS),
    kind: random.chance(0.3) ? "PAIR" : random.pick(KINDS),
    account: whole(random, scenario.accounts),
    partner: whole(random, scenario.accounts),
    symbol: whole(random, scenario.markets.length),
    side: whole(random, 2),
    size: random.chance(0.6) ? 1 : random.uniform(),
    ppm: drawPpm(random),
    by: whole(random, 3),
  };
}

export function randomStrategy(random: Random, scenario: Scenario): Strategy {
  const actions = Array.from({ length: 4 + whole(random, 16) }, () => randomAction(random, scenario));
  return { origin: "random", shares: drawShares(random, scenario), actions };
}

/** Equal shares, or shares that differ widely. */
function drawShares(random: Random, { accounts }: Scenario): number[] {
  const isEqual = random.chance(0.5);
  return Array.from({ length: accounts }, () => (isEqual ? 1 : random.uniform() ** 3 + 0.001));
}

const MUTATIONS: readonly ((random: Random, scenario: Scenario, to: Strategy, other: Strategy) => void)[] = [
  (random, _, { actions }) => {
    const one = random.pick(actions);
    const reach = random.pick([1, 5, 20, 100]);
    one.slot = Math.max(0, Math.min(RUN_SLOTS - 1, one.slot + Math.round((random.uniform() - 0.5) * 2 * reach)));
  },
  (random, _, { actions }) => {
    const one = random.pick(actions);
    one.size = Math.min(1, one.size * random.between(0.3, 1.5));
  },
  (random, _, { actions }) => {
    random.pick(actions).ppm = drawPpm(random);
  },
  (random, _, { actions }) => {
    const one = random.pick(actions);
    one.ppm += Math.round((random.uniform() - 0.5) * 2000);
  },
  (random, { accounts }, { actions }) => {
    random.pick(actions)[random.chance(0.5) ? "account" : "partner"] = whole(random, accounts);
  },
  (random, _, { actions }) => {
    random.pick(actions).side ^= 1;
  },
  (random, { markets }, { actions }) => {
    random.pick(actions).symbol = whole(random, markets.length);
  },
  (random, _, { actions }) => {
    random.pick(actions).kind = random.pick(KINDS);
  },
  (random, scenario, { actions }) => void actions.push(randomAction(random, scenario)),
  (random, _, { actions }) => void actions.push({ ...random.pick(actions) }),
  (random, _, { actions }) => {
    if (actions.length > 1) actions.splice(whole(random, actions.length), 1);
  },
  (random, _, { shares }) => {
    shares[whole(random, shares.length)] = random.uniform() ** 3 + 0.001;
  },
  (random, scenario, to) => {
    to.shares = drawShares(random, scenario);
  },
  (random, _, { actions }, other) => {
    const from = whole(random, other.actions.length);
    actions.push(...other.actions.slice(from, from + 4).map((each) => ({ ...each })));
  },
];
const MAX_ACTIONS = 40;

/** A strategy that differs a little; parts of `other` may be mixed in. */
export function mutate(random: Random, scenario: Scenario, from: Strategy, other: Strategy): Strategy {
  const to: Strategy = {
    origin: from.origin.endsWith("+") ? from.origin : `${from.origin}+`,
    shares: [...from.shares],
    actions: from.actions.map((each) => ({ ...each })),
  };
  for (let left = 1 + whole(random, 3); left > 0; left--) random.pick(MUTATIONS)(random, scenario, to, other);
  to.actions.length = Math.min(to.actions.length, MAX_ACTIONS);
  return to;
}
