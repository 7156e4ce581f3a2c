import assert from "node:assert/strict";
import { ACCOUNT, CASH, ISOLATED_QUANTA, SIZE } from "../../../src/core/base/columns.ts";
import { isolatedEquity } from "../../../src/core/margin/isolated.ts";
import { positionMaintenance } from "../../../src/core/margin/position-margin.ts";
import { Traded } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { SymbolActor } from "../../../src/core/symbol.ts";
import type { Markets } from "./random-markets.ts";

/** Follows isolated positions from step to step: none may cost its account more than its isolated margin. */
export class IsolatedWatch {
  /** Isolated positions that were seen, and those that ended in a step that no account asked for. */
  seen = 0;
  ended = 0;
  private readonly markets: Markets;
  /** By symbol and row: how much each isolated position added to its account's cross equity. */
  private before: Map<number, number>[] = [];

  constructor(markets: Markets) {
    this.markets = markets;
    this.remember();
  }

  /**
   * Call it after a step. Fills of its orders and its own commands may move margin of an account. Prices, funding,
   * liquidations and deleveraging must take nothing from its cross margin.
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

  /** The money of all accounts, with isolated margin, is the deposits less the withdrawals. */
  checkSum(expectedQuanta: string): void {
    let sum = 0;
    for (let account = 0; account < this.markets.marginTable.maxAccounts; account++)
      sum += this.markets.marginTable.equity(account);
    for (const symbol of this.markets.symbols) for (const row of isolatedRows(symbol)) sum += plainEquity(symbol, row);
    assert.equal(String(sum), expectedQuanta);
  }

  /** Call it after prices stood still: no position below its maintenance margin is left. */
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

/** The isolated margin without the funding that it owes, which nobody has received yet. */
function plainEquity({ state }: SymbolActor, row: number): number {
  const { numbers } = state.positions;
  const value = numbers[row + SIZE] * state.markTicks * state.instrument.quantaPerTickLot;
  return numbers[row + ISOLATED_QUANTA] + numbers[row + CASH] + value;
}
