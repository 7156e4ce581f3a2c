import assert from "node:assert/strict";
import { test } from "node:test";
import { maxPackedBytes, packRow, RowBuffer, Unpacker } from "../../../src/store/database/packing.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { random } from "../support/history-model.ts";

const seed = takeSeed("packing.test");

const HEAD_BYTES = 8;

/** Packs rows of those words, unpacks them, and returns how many bytes they took. */
function goesRound(rows: readonly (readonly (number | bigint)[])[]): number {
  const buffer = new RowBuffer(rows.reduce((sum, words) => sum + HEAD_BYTES + 8 * words.length, 0));
  const packed = new Uint8Array(2 * maxPackedBytes(buffer.bytes.length));
  let at = 0;
  let end = 0;
  let before = -1;
  for (const words of rows) {
    buffer.view.setUint32(at, 0xfff0_0000 + words.length, true);
    buffer.view.setUint32(at + 4, 8 * words.length, true);
    words.forEach((word, i) => {
      const to = at + HEAD_BYTES + 8 * i;
      if (typeof word === "number") buffer.view.setFloat64(to, word, true);
      else buffer.view.setBigUint64(to, word, true);
    });
    const from = end;
    end = packRow(buffer, at, before, packed, from);
    assert.ok(end - from <= maxPackedBytes(HEAD_BYTES + 8 * words.length));
    before = at;
    at += HEAD_BYTES + 8 * words.length;
  }
  assert.deepEqual(new Unpacker().unpack(packed.subarray(0, end)), buffer.bytes);
  return end;
}

test("rows of any words are restored bit by bit", () => {
  const next = random(seed);
  const int = (below: number): number => Math.floor(next() * below);
  const bits = (): bigint => (BigInt(int(2 ** 32)) << 32n) | BigInt(int(2 ** 32));
  const kinds = [
    () => 0,
    () => int(9) - 4,
    () => (int(2) - 0.5) * 2 * int(2 ** 32),
    () => (int(2) - 0.5) * 2 * (Number.MAX_SAFE_INTEGER - int(2)),
    () => 1.7e12 + int(1000),
    () => next() - 0.5,
    () => -0,
    () => Number.NEGATIVE_INFINITY,
    bits,
  ];
  for (let round = 0; round < 300; round++) {
    const usual = int(30);
    const plain = next() < 0.5;
    const word = () => (kinds[plain ? int(5) : int(kinds.length)] as () => number | bigint)();
    const length = () => (next() < 0.8 ? usual : int(30));
    goesRound(Array.from({ length: 1 + int(9) }, () => Array.from({ length: length() }, word)));
  }
});

test("extreme differences and words that are not numbers are restored", () => {
  const edges = [
    0,
    -0,
    1,
    -1,
    2 ** 31,
    -(2 ** 31),
    2 ** 52,
    2 ** 53 - 1,
    1 - 2 ** 53,
    0.5,
    5e-324,
    Number.NaN,
    2 ** 60,
  ];
  for (const a of edges) for (const b of edges) goesRound([[a, 0], [b, 0], [a]]);
  goesRound([[0xfff0_0000_0000_0001n, 1], [0xfff0_0000_0000_0002n, 1], [0x7ff8_0000_0000_0000n]]);
});

test("rows that differ little from the row before take little space", () => {
  const row = (i: number) => [257 + 256 * i, 16, 0, 1, 1, 650_000, 10, 0, 0, 0, 1.7e12 + i, 1.7e12 + i, 1000 + i];
  const first = goesRound([row(0)]);
  assert.ok(first < 40, `${first} bytes`);
  const many = goesRound(Array.from({ length: 101 }, (_, i) => row(i)));
  assert.ok((many - first) / 100 <= 8, `${many} bytes`);
});

test("values that end too early or unpack to too much are refused", () => {
  const buffer = new RowBuffer(64);
  buffer.view.setUint32(0, 0x1_0001, true);
  buffer.view.setUint32(4, 48, true);
  [1, 1e12, -7, Number.NaN, 5, 6].forEach((value, i) => {
    buffer.doubles[1 + i] = value;
  });
  const packed = new Uint8Array(maxPackedBytes(64));
  const end = packRow(buffer, 0, -1, packed, 0);
  const unpacker = new Unpacker();
  for (let cut = 1; cut < end; cut++) assert.throws(() => unpacker.unpack(packed.subarray(0, cut)), /do not end with/);
  assert.throws(() => unpacker.unpack(Uint8Array.of(1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f)), /impossible size/);
  assert.deepEqual(unpacker.unpack(packed.subarray(0, end)), buffer.bytes.subarray(0, 56));
});
