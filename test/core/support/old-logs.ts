import type { MessageSchema } from "../../../src/core/protocol/message-schema.ts";
import { AT_PAYLOAD_BYTES, MESSAGE_HEADER_BYTES, messageBytes } from "../../../src/wire/codec.ts";
import { viewOf } from "../../../src/wire/record.ts";
import type { Logged } from "./exchange.ts";

/** The log with fewer fields of one event, as an older version wrote it. The event must have only numbers. */
export const withoutLastFields = (log: readonly Logged[], of: MessageSchema, count: number): Logged[] =>
  log.map((transaction) => ({ ...transaction, bytes: shortened(transaction.bytes, of, count) }));

function shortened(bytes: Uint8Array, of: MessageSchema, count: number): Uint8Array {
  const view = viewOf(bytes);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += messageBytes(view, at)) {
    const message = bytes.slice(at, at + messageBytes(view, at));
    parts.push(view.getUint16(at, true) === of.code ? withFewer(message, count) : message);
  }
  return new Uint8Array(Buffer.concat(parts));
}

function withFewer(message: Uint8Array, count: number): Uint8Array {
  const shorter = message.slice(0, message.length - 8 * count);
  const view = viewOf(shorter);
  view.setUint16(2, view.getUint16(2, true) - count, true);
  view.setUint32(AT_PAYLOAD_BYTES, shorter.length - MESSAGE_HEADER_BYTES, true);
  return shorter;
}
