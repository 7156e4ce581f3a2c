import { createHmac } from "node:crypto";
import { PerpdClient } from "../src/client/client.ts";
import type { CreatedApiKey } from "../src/client/types.ts";
import {
  AUTOCANNON,
  type HttpLoad,
  type LoadGenerator,
  type Measured,
  type Request,
  WRK,
} from "./support/load/http-load.ts";
import { type BareSizes, type Running, type RunningExchange, startBare, startExchange } from "./support/processes.ts";
import { interleave, type Row, ratioRow } from "./support/report.ts";

const CONNECTIONS = 64;
const LATENCY_CONNECTIONS = [1, 4, 16];
const SECONDS = 2;
/** Baselines of an order: a bare reply, and a reply after a pipeline like perpd's that waits for the disk. */
const BASELINES = ["bare uWebSockets.js", "bare pipeline"];
const JSON_TYPE = { "Content-Type": "application/json" };
const BOOK = "/market/orderbook?symbol=BTC-PERP&depth=20";
const TICKER = "/market/ticker?symbol=BTC-PERP";
/** On each side of the book. */
const LEVELS = 30;
/** An order that goes the whole way but leaves nothing behind: IOC, far below the market. */
const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", timeInForce: "IOC", price: "30000", quantity: "0.001" };
/** Prices for orders that must differ. */
const PRICES = 20_000;

/**
 * Durable orders and market data over HTTP against a bare uWebSockets.js handler with replies of the same size. Orders
 * also against one that replies after a bare pipeline (support/servers/bare-pipeline.ts).
 */
export async function benchGateway(rounds: number): Promise<Row[]> {
  if (WRK === null)
    console.error("wrk is not installed (Debian package wrk): rates come from autocannon, latencies are left out");
  const exchange = await startExchange({ "BTC-PERP": "65000" });
  try {
    await restBook(exchange);
    const bare = await startBare(await answerSizes(exchange));
    try {
      return [
        ...(await compareRates(exchange, bare, rounds)),
        ...(await compareLatencies(exchange, bare, rounds)),
        await compareSigned(exchange, rounds),
      ];
    } finally {
      await bare.stop();
    }
  } finally {
    await exchange.stop();
  }
}

async function compareRates(exchange: RunningExchange, bare: Running, rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  const compare = async (what: string, generator: LoadGenerator, load: HttpLoad): Promise<void> => {
    const [ours, ...theirs] = await measure(generator, withBaselines(load, bare), rounds);
    const full = `${what}, ${CONNECTIONS} connections (${generator.name})`;
    for (const [i, other] of theirs.entries())
      rows.push(ratioRow(full, "requests/s", BASELINES[i], ours.map(rateOf), other.map(rateOf)));
  };
  for (const generator of WRK === null ? [AUTOCANNON] : [AUTOCANNON, WRK]) {
    await compare("POST /orders, durable", generator, orderLoad(exchange, CONNECTIONS));
    await compare("GET /market/orderbook", generator, readLoad(exchange, BOOK));
  }
  await compare("GET /market/ticker", WRK ?? AUTOCANNON, readLoad(exchange, TICKER));
  return rows;
}

async function compareLatencies(exchange: RunningExchange, bare: Running, rounds: number): Promise<Row[]> {
  if (WRK === null) return [];
  const rows: Row[] = [];
  for (const connections of LATENCY_CONNECTIONS) {
    const [ours, ...theirs] = await measure(WRK, withBaselines(orderLoad(exchange, connections), bare), rounds);
    for (const percentile of ["p50", "p99"] as const) {
      const of = ({ latency }: Measured): number => latency?.[percentile] ?? Number.NaN;
      const what = `POST /orders, durable, ${connections} connections, ${percentile} (wrk)`;
      for (const [i, other] of theirs.entries())
        rows.push(ratioRow(what, "us", BASELINES[i], ours.map(of), other.map(of)));
    }
  }
  return rows;
}

