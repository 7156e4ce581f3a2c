import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const FAULTS = 68;
const TEST = /`(test\/[^`]+)` "([^"]+)"/g;
const PAGE = "docs/reliability.md";

/** The tests run from dist/, so the sources are in a folder above. */
function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, PAGE))) folder = dirname(folder);
  return folder;
}

test("each fault of docs/reliability.md names a test that exists, or says what no test shows", () => {
  const folder = projectRoot();
  const rows = readFileSync(join(folder, PAGE), "utf8").matchAll(/^\| (\d+) +\|(.*)$/gm);
  const numbers: number[] = [];
  for (const [row, number = "", rest = ""] of rows) {
    numbers.push(Number(number));
    const named = [...rest.matchAll(TEST)];
    for (const [, path = "", title = ""] of named) {
      const text = readFileSync(join(folder, path), "utf8");
      assert.ok(text.includes(title), `${path} has no test that is called ${title}`);
    }
    const [, , open = ""] = rest.split("|");
    assert.ok(named.length > 0 || open.trim() !== "", `neither a test nor an open point: ${row}`);
  }
  assert.deepEqual(
    numbers,
    Array.from({ length: FAULTS }, (_, i) => i + 1),
  );
});
