import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import autocannon from "autocannon";
import { type RunningExchange, startBare, startExchange } from "./support/processes.ts";
import { type Row, ratioRow } from "./support/report.ts";

const CONNECTIONS = 64;
/** Parsed, authenticated, checked, written to disk and answered; far below the market, so that nothing is left behind. */
const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", timeInForce: "IOC", price: "30000", quantity: "0.001" };

interface Load {
  url: string;
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: string;
}

interface Generator {
  readonly name: string;
  rate(load: Load, seconds: number): Promise<number>;
}

/** Durable orders and market data over REST, each beside a bare uWebSockets.js handler with answers of the same size. */
export async function benchGateway(rounds: number, seconds: number): Promise<Row[]> {
  const exchange = await startExchange({ "BTC-PERP": "65000" });
  const headers = { Authorization: `Bearer ${exchange.token}`, "Content-Type": "application/json" };
  try {
    await restBook(exchange, headers);
    const order: Load = { url: `${exchange.url}/orders`, method: "POST", headers, body: JSON.stringify(ORDER) };
    const book: Load = { url: `${exchange.url}/market/orderbook?symbol=BTC-PERP&depth=20`, method: "GET", headers: {} };
    const bare = await startBare(await sizeOf(order), await sizeOf(book));
    const barePost = { ...order, url: bare.url };
    const bareGet = { ...book, url: bare.url };
    const rows: Row[] = [];
    try {
      for (const generator of await generators()) {
        rows.push(
          await compare(
            `POST /orders, durable, ${CONNECTIONS} connections`,
            generator,
            order,
            barePost,
            rounds,
            seconds,
          ),
        );
        rows.push(
          await compare(`GET /market/orderbook, ${CONNECTIONS} connections`, generator, book, bareGet, rounds, seconds),
        );
      }
    } finally {
      await bare.stop();
    }
    return rows;
  } finally {
    await exchange.stop();
  }
}

/** Some orders on both sides, so that there is a book to show. */
async function restBook(exchange: RunningExchange, headers: Record<string, string>): Promise<void> {
  for (let i = 1; i <= 30; i++) {
    for (const [side, price] of [["BUY", 65_000 - i] as const, ["SELL", 65_000 + i] as const]) {
      const body = JSON.stringify({ ...ORDER, timeInForce: "GTC", side, price: String(price) });
      const reply = await fetch(`${exchange.url}/orders`, { method: "POST", headers, body });
      if (reply.status !== 201) throw new Error(`an order of the book: ${await reply.text()}`);
    }
  }
}

async function sizeOf(load: Load): Promise<number> {
  const { method, headers, body } = load;
  const reply = await fetch(load.url, { method, headers, ...(body === undefined ? {} : { body }) });
  if (reply.status >= 300) throw new Error(`${method} ${load.url}: ${reply.status} ${await reply.text()}`);
  return (await reply.text()).length;
}

async function compare(
  stage: string,
  generator: Generator,
  ours: Load,
  limit: Load,
  rounds: number,
  seconds: number,
): Promise<Row> {
  const rates: [number[], number[]] = [[], []];
  await generator.rate(limit, 1);
  await generator.rate(ours, 1);
  for (let round = 0; round < rounds; round++) {
    const loads = round % 2 === 0 ? [ours, limit] : [limit, ours];
    for (const load of loads) rates[load === ours ? 0 : 1].push(await generator.rate(load, seconds));
  }
  return ratioRow(`${stage} (${generator.name})`, "bare uWebSockets.js", "requests/s", rates[0], rates[1]);
}

/** autocannon because users run it; wrk too where it is installed, since autocannon is itself the limit here. */
async function generators(): Promise<Generator[]> {
  const found: Generator[] = [{ name: "autocannon", rate: autocannonRate }];
  if (spawnSync("wrk", ["--version"]).error === undefined) found.push({ name: "wrk", rate: wrkRate });
  else console.error("wrk is not installed (Debian package wrk): its rows are left out");
  return found;
}

async function autocannonRate(load: Load, seconds: number): Promise<number> {
  const { url, method, headers, body } = load;
  const result = await autocannon({
    url,
    method,
    headers,
    connections: CONNECTIONS,
    duration: seconds,
    ...(body === undefined ? {} : { body }),
  });
  if (result.errors > 0 || result.non2xx > 0)
    throw new Error(`${url}: ${result.errors} errors, ${result.non2xx} not 2xx`);
  return result["2xx"] / result.duration;
}

async function wrkRate(load: Load, seconds: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "perpd-wrk-"));
  try {
    const script = join(folder, "load.lua");
    const headers = Object.entries(load.headers).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
    writeFileSync(script, [`wrk.method = "${load.method}"`, `wrk.body = '${load.body ?? ""}'`, ...headers].join("\n"));
    const args = ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "-s", script, load.url];
    const { stdout } = spawnSync("wrk", args, { encoding: "utf8" });
    const rate = /Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1];
    if (rate === undefined || stdout.includes("Non-2xx")) throw new Error(`wrk: ${stdout}`);
    return Number(rate);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
