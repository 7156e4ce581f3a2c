import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import "../../src/core/protocol/commands.ts";
import "../../src/core/protocol/events.ts";
import "../../src/core/protocol/replies.ts";
import "../../src/core/protocol/snapshot-schema.ts";
import {
  blank,
  defineMessage,
  MESSAGE_SCHEMAS,
  type Message,
  type MessageSchema,
} from "../../src/core/protocol/message-schema.ts";
import {
  decodeMessage,
  decodeShared,
  eachMessage,
  encodeMessage,
  MESSAGE_HEADER_BYTES,
  MessagePool,
  maxMessageBytes,
  messageBytes,
} from "../../src/wire/codec.ts";
import { takeSeed } from "../core/support/seed.ts";

const seed = takeSeed("codec.test");
const DECLARED = [...MESSAGE_SCHEMAS.values()];

/** Values of each kind of field. msgpackr turns -0 into 0 and refuses __proto__, so json fields have neither. */
const number = fc.oneof(
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, 1, -1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1),
  fc.double({ noNaN: true }),
);
const string = fc.oneof(
  fc.string(),
  fc.string({ unit: "grapheme" }),
  fc.string({ minLength: 60, maxLength: 70 }),
  fc.constantFrom(
    "",
    "a",
    "\u0000",
    "\uFEFF",
    "\uFEFFabc",
    "a\uFEFF",
    "é",
    "😀",
    "x".repeat(63),
    `${"x".repeat(64)}é`,
    "é".repeat(500),
  ),
);
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value).replaceAll("__proto__", "proto")));

const messageOf = (of: MessageSchema): fc.Arbitrary<Message> =>
  fc
    .record(
      Object.fromEntries(
        Object.entries(of.fields).map(([name, kind]) => [
          name,
          kind === "number" ? number : kind === "string" ? string : json,
        ]),
      ),
    )
    .map((fields) => Object.assign(blank(of), fields) as Message);
const anyMessage = fc.constantFrom(...DECLARED).chain(messageOf);

const MIXED = defineMessage(60_001, "TestMixed", {
  a: "number",
  t: "string",
  b: "number",
  j: "json",
  u: "string",
  c: "number",
});

function encodeAt(offset: number, message: Message): { bytes: Uint8Array; view: DataView; end: number } {
  const bytes = new Uint8Array(offset + maxMessageBytes(message)).fill(0xee);
  const view = new DataView(bytes.buffer);
  return { bytes, view, end: encodeMessage(view, bytes, offset, message) };
}

test("every declared message decodes unchanged, at any offset and within its bound", () => {
  fc.assert(
    fc.property(
      fc.oneof(anyMessage, messageOf(MIXED)),
      fc.nat(8).map((n) => n * 8),
      (message, offset) => {
        const { bytes, view, end } = encodeAt(offset, message);
        assert.ok(end <= bytes.length, `${end - offset} bytes, the bound is ${bytes.length - offset}`);
        assert.equal(end % 8, 0);
        assert.equal(messageBytes(view, offset), end - offset);
        assert.deepEqual(decodeMessage(view, bytes, offset), message);
        for (let i = 0; i < offset; i++) assert.equal(bytes[i], 0xee);
        for (let i = end; i < bytes.length; i++) assert.ok(bytes[i] === 0xee || i < end + 8);
      },
    ),
    { seed, numRuns: 5000, includeErrorInReport: true },
  );
});

test("each schema decodes its blank and a message with every field filled", () => {
  for (const declared of DECLARED) {
    const empty = blank(declared) as Message;
    const { bytes, view } = encodeAt(0, empty);
    assert.deepEqual(decodeMessage(view, bytes, 0), empty, declared.name);
    const full = Object.assign(blank(declared) as Message, filled(declared));
    const encoded = encodeAt(16, full);
    assert.deepEqual(decodeMessage(encoded.view, encoded.bytes, 16), full, declared.name);
    assert.equal(view.getUint16(0, true), declared.code);
  }
});

test("shared memory decodes like any other", () => {
  fc.assert(
    fc.property(anyMessage, (message) => {
      const bytes = new Uint8Array(new SharedArrayBuffer(maxMessageBytes(message)));
      const view = new DataView(bytes.buffer);
      encodeMessage(view, bytes, 0, message);
      assert.deepEqual(decodeMessage(view, bytes, 0), message);
    }),
    { seed, numRuns: 500, includeErrorInReport: true },
  );
});

test("messages follow each other and are visited in order", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 20 }), (messages) => {
      const bytes = new Uint8Array(messages.reduce((sum, message) => sum + maxMessageBytes(message), 0));
      const view = new DataView(bytes.buffer);
      let end = 0;
      for (const message of messages) end = encodeMessage(view, bytes, end, message);
      const seen: Message[] = [];
      eachMessage(view, bytes, 0, end, (message) => seen.push({ ...message }));
      assert.deepEqual(seen, messages);
      // A pool returns a separate object for each, valid until reset().
      const pool = new MessagePool();
      for (let round = 0; round < 2; round++) {
        const decoded: Message[] = [];
        for (let at = 0; at < end; at += messageBytes(view, at)) decoded.push(pool.decode(view, bytes, at));
        assert.deepEqual(decoded, messages);
        assert.equal(new Set(decoded).size, messages.length);
        pool.reset(decoded);
      }
    }),
    { seed, numRuns: 500, includeErrorInReport: true },
  );
});

