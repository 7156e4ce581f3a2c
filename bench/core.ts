import { type Engine, peerEngine, perpdEngine } from "./support/engines.ts";
import { type Row, ratioRow } from "./support/report.ts";
import { type OrderStream, orderStream } from "./support/stream.ts";

/** The core alone, in one thread without I/O, against the npm package nodejs-order-book on the same stream. */
export function benchCore(rounds: number, operations: number): Row[] {
  return [
    compare(orderStream("30k live orders", 30_000, operations, 200, 1), rounds),
    compare(orderStream("1.5k live orders", 1500, operations, 200, 2), rounds),
  ];
}

function compare(stream: OrderStream, rounds: number): Row {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const us = perpdEngine(stream);
    const peer = peerEngine(stream);
    const rates =
      round % 2 === 0 ? [rate(us, stream), rate(peer, stream)] : [rate(peer, stream), rate(us, stream)].reverse();
    if (us.tradedLots !== peer.tradedLots)
      throw new Error(`${stream.name}: perpd traded ${us.tradedLots} lots, ${peer.name} ${peer.tradedLots}`);
    if (round === 0) continue; // the first round warms both up
    ours.push(rates[0]);
    theirs.push(rates[1]);
  }
  return ratioRow(`core, ${stream.name}`, "nodejs-order-book", "operations/s", ours, theirs);
}

/** Operations a second once the book is filled. */
function rate(engine: Engine, stream: OrderStream): number {
  for (let i = 0; i < stream.prefill; i++) engine.run(i);
  const from = process.hrtime.bigint();
  for (let i = stream.prefill; i < stream.length; i++) engine.run(i);
  return (stream.length - stream.prefill) / (Number(process.hrtime.bigint() - from) / 1e9);
}
