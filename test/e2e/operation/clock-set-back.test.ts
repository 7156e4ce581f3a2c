import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Page, Ticker, Transfer } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

const CLOCK = new URL("../support/mains/settable-clock.js", import.meta.url).href;
const HOUR_MS = 3_600_000;

const folder = mkdtempSync(join(tmpdir(), "perpd-set-back-"));
const clockFile = join(folder, "clock");
let server: TestServer;

function setClock(aheadMs: number): void {
  writeFileSync(`${clockFile}.new`, String(aheadMs));
  renameSync(`${clockFile}.new`, clockFile);
}

before(async () => {
  setClock(HOUR_MS);
  server = await startServer({
    environment: {
      ...{ NODE_OPTIONS: `--import=${CLOCK}`, CLOCK_FILE: clockFile },
      ...{ PERPD_WITHDRAWAL_DELAY_MS: "500", PERPD_MAX_INDEX_AGE_MS: "2000" },
    },
  });
});
after(async () => {
  await server.dispose();
  rmSync(folder, { recursive: true });
});

async function aheadSeconds(operator: Operator): Promise<number> {
  const { text } = await operator.request("GET", "/metrics");
  return Number(/^perpd_log_clock_ahead_seconds (\S+)$/m.exec(text)?.[1]);
}

test("when the machine's clock is set back by an hour, time goes on and a metric says by how much", async () => {
  const operator = new Operator(server);
  const trader = await openTrader(server);
  assert.ok((await aheadSeconds(operator)) < 1);
  setClock(0);
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
