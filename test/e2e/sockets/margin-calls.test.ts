import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { MarginCallSetting } from "../../../src/client/types.ts";
import { openKey } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;
let market: Trader;

before(async () => {
  server = await startServer({ flags: ["--workers", "2"], environment: { PERPD_SNAPSHOT_INTERVAL_MS: "100" } });
  operator = new Operator(server);
  for (const [symbol, price] of [
    ["BTC-PERP", "65000"],
    ["ETH-PERP", "3000"],
  ] as const)
    await operator.setIndex(symbol, price);
  market = await openTrader(server, "1000000");
});

after(async () => {
  await new Operator(server).soundAudit();
  await server.dispose();
});

/** A trader who is long 1 BTC with 100x. */
async function openLong(marginMode: "CROSS" | "ISOLATED", money: string): Promise<Trader> {
  const trader = await openTrader(server, money);
  await trader.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  await trader.call(200, "POST", "/positions/BTC-PERP/margin-mode", { mode: marginMode });
  await market.sell("1", "65000");
  await trader.buy("1", "65000");
  return trader;
}

const callsOf = (client: SocketClient): string[] =>
  client
    .ofChannel("margin-calls")
    .flatMap(({ type, data }) => data.map(({ symbol, active }) => `${type} ${symbol ?? "cross"} ${active}`));

async function follow(trader: Trader): Promise<SocketClient> {
  const client = await SocketClient.openAs(server.wsUrl, trader.token);
  await client.subscribe({ channel: "margin-calls" });
  await until("the snapshot", () => client.ofChannel("margin-calls").length > 0);
  return client;
}

const ratioOf = async (trader: Trader): Promise<string> =>
  (await trader.get<MarginCallSetting>("/account/margin-call")).ratio;

test("a margin call comes before liquidation, ends with it, and its ratio survives a crash", async (t) => {
  const alice = await openLong("CROSS", "1000");
  const bob = await openLong("ISOLATED", "2000");
  assert.equal(await ratioOf(alice), "0.8");
  const clients = [await follow(alice), await follow(bob)] as const;
  t.after(() => clients.forEach((client) => void client.close()));
  assert.deepEqual(clients.map(callsOf), [[], []]);
  // Bob's isolated margin is 650, and its maintenance margin about 259.
  await operator.setIndex("BTC-PERP", "64670");
  await until("bob's call", () => callsOf(clients[1]).length > 0);
  const { data } = clients[1].ofChannel("margin-calls").at(-1) ?? { data: [] };
  const position = await bob.position();
  assert.deepEqual(
    [data[0]?.symbol, data[0]?.equity, data[0]?.maintenanceMargin],
    ["BTC-PERP", position?.isolatedMargin, position?.maintenanceMargin],
  );
  // Alice has 1000 less a fee; at 64345 about 312 are left, for 257 of maintenance margin.
  await operator.setIndex("BTC-PERP", "64345");
  await until("alice's call", () => callsOf(clients[0]).length > 0);
  await until("bob's liquidation ends his call", () => callsOf(clients[1]).at(-1) === "UPDATE BTC-PERP false");
  assert.equal((await alice.position())?.size, "1", "not liquidated yet");
  const [call] = clients[0].ofChannel("margin-calls").at(-1)?.data ?? [];
  assert.equal(call?.ratio, (await alice.balance()).marginRatio);
  assert.ok(Number(call?.ratio) >= 0.8);
  await operator.setIndex("BTC-PERP", "65000");
  await until("the end", () => callsOf(clients[0]).length === 2);
  assert.deepEqual(callsOf(clients[0]), ["UPDATE cross true", "UPDATE cross false"]);

  await alice.call(200, "POST", "/account/margin-call", { ratio: "0.25" });
  await until("a call at the lower ratio", () => callsOf(clients[0]).length === 3);
  await server.kill();
  await server.start();
  const again = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  assert.equal(await ratioOf(again), "0.25");
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const client = await follow(again);
  t.after(() => client.close());
  assert.deepEqual(callsOf(client), ["SNAPSHOT cross true"]);
});

test("the ratio of margin calls is checked, and needs the permission to trade", async () => {
  const carol = await openTrader(server, "10");
  const ratios: [code: string, ratio: unknown][] = [
    ["BAD_VALUE", "1"],
    ["BAD_VALUE", "0"],
    ["BAD_VALUE", "0.0000001"],
    ["BAD_NUMBER", 0.5],
    ["MISSING_FIELD", undefined],
  ];
  for (const [code, ratio] of ratios) await carol.refused(code as never, "POST", "/account/margin-call", { ratio });
  const { details } = await carol.refused("BAD_VALUE", "POST", "/account/margin-call", { ratio: "0.995" });
  assert.deepEqual(details, { minimum: "0.01", maximum: "0.99" });
  assert.equal(await ratioOf(carol), "0.8");
  const reader = await openKey(server, carol, ["READ"]);
  await reader.refused("PERMISSION_DENIED", "POST", "/account/margin-call", { ratio: "0.5" });
  assert.deepEqual(await reader.get("/account/margin-call"), { ratio: "0.8" });
});
