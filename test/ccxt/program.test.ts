import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openMarket } from "./support/market.ts";

/** Where package.json lies; the tests run from dist/test/ccxt. */
const TOP = fileURLToPath(new URL("../../../", import.meta.url));

const MAKE = "const exchange = new ccxt.binanceusdm({ apiKey, secret });";

/** As anyone would write it for any futures exchange that ccxt knows. */
const PROGRAM = `
import ccxt from "ccxt";

const { API_KEY: apiKey, SECRET: secret } = process.env;
${MAKE}
const symbol = "BTC/USDC:USDC";
const amount = 0.01;

await exchange.loadMarkets();
const market = exchange.market(symbol);
const { USDC } = await exchange.fetchBalance();
if (USDC.free < 1000) throw new Error("too poor");
await exchange.setLeverage(5, symbol);

const book = await exchange.fetchOrderBook(symbol, 5);
const far = exchange.priceToPrecision(symbol, book.bids[0][0] * 0.98);
const order = await exchange.createOrder(symbol, "limit", "buy", amount, Number(far), { postOnly: true });
const open = await exchange.fetchOpenOrders(symbol);
if (!open.some(({ id }) => id === order.id)) throw new Error("the order is not there");
try {
  await exchange.createOrder(symbol, "limit", "buy", market.limits.amount.max, Number(far));
} catch (error) {
  if (!(error instanceof ccxt.InsufficientFunds)) throw error;
}
await exchange.cancelOrder(order.id, symbol);

const fills = exchange.watchMyTrades(symbol);
const quotes = await exchange.watchOrderBook(symbol);
await exchange.createMarketOrder(symbol, "buy", amount);
const [fill] = await fills;
if (fill.amount !== amount || fill.price !== quotes.asks[0][0]) throw new Error("not what the book said");
const [position] = await exchange.fetchPositions([symbol]);
await exchange.createMarketOrder(symbol, "sell", position.contracts, undefined, { reduceOnly: true });
console.log(position.side, position.contracts, (await exchange.fetchPositions([symbol])).length);
await exchange.close();
`;

test("a ccxt program trades here when only the line that creates its exchange is changed", async (t) => {
  const market = await openMarket();
  t.after(() => market.server.dispose());
  const folder = mkdtempSync(join(tmpdir(), "perpd-ccxt-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // Ends Node's search for the package that the program belongs to, in case that a folder above has a package.json.
  writeFileSync(join(folder, "package.json"), "{}");
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(TOP, join(folder, "node_modules/perpd"));
  symlinkSync(join(TOP, "node_modules/ccxt"), join(folder, "node_modules/ccxt"));

  const make =
    'const { perpd } = await import("perpd/ccxt"); const exchange = new perpd({ apiKey, secret, hostname });';
  const given = `const hostname = "127.0.0.1:${market.server.port}";`;
  writeFileSync(join(folder, "program.mjs"), `${given}\n${PROGRAM.replace(MAKE, make)}`);
  const maker = market.maker.exchange;
  await maker.createLimitSellOrder("BTC/USDC:USDC", 1, 65010);
  await maker.createLimitBuyOrder("BTC/USDC:USDC", 1, 64990);

  const { apiKey, secret } = market.taker.exchange;
  const child = spawn(process.execPath, [join(folder, "program.mjs")], {
    env: { API_KEY: apiKey, SECRET: secret },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  for (const output of [child.stdout, child.stderr])
    output.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  assert.deepEqual(await once(child, "close"), [0, null], said);
  assert.equal(said, "long 0.01 0\n");
});
