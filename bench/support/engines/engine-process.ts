import { tuneV8 } from "../../../src/tune-v8.ts";
import { type OrderStream, orderStream } from "../orders/order-stream.ts";
import { peerEngine, perpdEngine } from "./core-engine.ts";
import { operationLatency, operationsPerSecond } from "./engine-speed.ts";

/** A measurement of an engine, on the stream that these arguments of orderStream() make. */
export interface EngineTask {
  /** "rate" returns operations per second, "latency" a Latency. */
  what: "rate" | "latency";
  stream: Parameters<typeof orderStream>;
  /** For "rate": see operationsPerSecond(). */
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
