import assert from "node:assert/strict";
import { BUY, FIRST_CUSTOMER_ACCOUNT, LIMIT, SELL } from "../../../src/core/base/enums.ts";
import { PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import type { SymbolActor } from "../../../src/core/symbol.ts";
import { Exchange, LEDGER_SETTINGS, make, type Said } from "./exchange.ts";
import { instrument, PLAIN } from "./instruments.ts";

/** More accounts with a position in one symbol than a transaction visits: even ones short, odd ones long. */
export class Crowd extends Exchange {
  readonly size: number;
  readonly plain: SymbolActor;

  private constructor(size: number) {
    super([instrument(PLAIN)], LEDGER_SETTINGS, FIRST_CUSTOMER_ACCOUNT + size + 16);
    this.size = size;
    this.plain = this.symbol(PLAIN.id);
  }

  /** `lots` each at 100, `usdc` each. */
  static of(size: number, lots = 1, usdc = 100): Crowd {
    const crowd = new Crowd(size);
    crowd.price(100);
    for (let i = 0; i < size; i++) {
      crowd.open(usdc);
      crowd.order(crowd.account(i), i % 2 === 0 ? SELL : BUY, 100, lots);
    }
    assert.equal(crowd.plain.state.positions.open.length, size);
    return crowd;
  }

  /** Restores it from the log alone. */
  static from(other: Crowd): Crowd {
    const crowd = new Crowd(other.size);
    crowd.replay(other.log);
    crowd.restored();
    return crowd;
  }

  account(i: number): number {
    return FIRST_CUSTOMER_ACCOUNT + i;
  }

  open(usdc: number): void {
    this.openAccount(usdc * 1e6);
  }

  price(indexTicks: number): Said {
    return this.do(PLAIN.id, make(SetIndexPrice, { indexTicks }));
  }

  order(accountId: number, side: number, priceTicks: number, quantityLots: number): Message {
    const { replies } = this.do(
      PLAIN.id,
      make(PlaceOrder, { accountId, side, orderType: LIMIT, priceTicks, quantityLots }),
    );
    return replies[0];
  }

  /** How many rows have a contribution from an older mark. */
  stale(): number {
    const { state } = this.plain;
    return state.positions.open.filter((row) => state.contributions.isStale(row)).length;
  }
}
