import type { Latencies, SocketTradersTask } from "./support/load/socket-traders.ts";
import { Traders } from "./support/load/traders.ts";
import { compact, type Row, ratioRow, sideBySide } from "./support/report.ts";
import { type Running, startBare, startExchange } from "./support/servers/processes.ts";

const PER_SECOND = 20_000;
/** About as long as an order's answer. */
const ANSWER_BYTES = 600;

/**
 * What orders wait in the first second after a start, while nothing has been compiled yet: beside a bare server that parses
 * them, answers as much and has just been started, too. Each round starts both anew, and those who trade with them.
 */
export async function compareFirstSeconds(
  each: Omit<SocketTradersTask, "url" | "greeting">,
  rounds: number,
): Promise<Row[]> {
  const exchange = async (): Promise<Latencies> => {
    const started = await startExchange({ "BTC-PERP": "65000" });
    const greeting = JSON.stringify({ op: "auth", token: started.token });
    return firstSecond(started, { ...each, url: started.socketUrl, greeting });
  };
  const bare = async (): Promise<Latencies> => {
    const started = await startBare({ post: ANSWER_BYTES, get: 0, published: 0 });
    return firstSecond(started, { ...each, url: `${started.socketUrl}answer`, greeting: "" });
  };
  const [ours, theirs] = await sideBySide(rounds, exchange, bare);
  return (["p50", "p99", "max"] as const).map((percentile) => {
    const what = `orders over WebSocket, ${compact(PER_SECOND)}/s in the first second after a start, ${percentile}`;
    const of = (latencies: Latencies): number => latencies[percentile];
    return ratioRow(what, "us", `bare parse and answer of ${ANSWER_BYTES} bytes`, ours.map(of), theirs.map(of));
  });
}

async function firstSecond(server: Running, task: SocketTradersTask): Promise<Latencies> {
  const traders = await Traders.gather(task);
  try {
    const { latency } = await traders.measure(1, PER_SECOND);
    if (latency === null) throw new Error("traders at a rate say how long they waited");
    return latency;
  } finally {
    await Promise.all([traders.leave(), server.stop()]);
  }
}
