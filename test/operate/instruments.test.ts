import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Order, PlacedOrder } from "../../src/client/types.ts";
import { DEFAULT_INSTRUMENTS } from "../../src/config/instruments.ts";
import type { InstrumentConfig } from "../../src/core/protocol/instrument.ts";
import { Api } from "../e2e/support/api.ts";
import { startAndFail, startServer } from "../e2e/support/server.ts";
import { Operator, openTrader } from "../e2e/support/trader.ts";
import { contentOf, perpd, startSmall, temporaryFolder } from "./support.ts";

/** What is on disk is in ticks, lots and ids: the instruments of a folder stay what they were when it was begun. */

const folder = temporaryFolder();
/** An exchange with a position of 1 BTC and a bid at 60000, stopped in good order. */
const begun = join(folder, "begun");
const RECORD = "instruments.json";
const [BTC, ETH, SOL] = DEFAULT_INSTRUMENTS as [InstrumentConfig, InstrumentConfig, InstrumentConfig];
const XRP = { ...SOL, id: 4, symbol: "XRP-PERP", baseAsset: "XRP" };
let token: string | undefined;
let bid: Order;

before(async () => {
  const server = await startSmall(begun);
  try {
    await new Operator(server).setIndex("BTC-PERP", "65000");
    const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
    await bob.sell("1", "65000");
    await alice.buy("1", "65000");
    const { fills: _, ...order } = await alice.buy("0.5", "60000", { clientOrderId: "bid" });
    bid = order;
    token = alice.token;
    assert.equal((await server.stop()).code, 0);
  } finally {
    await server.dispose();
  }
});

after(() => fs.rmSync(folder, { recursive: true }));

let files = 0;
function configured(...instruments: object[]): string[] {
  const path = join(folder, `config-${files++}.json`);
  fs.writeFileSync(path, JSON.stringify({ instruments }));
  return ["--config", path];
}

function copyOf(dir: string): string {
  const copy = join(folder, `copy-${files++}`);
  fs.cpSync(dir, copy, { recursive: true });
  return copy;
}

const start = (dataFolder: string, config: string[]) =>
  startServer({ dataFolder, quiet: false, flags: ["--no-bots", "--price-source", "operator", ...config] });

const REFUSED: [what: string, config: string[], says: RegExp][] = [
  [
    "another step",
    configured({ ...BTC, stepSize: "0.0001", maxQuantity: "10" }, ETH, SOL),
    /BTC-PERP was first started with stepSize 0\.001; this cannot be changed to 0\.0001/,
  ],
  [
    "another tick",
    configured({ ...BTC, tickSize: "0.2" }, ETH, SOL),
    /BTC-PERP was first started with tickSize 0\.1; this cannot be changed to 0\.2/,
  ],
  [
    "another symbol under an id",
    configured({ ...BTC, symbol: "XBT-PERP" }, ETH, SOL),
    /BTC-PERP was first started with symbol BTC-PERP; this cannot be changed to XBT-PERP/,
  ],
  [
    "another base asset",
    configured({ ...BTC, baseAsset: "XBT" }, ETH, SOL),
    /BTC-PERP was first started with baseAsset BTC; this cannot be changed to XBT/,
  ],
  [
    "another id of a symbol",
    configured(BTC, ETH, { ...SOL, id: 4 }),
    /SOL-PERP was first started with id 3; this cannot be changed to 4/,
  ],
  [
    "a symbol left out",
    configured(BTC, SOL),
    /ETH-PERP \(id 2\) is missing, but the data folder has state of it: keep it/,
  ],
];

for (const [what, config, says] of REFUSED)
  test(`refused by name, and nothing is written: ${what}`, async () => {
    const dir = copyOf(begun);
    const before = contentOf(dir);
    const started = await startAndFail({ dataFolder: dir, quiet: false, flags: config });
    assert.equal(started.code, 2);
    assert.match(started.output, says);
    const target = join(folder, "restored");
    for (const args of [
      ["verify", dir],
      ["restore", dir, target],
    ]) {
      const { code, stdout, stderr } = await perpd(...args, ...config);
      assert.deepEqual([code, stdout], [2, ""], args[0]);
      assert.match(stderr, says);
    }
    assert.equal(fs.existsSync(target), false);
    assert.deepEqual(contentOf(dir), before);
  });

test("fees, limits and order may change, and added instruments are recorded", async () => {
  const dir = copyOf(begun);
  const cheap = { ...BTC, tickSize: "0.10", takerFeeRate: "0.0001", maxOpenOrders: 10, priceBand: "0.1" };
  const more = configured(SOL, cheap, ETH, XRP);
  const server = await start(dir, more);
  try {
    const alice = new Api(server.url, token);
    assert.equal((await alice.get<{ size: string }>("/positions/BTC-PERP")).size, "1");
    assert.deepEqual(await alice.get("/orders/client:bid"), bid);
    assert.equal((await server.stop()).code, 0);
  } finally {
    await server.dispose();
  }
  const verified = await perpd("verify", dir, ...more);
  assert.deepEqual([verified.code, verified.stderr], [0, ""]);
  const { code, output } = await startAndFail({ dataFolder: dir });
  assert.equal(code, 2);
  assert.match(output, /XRP-PERP \(id 4\) is missing/);
});

