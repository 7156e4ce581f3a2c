import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PlacedOrder, Ticker } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";

/**
 * The opening half of attack A1: accounts that see an index price jump open long and short at the old mark, while the
 * exchange waits for confirmation.
 */
let server: TestServer;
let operator: Operator;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
});
after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const OLD = "65000";
const FALLEN = "56875"; // an eighth lower
const put = (price: string) => ["PUT", "/operator/index/BTC-PERP", { price, guarded: true }] as const;
const jump = () => operator.refused("PRICE_JUMP", ...put(FALLEN));
const confirm = async () => {
  await jump();
  await operator.call(200, ...put(FALLEN));
};
const status = async (): Promise<(string | null)[]> => {
  const ticker = await new Api(server.url).get<Ticker>("/market/ticker?symbol=BTC-PERP");
  return [ticker.status, ticker.statusReason];
};
const follow = ({ token = "", accountId, address, privateKey }: Trader) =>
  new Trader(server.url, token, accountId, address, privateKey);
const equityOf = async (traders: readonly Trader[]): Promise<number> => {
  const balances = await Promise.all(traders.map((trader) => trader.balance()));
  return balances.reduce((sum, { equity }) => sum + Number(equity), 0);
};
const atOldMark = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: OLD, quantity: "1" } as const;

/** What opens risk, each as one account of the coalition asks for it. */
async function askForRisk(trader: Trader, restingId: string): Promise<void> {
  const expected = { status: "REDUCE_ONLY", pending: FALLEN, index: OLD, mark: OLD };
  const refuse = async (...[method, path, body]: [string, string, object]): Promise<void> => {
    const { details, field, retryable } = await trader.refused("PRICE_PENDING", method, path, body);
    const { missing, ...named } = details as { missing: number };
    assert.deepEqual([field, named, retryable], ["symbol", expected, true], path);
    assert.ok(missing === 1 || missing === 2);
  };
  await refuse("POST", "/orders", atOldMark);
  await refuse("POST", "/orders", { ...atOldMark, side: "SELL" });
  await refuse("POST", "/orders", { ...atOldMark, dryRun: true });
  const { price: _, ...market } = { ...atOldMark, type: "MARKET" };
  await refuse("POST", "/orders", market);
  await refuse("POST", "/orders", { ...market, type: "STOP_MARKET", triggerPrice: "66000" });
  await refuse("PATCH", `/orders/${restingId}`, { price: "64900" });
  await refuse("POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  const { symbol, ...item } = atOldMark;
  const batch = { symbol, items: [{ action: "PLACE", ...item }] };
  const { data } = await trader.call<{ data: { error?: { code: string } }[] }>(200, "POST", "/orders/batch", batch);
  assert.equal(data[0]?.error?.code, "PRICE_PENDING");
}

test("while a jump of the index waits, a coalition can open nothing, and takes nothing when it comes", async () => {
  await operator.call(200, ...put(OLD));
  let coalition = await Promise.all([openTrader(server, "6800"), openTrader(server, "6800")]);
  const [long, short] = coalition as [Trader, Trader];
  const orders: PlacedOrder[] = [await long.buy("0.01", "64500"), await short.sell("0.01", "65500")];
  const before = await equityOf(coalition);
  await jump();
  assert.deepEqual(await status(), ["REDUCE_ONLY", "PRICE_PENDING"]);
  for (const [i, trader] of coalition.entries()) await askForRisk(trader, orders[i]?.orderId as string);
  assert.deepEqual(
    await Promise.all(coalition.map(async (trader, i) => (await trader.order(orders[i]?.orderId as string)).status)),
    ["NEW", "NEW"],
    "orders that rest stay",
  );
  // A crash does not make the exchange forget.
  await server.kill();
  await server.start();
  operator = new Operator(server);
  coalition = coalition.map(follow) as typeof coalition;
  assert.deepEqual(await status(), ["REDUCE_ONLY", "PRICE_PENDING"]);
  for (const [i, trader] of coalition.entries()) await askForRisk(trader, orders[i]?.orderId as string);
  await confirm();
  for (const trader of coalition) assert.equal(await trader.position(), null);
  assert.equal(await equityOf(coalition), before);
  for (const trader of coalition) await trader.cancelAll();
  await operator.call(200, "POST", "/operator/symbols/BTC-PERP/resume");
});

test("positions that are open may be closed while a jump waits, and margin in use is not withdrawn", async () => {
  await operator.setIndex("BTC-PERP", OLD);
  const [long, short, idle] = await Promise.all([openTrader(server), openTrader(server), openTrader(server)]);
  const withdraw = (trader: Trader) => ({ asset: "USDC", amount: "10", address: trader.address });
  await long.buy("1", OLD);
  await short.sell("1", OLD);
  await short.buy("1", "64900");
  await jump();
  const { details } = await long.refused("PRICE_PENDING", "POST", "/account/withdraw", withdraw(long));
  assert.deepEqual(details, {
    symbol: "BTC-PERP",
    status: "REDUCE_ONLY",
    pending: FALLEN,
    index: OLD,
    mark: OLD,
    missing: 2,
    retryAfterMs: 1000,
  });
  await idle.call(201, "POST", "/account/withdraw", withdraw(idle));
  await long.refused("PRICE_PENDING", "POST", "/orders", { ...atOldMark, side: "SELL" });
  await long.call(201, "POST", "/positions/BTC-PERP/close");
  assert.deepEqual(await Promise.all([long.position(), short.position()]), [null, null]);
  await operator.call(200, ...put(OLD));
  assert.deepEqual(await status(), ["TRADING", null]);
  assert.equal((await long.buy("0.01", "64500")).status, "NEW");
});
