import { crc32 } from "node:zlib";

/**
 * A batch is a message of the replicated stream: sealed records of the log, back to back, as the leader wrote them. A
 * record that is larger than a message is cut into parts, which follow each other.
 */
export interface Batch {
  /** The exchange whose log it is: see genesis.json. */
  readonly exchangeId: string;
  /** Grows with each leader. Readers drop batches of an earlier epoch than the last one that they have seen. */
  readonly epoch: number;
  /** The process that published it: of two that claim the same epoch, the stream takes one. */
  readonly node: string;
  /** The sequences of the first and the last record. */
  readonly first: number;
  readonly last: number;
  /** From 1 to `parts`. A batch of one part is whole. */
  readonly part: number;
  readonly parts: number;
  readonly bytes: Uint8Array;
}

/** A message that lies in the stream, at `place`: 1 is the first that the stream ever held. */
export interface PlacedBatch extends Batch {
  readonly place: number;
}

/** The stream says something that cannot be true of this exchange. Nothing is repaired or skipped, and nothing was written. */
export class StreamFault extends Error {
  override name = "StreamFault";
}

const HEADER = "Perpd-Batch";
const FORMAT_VERSION = 1;
const LOST = 'If another start says the same, the stream is lost: see "Tasks" in docs/operating/replication.md';

/** The name of the header, and its value: format, exchange, epoch, node, first, last, part, parts, crc32 of these and the bytes. */
export function headerOf({ exchangeId, epoch, node, first, last, part, parts, bytes }: Batch): [string, string] {
  const fields = [FORMAT_VERSION, exchangeId, epoch, node, first, last, part, parts].join(" ");
  return [HEADER, `${fields} ${crc32(bytes, crc32(fields))}`];
}

/** `value`: of the header named HEADER; "" = there is none. Throws StreamFault if it does not fit the bytes. */
export function parseBatch(place: number, header: (name: string) => string, bytes: Uint8Array): PlacedBatch {
  const text = header(HEADER);
  const fields = text.split(" ");
  const fault = (why: string): StreamFault => new StreamFault(`message ${place} of the stream ${why}`);
  if (fields[0] === "") throw fault(`was not written by perpd: is this the right stream? ${LOST}`);
  if (Number(fields[0]) > FORMAT_VERSION) throw fault(`has format ${fields[0]}: this program is too old for it`);
  const [, exchangeId, epoch, node, first, last, part, parts, crc] = fields;
  const known = crc32(text.slice(0, text.lastIndexOf(" ")));
  if (fields.length !== 9 || Number(crc) !== crc32(bytes, known))
    throw fault(`is damaged: its checksum is wrong. ${LOST}`);
  return {
    ...{ place, exchangeId, node, bytes },
    epoch: Number(epoch),
    first: Number(first),
    last: Number(last),
    part: Number(part),
    parts: Number(parts),
  };
}

/** Whether both are the same message. */
export function isSameBatch(a: Batch, b: Batch): boolean {
  return headerOf(a)[1] === headerOf(b)[1];
}

/** Cuts bytes into messages of at most `maxBytes`. */
export function* partsOf(batch: Omit<Batch, "part" | "parts">, maxBytes: number): Generator<Batch> {
  const { exchangeId, epoch, node, first, last } = batch;
  const parts = Math.max(1, Math.ceil(batch.bytes.length / maxBytes));
  for (let part = 1; part <= parts; part++) {
    const bytes = batch.bytes.subarray((part - 1) * maxBytes, part * maxBytes);
    // V8 is slow to copy an object with a spread and to replace a field.
    yield { exchangeId, epoch, node, first, last, part, parts, bytes };
  }
}
