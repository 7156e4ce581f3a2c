import * as fs from "node:fs";
import { join } from "node:path";
import type { Random } from "../../e2e/support/random.ts";

const PAGE_BYTES = 4096;
const SECTOR_BYTES = 512;

/** Files of a data folder that hold state, relative to it. */
export function filesOf(dir: string): { database: string; segments: string[]; marks: string[] } {
  const segments = fs.readdirSync(join(dir, "log")).filter((name) => name.endsWith(".seg"));
  return {
    database: "database/data.mdb",
    segments: segments.sort().map((name) => join("log", name)),
    marks: ["genesis.json", "initialised.json"],
  };
}

/** Damages one random file of the folder. Returns a description. */
export function damage(dir: string, random: Random): string {
  const { database, segments, marks } = filesOf(dir);
  const dice = random.next();
  const name = dice < 0.5 ? database : dice < 0.97 ? random.pick(segments) : random.pick(marks);
  const path = join(dir, name);
  const bytes = fs.readFileSync(path);
  const how = random.next();
  let what: string;
  if (how < 0.6) {
    const flips = random.pick([1, 1, 1, 2, 8]);
    const places = Array.from({ length: flips }, () => random.between(0, usedBytes(bytes) - 1));
    for (const at of places) bytes[at] = (bytes[at] as number) ^ (1 << random.between(0, 7));
    what = `bits flipped at ${places.join(", ")}`;
  } else if (how < 0.85) {
    const size = random.pick([PAGE_BYTES, PAGE_BYTES, SECTOR_BYTES]);
    const at = random.between(0, Math.floor((usedBytes(bytes) - 1) / size)) * size;
    const value = random.pick([0, 0, 0xff]);
    bytes.fill(value, at, Math.min(at + size, bytes.length));
    what = `${size} bytes at ${at} set to ${value}`;
  } else {
    const length = random.between(0, Math.max(0, bytes.length - 1));
    const kept = random.next() < 0.5 ? length - (length % PAGE_BYTES) : length;
    fs.truncateSync(path, kept);
    return `${name}: truncated to ${kept} of ${bytes.length} bytes`;
  }
  fs.writeFileSync(path, bytes);
  return `${name}: ${what}`;
}

/** Length without trailing zeros, where damage would mostly have no effect. */
function usedBytes(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 1 && bytes[end - 1] === 0) end--;
  return end;
}
