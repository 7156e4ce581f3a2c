import { tuneV8 } from "../../src/tune-v8.ts";
import { latency, rate } from "./engine-speed.ts";
import { peerEngine, perpdEngine } from "./engines.ts";
import { type OrderStream, orderStream } from "./stream.ts";

/** A pass over the stream that these arguments of orderStream() make. It is answered by its rate, or by its Latency. */
export interface EngineTask {
  what: "rate" | "latency";
  stream: Parameters<typeof orderStream>;
}

tuneV8();

/** "perpd" or "peer". */
const make = process.argv[2] === "perpd" ? perpdEngine : peerEngine;
let made: { key: string; stream: OrderStream } | null = null;

process.on("message", (task: EngineTask) => {
  const key = JSON.stringify(task.stream);
  if (made?.key !== key) made = { key, stream: orderStream(...task.stream) };
  process.send?.((task.what === "rate" ? rate : latency)(make, made.stream));
});
