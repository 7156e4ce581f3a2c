import { tuneV8 } from "../../../src/tune-v8.ts";
import { type OrderStream, orderStream } from "../orders/order-stream.ts";
import { peerEngine, perpdEngine } from "./core-engine.ts";
import { operationLatency, operationsPerSecond } from "./engine-speed.ts";

/** What is asked of an engine, on the stream that these arguments of orderStream() make. */
export interface EngineTask {
  /** "rate" is answered by operations a second, "latency" by a Latency. */
  what: "rate" | "latency";
  stream: Parameters<typeof orderStream>;
  /** For a rate, as rate() takes it. */
  leastSeconds?: number;
}

tuneV8();

/** "perpd" or "peer". */
const make = process.argv[2] === "perpd" ? perpdEngine : peerEngine;
let made: { key: string; stream: OrderStream } | null = null;

process.on("message", (task: EngineTask) => {
  const key = JSON.stringify(task.stream);
  if (made?.key !== key) made = { key, stream: orderStream(...task.stream) };
  process.send?.(
    task.what === "rate"
      ? operationsPerSecond(make, made.stream, task.leastSeconds)
      : operationLatency(make, made.stream),
  );
});
