import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

const LONGS = 12;
const STEPS = 10;

let server: TestServer;
let operator: Operator;

before(async () => {
  // A fund that cannot bear it all.
  server = await startServer({ environment: { PERPD_INSURANCE_SEED: "2000" } });
  operator = new Operator(server);
});
after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

test("a 30 % fall in steps liquidates leveraged longs while others trade, and the audit balances after every step", async () => {
  await operator.setIndex("BTC-PERP", "60000");
  const [whale, bystander] = await Promise.all([openTrader(server, "1000000"), openTrader(server, "100000")]);
  const longs: Trader[] = [];
  for (let i = 0; i < LONGS; i++) longs.push(await openTrader(server, String(700 + 100 * i)));
  await whale.sell(String(LONGS), "60000");
  for (const long of longs) {
    await long.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
    assert.equal((await long.buy("1", "60000")).status, "FILLED");
  }
  for (let step = 1; step <= STEPS; step++) {
    const price = 60_000 - (step * 60_000 * 0.3) / STEPS;
    await whale.cancelAll();
    // Somebody buys a part of what is sold, and the last price follows.
    await whale.buy("1", String(price - 50));
    await operator.setIndex("BTC-PERP", String(price));
    const { status } = await bystander.sell("0.01", String(price + 100));
    assert.equal(status, "NEW");
    await until("those who are below their margin to be closed", async () => {
      await operator.setIndex("BTC-PERP", String(price));
      const balances = await Promise.all(longs.map((long) => long.balance()));
      return balances.every(({ equity, maintenanceMargin }) => Number(equity) >= Number(maintenanceMargin));
    });
    await operator.soundAudit();
  }
  const positions = await Promise.all(longs.map((long) => long.position()));
  assert.equal(
    positions.every((position) => position === null),
    true,
  );
  const fills = (await Promise.all(longs.map((long) => long.fills()))).flatMap(({ data }) => data);
  const kinds = new Set(fills.map(({ execType }) => execType));
  assert.ok(kinds.has("LIQUIDATION"), [...kinds].join());
});
