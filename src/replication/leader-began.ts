import { LEDGER } from "../core/base/enums.ts";
import { LeaderBegan } from "../core/protocol/events.ts";
import { seal } from "../store/log/log-record.ts";
import { encodeMessage, maxMessageBytes } from "../wire/codec.ts";
import {
  AT_ACTOR_ID,
  AT_KIND,
  AT_LOG_BYTES,
  AT_SEQUENCE,
  AT_TIME,
  AT_VERSION,
  FORMAT_VERSION,
  KIND_TRANSACTION,
  RECORD_HEADER_BYTES,
} from "../wire/record.ts";

/** The record with which a leader claims the stream: a transaction of the ledger, with one event. */
export function encodeLeaderBegan(began: { sequence: number; epoch: number; node: string; timeMs: number }): Buffer {
  const { sequence, epoch, node, timeMs } = began;
  const event = { type: LeaderBegan.code, epoch, node } as const;
  const bytes = Buffer.alloc(RECORD_HEADER_BYTES + maxMessageBytes(event));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const logBytes = encodeMessage(view, bytes, RECORD_HEADER_BYTES, event);
  view.setUint32(AT_LOG_BYTES, logBytes, true);
  view.setFloat64(AT_SEQUENCE, sequence, true);
  view.setFloat64(AT_TIME, timeMs, true);
  view.setUint16(AT_ACTOR_ID, LEDGER, true);
  view.setUint8(AT_KIND, KIND_TRANSACTION);
  view.setUint8(AT_VERSION, FORMAT_VERSION);
  seal(view, bytes, 0, logBytes, sequence - 1);
  return bytes.subarray(0, logBytes);
}
