import { LEDGER, LIMIT } from "../../../src/core/base/enums.ts";
import { Deposit, OpenSession, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { SessionView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, type Said, START } from "./exchange.ts";
import { instrument, PLAIN } from "./instruments.ts";

/** One symbol with a mark of 100 ticks, and two accounts with a million USDC each. */
export class TwoAccounts extends Exchange {
  readonly alice = this.open("alice");
  readonly bob = this.open("bob");

  constructor() {
    super([instrument(PLAIN)]);
    this.at(0, make(SetIndexPrice, { indexTicks: 100 }));
  }

  private open(address: string): number {
    const session = make(OpenSession, { address, tokenHash: address, expiresAt: 2 ** 50 });
    const { accountId } = this.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    this.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 1e12 }));
    return accountId;
  }

  at(afterMs: number, command: { type: number }): Said {
    this.time = START + afterMs;
    return this.do(PLAIN.id, command);
  }

  place(afterMs: number, accountId: number, side: number, quantityLots: number, priceTicks: number): Said {
    return this.at(afterMs, make(PlaceOrder, { accountId, side, orderType: LIMIT, priceTicks, quantityLots }));
  }

  read(command: { type: number }): { type: number }[] {
    return this.at(1_000_000, command).replies;
  }
}
