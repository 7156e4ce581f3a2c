import assert from "node:assert/strict";
import { auditSums } from "../../src/core/audit/invariants.ts";
import {
  BUY,
  CLOSE_POSITION,
  INSURANCE_ACCOUNT,
  IOC,
  REDUCE_ONLY,
  SELL,
  STOP_MARKET,
} from "../../src/core/base/enums.ts";
import * as commands from "../../src/core/protocol/commands.ts";
import { blank, type Message, type MessageOf } from "../../src/core/protocol/message-schema.ts";
import type { SessionView } from "../../src/core/protocol/replies.ts";
import type { SymbolState } from "../../src/core/state/symbol-state.ts";
import type { SymbolActor } from "../../src/core/symbol.ts";
import { Random } from "../../src/sandbox/random.ts";
import { placeOrder, sendAction, sendWithdrawal } from "./commands.ts";
import { type Counts, type HonestStop, Measure } from "./measure.ts";
import { MAX_INDEX_AGE_MS, type Market, ppm, RUN_SLOTS, type Scenario, START_TICKS } from "./scenario.ts";
import type { Strategy } from "./strategy.ts";
import { SLOT_MS, World } from "./world.ts";

const HOUR_MS = 3_600_000;
const QUANTA = 1e6;
const SLOTS_PER_TICK = 250 / SLOT_MS;
/** Ticks come between the prices: the coalition may act on a new mark before them. */
const FIRST_TICK_SLOT = 2;
/** The late sweep begins so long after a price. */
const SWEEP_DELAY_MS = 200;
/** Honest accounts can bear all but the largest moves. */
const HONEST_MARGIN = 1.6;
const RICH_USDC = 100_000_000;
const WARM_UP_PRICES = 40;
/** After the path: a price and its ticks each second, until nothing happens any more. */
const MAX_CLOSING_SECONDS = 240;
const QUIET_SECONDS = 5;
/** The mark counts as having reached a stop when it was this near. */
const STOP_NEAR_PPM = 10_000;

/** All amounts are quanta. Definitions: docs/internals/testing.md. */
export interface Outcome {
  /** What the coalition got beyond what it paid in, and beyond what honest accounts lost by what they wanted. */
  take: number;
  profit: number;
  honestLoss: number;
  fundLoss: number;
  fundLowest: number;
  fundLowestSettled: number;
  lowestSettled: number;
  haircut: number;
  allHaircut: number;
  haircutBeyondStep: number;
  fundingBeyondInterest: number;
  counts: Counts;
  refusals: ReadonlyMap<string, number>;
  trace: readonly string[];
}

/** Changes the exchange before anything happens in it: see mutants.ts. */
export type Tamper = (world: World) => void;

/** The simulation in progress. */
interface Run {
  readonly scenario: Scenario;
  readonly world: World;
  readonly measure: Measure;
  readonly coalition: readonly number[];
  readonly makers: readonly (number | null)[];
  /** At slot 0. */
  readonly start: number;
}

/** Plays a strategy in a scenario: the same outcome each time. Throws if money is not conserved. */
export function runCoalition(
  scenario: Scenario,
  strategy: Strategy,
  tamper: Tamper | null = null,
  isTracing = false,
): Outcome {
  const run = prepare(scenario, strategy, tamper);
  const { world, measure } = run;
  measure.isTracing = isTracing;
  const fundBefore = measure.worth(INSURANCE_ACCOUNT, startTicks(scenario));
  play(run, strategy);
  closeDown(run);
  const finalTicks = scenario.markets.map(({ path }) => path[path.length - 1].ticks);
  const deposited = run.coalition.reduce((sum, account) => sum + paidIn(world, account), 0);
  const left = run.coalition.reduce((sum, account) => sum + Math.max(0, measure.worth(account, finalTicks)), 0);
  const profit = measure.withdrawn + left - deposited;
  const honestLoss = measure.honestLoss(finalTicks);
  if (isTracing) measure.trace.push(`end: ${measure.positions()}`);
  checkConservation(world);
  return {
    take: profit - Math.max(0, honestLoss),
    profit,
    honestLoss,
    fundLoss: fundBefore - measure.worth(INSURANCE_ACCOUNT, finalTicks),
    fundLowest: measure.fundLowest,
    fundLowestSettled: measure.fundLowestSettled,
    lowestSettled: measure.lowestSettled,
    haircut: measure.haircut,
    allHaircut: measure.allHaircut,
    haircutBeyondStep: measure.haircutBeyondStep,
    fundingBeyondInterest: measure.fundingBeyondInterest,
    counts: measure.counts,
    refusals: world.refusals,
    trace: measure.trace,
  };
}

const startTicks = ({ markets }: Scenario): number[] => markets.map(() => START_TICKS);

