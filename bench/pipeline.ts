import type { ReleasedTransaction } from "../src/actor/engine/engine.ts";
import type { Host } from "../src/actor/host/host.ts";
import { type Event, Traded } from "../src/core/protocol/events.ts";
import { encodeMessage } from "../src/wire/codec.ts";
import { RECORD_HEADER_BYTES } from "../src/wire/record.ts";
import { BareLog } from "./support/bare-log.ts";
import {
  benchConfig,
  benchInstrument,
  prepareEngine,
  requestAll,
  startEngine,
} from "./support/engines/exchange-engine.ts";
import { temporaryFolder } from "./support/folder.ts";
import { collectGarbage } from "./support/garbage.ts";
import { type Latency, latencyOf, newHistogram } from "./support/latency.ts";
import { addOfOrder, Commands } from "./support/orders/commands.ts";
import { Fills } from "./support/orders/fills.ts";
import { type OrderStream, orderStream } from "./support/orders/order-stream.ts";
import { interleave, type Row, ratioRow } from "./support/report.ts";

const LIVE_ORDERS = 10_000;
const RANGE_TICKS = 1000;
/** 256: about what one batch holds. 2048: enough to keep every thread busy. */
const IN_FLIGHT = [256, 2048];
const WARM_UP = 50_000;
const PER_ROUND = 100_000;
/** Many short rounds, since the speed of a shared disk varies. */
const SERIAL_ROUNDS = 15;
const SERIAL_PER_ROUND = 800;

/**
 * The pipeline without HTTP: ring → worker → journal → ring, with this thread as the gateway. Baseline: a loop that
 * only writes and syncs the same bytes in the same batches.
 */
export async function benchPipeline(rounds: number): Promise<Row[]> {
  const operations = WARM_UP + IN_FLIGHT.length * rounds * PER_ROUND + SERIAL_ROUNDS * SERIAL_PER_ROUND;
  const stream = orderStream("pipeline", LIVE_ORDERS, operations, RANGE_TICKS, 6);
  const folder = temporaryFolder();
  const bare = new BareLog();
  const host = await startEngine(benchConfig(folder.path));
  try {
    await prepareEngine(host);
    const orders = new DurableOrders(host, stream);
    await orders.run(LIVE_ORDERS + WARM_UP, IN_FLIGHT[0]);
    await orders.catchUp();
    const transactionBytes = orders.bytes / orders.count;
    const rows: Row[] = [];
    for (const inFlight of IN_FLIGHT)
      rows.push(...(await compareRates(orders, inFlight, bare, transactionBytes, rounds)));
    rows.push(...(await compareRoundTrips(orders, bare, transactionBytes)));
    orders.fills.mustEqual(stream.fills, "the pipeline");
    return rows;
  } finally {
    await host.stop();
    bare.remove();
    folder.remove();
  }
}

async function compareRates(
  orders: DurableOrders,
  inFlight: number,
  bare: BareLog,
  transactionBytes: number,
  rounds: number,
): Promise<Row[]> {
  let perBatch = 0;
  const indexed: number[] = [];
  const [ours, theirs] = await interleave(
    rounds,
    async () => {
      const { count, drains } = orders;
      const seconds = await orders.run(PER_ROUND, inFlight);
      perBatch = (orders.count - count) / (orders.drains - drains);
      indexed.push(PER_ROUND / (seconds + (await orders.catchUp())));
      return PER_ROUND / seconds;
    },
    () => {
      const batches = Math.round(PER_ROUND / perBatch);
      return PER_ROUND / bare.append(batches, Math.round(perBatch * transactionBytes)).seconds;
    },
  );
  const what = `pipeline, durable orders, ${inFlight} in flight`;
  const batch = `append + fdatasync, ${Math.round(perBatch)} a batch`;
  return [
    ratioRow(what, "orders/s", batch, ours, theirs),
    ratioRow(`${what}, until history has them too`, "orders/s", "until durable", indexed, ours),
  ];
}

async function compareRoundTrips(orders: DurableOrders, bare: BareLog, transactionBytes: number): Promise<Row[]> {
  const [ours, theirs] = await interleave(
    SERIAL_ROUNDS,
    async () => {
      const latency = await orders.runSerially(SERIAL_PER_ROUND);
      await orders.catchUp();
      return latency;
    },
    () => bare.append(SERIAL_PER_ROUND, Math.round(transactionBytes)).latency,
  );
  const row = (name: string, of: (latency: Latency) => number): Row =>
    ratioRow(`pipeline, 1 in flight, ${name}`, "us", "append + fdatasync", ours.map(of), theirs.map(of));
  return [row("p50", ({ p50 }) => p50), row("p99", ({ p99 }) => p99)];
}

/** Runs an order stream through the pipeline. */
class DurableOrders {
  readonly fills = new Fills();
  /** Released transactions, their bytes in the log, and the number of drains of the journal's ring. */
  count = 0;
  bytes = 0;
  drains = 0;
  private readonly host: Host;
  private readonly instrumentId: number;
  private readonly commands: Commands;
  private readonly scratch = new Uint8Array(64 * 1024);
  private readonly scratchView = new DataView(this.scratch.buffer);
  private next = 0;

  constructor(host: Host, stream: OrderStream) {
    this.host = host;
    this.instrumentId = benchInstrument(host).id;
    this.commands = new Commands(stream, this.instrumentId);
    host.onReleased((transaction) => this.released(transaction));
    host.onDrained(() => this.drains++);
  }

  /** Runs the next `operations` of the stream. Resolves with the seconds until they are durable. */
  async run(operations: number, inFlight: number): Promise<number> {
    collectGarbage();
    const from = performance.now();
    const end = this.next + operations;
    await requestAll(this.host, this.instrumentId, (i) => this.commands.at(i), this.next, end, inFlight);
    this.next = end;
    return (performance.now() - from) / 1e3;
  }

  /** Resolves with the seconds until the history index has caught up with the log. Then no background work is left. */
  async catchUp(): Promise<number> {
    const from = performance.now();
    await this.host.historyCaughtUp();
    return (performance.now() - from) / 1e3;
  }

  async runSerially(operations: number): Promise<Latency> {
    const histogram = newHistogram();
    let requestedAt = 0;
    const end = this.next + operations;
    const commandAt = (i: number) => {
      const now = performance.now();
      if (requestedAt > 0) histogram.recordValue((now - requestedAt) * 1e6);
      requestedAt = now;
      return this.commands.at(i);
    };
    await requestAll(this.host, this.instrumentId, commandAt, this.next, end, 1);
    this.next = end;
    return latencyOf(histogram);
  }

  private released(transaction: ReleasedTransaction): void {
    if (transaction.actorId !== this.instrumentId) return;
    this.count++;
    this.bytes += RECORD_HEADER_BYTES;
    for (let i = 0; i < transaction.eventCount; i++) {
      const event = transaction.messages[i] as Event;
      this.bytes += encodeMessage(this.scratchView, this.scratch, 0, event);
      if (event.type === Traded.code)
        this.fills.add(addOfOrder(event.makerOrderId, this.instrumentId), event.quantityLots);
    }
  }
}
