import { collectGarbage } from "../garbage.ts";
import { deepStream, orderStream } from "../orders/order-stream.ts";
import { peerEngine, perpdEngine } from "./core-engine.ts";

/** Prints the resident bytes that the engine ("perpd" or "peer") needs for the deep book of the core stage. */
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
engine.fills.mustEqual(stream.fills, engine.name); // also keeps the engine alive until here
