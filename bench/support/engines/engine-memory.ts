import { collectGarbage } from "../garbage.ts";
import { deepStream, orderStream } from "../orders/order-stream.ts";
import { peerEngine, perpdEngine } from "./core-engine.ts";

/** Prints how many resident bytes the engine ("perpd" or "peer") has taken for the deep book of the core stage. */
const stream = orderStream(...deepStream(0));
const residentBytes = (): number => {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage.rss();
};
const before = residentBytes();
const engine = (process.argv[2] === "perpd" ? perpdEngine : peerEngine)(stream);
for (let i = 0; i < stream.length; i++) engine.run(i);
console.log(residentBytes() - before);
engine.fills.mustEqual(stream.fills, engine.name); // and keeps the engine alive until here
