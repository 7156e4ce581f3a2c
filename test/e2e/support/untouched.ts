import assert from "node:assert/strict";
import type { OrderBook } from "../../../src/client/types.ts";
import { assertUnchanged } from "./funding.ts";
import type { TestServer } from "./server.ts";
import { Operator, openTrader, type Trader } from "./trader.ts";

/** An exchange with state that an attack could damage: a book, positions, and an open order of alice. */
export interface Target {
  readonly alice: Trader;
  readonly bob: Trader;
  readonly operator: Operator;
  /** Id of alice's open order. */
  readonly orderId: string;
}

export async function openTarget(server: TestServer): Promise<Target> {
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  await bob.sell("0.5", "65000");
  await alice.buy("0.2", "65000");
  const { orderId } = await alice.buy("0.1", "64000", { clientOrderId: "resting" });
  return { alice, bob, operator, orderId };
}

/** Runs `attack`; afterwards the state must be unchanged and the server alive. */
export async function leavesUntouched(target: Target, attack: () => Promise<void>): Promise<void> {
  const since = Date.now();
  const before = await publicState(target);
  await attack();
  const after = await publicState(target);
  assertUnchanged(since, after, before);
  assert.equal((await target.alice.request("GET", "/health")).status, 200);
}

async function publicState({ alice, bob, operator }: Target) {
  return {
    digests: await operator.stateDigests(),
    book: await alice.get<OrderBook>("/market/orderbook?symbol=BTC-PERP&depth=1000"),
    orders: await Promise.all([alice, bob].map((trader) => trader.openOrders())),
    positions: await Promise.all([alice, bob].map((trader) => trader.position())),
    money: await Promise.all([alice, bob].map(async (trader) => (await trader.balance()).equity)),
  };
}
