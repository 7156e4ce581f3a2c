import { compareFirstSeconds } from "./first-second.ts";
import { compareQuotes } from "./quotes.ts";
import { PERCENTILES, type SocketTradersTask, type Traded } from "./support/load/socket-traders.ts";
import { TraderProcess } from "./support/load/trader-process.ts";
import { startBare, startExchange } from "./support/processes.ts";
import { compact, interleave, type Row, ratioRow } from "./support/report.ts";

const ECHO = "bare echo";
const CONNECTIONS = 8;
const IN_FLIGHT = 32;
const SECONDS = 2;
const LATENCY_SECONDS = 2;
/** Fractions of the sustained rate. */
const LOADS = [0.1, 0.5, 0.9];
/** An order that goes the whole way but leaves nothing behind: IOC, far below the market. */
const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", timeInForce: "IOC", price: "30000", quantity: "0.001" };
/** A refusal is much shorter. */
const LEAST_ANSWER_BYTES = 400;

/**
 * Durable orders over WebSockets, at full rate. Baselines: a bare server that echoes, one that parses and sends replies
 * of perpd's length, and one that does so after a bare pipeline. Then latencies at fractions of that rate, orders that
 * rest and are canceled (quotes.ts), and the first second after a start (first-second.ts).
 */
export async function benchWebSocket(rounds: number): Promise<Row[]> {
  const request = JSON.stringify({ op: "order.place", id: 1, params: ORDER });
  const each = { connections: CONNECTIONS, inFlight: IN_FLIGHT, request };
  return [...(await compareWarm(each, rounds)), ...(await compareFirstSeconds(each, rounds))];
}

async function compareWarm(each: Omit<SocketTradersTask, "url" | "openingMessage">, rounds: number): Promise<Row[]> {
  const exchange = await startExchange({ "BTC-PERP": "65000" });
  const openingMessage = JSON.stringify({ op: "auth", token: exchange.token });
  const traders = await TraderProcess.start({ ...each, url: exchange.socketUrl, openingMessage });
  const { answers, bytes } = await traders.measure(1); // warm-up
  const answerBytes = Math.round(bytes / answers);
  if (answerBytes < LEAST_ANSWER_BYTES) throw new Error(`replies of ${answerBytes} bytes cannot be orders`);
  const bare = await startBare({ post: answerBytes, get: 0, published: 0 });
  const echoed = await TraderProcess.start({ ...each, url: bare.socketUrl, openingMessage: "" });
  const answered = await TraderProcess.start({ ...each, url: `${bare.socketUrl}answer`, openingMessage: "" });
  const durable = await TraderProcess.start({ ...each, url: `${bare.socketUrl}pipeline`, openingMessage: "" });
  try {
    const rows = [
      await compareRates(traders, echoed, ECHO, rounds),
      await compareRates(traders, answered, `bare parse and answer of ${answerBytes} bytes`, rounds),
      await compareRates(traders, durable, "the same around a bare pipeline", rounds),
    ];
    const sustained = (rows[0] as Row).perpd;
    for (const load of LOADS) rows.push(...(await compareLatencies(traders, echoed, load, sustained, rounds)));
    rows.push(await compareQuotes({ ...each, url: exchange.socketUrl, openingMessage }, rounds));
    return rows;
  } finally {
    const gathered = [traders, echoed, answered, durable];
    await Promise.all([...gathered.map((traders) => traders.stop()), bare.stop(), exchange.stop()]);
  }
}

async function compareRates(
  traders: TraderProcess,
  others: TraderProcess,
  beside: string,
  rounds: number,
): Promise<Row> {
  await others.measure(1); // warm-up
  const [ours, theirs] = await interleave(
    rounds,
    () => traders.measure(SECONDS),
    () => others.measure(SECONDS),
  );
  const rate = ({ answers, seconds }: Traded): number => answers / seconds;
  const what = `orders over WebSocket, durable, ${CONNECTIONS} connections × ${IN_FLIGHT} in flight`;
  return ratioRow(what, "orders/s", beside, ours.map(rate), theirs.map(rate));
}

async function compareLatencies(
  traders: TraderProcess,
  echoed: TraderProcess,
  load: number,
  sustained: number,
  rounds: number,
): Promise<Row[]> {
  const perSecond = Math.round(sustained * load);
  const [ours, theirs] = await interleave(
    rounds,
    () => traders.measure(LATENCY_SECONDS, perSecond),
    () => echoed.measure(LATENCY_SECONDS, perSecond),
  );
  return PERCENTILES.map((percentile) => {
    const of = ({ latency }: Traded): number => latency?.[percentile] ?? Number.NaN;
    const what = `orders over WebSocket, ${load * 100} % of that: ${compact(perSecond)}/s, ${percentile}`;
    return ratioRow(what, "us", ECHO, ours.map(of), theirs.map(of));
  });
}
