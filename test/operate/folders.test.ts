import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { basename, join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";
import { openDatabase } from "../../src/store/database/database.ts";
import { type Key, type Table, VALUE_HEADER_BYTES } from "../../src/store/database/table.ts";
import { startAndFail, startServer } from "../e2e/support/server.ts";
import { until } from "../e2e/support/wait.ts";
import { contentOf, MAIN, perpd, perpdWith, temporaryFolder } from "./support.ts";

/** Where an exchange and its copies can be, and where not. */

const READER = fileURLToPath(new URL("./reader-child.js", import.meta.url));
const folder = temporaryFolder();
const data = join(folder, "not", "there", "yet");

before(async () => {
  const server = await startServer({ dataFolder: data });
  await server.stop();
  await server.dispose();
});

after(() => fs.rmSync(folder, { recursive: true }));

test("an error names the folder that the system cannot create", { skip: !fs.existsSync("/proc/self") }, async () => {
  const { code, output } = await startAndFail({ dataFolder: "/proc/nope/deeper" });
  assert.equal(code, 1);
  assert.match(output, /^perpd cannot start: ENOENT: .*\/proc\/nope/m);
  const copied = await perpd("backup", data, "/proc/nope");
  assert.equal(copied.code, 1);
  assert.match(copied.stderr, /^not done: ENOENT: .*\/proc\/nope/);
});

test("an error names a file that stands where the data folder should be", async () => {
  const file = join(folder, "file");
  fs.writeFileSync(file, "");
  const { code, output } = await startAndFail({ dataFolder: file });
  assert.equal(code, 1);
  assert.match(output, /^perpd cannot start: ENOTDIR: .*\/file'/m);
});

test("every command names a folder that stands where a file should be", async () => {
  const dir = join(folder, "misplaced");
  for (const name of ["genesis.json", "instruments.json", "secret.key", "log/log-0000000000000001.seg"]) {
    fs.cpSync(data, dir, { recursive: true });
    fs.rmSync(join(dir, name));
    fs.mkdirSync(join(dir, name));
    const says = new RegExp(`${basename(name)}: EISDIR: `);
    for (const args of [
      ["verify", dir],
      ["backup", dir, `${dir}-copy`],
    ]) {
      const { code, stderr } = await perpd(...args);
      assert.equal(code, 1);
      assert.match(stderr, says, args[0]);
    }
    assert.match((await startAndFail({ dataFolder: dir })).output, says);
    fs.rmSync(dir, { recursive: true });
  }
});

test("a reader that closes the output does not end the command", async () => {
  const restored = join(folder, "unheard");
  for (const args of [
    ["verify", data],
    ["restore", data, restored],
  ]) {
    const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const [code] = await once(child, "close");
    assert.deepEqual([code, stderr], [0, ""], args[0]);
  }
  assert.equal((await perpd("verify", restored)).code, 0);
});

test("an error of a full disk names the file that could not be written", { skip: process.platform !== "linux" }, () => {
  // In blocks of 512 bytes: the first stops the making of a table, the second a commit.
  for (const limit of [32, 64]) {
    const start = `ulimit -f ${limit} && exec "$0" "$1" start --port 0 --data "$2"`;
    const args = ["-c", start, process.execPath, MAIN, join(folder, `limit-${limit}`)];
    const { status, stderr } = spawnSync("sh", args, { encoding: "utf8" });
    assert.equal(status, 1);
    assert.match(stderr, /perpd cannot start: .*database: /);
  }
});

test("too little address space is told in words by each command", { skip: process.platform !== "linux" }, () => {
  const dir = join(folder, "no-room");
  for (const command of ["start --port 0 --data", "verify"]) {
    const script = `ulimit -v 8000000 && exec "$0" "$1" ${command} "$2"`;
    const { status, stderr } = spawnSync("sh", ["-c", script, process.execPath, MAIN, dir], { encoding: "utf8" });
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^perpd cannot start: the limit of address space is 7\.6 GiB, and [\d.]+ GiB are needed\. .*ulimit -v/,
    );
  }
  assert.ok(!fs.existsSync(dir));
});

test("a copy cannot be made within its source", async () => {
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

const inOtherNetwork = (...command: string[]) => spawnSync("unshare", ["-n", ...command], { encoding: "utf8" });
const locksIn = (dir: string): string[] => fs.readdirSync(dir).filter((name) => name.endsWith(".sock"));

test("a folder is in use under every name, and in other containers, until its process has ended", async () => {
  const [named, renamed] = [join(folder, "named"), join(folder, "renamed".padEnd(120, "-"))];
  const server = await startServer({ dataFolder: named });
  try {
    fs.renameSync(named, renamed);
    fs.symlinkSync(renamed, named); // without its path the exchange would soon end
    const again = await startAndFail({ dataFolder: renamed });
    assert.match(again.output, /in use by another perpd/);
    if (inOtherNetwork("true").status === 0) {
      const { status, stderr } = inOtherNetwork(process.execPath, MAIN, "verify", renamed);
      assert.equal(status, 2);
      assert.match(stderr, /in use by another perpd/);
    }
    assert.equal(locksIn(renamed).length, 1);
  } finally {
    await server.dispose();
  }
  const copied = await perpd("backup", renamed, join(folder, "of-killed"));
  assert.deepEqual([copied.code, locksIn(join(folder, "of-killed"))], [0, []]);
  assert.equal(locksIn(renamed).length, 1, "it was killed");
  const { code, stderr } = await perpd("verify", renamed);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(locksIn(renamed), []);
});

test("a link that points to nothing is refused as a target, and stays", async () => {
  const link = join(folder, "dangling");
  fs.symlinkSync(join(folder, "gone", "long", "ago"), link);
  for (const command of ["backup", "restore"]) {
    const { code, stderr } = await perpd(command, data, link);
    assert.equal(code, 2);
    assert.match(stderr, /dangling: this link points to nothing$/m);
    assert.ok(fs.lstatSync(link).isSymbolicLink());
  }
});

test("of two copies to one empty folder the second is refused and does not harm the first", async () => {
  const [from, to] = [join(folder, "slow"), join(folder, "shared")];
  fs.cpSync(data, from, { recursive: true });
  fs.mkdirSync(to);
  // What is read last before the first file is made: the copy waits there, with the folder still empty.
  const gate = join(from, "initialised.json");
  fs.rmSync(gate);
  assert.equal(spawnSync("mkfifo", [gate]).status, 0);
  const second = perpd("backup", from, to);
  const fd = await until("the copy to wait", () => openForReader(gate));
  const ofFirst = ["initialised.json", "secret.key"];
  for (const name of ofFirst) fs.writeFileSync(join(to, name), "of the first");
  fs.closeSync(fd);
  const { code, stderr } = await second;
  assert.equal(code, 2);
  assert.match(stderr, /shared: another copy to this folder is in progress/);
  assert.deepEqual(fs.readdirSync(to), ofFirst);
});

/** Undefined while nobody reads. */
function openForReader(pipe: string): number | undefined {
  try {
    return fs.openSync(pipe, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ENXIO");
    return undefined;
  }
}

const mayMount = process.getuid?.() === 0 && spawnSync("unshare", ["-m", "true"]).status === 0;
const skip = mayMount ? false : "needs to be root and to mount a file system";

/** Mounted until the test is over. */
function mount(t: TestContext, dir: string, ...args: string[]): void {
  fs.mkdirSync(dir);
  assert.equal(spawnSync("mount", [...args, dir]).status, 0);
  t.after(() => spawnSync("umount", ["-l", dir]));
}

/** Takes all the room that is left. */
function fill(disk: string): void {
  const fd = fs.openSync(join(disk, "filler"), "w");
  assert.throws(() => {
    for (;;) fs.writeSync(fd, Buffer.alloc(4096, 1));
  }, /ENOSPC/);
  fs.closeSync(fd);
}

test("a disk without room for a copy is not reported as damage", { skip }, async (t) => {
  const disk = join(folder, "small-disk");
  mount(t, disk, "-t", "tmpfs", "-o", "size=16k", "tmpfs");
  for (const command of ["backup", "restore"]) {
    const { code, stderr } = await perpd(command, data, disk);
    assert.equal(code, 1);
    assert.match(stderr, /^not done: .*small-disk\/database: No space left on device$/m);
    assert.deepEqual(fs.readdirSync(disk), []);
  }
});

test("a disk without room for LMDB's lock file is not reported as damage", { skip }, async (t) => {
  const disk = join(folder, "full-disk");
  mount(t, disk, "-t", "tmpfs", "-o", "size=40m", "tmpfs");
  const [copy, target] = [join(disk, "copy"), join(folder, "of-full-disk")];
  assert.equal((await perpd("backup", data, copy)).code, 0);
  fill(disk);
  for (const outcome of [
    await perpdWith({ TMPDIR: disk }, "verify", data),
    await perpdWith({ TMPDIR: disk }, "backup", data, target),
    await perpd("backup", copy, target),
  ]) {
    assert.equal(outcome.code, 1);
    assert.match(outcome.stderr, /^not done: .*full-disk.*lock\.mdb: ENOSPC: no space left on device/);
    assert.equal(fs.existsSync(target), false);
  }
});

test("a read-only folder can be copied if nobody writes to it", { skip }, async (t) => {
  const [written, read] = [join(folder, "written"), join(folder, "read")];
  const server = await startServer({ dataFolder: written });
  t.after(() => server.dispose());
  mount(t, read, "--bind", "-o", "ro", written);
  const target = join(folder, "of-read");
  const { code, stderr } = await perpd("backup", read, target);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /read is in use by another perpd: stop it first, or give this user write permission on database\/lock\.mdb/,
  );
  assert.equal(fs.existsSync(target), false);
  await server.stop();
  assert.equal((await perpd("backup", read, target)).code, 0);
});

const inOtherProcesses = (...command: string[]) => ["--pid", "--fork", "--kill-child", ...command];
const mayUnshare = spawnSync("unshare", inOtherProcesses("true")).status === 0;

test("an exchange can be copied from a container with the same process ids", {
  skip: !mayUnshare,
}, async (t) => {
  const reader = spawn("unshare", inOtherProcesses(process.execPath, READER, data));
  t.after(() => reader.kill("SIGKILL"));
  await once(reader.stdout, "data");
  const args = inOtherProcesses(process.execPath, MAIN, "backup", data, join(folder, "of-container"));
  const { status, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
  assert.deepEqual([status, stderr], [0, ""]);
});

test("a folder that has lost its database is damaged, and no new one is created", async () => {
  const lost = join(folder, "lost");
  fs.cpSync(data, lost, { recursive: true });
  for (const loss of [
    () => fs.truncateSync(join(lost, "database", "data.mdb")),
    () => fs.rmSync(join(lost, "database"), { recursive: true }),
  ]) {
    loss();
    const before = contentOf(lost);
    for (const args of [
      ["verify", lost],
      ["backup", lost, join(folder, "of-lost")],
      ["restore", lost, join(folder, "of-lost")],
    ]) {
      const { code, stderr } = await perpd(...args);
      assert.equal(code, 1, args[0]);
      assert.match(stderr, /^damaged: .*lost\/database: the database is missing or empty$/m);
      assert.equal(fs.existsSync(join(folder, "of-lost")), false);
    }
    assert.deepEqual(contentOf(lost), before);
  }
});

test("a database of an older version gives advice; one that has lost a table is damaged", async () => {
  const [older, damaged] = [join(folder, "older"), join(folder, "damaged")];
  for (const dir of [older, damaged]) {
    fs.cpSync(data, dir, { recursive: true });
    const database = openDatabase(dir);
    if (dir === older) for (const table of [database.genesisRecords, database.index]) writeUnpacked(table);
    database.shortLivedOrders.lmdb.dropSync();
    await database.close();
  }
  for (const args of [
    ["verify", older],
    ["backup", older, join(folder, "new")],
    ["restore", older, join(folder, "new")],
  ]) {
    const { code, stderr } = await perpd(...args);
    assert.equal(code, 2, stderr);
    assert.match(
      stderr,
      /older: the database was written by an older version: use the version that wrote it, or start .* this version on it/,
    );
  }
  const { code, stderr } = await perpd("verify", damaged);
  assert.deepEqual([code, stderr], [1, "damaged: table briefOrders: missing\n"]);
});

/** The table's values as they were before rows were packed. */
function writeUnpacked(table: Table): void {
  const values: [Key, Buffer][] = [];
  table.eachValue({}, (key, rows) => {
    const value = Buffer.alloc(VALUE_HEADER_BYTES + rows.length);
    value.writeUInt8(2);
    value.writeUInt32LE(crc32(rows, table.crcOf(key)), 1);
    value.set(rows, VALUE_HEADER_BYTES);
    values.push([key, value]);
    return true;
  });
  assert.ok(values.length > 0, table.name);
  for (const [key, value] of values) table.lmdb.putSync(key, value);
}