test("a maximum price below a resting order or below the index price is refused", async () => {
  for (const [maxPrice, says] of [
    ["50000", /BTC-PERP\.maxPrice: 50000 is below an order of the data folder, 6[05]000/],
    ["64999.9", /BTC-PERP\.maxPrice: 64999\.9 is below (an order|the index price) of the data folder, 65000/],
  ] as const) {
    const dir = copyOf(begun);
    const { code, output } = await startAndFail({
      dataFolder: dir,
      quiet: false,
      flags: configured({ ...BTC, maxPrice }, ETH, SOL),
    });
    assert.equal(code, 1);
    assert.match(output, says);
    // It says nothing about what is in the folder.
    const lower = configured({ ...BTC, maxPrice }, ETH, SOL);
    for (const args of [
      ["verify", dir],
      ["restore", dir, `${dir}-copy`],
    ]) {
      const refused = await perpd(...args, ...lower);
      assert.equal(refused.code, 2, args[0]);
      assert.match(refused.stderr, new RegExp(`^instruments: ${says.source}`), args[0]);
    }
    const server = await start(dir, configured(BTC, ETH, SOL));
    try {
      assert.deepEqual(await new Api(server.url, token).get("/orders/client:bid"), bid);
    } finally {
      await server.dispose();
    }
  }
});

test("an order that waits for a price above the maximum goes on waiting", async () => {
  const dir = copyOf(begun);
  const stop = { symbol: "BTC-PERP", side: "BUY", type: "STOP_MARKET", triggerPrice: "90000", quantity: "0.1" };
  const first = await start(dir, configured(BTC, ETH, SOL));
  let placed: Order;
  try {
    const { fills: _, ...order } = await new Api(first.url, token).call<PlacedOrder>(201, "POST", "/orders", stop);
    placed = order;
  } finally {
    await first.stop();
    await first.dispose();
  }
  const second = await start(dir, configured({ ...BTC, maxPrice: "70000" }, ETH, SOL));
  try {
    const alice = new Api(second.url, token);
    assert.deepEqual(await alice.get(`/orders/${placed.orderId}`), placed);
    await new Operator(second).setIndex("BTC-PERP", "70000");
    assert.equal((await alice.get<Order>(`/orders/${placed.orderId}`)).status, "UNTRIGGERED");
    assert.equal((await alice.call<Order>(200, "DELETE", `/orders/${placed.orderId}`)).status, "CANCELED");
  } finally {
    await second.dispose();
  }
});

test("a copy includes the recorded instruments", async () => {
  const backup = join(folder, "backup");
  const restored = join(folder, "of-backup");
  assert.equal((await perpd("backup", begun, backup)).code, 0);
  assert.equal((await perpd("restore", backup, restored)).code, 0);
  for (const dir of [backup, restored])
    assert.deepEqual(fs.readFileSync(join(dir, RECORD)), fs.readFileSync(join(begun, RECORD)));
});

test("an unreadable instruments.json is damage and is not replaced", async () => {
  const dir = copyOf(begun);
  for (const [text, says] of [
    ['{ "formatVersion": 1, "instruments": [{ "id": 1 }] }', /instruments\.json: cannot be read/],
    ['{ "formatVersion": 2 }', /instruments\.json: has format 2, this program reads format 1/],
  ] as const) {
    fs.writeFileSync(join(dir, RECORD), text);
    const { code, stderr } = await perpd("verify", dir);
    assert.equal(code, 1);
    assert.match(stderr, says);
    const started = await startAndFail({ dataFolder: dir });
    assert.equal(started.code, 1);
    assert.match(started.output, says);
    assert.equal(fs.readFileSync(join(dir, RECORD), "utf8"), text);
  }
});

test("a folder without instruments.json needs all its instruments at the first start, which writes the file", async () => {
  const dir = copyOf(begun);
  const record = fs.readFileSync(join(dir, RECORD), "utf8");
  fs.rmSync(join(dir, RECORD));
  const before = contentOf(dir);
  const one = configured(BTC, SOL);
  const says = /no instrument has the id 2, but the data folder has state of it: keep it/;
  const started = await startAndFail({ dataFolder: dir, quiet: false, flags: one });
  assert.equal(started.code, 2);
  assert.match(started.output, says);
  const narrow = await perpd("verify", dir, ...one);
  assert.equal(narrow.code, 2);
  assert.match(narrow.stderr, says);
  const whole = await perpd("verify", dir);
  assert.deepEqual([whole.code, whole.stderr], [0, ""]);
  assert.match(whole.stdout, /^units {6}as configured/m);
  const { "/database/lock.mdb": _before, ...kept } = before;
  const { "/database/lock.mdb": _after, ...now } = contentOf(dir);
  assert.deepEqual(now, kept);
  const server = await start(dir, []);
  await server.stop();
  await server.dispose();
  assert.equal(fs.readFileSync(join(dir, RECORD), "utf8"), record);
});

test("state that only the log holds counts as well", async () => {
  const dir = join(folder, "logged");
  const server = await startSmall(dir, { PERPD_SNAPSHOT_INTERVAL_MS: "3600000" });
  await new Operator(server).setIndex("ETH-PERP", "3000");
  await server.kill();
  await server.dispose();
  fs.rmSync(join(dir, RECORD));
  const { code, output } = await startAndFail({ dataFolder: dir, quiet: false, flags: configured(BTC, SOL) });
  assert.equal(code, 2);
  assert.match(output, /no instrument has the id 2/);
});
