import { SIZE } from "../../src/core/base/columns.ts";
import { INSURANCE_ACCOUNT } from "../../src/core/base/enums.ts";
import type { TracedCounterparties } from "../../src/core/liquidation/position-transfer.ts";
import { SetIndexPrice, Tick } from "../../src/core/protocol/commands.ts";
import type { Instrument } from "../../src/core/protocol/instrument.ts";
import type { SymbolState } from "../../src/core/state/symbol-state.ts";
import type { SymbolActor } from "../../src/core/symbol.ts";
import type { Market, Scenario } from "./scenario.ts";
import { SLOT_MS } from "./world.ts";

/** A rule that is switched off. The search must find that this pays, or the search is too weak. */
export interface Mutant {
  readonly instrument?: Partial<Instrument> & { fundLossPpm?: number; fundMaxNotionalQuanta?: number };
  readonly symbol?: (symbol: SymbolActor) => void;
  /** Scenarios in which the rule matters: only these are searched. */
  readonly suits?: (scenario: Scenario) => boolean;
}

type Begin = (state: SymbolState, fromTicks: number) => void;

/** An index that is silent for 10 s and longer. */
const LONG_SILENCE_SLOTS = 10_000 / SLOT_MS;

/** The private parts of a symbol and its settlement that mutants change. */
interface Settlement {
  begin: Begin;
  traced: (...all: unknown[]) => TracedCounterparties | undefined;
  suspect: (state: SymbolState, row: number) => boolean;
  lookAtWeak: (state: SymbolState) => void;
  putTakersFirst: (state: SymbolState) => void;
  readonly suspects: Map<number, number>;
  fromTime: number;
}
const settlementOf = (symbol: SymbolActor): Settlement => (symbol as unknown as { settlement: Settlement }).settlement;

const has =
  (suits: (market: Market) => boolean) =>
  ({ markets }: Scenario): boolean =>
    markets.some(suits);

/** Orders reserve the same in isolated as in cross mode: equity with unrealized gains. */
function reserveFromGains({ state: { marginTable: table } }: SymbolActor): void {
  const { reserve, reserveChange, setContribution } = table;
  table.reserve = (account, amount, row, at, additional) =>
    reserve.call(table, account, amount, row, at, additional, false);
  table.reserveChange = (account, to, row, at, endedAdditional) =>
    reserveChange.call(table, account, to, row, at, endedAdditional, false);
  table.setContribution = (account, row, at, to, isLogged) =>
    setContribution.call(table, account, row, at, to, isLogged, false);
}

/** Fills of isolated orders set aside all that maintenance margin leaves, be it unrealized gains. */
function fillFromGains({ state: { marginTable: table } }: SymbolActor): void {
  const consistent = table.consistent.bind(table);
  table.consistent = (account) => ({ ...consistent(account), gains: 0 });
}

/** A gain against a market maker is lost again, and the fund pays next to nothing. */
const losesPumpedGain = ({ fundUsdc, isSafe, markets }: Scenario): boolean =>
  fundUsdc <= 1000 && !isSafe && markets.some(({ kind, maker }) => kind === "pump" && maker !== null);

