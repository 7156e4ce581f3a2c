import { setTimeout as sleep } from "node:timers/promises";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

/** Publishes to a stream of JetStream in a separate process, one message in flight, at a steady pace. */
export interface BarePublisherTask {
  /** Of the server. */
  url: string;
  stream: string;
}

export interface Publishing {
  bytes: number;
  perSecond: number;
  seconds: number;
}

process.once("message", async ({ url, stream }: BarePublisherTask) => {
  const connection = await connect({ servers: url });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: stream, subjects: [stream], storage: "file" });
  const client = jetstream(connection);
  process.on("message", async ({ bytes, perSecond, seconds }: Publishing) => {
    const message = new Uint8Array(bytes);
    const from = performance.now();
    let sent = 0;
    for (; performance.now() - from < 1e3 * seconds; sent++) {
      const dueInMs = from + (1e3 * sent) / perSecond - performance.now();
      if (dueInMs > 1) await sleep(dueInMs);
      await client.publish(stream, message);
    }
    process.send?.(sent);
  });
  process.send?.("ready");
});
