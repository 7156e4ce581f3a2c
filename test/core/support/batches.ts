import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { BatchItemEnd } from "../../../src/core/protocol/replies.ts";
import type { Said } from "./exchange.ts";

/** The replies to a batch, item by item. */
export function itemsSaid({ events, replies, ...rest }: Said): Said[] {
  const said: Said[] = [];
  let from = 0;
  for (let i = 0; i < replies.length; i += 2) {
    const { type, eventCount } = replies[i + 1] as MessageOf<typeof BatchItemEnd>;
    if (type !== BatchItemEnd.code) throw new Error(`reply ${i + 1} of a batch is ${type}`);
    said.push({ ...rest, events: events.slice(from, eventCount), replies: [replies[i]] });
    from = eventCount;
  }
  return said;
}