const deposits = new WeakMap<World, Map<number, number>>();
const paidIn = (world: World, account: number): number => deposits.get(world)?.get(account) ?? 0;

function deposit(world: World, accountId: number, usdc: number): void {
  const amountQuanta = Math.floor(usdc * QUANTA);
  if (amountQuanta < 1) return;
  world.do(world.ledger, { ...blank(commands.Deposit), accountId, amountQuanta } as Message);
  const ofWorld = deposits.get(world) ?? new Map<number, number>();
  deposits.set(world, ofWorld.set(accountId, amountQuanta + (ofWorld.get(accountId) ?? 0)));
}

function open(world: World, usdc: number): number {
  let account = 0;
  const name = `${world.sequence}`;
  world.send(
    world.ledger,
    () => ({ ...blank(commands.OpenSession), address: name, tokenHash: name, expiresAt: Number.MAX_SAFE_INTEGER }),
    (reply) => {
      account = (reply as MessageOf<typeof SessionView>).accountId;
    },
  );
  world.carryOut();
  deposit(world, account, usdc);
  return account;
}

/** Accounts, deposits, the positions of the honest, and an hour's prices before the start. */
function prepare(scenario: Scenario, { shares }: Strategy, tamper: Tamper | null): Run {
  const { markets, fundingAtMs, seed, accounts } = scenario;
  const instruments = markets.map(({ instrument }) => instrument);
  const maxAccounts = 64;
  const world = new World(instruments, scenario.workers, maxAccounts, MAX_INDEX_AGE_MS, new Random(seed, "order"));
  if (scenario.isSweptLate) for (const symbol of world.symbols) sweepLate(world, symbol);
  tamper?.(world);
  const start = Math.floor(Date.UTC(2026, 0, 5, 12) / HOUR_MS) * HOUR_MS + HOUR_MS - fundingAtMs;
  const warmUpMs = (HOUR_MS - fundingAtMs) / (WARM_UP_PRICES + 1);
  world.time = start - WARM_UP_PRICES * warmUpMs;
  const honest = new Set<number>();
  const members = new Set<number>();
  const stops: (HonestStop | null)[] = [];
  const measure = new Measure(world, honest, members, stops);
  world.watcher = measure;
  deposit(world, INSURANCE_ACCOUNT, scenario.fundUsdc);
  for (const [i, market] of markets.entries()) stops.push(openHolders(world, i, market, honest));
  const makers = markets.map(({ maker }) => (maker === null ? null : open(world, RICH_USDC)));
  for (const maker of makers) if (maker !== null) honest.add(maker);
  const total = shares.reduce((sum, share) => sum + share, 0);
  const coalition = Array.from({ length: accounts }, (_, i) => open(world, (scenario.capitalUsdc * shares[i]) / total));
  for (const account of coalition) members.add(account);
  const isFundingNear = fundingAtMs < RUN_SLOTS * SLOT_MS;
  for (let i = 0; i < WARM_UP_PRICES; i++, world.time += warmUpMs)
    if (isFundingNear) for (const symbol of world.symbols) world.do(symbol, price(START_TICKS, 0));
  world.time = start;
  for (const symbol of world.symbols) {
    world.do(symbol, price(START_TICKS, 0));
    for (const accountId of coalition)
      world.do(symbol, {
        ...blank(commands.SetLeverage),
        accountId,
        leverage: symbol.state.instrument.maxLeverage,
      } as Message);
  }
  return { scenario, world, measure, coalition, makers, start };
}

/** A new mark comes to the positions in the background only. What must be settled at once does not wait for that. */
function sweepLate(world: World, symbol: SymbolActor): void {
  const { settlement } = symbol as unknown as { settlement: { runBackground: (state: SymbolState) => boolean } };
  const runBackground = settlement.runBackground.bind(settlement);
  settlement.runBackground = (state) => world.time >= state.priceTime + SWEEP_DELAY_MS && runBackground(state);
}

const price = (indexTicks: number, isGuarded: number): Message =>
  ({ ...blank(commands.SetIndexPrice), indexTicks, isGuarded }) as Message;

