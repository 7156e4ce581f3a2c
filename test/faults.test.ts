import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const FAULTS = 68;
const TEST = /`(test\/[^`]+)` "([^"]+)"/g;

/** The tests run from where they were built to: the sources lie above. */
function top(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "test/faults.md"))) folder = dirname(folder);
  return folder;
}

test("each fault of test/faults.md has a test that exists, or says that it has none", () => {
  const folder = top();
  const rows = readFileSync(join(folder, "test/faults.md"), "utf8").matchAll(/^\| (\d+) +\|(.*)$/gm);
  const numbers: number[] = [];
  for (const [row, number = "", rest = ""] of rows) {
    numbers.push(Number(number));
    const named = [...rest.matchAll(TEST)];
    for (const [, path = "", title = ""] of named) {
      const text = readFileSync(join(folder, path), "utf8");
      assert.ok(text.includes(title), `${path} has no test that is called ${title}`);
    }
    const [, , open = ""] = rest.split("|");
    assert.ok(named.length > 0 || open.trim() !== "", `neither a test nor a word why there is none: ${row}`);
  }
  assert.deepEqual(
    numbers,
    Array.from({ length: FAULTS }, (_, i) => i + 1),
  );
});
