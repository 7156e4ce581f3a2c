import { openLog } from "../../../src/store/log/log.ts";
import { seal } from "../../../src/store/log/log-record.ts";
import { encodeMessage } from "../../../src/wire/codec.ts";
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
} from "../../../src/wire/record.ts";
import type { LoggedTransaction } from "./history-model.ts";

const MAX_TRANSACTION_BYTES = 64 * 1024;

const DAY_MS = 86_400_000;

/** Removes rows in small portions, so that a sweep takes many steps. */
export const RETENTION = { days: 5, maxBytes: 0, keysPerStep: 7 };

/** The same turns, of which only so many are on one day. */
export const spreadOverDays = (transactions: LoggedTransaction[], perDay: number): LoggedTransaction[] =>
  transactions.map((turn, i) => ({ ...turn, time: turn.time + Math.floor(i / perDay) * DAY_MS }));

/** Appends the turns to the log in `dir`, as the journal would. On disk when it returns. */
export function writeLog(dir: string, transactions: readonly LoggedTransaction[], segmentBytes: number): void {
  const log = openLog(dir, { segmentBytes, protectedThrough: 0 });
  const bytes = new Uint8Array(MAX_TRANSACTION_BYTES);
  const view = new DataView(bytes.buffer);
  for (const { sequence, time, actorId, events } of transactions) {
    bytes.fill(0, 0, RECORD_HEADER_BYTES);
    let end = RECORD_HEADER_BYTES;
    for (const event of events) end = encodeMessage(view, bytes, end, event);
    view.setUint32(AT_LOG_BYTES, end, true);
    view.setFloat64(AT_SEQUENCE, sequence, true);
    view.setFloat64(AT_TIME, time, true);
    view.setUint16(AT_ACTOR_ID, actorId, true);
    view.setUint8(AT_KIND, KIND_TRANSACTION);
    view.setUint8(AT_VERSION, FORMAT_VERSION);
    seal(view, bytes, 0, end, log.durableThrough);
    log.append(bytes.subarray(0, end), sequence, sequence);
  }
  log.sync();
  log.close();
}