/** The same orders by API key and by token. All differ, since a signature is valid once. */
async function compareSigned(exchange: RunningExchange, rounds: number): Promise<Row> {
  const generator = WRK ?? AUTOCANNON;
  const { headers, ...load } = orderLoad(exchange, CONNECTIONS);
  const { rate } = await generator.run({ headers, ...load }, 1);
  const bodies = Array.from({ length: Math.ceil(2 * rate * SECONDS) }, (_, i) => otherOrder(i));
  const client = new PerpdClient({ baseUrl: exchange.url, token: exchange.token });
  const [bySignature, byToken] = await interleave(
    rounds,
    async () => {
      // The server keeps some hundred thousand signatures a minute per key: use a new key each round.
      const key = await client.createKey({ label: "bench", permissions: ["TRADE"] });
      const each = sign(bodies, new URL(load.url).pathname, key);
      const measured = await generator.run({ ...load, headers: JSON_TYPE, each }, SECONDS);
      await client.revokeKey(key.apiKey);
      return measured;
    },
    () => generator.run({ ...load, headers, each: bodies.map((body) => ({ headers: {}, body })) }, SECONDS),
  );
  const what = `POST /orders, signed with HMAC-SHA256, ${CONNECTIONS} connections (${generator.name})`;
  return ratioRow(what, "requests/s", "with a token", bySignature.map(rateOf), byToken.map(rateOf));
}

/** Signed in advance, so that signing is not measured. */
function sign(bodies: readonly string[], path: string, { apiKey, secret }: CreatedApiKey): Request[] {
  const now = Date.now();
  return bodies.map((body, i) => {
    const timestamp = String(now - Math.floor(i / PRICES));
    const signature = createHmac("sha256", secret).update(`${timestamp}POST${path}${body}`).digest("hex");
    const headers = {
      "X-Api-Key": apiKey,
      "X-Timestamp": timestamp,
      "X-Signature": signature,
      "X-Recv-Window": "60000",
    };
    return { headers, body };
  });
}

const otherOrder = (i: number): string =>
  JSON.stringify({ ...ORDER, price: (Number(ORDER.price) - (i % PRICES) / 10).toFixed(1) });

const rateOf = ({ rate }: Measured): number => rate;

/** A load and the same load for its baselines. */
const withBaselines = (load: HttpLoad, bare: Running): HttpLoad[] => [
  load,
  { ...load, url: bare.url },
  ...(load.method === "POST" ? [{ ...load, url: `${bare.url}/pipeline` }] : []),
];

async function measure(generator: LoadGenerator, loads: readonly HttpLoad[], rounds: number): Promise<Measured[][]> {
  for (const load of loads) await generator.run(load, 1); // warm-up
  return interleave(rounds, ...loads.map((load) => () => generator.run(load, SECONDS)));
}

function orderLoad({ url, token }: RunningExchange, connections: number): HttpLoad {
  const headers = { Authorization: `Bearer ${token}`, ...JSON_TYPE };
  return { url: `${url}/orders`, method: "POST", connections, headers, body: JSON.stringify(ORDER) };
}

function readLoad({ url }: RunningExchange, target: string): HttpLoad {
  return { url: url + target, method: "GET", connections: CONNECTIONS, headers: {} };
}

/** Places orders on both sides, so that the book is not empty. */
async function restBook({ url, token }: RunningExchange): Promise<void> {
  const client = new PerpdClient({ baseUrl: url, token });
  const order = { symbol: "BTC-PERP", type: "LIMIT", timeInForce: "GTC", quantity: "0.001" } as const;
  for (let i = 1; i <= LEVELS; i++) {
    await client.placeOrder({ ...order, side: "BUY", price: String(65_000 - i) });
    await client.placeOrder({ ...order, side: "SELL", price: String(65_000 + i) });
  }
}

async function answerSizes(exchange: RunningExchange): Promise<BareSizes> {
  const sizeOf = async ({ url, method, headers, body }: HttpLoad): Promise<number> => {
    const answer = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
    if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
    return (await answer.text()).length;
  };
  return { post: await sizeOf(orderLoad(exchange, 1)), get: await sizeOf(readLoad(exchange, BOOK)), published: 0 };
}
