import assert from "node:assert/strict";
import { ACCOUNT, CASH, ISOLATED_QUANTA, SIZE } from "../../../src/core/base/columns.ts";
import { isolatedEquity } from "../../../src/core/margin/isolated.ts";
import { positionMaintenance } from "../../../src/core/margin/position-margin.ts";
import { Traded } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { SymbolActor } from "../../../src/core/symbol.ts";
import type { Markets } from "./random-markets.ts";

/** Follows isolated positions from step to step: none may cost its account more than what was set aside for it. */
export class IsolatedWatch {
  /** Isolated positions that were seen at all, and those that ended in a step of nobody's. */
  seen = 0;
  ended = 0;
  private readonly markets: Markets;
  /** Of each symbol, what every isolated position added to its account's cross equity, by row. */
  private before: Map<number, number>[] = [];

  constructor(markets: Markets) {
    this.markets = markets;
    this.remember();
  }

  /**
   * Behind a step. What others trade with an account's orders sets margin aside, and what the account asks for itself is
   * its own affair; but prices, funding, liquidations and deleveraging take nothing from the cross margin.
   */
  check(events: readonly Message[], accountId: number): void {
    const traders = new Set([accountId]);
    for (const event of events)
      if (event.type === Traded.code) traders.add((event as MessageOf<typeof Traded>).makerAccountId);
    for (const [i, symbol] of this.markets.symbols.entries())
      for (const [row, had] of this.before[i] as Map<number, number>) {
        const account = symbol.state.positions.numbers[row + ACCOUNT];
        if (traders.has(account)) continue;
        const has = symbol.state.contributions.of(row).equity;
        assert.ok(has >= had, `account ${account} lost ${had - has} quanta beside its isolated margin`);
        if (!symbol.state.isIsolated(row)) this.ended++;
      }
    this.remember();
  }

  /** What all accounts have, and what is set aside: what was deposited and not withdrawn. */
  checkSum(expectedQuanta: string): void {
    let sum = 0;
    for (let account = 0; account < this.markets.marginTable.maxAccounts; account++)
      sum += this.markets.marginTable.equity(account);
    for (const symbol of this.markets.symbols) for (const row of isolatedRows(symbol)) sum += plainEquity(symbol, row);
    assert.equal(String(sum), expectedQuanta);
  }

  /** Prices have stood still: whatever was below its margin has been closed. */
  checkMargins(): void {
    for (const symbol of this.markets.symbols)
      for (const row of isolatedRows(symbol))
        assert.ok(isolatedEquity(symbol.state, row) >= positionMaintenance(symbol.state, row), `row ${row}`);
  }

  private remember(): void {
    this.before = this.markets.symbols.map((symbol) => {
      const rows = isolatedRows(symbol);
      this.seen += rows.length;
      return new Map(rows.map((row) => [row, -symbol.state.positions.numbers[row + ISOLATED_QUANTA]]));
    });
  }
}

const isolatedRows = ({ state }: SymbolActor): number[] => state.positions.open.filter((row) => state.isIsolated(row));

/** The bucket without the funding that it owes: that has not been paid to anyone. */
function plainEquity({ state }: SymbolActor, row: number): number {
  const { numbers } = state.positions;
  const value = numbers[row + SIZE] * state.markTicks * state.instrument.quantaPerTickLot;
  return numbers[row + ISOLATED_QUANTA] + numbers[row + CASH] + value;
}
