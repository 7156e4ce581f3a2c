import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { MARKER_FILE, readMarker, writeMarker } from "../../src/replication/replication-marker.ts";

test("the marker is written only when it changes: a full disk does not stop a process that begins to lead", (t) => {
  const folder = fs.mkdtempSync(join(tmpdir(), "perpd-marker-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const fileOf = (): number => fs.statSync(join(folder, MARKER_FILE)).ino;
  const marker = { stream: "perpd", mode: "sync" } as const;
  writeMarker(folder, marker);
  const first = fileOf();
  // Any write needs this file first.
  fs.mkdirSync(join(folder, `${MARKER_FILE}.tmp`));
  writeMarker(folder, marker);
  assert.equal(fileOf(), first);
  assert.throws(() => writeMarker(folder, { ...marker, stream: "other" }), /EISDIR/);
  assert.deepEqual(readMarker(folder), marker);
});
