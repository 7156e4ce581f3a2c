import type { Message } from "../../core/protocol/message-schema.ts";
import { MessagePool, messageBytes } from "../../wire/codec.ts";
import { AT_ACTOR_ID, AT_LOG_BYTES, AT_SEQUENCE, AT_TIME, RECORD_HEADER_BYTES } from "../../wire/record.ts";
import type { ReleasedTransaction } from "./engine.ts";

/** Decodes records into one transaction, which is filled in again for each. */
export class TransactionDecoder {
  private readonly transaction: { -readonly [K in keyof ReleasedTransaction]: ReleasedTransaction[K] } & {
    messages: Message[];
  } = { actorId: 0, sequence: 0, time: 0, eventCount: 0, messages: [] };
  private readonly pool = new MessagePool();

  /** `length`: of the record at `at`, with its replies. The result is valid until the next call. */
  decode(view: DataView, bytes: Uint8Array, at: number, length: number): ReleasedTransaction {
    const { transaction, pool } = this;
    const logEnd = at + view.getUint32(at + AT_LOG_BYTES, true);
    const end = at + length;
    pool.reset(transaction.messages);
    transaction.messages.length = 0;
    transaction.actorId = view.getUint16(at + AT_ACTOR_ID, true);
    transaction.sequence = view.getFloat64(at + AT_SEQUENCE, true);
    transaction.time = view.getFloat64(at + AT_TIME, true);
    transaction.eventCount = 0;
    for (let offset = at + RECORD_HEADER_BYTES; offset < end; offset += messageBytes(view, offset)) {
      if (offset < logEnd) transaction.eventCount++;
      transaction.messages.push(pool.decode(view, bytes, offset));
    }
    return transaction;
  }
}
