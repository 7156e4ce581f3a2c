import { LEDGER, LIMIT, SELL } from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import { Deposit, OpenSession, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { SessionView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make } from "./exchange.ts";
import { instrument, PLAIN } from "./instruments.ts";

/** A symbol with many sellers of one lot at 10, and an account that has sold nothing. */
export function openDeepMarket(makers: number) {
  const deep = instrument({ ...PLAIN, maxQuantity: "100000", maxOpenOrders: makers }, {});
  const exchange = new Exchange([deep]);
  const open = (name: string): number => {
    const session = make(OpenSession, { address: name, tokenHash: name, expiresAt: 2 ** 50 });
    const { accountId } = exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
    exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 1e8 * QUANTA_PER_USDC }));
    return accountId;
  };
  exchange.do(deep.id, make(SetIndexPrice, { indexTicks: 10 }));
  const [maker, taker] = [open("maker"), open("taker")];
  const order = { orderType: LIMIT, priceTicks: 10, quantityLots: 1 };
  for (let i = 0; i < makers; i++) exchange.do(deep.id, make(PlaceOrder, { accountId: maker, side: SELL, ...order }));
  return { exchange, id: deep.id, taker };
}
