import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page, Ticker, Transfer } from "../../../src/client/types.ts";
import { ServerClock } from "../support/mains/server-clock.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

const HOUR_MS = 3_600_000;

const clock = new ServerClock(HOUR_MS);
let server: TestServer;

before(async () => {
  server = await startServer({
    environment: {
      ...clock.environment,
      ...{ PERPD_WITHDRAWAL_DELAY_MS: "500", PERPD_MAX_INDEX_AGE_MS: "2000" },
    },
  });
});
after(async () => {
  await server.dispose();
});

async function aheadSeconds(operator: Operator): Promise<number> {
  const { text } = await operator.request("GET", "/metrics");
  return Number(/^perpd_log_clock_ahead_seconds (\S+)$/m.exec(text)?.[1]);
}

test("when the machine's clock is set back by an hour, time goes on and a metric says by how much", async () => {
  const operator = new Operator(server);
  const trader = await openTrader(server);
  assert.ok((await aheadSeconds(operator)) < 1);
  clock.set(0);
  await until("the metric", async () => (await aheadSeconds(operator)) > HOUR_MS / 1000 - 60);
  const tickerStatus = async () => (await trader.get<Ticker>("/market/ticker?symbol=BTC-PERP")).status;
  await until("trading", async () => {
    await operator.setIndex("BTC-PERP", "65000");
    return (await tickerStatus()) === "TRADING";
  });
  const body = { asset: "USDC", amount: "40", address: trader.address, reference: "out" };
  await trader.call<Transfer>(201, "POST", "/account/withdraw", body);
  await until("the withdrawal", async () => {
    const { data } = await trader.get<Page<Transfer>>("/account/withdrawals");
    return data[0]?.status === "COMPLETED";
  });
  await until("the price to be stale", async () => (await tickerStatus()) !== "TRADING");
  await operator.soundAudit();
});