/** Returns the stop of the first long, if the market has one. */
function openHolders(world: World, index: number, market: Market, honest: Set<number>): HonestStop | null {
  const symbol = world.symbols[index];
  const { instrument } = symbol.state;
  let first = 0;
  for (const { lots, leverage, entryPpm } of market.holders) {
    const entryTicks = ppm(START_TICKS, entryPpm);
    const usdc = (lots * START_TICKS * instrument.quantaPerTickLot * HONEST_MARGIN) / leverage / QUANTA;
    const [long, short] = [open(world, usdc), open(world, usdc)];
    if (first === 0) first = long;
    world.do(symbol, price(entryTicks, 0));
    for (const accountId of [long, short]) {
      honest.add(accountId);
      world.do(symbol, { ...blank(commands.SetLeverage), accountId, leverage } as Message);
    }
    world.do(symbol, placeOrder(short, SELL, entryTicks, lots));
    world.do(symbol, placeOrder(long, BUY, entryTicks, lots));
    world.time += 1000;
  }
  world.do(symbol, price(START_TICKS, 0));
  if (market.stopPpm === 0) return null;
  const triggerTicks = ppm(START_TICKS, market.stopPpm);
  world.do(symbol, {
    ...blank(commands.PlaceTrigger),
    ...{ accountId: first, side: SELL, orderType: STOP_MARKET, timeInForce: IOC, flags: CLOSE_POSITION | REDUCE_ONLY },
    ...{ triggerTicks, triggerBy: 1 },
  } as Message);
  return { account: first, triggerTicks, nearTicks: Math.round((START_TICKS * STOP_NEAR_PPM) / 1e6) };
}

/** Prices, ticks, the market makers and the coalition, slot by slot. */
function play(run: Run, { actions }: Strategy): void {
  const { scenario, world, coalition, start } = run;
  const due = actions.map((one, i) => ({ one, i })).sort((a, b) => a.one.slot - b.one.slot || a.i - b.i);
  const nextPrice = scenario.markets.map(() => 0);
  const quoteAt: number[] = scenario.markets.map(({ maker }) => (maker === null ? -1 : 0));
  let next = 0;
  for (let slot = 0; slot < RUN_SLOTS; slot++) {
    const isTick = slot % SLOTS_PER_TICK === FIRST_TICK_SLOT;
    let isBusy = isTick;
    world.time = start + slot * SLOT_MS;
    for (const [i, { path, maker }] of scenario.markets.entries()) {
      const point = path[nextPrice[i]];
      if (point?.slot === slot) {
        nextPrice[i]++;
        world.send(world.symbols[i], () => price(point.ticks, 1));
        if (maker !== null) quoteAt[i] = slot + maker.delaySlots;
        isBusy = true;
      }
      if (isTick) world.send(world.symbols[i], () => ({ type: commands.Tick.code }));
      if (quoteAt[i] !== slot) continue;
      quote(run, i);
      isBusy = true;
    }
    for (; next < due.length && due[next].one.slot <= slot; next++) {
      const { one } = due[next];
      sendAction(world, one, coalition[one.account], coalition[one.partner]);
      isBusy = true;
    }
    if (isBusy) world.carryOut();
  }
}

/** The market maker replaces its quotes around the index. */
function quote({ scenario, world, makers }: Run, index: number): void {
  const { maker } = scenario.markets[index];
  const accountId = makers[index];
  if (maker === null || accountId === null) return;
  const symbol = world.symbols[index];
  const { lots, spreadPpm } = maker;
  world.send(symbol, () => ({ ...blank(commands.CancelAll), accountId, side: -1 }));
  world.send(symbol, () => placeOrder(accountId, BUY, ppm(symbol.state.indexTicks, -spreadPpm), lots));
  world.send(symbol, () => placeOrder(accountId, SELL, ppm(symbol.state.indexTicks, spreadPpm), lots));
}

/** The coalition cancels its orders, prices stand still until all is settled, and everything that may leave is withdrawn. */
function closeDown(run: Run): void {
  const { scenario, world, coalition, makers } = run;
  for (const symbol of world.symbols)
    for (const accountId of [...coalition, ...makers])
      if (accountId !== null) world.send(symbol, () => ({ ...blank(commands.CancelAll), accountId, side: -1 }));
  world.carryOut();
  for (let second = 0, quiet = 0; second < MAX_CLOSING_SECONDS && quiet < QUIET_SECONDS; second++) {
    world.time += 1000;
    const { adl, liquidations, covered } = run.measure.counts;
    for (const [i, { path }] of scenario.markets.entries()) {
      world.send(world.symbols[i], () => price(path[path.length - 1].ticks, 1));
      for (let tick = 0; tick < 2; tick++) world.send(world.symbols[i], () => ({ type: commands.Tick.code }));
    }
    world.carryOut();
    const after = run.measure.counts;
    const isQuiet = adl === after.adl && liquidations === after.liquidations && covered === after.covered;
    quiet = isQuiet && world.symbols.every(({ state }) => state.haltMode === 0) ? quiet + 1 : 0;
  }
  for (const account of coalition) {
    sendWithdrawal(world, account, 1);
    world.carryOut();
  }
}

/** Money is conserved to the quantum, and positions sum to zero. */
function checkConservation(world: World): void {
  const faults: string[] = [];
  for (const { state } of world.symbols) auditSums(state, faults);
  const fault = world.ledger.state.faultOfSums();
  if (fault !== null) faults.push(fault);
  assert.deepEqual(faults, []);
}
