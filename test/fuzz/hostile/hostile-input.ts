import type { Random } from "../../e2e/support/random.ts";

/** Texts known to cause errors: in numbers, encodings, prototypes, logs and headers. */
const TEXTS = [
  ...["", " ", "0", "-0", "-1", "+1", "1.", ".5", "00012", "1_000", "0x10", "0b11", "1e9", "1e1000000", "1e-7", "1,5"],
  ...["NaN", "Infinity", "null", "true", "undefined", "9".repeat(40), `0.${"0".repeat(30)}1`, "9007199254740993"],
  ...["999999999999", "1.0000000000001", " 1", "1 ", "1\n", "\u0661\u0662", "\uff11\uff12", "\u00bd", "\u221e"],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "prototype", "length", "valueOf"],
  ...["\u0000", "a\u0000b", "\ud800", "\udfff\ud800", "\ufeff", "\u202e", "\u{1f4a9}", "e\u0301", "\u00e9", "\u007f"],
  ...["\r\n", "a\r\nX-Injected: 1", "%00", "%zz", "%c3%28", "../../etc/passwd", "{{1}}", "' OR 1=1 --"],
  ...["BTC-PERP", "btc-perp", "BTC-PERP ", "DOGE-PERP", "client:", "client:__proto__", "LIMIT", "buy"],
  ...["x".repeat(37), "x".repeat(300), "x".repeat(5000), "[".repeat(200), "0".repeat(4000)],
];

const NUMBERS = [0, -0, 1, -1, 0.1, 1e-320, 1.5, 255, 256, 65_536, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 1e21, 1e308];

/** Any JSON value. */
export function hostileValue(random: Random, depth = 0): unknown {
  switch (random.between(0, depth > 2 ? 4 : 7)) {
    case 0:
    case 1:
    case 2:
      return random.pick(TEXTS);
    case 3:
      return random.pick(NUMBERS);
    case 4:
      return random.pick([null, true, false]);
    case 5:
      return Array.from({ length: random.between(0, 4) }, () => hostileValue(random, depth + 1));
    case 6:
      return nested(random.between(1, 40));
    default:
      return Object.fromEntries(
        Array.from({ length: random.between(0, 4) }, () => [random.pick(TEXTS), hostileValue(random, depth + 1)]),
      );
  }
}

export const hostileText = (random: Random): string => random.pick(TEXTS);

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

type Json = Record<string, unknown>;

/** A valid object with one change: a field replaced, removed, added, or repeated. */
export function mutateObject(random: Random, sound: Json): Json {
  const names = Object.keys(sound);
  const name = names.length === 0 ? "a" : random.pick(names);
  switch (random.between(0, 5)) {
    case 0: {
      const { [name]: _, ...rest } = sound;
      return rest;
    }
    case 1:
      return { ...sound, [random.pick(TEXTS)]: hostileValue(random) };
    case 2:
      return { ...sound, [name]: [sound[name]] };
    case 3:
      return { ...sound, [name]: typeof sound[name] === "string" ? Number(sound[name]) : JSON.stringify(sound[name]) };
    default:
      return { ...sound, [name]: hostileValue(random) };
  }
}

const INSERTS = ["\0", "\n", " ", ",", "{", "}", '"', "\\", ":", "[", "]", "1", "\xff", "\ufeff", '"a":1,', "//", "e9"];

/** The text with some characters removed and others inserted. */
export function mutateText(random: Random, text: string, inserts: readonly string[] = INSERTS): string {
  let changed = text;
  for (let times = random.between(1, 3); times > 0; times--) {
    const at = random.between(0, changed.length);
    const insert = random.next() < 0.7 ? random.pick(inserts) : "";
    changed = changed.slice(0, at) + insert + changed.slice(at + random.between(0, 6));
  }
  return changed;
}

/** JSON text of a valid object, mostly with a fault. */
export function hostileBody(random: Random, sound: Json): string {
  const roll = random.next();
  if (roll < 0.05) return JSON.stringify(sound);
  if (roll < 0.1) return JSON.stringify(hostileValue(random));
  if (roll < 0.15) return hostileText(random);
  let value = sound;
  for (let times = random.between(roll < 0.3 ? 0 : 1, 3); times > 0; times--) value = mutateObject(random, value);
  const text = JSON.stringify(value);
  return roll < 0.3 ? mutateText(random, text) : text;
}
