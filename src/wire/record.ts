/**
 * A record: one transaction of an actor, as in the rings and in the log. Little-endian, padded to 8 bytes.
 *
 *      0  u32  logBytes        header and events; replies follow and are not logged; 0: nothing to log
 *      4  u32  crc32           over bytes 8 to logBytes; set by the journal
 *      8  f64  sequence        position in the log; without events: the sequence of the state it is based on
 *     16  f64  time            ms since the epoch
 *     24  f64  durableThrough  the last sequence known to be on disk when this was written; set by the journal
 *     32  u32  requestId       the request to answer; 0: none
 *     36  u16  actorId
 *     38  u8   kind
 *     39  u8   version         of this layout
 *     40       messages
 */
export const AT_LOG_BYTES = 0;
export const AT_CRC = 4;
export const AT_SEQUENCE = 8;
export const AT_TIME = 16;
export const AT_DURABLE_THROUGH = 24;
export const AT_REQUEST_ID = 32;
export const AT_ACTOR_ID = 36;
export const AT_KIND = 38;
export const AT_VERSION = 39;
export const RECORD_HEADER_BYTES = 40;

export const FORMAT_VERSION = 1;

/** A transaction with events. */
export const KIND_TRANSACTION = 1;
/** A transaction without events: a refusal or a read. */
export const KIND_REPLY = 2;
/** A part of an actor's snapshot, for the store. */
export const KIND_SNAPSHOT = 3;
/** Written by the journal when it becomes idle: its durableThrough covers all earlier records. */
export const KIND_WATERMARK = 4;

export const pad8 = (bytes: number): number => (bytes + 7) & ~7;

/** A view of exactly these bytes, wherever they are in their buffer. */
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
