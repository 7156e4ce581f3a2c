import { newHistogram } from "../latency.ts";
import { SocketClient, textFrame } from "./socket-client.ts";

/** Repeats a request on WebSockets in a separate process, with `inFlight` requests in flight on each. */
export interface SocketTradersTask {
  url: string;
  connections: number;
  inFlight: number;
  /** First message of each connection, which waits for its reply; "" = none. */
  openingMessage: string;
  request: string;
}

/** At full rate, or at a fixed rate that does not wait for replies. */
export interface Measurement {
  seconds: number;
  /** Requests per second over all connections; null = full rate. */
  perSecond: number | null;
  /** Measurements of one name are counted together as well. */
  series?: string;
}

/** The result of one measurement. */
export interface Traded {
  answers: number;
  /** Payload bytes. */
  bytes: number;
  seconds: number;
  /** Microseconds from the time at which a request was due; null without a rate. */
  latency: Latencies | null;
  /** The same of all measurements of the series so far; null without one. */
  together: Latencies | null;
}

export type Latencies = Record<(typeof PERCENTILES)[number], number>;
export const PERCENTILES = ["p50", "p90", "p99", "p99.9", "max"] as const;

process.once("message", async (task: SocketTradersTask) => {
  const traders: SocketTrader[] = [];
  for (let i = 0; i < task.connections; i++) traders.push(await SocketTrader.open(task));
  const series = new Map<string, Latency>();
  process.on("message", async ({ seconds, perSecond, series: name }: Measurement) => {
    const from = performance.now();
    const latency = perSecond === null ? null : new Latency();
    const each = await Promise.all(
      traders.map((trader) =>
        latency === null || perSecond === null
          ? trader.trade(seconds * 1e3)
          : trader.tradeAt(perSecond / traders.length, seconds * 1e3, latency),
      ),
    );
    const took = (performance.now() - from) / 1e3;
    const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
    const answers = sum(each.map(({ answers }) => answers));
    const bytes = sum(each.map(({ bytes }) => bytes));
    let together: Latency | null = null;
    if (name !== undefined && latency !== null) {
      together = series.get(name) ?? new Latency();
      together.include(latency);
      series.set(name, together);
    }
    const latencies = { latency: latency?.read() ?? null, together: together?.read() ?? null };
    process.send?.({ answers, bytes, seconds: took, ...latencies } satisfies Traded);
  });
  process.send?.("ready");
});

class Latency {
  private readonly histogram = newHistogram();

  /** `dueAt`: performance.now() at which the request was due. */
  add(dueAt: number): void {
    this.histogram.recordValue(Math.max(0, performance.now() - dueAt) * 1e6);
  }

  include({ histogram }: Latency): void {
    this.histogram.add(histogram);
  }

  read(): Latencies {
    const { histogram } = this;
    const of = (percentile: number): number => histogram.getValueAtPercentile(percentile) / 1e3;
    return { p50: of(50), p90: of(90), p99: of(99), "p99.9": of(99.9), max: histogram.maxValue / 1e3 };
  }
}

/** One connection. It sends as many requests at once as replies have arrived at once. */
class SocketTrader {
  private readonly socket: SocketClient;
  /** Concatenated requests: the first n are the first n × frameBytes bytes. */
  private readonly frames: Buffer;
  private readonly frameBytes: number;
  private readonly inFlight: number;

  static async open({ url, openingMessage, request, inFlight }: SocketTradersTask): Promise<SocketTrader> {
    const socket = await SocketClient.open(url);
    if (openingMessage !== "") {
      socket.send(textFrame(openingMessage));
      await new Promise<void>((resolve) => {
        socket.onFrames = () => {
          if (socket.counter.texts > 0) resolve();
        };
      });
    }
    return new SocketTrader(socket, textFrame(request), inFlight);
  }

  private constructor(socket: SocketClient, frame: Buffer, inFlight: number) {
    this.socket = socket;
    this.frames = Buffer.concat(new Array(inFlight).fill(frame));
    this.frameBytes = frame.length;
    this.inFlight = inFlight;
  }

  /** Sends at full rate. Resolves after `ms`, when everything has been answered. */
  trade(ms: number): Promise<{ answers: number; bytes: number }> {
    const { counter } = this.socket;
    const until = performance.now() + ms;
    const before = { texts: counter.texts, bytes: counter.payloadBytes };
    let sent = 0;
    return new Promise((resolve) => {
      const send = (count: number): void => {
        this.socket.send(this.frames.subarray(0, count * this.frameBytes));
        sent += count;
      };
      this.socket.onFrames = () => {
        const answers = counter.texts - before.texts;
        const free = this.inFlight - (sent - answers);
        if (performance.now() < until) {
          if (free > 0) send(free);
        } else if (answers === sent) resolve({ answers, bytes: counter.payloadBytes - before.bytes });
      };
      send(this.inFlight);
    });
  }

  /**
   * Sends at a fixed rate: once a millisecond it sends what is due, without waiting for replies. Latency counts from
   * the due time, so delays of the sender are included (no coordinated omission). Replies come in the order of
   * requests.
   */
  tradeAt(perSecond: number, ms: number, latency: Latency): Promise<{ answers: number; bytes: number }> {
    const { counter } = this.socket;
    const from = performance.now();
    const before = { texts: counter.texts, bytes: counter.payloadBytes };
    const total = Math.floor((ms * perSecond) / 1e3);
    let sent = 0;
    let answered = 0;
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        const due = Math.min(total, Math.floor(((performance.now() - from) * perSecond) / 1e3));
        for (; sent < due; sent += Math.min(due - sent, this.inFlight))
          this.socket.send(this.frames.subarray(0, Math.min(due - sent, this.inFlight) * this.frameBytes));
        if (sent === total) clearInterval(timer);
      }, 1);
      this.socket.onFrames = () => {
        for (; answered < counter.texts - before.texts; answered++)
          latency.add(from + ((answered + 1) * 1e3) / perSecond);
        if (answered === total) resolve({ answers: answered, bytes: counter.payloadBytes - before.bytes });
      };
    });
  }
}
