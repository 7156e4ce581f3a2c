import { collectGarbage, keepUntilNext } from "../garbage.ts";
import { type Latency, latencyOf, newHistogram } from "../latency.ts";
import type { OrderStream } from "../orders/order-stream.ts";
import type { Engine } from "./core-engine.ts";

export type MakeEngine = (stream: OrderStream) => Engine;

/**
 * Operations per second after the prefill and the untimed part. Repeats the stream until `leastSeconds` are measured,
 * so that fast and slow engines are measured for similar times.
 */
export function operationsPerSecond(make: MakeEngine, stream: OrderStream, leastSeconds = 0): number {
  let passes = 0;
  let seconds = 0;
  do {
    const engine = engineWithBook(make, stream);
    const from = performance.now();
    for (let i = stream.timedFrom; i < stream.length; i++) engine.run(i);
    seconds += (performance.now() - from) / 1e3;
    passes++;
    engine.fills.mustEqual(stream.fills, engine.name);
  } while (seconds < leastSeconds);
  return (passes * (stream.length - stream.timedFrom)) / seconds;
}

/** Latency of each operation. A separate pass, since reading the clock costs about as much as an order. */
export function operationLatency(make: MakeEngine, stream: OrderStream): Latency {
  const histogram = newHistogram();
  const engine = engineWithBook(make, stream);
  for (let i = stream.timedFrom; i < stream.length; i++) {
    const from = performance.now();
    engine.run(i);
    histogram.recordValue((performance.now() - from) * 1e6);
  }
  engine.fills.mustEqual(stream.fills, engine.name);
  return latencyOf(histogram);
}

function engineWithBook(make: MakeEngine, stream: OrderStream): Engine {
  const engine = make(stream);
  keepUntilNext(engine);
  for (let i = 0; i < stream.prefill; i++) engine.run(i);
  collectGarbage();
  for (let i = stream.prefill; i < stream.timedFrom; i++) engine.run(i);
  return engine;
}
