import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../../src/front/common/errors.ts";
import { decodeUtf8 } from "../../../src/front/common/utf8.ts";
import { parseJson } from "../../../src/front/json/json.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { takeSeed } from "../../core/support/seed.ts";

fc.configureGlobal({ seed: takeSeed("json.test") });

const refused =
  (code: ErrorCode, field?: string) =>
  (thrown: unknown): boolean =>
    thrown instanceof ApiError && thrown.code === code && thrown.field === field;

test("JSON without repeated fields is parsed as by JSON.parse", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 10 }), fc.constantFrom("", " ", "\n\t"), (text, space) => {
      assert.deepEqual(parseJson(`${space}${text}${space}`), JSON.parse(text));
    }),
  );
});

test("a field that occurs twice in one object is refused and named, at any place", () => {
  const name = fc.string({ maxLength: 8 });
  fc.assert(
    fc.property(name, fc.json({ maxDepth: 2 }), fc.json({ maxDepth: 2 }), (field, first, second) => {
      const twice = `{${JSON.stringify(field)}:${first},${JSON.stringify(field)} : ${second}}`;
      assert.throws(() => parseJson(twice), refused("DUPLICATE_FIELD", field));
      assert.throws(() => parseJson(`{"a":[0,{"b":${twice}}]}`), refused("DUPLICATE_FIELD", field));
    }),
  );
});

test("the same name in two objects is accepted, and so are colons, quotes and braces inside strings", () => {
  const text = '[{"a":"\\"a\\":1,{[\\\\"},{"a":{"a":":\\\\\\\\"}},{"\\u0061":[{"a":1}]}]';
  assert.deepEqual(parseJson(text), JSON.parse(text));
  assert.throws(() => parseJson('{"a":1,"\\u0061":2}'), refused("DUPLICATE_FIELD", "a"));
});

test("too many values are refused before they are checked; commas in strings do not count", () => {
  const values = (count: number) => Array.from({ length: count }, (_, i) => i);
  assert.equal((parseJson(JSON.stringify(values(1500))) as unknown[]).length, 1500);
  assert.throws(() => parseJson(JSON.stringify(values(1501))), refused("BAD_JSON"));
  assert.throws(() => parseJson(JSON.stringify({ ...values(1501) })), refused("BAD_JSON"));
  assert.deepEqual(parseJson(JSON.stringify([",".repeat(5000)])), [",".repeat(5000)]);
});

test("an empty text is refused", () => {
  assert.throws(() => parseJson(""), { message: /^The text is empty/ });
});

test("invalid JSON is refused", () => {
  const texts = [
    "",
    " ",
    "{",
    "}",
    '"',
    '"\\',
    "{}{}",
    "[1,]",
    "{'a':1}",
    "{a:1}",
    "NaN",
    "01",
    "+1",
    "\ufeff{}",
    "nul",
    '{"a":1}x',
    ":",
    "{:}",
    '{"a"::1}',
  ];
  for (const text of texts) assert.throws(() => parseJson(text), refused("BAD_JSON"), text);
});

test("16 levels are accepted, 17 are refused, and 100,000 cost nothing", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assert.doesNotThrow(() => parseJson(nested(16)));
  assert.throws(() => parseJson(nested(17)), refused("BAD_JSON"));
  assert.throws(() => parseJson(nested(100_000)), refused("BAD_JSON"));
  assert.throws(() => parseJson('{"a":'.repeat(100_000)), refused("BAD_JSON"));
});

test("__proto__ is an ordinary field and changes no prototype", () => {
  const value = parseJson('{"__proto__":{"polluted":true}}') as object;
  assert.deepEqual(Object.keys(value), ["__proto__"]);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  assert.throws(() => parseJson('{"__proto__":1,"__proto__":2}'), refused("DUPLICATE_FIELD", "__proto__"));
});

test("text that is not UTF-8 is refused", () => {
  for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
    assert.throws(() => decodeUtf8(Uint8Array.from(bytes)), TypeError);
    assert.equal(isUtf8(Uint8Array.from(bytes)), false);
  }
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => text === decodeUtf8(Buffer.from(text, "utf8"))));
});

test("isUtf8() accepts exactly the bytes that decode", () => {
  const isDecoded = (bytes: Uint8Array): boolean => {
    try {
      decodeUtf8(bytes);
      return true;
    } catch {
      return false;
    }
  };
  const byte = fc.oneof(fc.nat(255), fc.constantFrom(0x7f, 0x80, 0xbf, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4));
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 5 }), (bytes) => {
      assert.equal(isUtf8(Uint8Array.from(bytes)), isDecoded(Uint8Array.from(bytes)));
    }),
    { numRuns: 3000 },
  );
});
