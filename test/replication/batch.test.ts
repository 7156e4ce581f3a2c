import assert from "node:assert/strict";
import { test } from "node:test";
import { headerOf, parseBatch, StreamFault } from "../../src/replication/batch.ts";
import { batchOf, inParts } from "./support.ts";

const BATCH = batchOf(5, 7);
const header = (value: string) => (name: string) => (name === "Perpd-Batch" ? value : "");

test("a message of the stream is read as it was written", () => {
  assert.equal(headerOf(BATCH)[0], "Perpd-Batch");
  assert.deepEqual(parseBatch(9, header(headerOf(BATCH)[1]), BATCH.bytes), { ...BATCH, place: 9 });
});

test("a batch is cut into parts that give its bytes again", () => {
  const parts = inParts(BATCH, 50);
  assert.deepEqual(
    parts.map(({ part, parts: of, first, last }) => [part, of, first, last]),
    parts.map((_, i) => [i + 1, Math.ceil(BATCH.bytes.length / 50), 5, 7]),
  );
  assert.ok(parts.every(({ bytes }) => bytes.length <= 50));
  assert.deepEqual(Buffer.concat(parts.map(({ bytes }) => bytes)), BATCH.bytes);
  assert.equal(inParts(BATCH, BATCH.bytes.length).length, 1);
});

test("a damaged or foreign message is named with its place and the reason", () => {
  const [, value] = headerOf(BATCH);
  const cases: [value: string, bytes: Uint8Array, why: RegExp][] = [
    ["", BATCH.bytes, /message 3 of the stream was not written by perpd/],
    [value.replace(/^1/, "2"), BATCH.bytes, /message 3 of the stream has format 2: this program is too old/],
    [value.replace(/ \d+$/, ""), BATCH.bytes, /damaged/],
    [value, BATCH.bytes.subarray(1), /damaged/],
    [value, BATCH.bytes.map((byte, i) => (i === 60 ? byte ^ 1 : byte)), /damaged/],
  ];
  // Any digit of the header, the epoch and the sequences included: a higher epoch would hide all that follows.
  for (let at = 2; at < value.length; at++)
    if (/\d/.test(value[at] as string))
      cases.push([value.slice(0, at) + ((Number(value[at]) + 1) % 10) + value.slice(at + 1), BATCH.bytes, /damaged/]);
  for (const [text, bytes, message] of cases)
    assert.throws(() => parseBatch(3, header(text), bytes), { name: StreamFault.name, message });
});
