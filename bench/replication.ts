import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { AUTOCANNON, type HttpLoad } from "./support/load/http-load.ts";
import { type RunningExchange, startExchange } from "./support/processes.ts";
import { interleave, type Row, ratioRow } from "./support/report.ts";
import { NATS_SERVER, type RunningNats, startNats } from "./support/servers/nats.ts";

const SECONDS = 3;
const PRICES = { "BTC-PERP": "65000" };
/** An order that goes the whole way but leaves nothing behind: IOC, far below the market. */
const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", timeInForce: "IOC", price: "30000", quantity: "0.001" };
/** Of the record of such an order. */
const RECORD_BYTES = 300;
const PUBLISHES = 500;

/** Durable orders of an exchange whose log is in a stream, too, beside one whose log is on this machine only. */
export async function benchReplication(rounds: number): Promise<Row[]> {
  if (NATS_SERVER === null) {
    console.error("nats-server is not installed: the stage is left out");
    return [];
  }
  const nats = await startNats();
  const alone = await startExchange(PRICES);
  const replicated = await startExchange(PRICES, {
    environment: { PERPD_REPLICATE: nats.url, PERPD_REPLICATE_MONITORS: nats.monitor },
  });
  try {
    const rows: Row[] = [];
    for (const connections of [64, 1]) {
      const loads = [replicated, alone].map((exchange) => orderLoad(exchange, connections));
      for (const load of loads) await AUTOCANNON.run(load, 1); // warm-up
      const [ours = [], theirs = []] = await interleave(
        rounds,
        ...loads.map((load) => () => AUTOCANNON.run(load, SECONDS).then(({ rate }) => rate)),
      );
      const what = `POST /orders in mode sync, ${connections} connections`;
      rows.push(ratioRow(what, "requests/s", "on this machine only", ours, theirs));
      if (connections === 1) rows.push(await besidePublish(nats, ours.map(microseconds), theirs.map(microseconds)));
    }
    return rows;
  } finally {
    await replicated.stop();
    await alone.stop();
    await nats.stop();
  }
}

const microseconds = (rate: number): number => 1e6 / rate;

function orderLoad({ url, token }: RunningExchange, connections: number): HttpLoad {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return { url: `${url}/orders`, method: "POST", connections, headers, body: JSON.stringify(ORDER) };
}

/** The time that the stream adds to an order, beside a bare publish of the same size. */
async function besidePublish(nats: RunningNats, ours: readonly number[], alone: readonly number[]): Promise<Row> {
  const connection = await connect({ servers: nats.url });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: "bare", subjects: ["bare"], storage: "file" });
  const client = jetstream(connection);
  const bytes = new Uint8Array(RECORD_BYTES);
  const publishes: number[] = [];
  for (let round = 0; round < ours.length; round++) {
    const from = performance.now();
    for (let i = 0; i < PUBLISHES; i++) await client.publish("bare", bytes);
    publishes.push(((performance.now() - from) * 1000) / PUBLISHES);
  }
  await connection.close();
  const added = ours.map((us, i) => us - (alone[i] as number));
  return ratioRow("what the stream adds to an order, 1 connection", "us", "a bare JetStream publish", added, publishes);
}
