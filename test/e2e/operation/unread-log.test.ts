import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Api } from "../support/api.ts";
import { OPERATOR_TOKEN } from "../support/server.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

const MAIN = fileURLToPath(new URL("../../../src/main.js", import.meta.url));
/** Each is a line of the log of this many bytes and more: about 1.4 MB, more than what may wait. */
const REQUESTS = 450;
const LINE_BYTES = 3000;

/** Named pipes: what Node itself opens for a child are sockets. */
function openPipe(folder: string, name: string): { reader: number; writer: number } {
  const path = join(folder, name);
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
  const reader = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  return { reader, writer: fs.openSync(path, fs.constants.O_WRONLY) };
}

/** What there is to read now. */
function readAll(fd: number): string {
  const chunks: Buffer[] = [];
  try {
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      const bytes = fs.readSync(fd, chunk);
      if (bytes === 0) break;
      chunks.push(chunk.subarray(0, bytes));
    }
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN");
  }
  return Buffer.concat(chunks).toString("latin1");
}

test("a start that fails writes its whole log before the reason", (t) => {
  const folder = fs.mkdtempSync(join(tmpdir(), "perpd-unread-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "log");
  const fd = fs.openSync(path, "a");
  const flags = ["--port", "0", "--data", join(path, "data"), "--price-source", "operator", "--workers", "64"];
  const { status } = spawnSync(process.execPath, [MAIN, "start", ...flags], { stdio: ["ignore", "ignore", fd] });
  fs.closeSync(fd);
  assert.equal(status, 1);
  const lines = fs.readFileSync(path, "utf8").trimEnd().split("\n");
  assert.ok(lines.filter((line) => line.startsWith('{"level":40')).length >= 3, lines.join("\n"));
  assert.match(lines.at(-1) ?? "", /^perpd cannot start: /);
});

/** Of a program whose output ends in pipes that nobody reads yet. */
async function start(t: TestContext) {
  const folder = fs.mkdtempSync(join(tmpdir(), "perpd-unread-"));
  const [stdout, stderr] = [openPipe(folder, "stdout"), openPipe(folder, "stderr")];
  const flags = ["--no-bots", "--price-source", "operator", "--rate-limit", "off", "--operator-token", OPERATOR_TOKEN];
  const child = spawn(
    process.execPath,
    [MAIN, "start", "--host", "127.0.0.1", "--port", "0", "--data", join(folder, "data"), ...flags],
    { stdio: ["ignore", stdout.writer, stderr.writer] },
  );
  fs.closeSync(stdout.writer);
  fs.closeSync(stderr.writer);
  t.after(async () => {
    if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "exit");
    fs.closeSync(stdout.reader);
    fs.closeSync(stderr.reader);
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const url = await until("the welcome", () => /http:\/\/\S+\/v1/.exec(readAll(stdout.reader))?.[0]);
  return { child, url, log: stderr.reader };
}

/** Has the exchange log more than it may keep, and does not read it. */
async function fill(operator: Api): Promise<void> {
  const path = `/operator/symbols/${"x".repeat(LINE_BYTES)}/halt`;
  for (let sent = 0; sent < REQUESTS; sent += 50)
    await Promise.all(Array.from({ length: 50 }, () => operator.refused("UNKNOWN_SYMBOL", "POST", path)));
}

const endOf = async (child: ChildProcess): Promise<unknown> => {
  if (child.exitCode === null) await once(child, "exit");
  return child.exitCode;
};

test("an exchange whose log nobody reads serves and stops as ever, and counts the lines that it drops", async (t) => {
  const { child, url, log } = await start(t);
  const operator = new Operator({ url });
  await operator.setIndex("BTC-PERP", "65000");
  await fill(operator);
  assert.equal((await new Api(url).get<{ status: string }>("/health")).status, "OK");
  const alice = await openTrader({ url });
  await alice.buy("0.001", "60000");
  const dropped = async (): Promise<number> => {
    const { text } = await operator.request("GET", "/metrics");
    return Number(/^perpd_log_lines_dropped (\d+)$/m.exec(text)?.[1]);
  };
  const before = await dropped();
  assert.ok(before > 0 && before < REQUESTS, `${before} lines`);

  let text = "";
  await until("the count", () => {
    text += readAll(log);
    return text.includes('"droppedLines"');
  });
  const lines = text.trimEnd().split("\n");
  const [line] = lines.filter((each) => each.includes('"droppedLines"'));
  assert.equal((JSON.parse(line as string) as { droppedLines: number }).droppedLines, before);
  const whole = lines.filter((each) => each.includes("an operator's request"));
  assert.ok(whole.length >= REQUESTS - before, "every other line is there");
  for (const each of lines) JSON.parse(each);

  await fill(operator);
  assert.ok((await dropped()) > before);
  child.kill("SIGTERM");
  assert.equal(await endOf(child), 0);
});

test("an exchange whose log nobody reads ends with its exit code when it fails", async (t) => {
  const { child, url } = await start(t);
  await fill(new Operator({ url }));
  const data = child.spawnargs[child.spawnargs.indexOf("--data") + 1] as string;
  fs.renameSync(data, `${data}-aside`);
  assert.equal(await endOf(child), 1);
});
