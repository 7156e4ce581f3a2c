import type { Latencies, SocketTradersTask } from "./support/load/socket-traders.ts";
import { TraderProcess } from "./support/load/trader-process.ts";
import { type Running, startBare, startExchange } from "./support/processes.ts";
import { compact, interleave, type Row, ratioRow } from "./support/report.ts";

const PER_SECOND = 20_000;
/** About the length of an order's reply. */
const ANSWER_BYTES = 600;

/**
 * Latency of orders in the first second after a start, before code is compiled. Baseline: a bare server that was just
 * started, parses the orders and sends replies of the same length. Each round starts both servers and their clients
 * anew.
 */
export async function compareFirstSeconds(
  each: Omit<SocketTradersTask, "url" | "openingMessage">,
  rounds: number,
): Promise<Row[]> {
  const exchange = async (): Promise<Latencies> => {
    const started = await startExchange({ "BTC-PERP": "65000" });
    const openingMessage = JSON.stringify({ op: "auth", token: started.token });
    return firstSecond(started, { ...each, url: started.socketUrl, openingMessage });
  };
  const bare = async (): Promise<Latencies> => {
    const started = await startBare({ post: ANSWER_BYTES, get: 0, published: 0 });
    return firstSecond(started, { ...each, url: `${started.socketUrl}answer`, openingMessage: "" });
  };
  const [ours, theirs] = await interleave(rounds, exchange, bare);
  return (["p50", "p99", "max"] as const).map((percentile) => {
    const what = `orders over WebSocket, ${compact(PER_SECOND)}/s in the first second after a start, ${percentile}`;
    const of = (latencies: Latencies): number => latencies[percentile];
    return ratioRow(what, "us", `bare parse and answer of ${ANSWER_BYTES} bytes`, ours.map(of), theirs.map(of));
  });
}

async function firstSecond(server: Running, task: SocketTradersTask): Promise<Latencies> {
  const traders = await TraderProcess.start(task);
  try {
    const { latency } = await traders.measure(1, PER_SECOND);
    if (latency === null) throw new Error("a measurement at a rate must report latencies");
    return latency;
  } finally {
    await Promise.all([traders.stop(), server.stop()]);
  }
}
