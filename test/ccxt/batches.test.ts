import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import type { CancellationRequest, Dict, OrderRequest } from "ccxt";
import { perpd } from "../../src/ccxt/index.ts";

const SYMBOLS = ["BTC", "ETH", "SOL"].map((base) => ({ base, symbol: `${base}/USDC:USDC`, id: `${base}-PERP` }));
const [BTC, ETH, SOL] = SYMBOLS.map(({ symbol }) => symbol) as [string, string, string];

/** status 200: each item becomes an order. 0: the connection is cut instead of an answer. */
interface Step {
  status: number;
  code?: string;
}

const DONE: Step = { status: 200 };

/** An exchange whose server answers each batch with a step. `seen`: the items of each batch. */
async function serve(t: TestContext, steps: Step[]): Promise<{ exchange: perpd; seen: Dict[][] }> {
  const seen: Dict[][] = [];
  const server = createServer(async (request, response) => {
    const { items } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    seen.push(items);
    const { status, code } = steps.shift() as Step;
    if (status === 0) return request.socket.destroy();
    const placed = items.map((item: Dict) => ({
      order: { orderId: `${seen.length}`, type: "LIMIT", side: "BUY", status: "NEW", ...item },
    }));
    const body = code === undefined ? "<html>" : JSON.stringify({ code, message: "refused" });
    return response.writeHead(status).end(status === 200 ? JSON.stringify({ data: placed }) : body);
  });
  t.after(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const hostname = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const exchange = new perpd({ apiKey: "K", secret: "S", hostname });
  const shared = { quote: "USDC", settle: "USDC", type: "swap", swap: true, contract: true, contractSize: 1 };
  const precision = { amount: 0.001, price: 0.1 };
  exchange.setMarkets(SYMBOLS.map((market) => ({ ...shared, ...market, precision, limits: {} })));
  return { exchange, seen };
}

const order = (symbol: string): OrderRequest => ({ symbol, type: "limit", side: "buy", amount: 1, price: 100 });
const summary = (orders: readonly Dict[]) => orders.map(({ symbol, status, info }) => [symbol, status, info.code]);

test("orders that were placed are returned although a later symbol is refused as a whole", async (t) => {
  for (const refused of [
    { status: 503, code: "OVERLOADED" },
    { status: 429, code: "RATE_LIMITED" },
    { status: 403, code: "SYMBOL_NOT_ALLOWED" },
    { status: 400, code: "BAD_VALUE" },
  ]) {
    const { exchange, seen } = await serve(t, [DONE, refused, DONE]);
    const orders = await exchange.createOrders([order(BTC), order(ETH), order(SOL), order(ETH)]);
    assert.deepEqual(summary(orders), [
      [BTC, "open", undefined],
      [ETH, "rejected", refused.code],
      [SOL, "open", undefined],
      [ETH, "rejected", refused.code],
    ]);
    assert.equal(seen.length, 3);
  }
});

test("orders of a later part whose outcome is unknown have no status, and the exception as info", async (t) => {
  for (const [step, name] of [
    [{ status: 0 }, "NetworkError"],
    [{ status: 502 }, "ExchangeNotAvailable"],
    [{ status: 503, code: "TIMEOUT" }, "RequestTimeout"],
    [{ status: 500, code: "INTERNAL" }, "ExchangeError"],
    [{ status: 401, code: "SIGNATURE_REPLAYED" }, "RequestTimeout"],
  ] as const) {
    const { exchange } = await serve(t, [DONE, step]);
    const orders = await exchange.createOrders(Array.from({ length: 21 }, () => order(BTC)));
    assert.deepEqual(
      orders.map(({ status }) => status),
      [...Array.from({ length: 20 }, () => "open"), undefined],
    );
    assert.equal(orders[20]?.info.name, name);
  }
});

test("a batch whose first part fails rejects, and nothing else is sent", async (t) => {
  for (const [step, name] of [
    [{ status: 503, code: "OVERLOADED" }, "ExchangeNotAvailable"],
    [{ status: 503, code: "TIMEOUT" }, "RequestTimeout"],
  ] as const) {
    const { exchange, seen } = await serve(t, [step]);
    await assert.rejects(exchange.createOrders([order(BTC), order(ETH)]), { name });
    assert.equal(seen.length, 1);
  }
});

test("edits and cancels of a later part that fails have no status", async (t) => {
  const { exchange } = await serve(t, [DONE, { status: 503, code: "OVERLOADED" }, DONE, { status: 0 }]);
  const edited = await exchange.editOrders([
    { ...order(BTC), id: "1" } as OrderRequest,
    { ...order(ETH), id: "2" } as OrderRequest,
  ]);
  assert.deepEqual(summary(edited), [
    [BTC, "open", undefined],
    [ETH, undefined, "OVERLOADED"],
  ]);
  const requests = [
    { id: "1", symbol: BTC },
    { id: "2", symbol: ETH },
  ] as CancellationRequest[];
  const [, lost] = await exchange.cancelOrdersForSymbols(requests);
  assert.deepEqual([lost?.id, lost?.status, lost?.info.name], ["2", undefined, "NetworkError"]);
});

test("an unknown symbol rejects before anything is sent", async (t) => {
  const { exchange, seen } = await serve(t, []);
  const requests = [
    { id: "1", symbol: BTC },
    { id: "2", symbol: "XYZ/USDC:USDC" },
  ] as CancellationRequest[];
  await assert.rejects(exchange.cancelOrdersForSymbols(requests), { name: "BadSymbol" });
  assert.deepEqual(seen, []);
});
