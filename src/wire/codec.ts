import { Packr } from "msgpackr";
import "../core/protocol/commands.ts";
import "../core/protocol/events.ts";
import "../core/protocol/replies.ts";
import "../core/protocol/snapshot-schema.ts";
import { blank, MESSAGE_SCHEMAS, type Message, type MessageSchema } from "../core/protocol/message-schema.ts";
import { NewerVersionError } from "./newer-version.ts";

/**
 * Messages as bytes, by their declared schemas:
 *
 *     u16 code, u16 number of fields, u32 payload bytes (multiple of 8)
 *     each number as f64, in declared order
 *     each string as u32 byte length + UTF-8, then each json field as u32 byte length + msgpackr
 *
 * The number of fields is the version of a schema, because fields are only ever appended. A message with fewer fields decodes
 * with the missing ones at zero. A message with more fields than the schema is refused. Generated code reads and writes the
 * numbers: an order costs tens of nanoseconds, about a tenth of a msgpackr array (bench/codec.ts). msgpackr encodes the rare,
 * irregular fields. `useRecords: false`: bytes read years later must not depend on record structures in memory.
 */
const packr = new Packr({ useRecords: false });
export const MESSAGE_HEADER_BYTES = 8;
export const AT_PAYLOAD_BYTES = 4;
const encoder = new TextEncoder();
// A byte order mark at the start of a text belongs to the text.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

type Encode = (view: DataView, bytes: Uint8Array, offset: number, message: Message) => number;
type DecodeInto = (view: DataView, bytes: Uint8Array, offset: number, message: Message) => void;

interface Codec {
  shape: MessageSchema;
  encode: Encode;
  decodeInto: DecodeInto;
  maxBytes: (message: Message) => number;
  /** Reused by decodeShared. */
  shared: Message;
}

/** By message code. Filled at the first use of a code, because the store declares schemas of its own. */
const codecs: Codec[] = [];

/** Writes the message and returns the offset after it. `bytes` and `view` cover the same buffer from its byte 0. */
export function encodeMessage(view: DataView, bytes: Uint8Array, offset: number, message: Message): number {
  return (codecs[message.type] ?? compile(message.type)).encode(view, bytes, offset, message);
}

/** Decodes into a new object. Throws NewerVersionError for an unknown code or unknown fields. */
export function decodeMessage(view: DataView, bytes: Uint8Array, offset: number): Message {
  const code = view.getUint16(offset, true);
  const codec = codecs[code] ?? compile(code);
  const message = blank(codec.shape) as Message;
  codec.decodeInto(view, bytes, offset, message);
  return message;
}

/** Decodes into one object per code, which the next call overwrites: for folds that keep no message. */
export function decodeShared(view: DataView, bytes: Uint8Array, offset: number): Message {
  const code = view.getUint16(offset, true);
  const codec = codecs[code] ?? compile(code);
  codec.decodeInto(view, bytes, offset, codec.shared);
  return codec.shared;
}

/** Plain data as bytes, for another process of the same program. Nothing that is stored is written like this. */
export const packPlain = (value: unknown): Uint8Array => packr.pack(value);
export const unpackPlain = (bytes: Uint8Array): unknown => packr.unpack(bytes);

/** Bytes of the message at `offset`, header included. */
export function messageBytes(view: DataView, offset: number): number {
  return MESSAGE_HEADER_BYTES + view.getUint32(offset + AT_PAYLOAD_BYTES, true);
}

/** Visits each message between two offsets. The object is shared, so `visit` must copy what it keeps. */
export function eachMessage(
  view: DataView,
  bytes: Uint8Array,
  from: number,
  to: number,
  visit: (message: Message) => void,
): void {
  for (let at = from; at < to; at += messageBytes(view, at)) visit(decodeShared(view, bytes, at));
}

/** An upper bound of the bytes of a message. */
export function maxMessageBytes(message: Message): number {
  return (codecs[message.type] ?? compile(message.type)).maxBytes(message);
}

function compile(code: number): Codec {
  const shape = MESSAGE_SCHEMAS.get(code);
  if (shape === undefined) throw new NewerVersionError(`unknown message code ${code}`);
  const fields = Object.entries(shape.fields);
  const numbers = fields.filter(([, kind]) => kind === "number").map(([name]) => name);
  const strings = fields.filter(([, kind]) => kind === "string").map(([name]) => name);
  const jsons = fields.filter(([, kind]) => kind === "json").map(([name]) => name);
  // Numbers come before texts, so a field appended later may shift the others: decodeOld() knows the layout from the count.
  const encodeBody = [
    `let at = offset + ${MESSAGE_HEADER_BYTES};`,
    ...numbers.map((name) => `view.setFloat64(at, m.${name}, true); at += 8;`),
    ...strings.map((name) => `at = putString(view, bytes, at, m.${name});`),
    ...jsons.map((name) => `at = putJson(view, bytes, at, m.${name});`),
    strings.length + jsons.length > 0 ? "while (at & 7) bytes[at++] = 0;" : "",
    `view.setUint16(offset, ${code}, true); view.setUint16(offset + 2, ${fields.length}, true);`,
    `view.setUint32(offset + ${AT_PAYLOAD_BYTES}, at - offset - ${MESSAGE_HEADER_BYTES}, true);`,
    "return at;",
  ];
  const decodeBody = [
    `if (view.getUint16(offset + 2, true) !== ${fields.length}) return old(view, bytes, offset, m);`,
    `let at = offset + ${MESSAGE_HEADER_BYTES}, length = 0;`,
    ...numbers.map((name) => `m.${name} = view.getFloat64(at, true); at += 8;`),
    ...strings.map(
      (name) => `length = view.getUint32(at, true); m.${name} = text(bytes, at + 4, length); at += 4 + length;`,
    ),
    ...jsons.map(
      (name) => `length = view.getUint32(at, true); m.${name} = json(bytes, at + 4, length); at += 4 + length;`,
    ),
  ];
  const bound = [
    String(MESSAGE_HEADER_BYTES + 8 + 8 * numbers.length + 4 * (strings.length + jsons.length)),
    ...strings.map((name) => `3 * m.${name}.length`),
    ...jsons.map((name) => `packed(m.${name})`),
  ];
  const old: DecodeInto = (view, bytes, offset, message) => decodeOld(shape, view, bytes, offset, message);
  const codec: Codec = {
    shape,
    encode: new Function(
      "putString",
      "putJson",
      `return function encode${shape.name}(view, bytes, offset, m) { ${encodeBody.join("\n")} }`,
    )(putString, putJson) as Encode,
    decodeInto: new Function(
      "old",
      "text",
      "json",
      `return function decode${shape.name}(view, bytes, offset, m) { ${decodeBody.join("\n")} }`,
    )(old, text, unpackJson) as DecodeInto,
    maxBytes: new Function("packed", `return function maxBytes${shape.name}(m) { return ${bound.join(" + ")}; }`)(
      (value: unknown) => (value === null ? 1 : packr.pack(value).length),
    ) as Codec["maxBytes"],
    shared: blank(shape) as Message,
  };
  codecs[code] = codec;
  return codec;
}

