import { NetworkError } from "ccxt";
import { perpd } from "perpd/ccxt";

/**
 * The same idea through ccxt, so that it runs on any exchange of ccxt: only the line that creates it names perpd.
 *     PERPD_API_KEY=... PERPD_SECRET=... node dist/src/examples/ccxt-market-maker.js BTC/USDC:USDC 0.01
 */
const exchange = new perpd({ hostname: new URL(process.env.PERPD_URL ?? "http://127.0.0.1:8080").host });

exchange.apiKey = process.env.PERPD_API_KEY ?? "";
exchange.secret = process.env.PERPD_SECRET ?? "";
if (!exchange.checkRequiredCredentials(false)) {
  console.error("set PERPD_API_KEY and PERPD_SECRET to those of a key of POST /v1/auth/keys");
  process.exit(1);
}
const [symbol = "BTC/USDC:USDC", amount = "0.01"] = process.argv.slice(2);
const HALF_SPREAD = 0.0005;
/**
 * The exchange cancels all orders of the account, on every symbol, when it does not hear from this program for so long.
 */
const DEAD_AFTER_MS = 10_000;

let isRunning = true;
process.once("SIGINT", () => {
  isRunning = false;
});

let quoted = 0;

async function quote(): Promise<void> {
  await exchange.cancelAllOrdersAfter(DEAD_AFTER_MS);
  const { last, markPrice } = await exchange.fetchTicker(symbol);
  const middle = markPrice ?? last ?? 0;
  if (Math.abs(middle - quoted) > middle * HALF_SPREAD * 0.2) {
    await exchange.cancelAllOrders(symbol);
    const order = { symbol, type: "limit", amount: Number(amount), params: { postOnly: true } } as const;
    await exchange.createOrders([
      { ...order, side: "buy", price: middle * (1 - HALF_SPREAD) },
      { ...order, side: "sell", price: middle * (1 + HALF_SPREAD) },
    ]);
    quoted = middle;
    const [position] = await exchange.fetchPositions([symbol]);
    console.log(`around ${middle}, holding ${position?.contracts ?? 0} ${position?.side ?? ""}`);
  }
}

while (isRunning) {
  try {
    await quote();
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    console.error(error.message);
    // The outcome of the quotes is unknown: replace them.
    quoted = 0;
  }
  await exchange.sleep(200);
}
await exchange.cancelAllOrders(symbol);
await exchange.cancelAllOrdersAfter(0);