test("decodeShared() reuses one object and leaves nothing of the last message", () => {
  const message = Object.assign(blank(MIXED) as Message, filled(MIXED));
  const { bytes, view } = encodeAt(0, message);
  const first = decodeShared(view, bytes, 0);
  assert.deepEqual(first, message);
  const empty = encodeAt(0, blank(MIXED) as Message);
  assert.equal(decodeShared(empty.view, empty.bytes, 0), first);
  assert.deepEqual(first, blank(MIXED));
});

test("a pool returns different objects until reset(), then the same again", () => {
  const { bytes, view } = encodeAt(0, Object.assign(blank(MIXED), { a: 1 }) as Message);
  const pool = new MessagePool();
  const first = [1, 2, 3].map(() => pool.decode(view, bytes, 0));
  assert.equal(new Set(first).size, 3);
  pool.reset(first);
  const again = [1, 2, 3].map(() => pool.decode(view, bytes, 0));
  for (const [i, message] of again.entries()) assert.equal(message, first[i]);
});

test("the layout on disk is the documented one", () => {
  const message = Object.assign(blank(MIXED) as Message, { a: 1, t: "hé", b: -2, j: [7], u: "", c: 0.5 });
  const { bytes, end } = encodeAt(0, message);
  const expected = [
    // code 60001, 6 fields, 48 bytes
    "61ea060030000000",
    // a, b, c
    "000000000000f03f",
    "00000000000000c0",
    "000000000000e03f",
    // t: 3 bytes; u: none
    "0300000068c3a9",
    "00000000",
    // j: an array of one, the number 7
    "020000009107",
    // to a multiple of 8
    "00".repeat(7),
  ].join("");
  assert.equal(Buffer.from(bytes.subarray(0, end)).toString("hex"), expected);
});

test("a message from before its schema grew decodes with the new fields at zero", () => {
  const old = defineMessage(60_002, "TestOld", { a: "number", t: "string", j: "json" });
  const grown = defineMessage(60_003, "TestGrown", {
    a: "number",
    t: "string",
    j: "json",
    b: "number",
    u: "string",
    k: "json",
  });
  fc.assert(
    fc.property(messageOf(old), messageOf(grown), (message, before) => {
      const { bytes, view } = encodeAt(8, message);
      // The same message under the code of the grown schema.
      view.setUint16(8, grown.code, true);
      const expected = { ...message, type: grown.code, b: 0, u: "", k: null };
      assert.deepEqual(decodeMessage(view, bytes, 8), expected);
      // Also into an object that held another message.
      const other = encodeAt(0, before);
      decodeShared(other.view, other.bytes, 0);
      assert.deepEqual(decodeShared(view, bytes, 8), expected);
    }),
    { seed, numRuns: 500, includeErrorInReport: true },
  );
});

test("a message with unknown fields is refused, and so is an unknown code", () => {
  const known = defineMessage(60_004, "TestKnown", { a: "number" });
  const newer = defineMessage(60_005, "TestNewer", { a: "number", b: "number" });
  const { bytes, view } = encodeAt(0, blank(newer) as Message);
  view.setUint16(0, known.code, true);
  assert.throws(() => decodeMessage(view, bytes, 0), {
    name: "NewerVersionError",
    message:
      "TestKnown has 2 fields, and this version knows 1: this was written by a newer version of perpd. Use that version.",
  });
  view.setUint16(0, 65_535, true);
  assert.throws(() => decodeMessage(view, bytes, 0), { name: "NewerVersionError", message: /message code 65535/ });
  assert.throws(() => encodeMessage(view, bytes, 0, { type: 65_535 }), /message code 65535/);
});

test("text with lone surrogates is encoded within the bound", () => {
  // Lone surrogates have no UTF-8 form and decode as U+FFFD.
  const message = Object.assign(blank(MIXED) as Message, { t: `\ud800${"x".repeat(10)}\udfff` });
  const { bytes, view } = encodeAt(0, message);
  assert.deepEqual(decodeMessage(view, bytes, 0), { ...message, t: `\ufffd${"x".repeat(10)}\ufffd` });
});

test("a message code can be declared only once", () => {
  assert.throws(() => defineMessage(60_001, "Again", {}), /message code 60001 is taken/);
});

test("the header of a message is 8 bytes", () => {
  assert.equal(encodeAt(0, blank(defineMessage(60_006, "TestEmpty", {})) as Message).end, MESSAGE_HEADER_BYTES);
});

function filled(of: MessageSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(of.fields).map(([name, kind], i) => [
      name,
      kind === "number" ? i + 0.25 : kind === "string" ? `text ${i}` : { [name]: [i, null, "é"] },
    ]),
  );
}