/** Decodes a message that was written when its schema had fewer fields. The missing ones, declared last, get zero, "" or null. */
function decodeOld(shape: MessageSchema, view: DataView, bytes: Uint8Array, offset: number, message: Message): void {
  const fields = Object.entries(shape.fields);
  const count = view.getUint16(offset + 2, true);
  if (count > fields.length)
    throw new NewerVersionError(`${shape.name} has ${count} fields, and this version knows ${fields.length}`);
  const target = message as unknown as Record<string, unknown>;
  const written = fields.slice(0, count);
  for (const [name, kind] of fields.slice(count)) target[name] = kind === "number" ? 0 : kind === "string" ? "" : null;
  let at = offset + MESSAGE_HEADER_BYTES;
  for (const [name, kind] of written) {
    if (kind !== "number") continue;
    target[name] = view.getFloat64(at, true);
    at += 8;
  }
  for (const wanted of ["string", "json"] as const) {
    for (const [name, kind] of written) {
      if (kind !== wanted) continue;
      const length = view.getUint32(at, true);
      target[name] = wanted === "string" ? text(bytes, at + 4, length) : unpackJson(bytes, at + 4, length);
      at += 4 + length;
    }
  }
}

function putString(view: DataView, bytes: Uint8Array, at: number, value: string): number {
  const length = value.length;
  const start = at + 4;
  for (let i = 0; i < length; i++) {
    const char = value.charCodeAt(i);
    if (char > 127) return putUtf8(view, bytes, at, value);
    bytes[start + i] = char;
  }
  view.setUint32(at, length, true);
  return start + length;
}

function putUtf8(view: DataView, bytes: Uint8Array, at: number, value: string): number {
  const encoded = encoder.encode(value);
  bytes.set(encoded, at + 4);
  view.setUint32(at, encoded.length, true);
  return at + 4 + encoded.length;
}

function text(bytes: Uint8Array, at: number, length: number): string {
  if (length === 0) return "";
  if (length <= 64) {
    let value = "";
    for (let i = at; i < at + length; i++) {
      const char = bytes[i];
      if (char > 127) return decoder.decode(bytes.slice(at, at + length));
      value += String.fromCharCode(char);
    }
    return value;
  }
  // slice, not subarray: TextDecoder refuses shared memory.
  return decoder.decode(bytes.slice(at, at + length));
}

/** Null, which most of these fields are, takes no allocation. */
const PACKED_NULL = 0xc0;

function putJson(view: DataView, bytes: Uint8Array, at: number, value: unknown): number {
  if (value === null) {
    view.setUint32(at, 1, true);
    bytes[at + 4] = PACKED_NULL;
    return at + 5;
  }
  const packed = packr.pack(value);
  bytes.set(packed, at + 4);
  view.setUint32(at, packed.length, true);
  return at + 4 + packed.length;
}

function unpackJson(bytes: Uint8Array, at: number, length: number): unknown {
  if (length === 1 && bytes[at] === PACKED_NULL) return null;
  return packr.unpack(bytes.slice(at, at + length));
}

/** Decodes the messages of one record into pooled objects, which stay valid until reset(). */
export class MessagePool {
  private readonly free: Message[][] = [];
  private readonly used: number[] = [];

  decode(view: DataView, bytes: Uint8Array, offset: number): Message {
    const code = view.getUint16(offset, true);
    const codec = codecs[code] ?? compile(code);
    let ofCode = this.free[code];
    if (ofCode === undefined) {
      ofCode = [];
      this.free[code] = ofCode;
      this.used[code] = 0;
    }
    const index = this.used[code];
    let message = ofCode[index];
    if (message === undefined) {
      message = blank(codec.shape) as Message;
      ofCode.push(message);
    }
    this.used[code] = index + 1;
    codec.decodeInto(view, bytes, offset, message);
    return message;
  }

  /** Frees the objects for reuse. `messages`: all that decode() returned since the last reset(). */
  reset(messages: readonly Message[]): void {
    for (const message of messages) this.used[message.type] = 0;
  }
}