export const MUTANTS: Record<string, Mutant> = {
  "a new mark is settled only with the next tick": {
    symbol(symbol) {
      const { state } = symbol;
      const settlement = settlementOf(symbol);
      const begin = settlement.begin.bind(settlement) as Begin;
      let fromTicks = 0;
      let movedAt = 0;
      const suspect = settlement.suspect.bind(settlement);
      settlement.suspect = (_, row) => fromTicks !== 0 || suspect(state, row);
      settlement.begin = (_, from) => {
        if (fromTicks !== 0) return;
        fromTicks = from;
        movedAt = state.priceTime;
      };
      const decide = symbol.decide.bind(symbol);
      symbol.decide = (command, transaction) => {
        const isLate = transaction.time > movedAt;
        decide(command, transaction);
        if (command.type !== Tick.code || fromTicks === 0 || !isLate) return;
        const from = fromTicks;
        fromTicks = 0;
        begin(state, from);
      };
    },
  },
  "the other side pays more than a step has given it": {
    symbol(symbol) {
      const settlement = settlementOf(symbol);
      const suspect = settlement.suspect.bind(settlement);
      settlement.suspect = (state, row) => {
        suspect(state, row);
        settlement.suspects.set(row, state.positions.numbers[row + SIZE] > 0 ? state.instrument.maxPriceTicks : 1);
        return true;
      };
    },
    suits: ({ markets, accounts, isSafe }) =>
      markets.length > 1 && !isSafe && accounts > 5 && markets.some(({ kind }) => kind === "gap" || kind === "pending"),
  },
  "bankrupt accounts are not settled against those who traded with them": {
    symbol(symbol) {
      settlementOf(symbol).traced = () => undefined;
    },
  },
  "bankrupt accounts that traded lately are settled no earlier than others": {
    symbol(symbol) {
      settlementOf(symbol).putTakersFirst = () => {};
    },
    suits: ({ fundUsdc, markets, isSafe }) =>
      !isSafe && fundUsdc <= 50_000 && markets.some(({ kind }) => kind === "gap"),
  },
  "the trace of counterparties begins at the settlement, however old the mark before it is": {
    symbol(symbol) {
      const settlement = settlementOf(symbol);
      const traced = settlement.traced.bind(settlement);
      settlement.traced = (...all) => {
        settlement.fromTime = Number.POSITIVE_INFINITY;
        return traced(...all);
      };
    },
    suits: has(({ path }) => path.some(({ slot }, i) => i > 0 && slot - path[i - 1].slot > LONG_SILENCE_SLOTS)),
  },
  "accounts below their maintenance margin wait for the sweep after a small step": {
    symbol(symbol) {
      settlementOf(symbol).lookAtWeak = () => {};
    },
    suits: ({ isSweptLate, markets }) =>
      isSweptLate &&
      markets.some(({ instrument, kind }) => instrument.maxLeverage === 20 && ["steps", "pump", "walk"].includes(kind)),
  },
  "all accounts wait for the sweep, however large the step is": {
    instrument: { settlementBandPpm: 1_000_000 },
    suits: ({ isSweptLate }) => isSweptLate,
  },
  "what a step costs the fund beyond its allowance is not settled": {
    symbol(symbol) {
      const settlement = settlementOf(symbol);
      const suspect = settlement.suspect.bind(settlement);
      settlement.suspect = (state, row) => {
        const isFund = row === state.positions.find(INSURANCE_ACCOUNT);
        return (!isFund || state.marginTable.equity(INSURANCE_ACCOUNT) < 0) && suspect(state, row);
      };
    },
    suits: ({ fundUsdc, markets }) =>
      fundUsdc > 1000 &&
      markets.length < 3 &&
      markets.every(({ maker }) => maker === null) &&
      markets.some(({ kind }) => kind === "gap"),
  },
  "the fund may lose all that it has in an hour, and hold any position": {
    instrument: { fundLossPpm: 1_000_000, fundMaxNotionalQuanta: 1e15 },
    suits: ({ fundUsdc }) => fundUsdc > 1000,
  },
  "orders open risk while an index price that jumped waits": {
    symbol(symbol) {
      const { state } = symbol;
      const decide = symbol.decide.bind(symbol);
      symbol.decide = (command, transaction) => {
        if (command.type === SetIndexPrice.code) return decide(command, transaction);
        const { pendingIndexTicks } = state;
        state.pendingIndexTicks = 0;
        decide(command, transaction);
        state.pendingIndexTicks = pendingIndexTicks;
      };
    },
    suits: has(({ kind, maker }) => kind === "pending" && maker !== null),
  },
  "the loss of a trade is paid from gains that are not settled": {
    symbol({ state }) {
      state.marginTable.usableGains = () => Number.NEGATIVE_INFINITY;
    },
    suits: ({ isSafe, markets }) =>
      !isSafe && markets.length > 1 && markets.some(({ kind, maker }) => kind === "pump" && maker !== null),
  },
  "isolated orders reserve unrealized gains, and fill from them": {
    symbol(symbol) {
      reserveFromGains(symbol);
      // Else the fills would still take no gains, and nothing would be gained by what the orders reserve.
      fillFromGains(symbol);
    },
    // Two markets have no third one in which the settled money could be lost: so it is what the orders reserve that matters.
    suits: (scenario) =>
      losesPumpedGain(scenario) &&
      scenario.markets.length === 2 &&
      scenario.markets.every(({ maker, instrument }) => maker !== null && instrument.movePpm === 0),
  },
  "isolated orders fill from unrealized gains when the money that they have reserved is lost": {
    symbol: fillFromGains,
    suits: (scenario) => losesPumpedGain(scenario) && scenario.markets.length === 3,
  },
  "a market that moves asks for no more margin to open": {
    instrument: { movePpm: 0 },
    suits: ({ fundUsdc, markets }) =>
      fundUsdc <= 1000 &&
      markets.some(({ kind, maker, instrument }) => kind === "pump" && maker !== null && instrument.movePpm > 0),
  },
  "a last price fires triggers however far it is from the mark": {
    instrument: { lastTriggerPpm: 0 },
    suits: has(({ stopPpm, maker, kind }) => stopPpm < -20_000 && maker === null && kind === "jump"),
  },
};

/** The scenario as the mutant has it. */
export const mutated = (scenario: Scenario, { instrument = {} }: Mutant): Scenario => ({
  ...scenario,
  markets: scenario.markets.map((market) => ({ ...market, instrument: { ...market.instrument, ...instrument } })),
});
