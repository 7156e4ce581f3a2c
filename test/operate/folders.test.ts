import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startAndFail, startServer } from "../e2e/support/server.ts";
import { contentOf, perpd, temporaryFolder } from "./support.ts";

/** Where an exchange and its copies can be, and where not. */

const folder = temporaryFolder();
const data = join(folder, "not", "there", "yet");

before(async () => {
  const server = await startServer({ dataFolder: data });
  await server.stop();
  await server.dispose();
});

after(() => fs.rmSync(folder, { recursive: true }));

test("a folder that the system does not make is named at once", { skip: !fs.existsSync("/proc/self") }, async () => {
  const { code, output } = await startAndFail({ dataFolder: "/proc/nope/deeper" });
  assert.equal(code, 1);
  assert.match(output, /^perpd cannot start: ENOENT: .*\/proc\/nope/m);
  const copied = await perpd("backup", data, "/proc/nope");
  assert.equal(copied.code, 1);
  assert.match(copied.stderr, /^not done: ENOENT: .*\/proc\/nope/);
});

test("a copy is not made within what is copied", async () => {
  const link = join(folder, "link");
  fs.symlinkSync(data, link);
  const before = contentOf(data);
  for (const [command, from, to] of [
    ["backup", data, join(data, "copy")],
    ["backup", link, join(data, "log", "..", "deep", "copy")],
    ["restore", data, join(link, "copy")],
  ] as const) {
    const { code, stdout, stderr } = await perpd(command, from, to);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /copy: it lies within /);
  }
  assert.deepEqual(contentOf(data), before);
  const beside = `${data}-copy`;
  assert.equal((await perpd("backup", data, beside)).code, 0);
});
