import type { Quoted, SocketQuotersTask } from "./support/load/socket-quoters.ts";
import { endProcess, forkScript, request, startBare } from "./support/processes.ts";
import { interleave, type Row, ratioRow } from "./support/report.ts";

const SECONDS = 2;
/** Rests far below the market until it is canceled. */
const QUOTE = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", timeInForce: "GTC", price: "62500", quantity: "0.001" };

/**
 * A market maker's work: durable orders that rest in the book, each canceled after its reply. Baseline: a bare server
 * that parses the same messages and sends replies of the same number and length.
 */
export async function compareQuotes(market: Omit<SocketQuotersTask, "request">, rounds: number): Promise<Row> {
  const task = { ...market, request: JSON.stringify({ op: "order.place", id: 1, params: QUOTE }) };
  const quoters = forkScript("bench/support/load/socket-quoters.js", []);
  const others = forkScript("bench/support/load/socket-quoters.js", []);
  const measure = (seconds: number): Promise<Quoted> => request(quoters, { seconds });
  const measureBare = (seconds: number): Promise<Quoted> => request(others, { seconds });
  await request(quoters, task);
  const { placedBytes, canceledBytes } = await measure(1); // warm-up
  const [placed, canceled] = [Math.round(placedBytes), Math.round(canceledBytes)];
  const bare = await startBare({ post: 0, get: 0, published: 0, placed, canceled });
  try {
    await request(others, { ...task, url: `${bare.socketUrl}quote`, openingMessage: "" });
    await measureBare(1); // warm-up
    const [ours, theirs] = await interleave(
      rounds,
      () => measure(SECONDS),
      () => measureBare(SECONDS),
    );
    const rate = ({ pairs, seconds }: Quoted): number => pairs / seconds;
    const { connections, inFlight } = market;
    const what = `orders placed and canceled over WebSocket, durable, ${connections} connections × ${inFlight} in flight`;
    const beside = `bare parse and answer of ${placed} and ${canceled} bytes`;
    return ratioRow(what, "pairs/s", beside, ours.map(rate), theirs.map(rate));
  } finally {
    await Promise.all([endProcess(quoters, "SIGKILL"), endProcess(others, "SIGKILL"), bare.stop()]);
  }
}
