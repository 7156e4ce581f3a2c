import { SetIndexPrice } from "../../src/core/protocol/commands.ts";
import type { Instrument } from "../../src/core/protocol/instrument.ts";
import type { SymbolActor } from "../../src/core/symbol.ts";
import type { Market, Scenario } from "./scenario.ts";

/** A rule that is switched off. The search must find that this pays, or the search is too weak. */
export interface Mutant {
  readonly instrument?: Partial<Instrument>;
  readonly symbol?: (symbol: SymbolActor) => void;
  /** Scenarios in which the rule matters: only these are searched. */
  readonly suits?: (scenario: Scenario) => boolean;
}

const has =
  (suits: (market: Market) => boolean) =>
  ({ markets }: Scenario): boolean =>
    markets.some(suits);

export const MUTANTS: Record<string, Mutant> = {
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
    suits: has(({ kind }) => kind === "pending"),
  },
  "a last price fires triggers however far it is from the mark": {
    instrument: { lastTriggerPpm: 0 },
    suits: has(({ stopPpm, maker }) => stopPpm < -20_000 && maker === null),
  },
};

/** The scenario as the mutant has it. */
export const mutated = (scenario: Scenario, { instrument = {} }: Mutant): Scenario => ({
  ...scenario,
  markets: scenario.markets.map((market) => ({ ...market, instrument: { ...market.instrument, ...instrument } })),
});
