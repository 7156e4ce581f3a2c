import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Order, Page, Transfer } from "../../src/client/types.ts";
import type { CopyRecord } from "../../src/operate/folder.ts";
import { listSegments, segmentName } from "../../src/store/log/log-segment.ts";
import { assertUnchanged } from "../e2e/support/funding.ts";
import { startAndFail, type TestServer } from "../e2e/support/server.ts";
import { Operator, openTrader, Trader } from "../e2e/support/trader.ts";
import { pause, until } from "../e2e/support/wait.ts";
import { contentOf, digestsIn, perpd, startSmall, temporaryFolder } from "./support.ts";

/** What the exchange has acknowledged, in order. */
interface Acknowledged {
  trader: Trader;
  order?: { orderId: string; canceled: boolean };
  deposit?: Transfer;
}

const folder = temporaryFolder();
const backups = [join(folder, "first"), join(folder, "last")];
const last = join(folder, "last");
const acknowledged: Acknowledged[] = [];
let server: TestServer;
let isLoading = true;
let load: Promise<unknown>;
let backedUpAt = 0;

before(async () => {
  server = await startSmall();
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const traders = await Promise.all([1, 2, 3].map(() => openTrader(server)));
  load = Promise.all(traders.map(trade));
  await until("the log is trimmed", () => (listSegments(join(server.dataFolder, "log"))[0] ?? 1) > 1);
});

after(async () => {
  isLoading = false;
  await load;
  await server.dispose();
  fs.rmSync(folder, { recursive: true });
});

/** Rests, crosses, cancels and deposits until the tests are over. */
async function trade(trader: Trader, place: number): Promise<void> {
  for (let i = 0; isLoading; i++) {
    const price = String(64900 + ((i * 7 + place * 50) % 200));
    const { orderId } = await (i % 2 === 0 ? trader.buy("0.001", price) : trader.sell("0.001", price));
    acknowledged.push({ trader, order: { orderId, canceled: false } });
    if (i % 3 !== 0) {
      const answer = await trader.request("DELETE", `/orders/${orderId}`);
      if (answer.status === 200) acknowledged.push({ trader, order: { orderId, canceled: true } });
    }
    if (i % 10 === 0) acknowledged.push({ trader, deposit: await trader.deposit("1", `${place}-${i}`) });
    await pause(1); // leaves some of two cores to what is tested
  }
}

/** The same account and session, on another server. */
const at = (url: string, { token, accountId, address, privateKey }: Trader): Trader =>
  new Trader(url, token as string, accountId, address, privateKey);

/** Everything of `promised` is on the server, once. */
async function assertHolds(url: string, promised: readonly Acknowledged[]): Promise<void> {
  for (const { trader, order, deposit } of promised) {
    const again = at(url, trader);
    if (order !== undefined) {
      const { status } = await again.get<Order>(`/orders/${order.orderId}`);
      if (order.canceled) assert.equal(status, "CANCELED", order.orderId);
    }
    if (deposit !== undefined) {
      const { data } = await again.get<Page<Transfer>>("/account/deposits?limit=1000");
      assert.equal(data.filter(({ reference }) => reference === deposit.reference).length, 1, deposit.reference ?? "");
    }
  }
}

test("a backup of a trading exchange is sound, starts, and holds everything acknowledged before it", async () => {
  let promised: Acknowledged[] = [];
  for (const target of backups) {
    await pause(300);
    backedUpAt = Date.now();
    promised = acknowledged.slice();
    const { code, stdout, stderr } = await perpd("backup", server.dataFolder, target);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /holds exchange \S+ through transaction \d+/);
    for (const name of ["", ...fs.readdirSync(target, { recursive: true, encoding: "utf8" })])
      assert.equal(fs.statSync(join(target, name)).mode & 0o077, 0, `${name} can be read by others`);
    assert.ok((listSegments(join(target, "log"))[0] ?? 0) > 1, "the log was trimmed before");
  }
  isLoading = false;
  await load;
  for (const target of backups) {
    const { code, stdout, stderr } = await perpd("verify", target);
    assert.deepEqual([code, stderr], [0, ""], stdout);
    assert.match(stdout, /^sound$/m);
  }
  const started = join(folder, "started");
  fs.cpSync(last, started, { recursive: true });
  const copy = await startSmall(started);
  try {
    await new Operator(copy).soundAudit();
    await assertHolds(copy.url, promised.slice(-300));
    // It goes on as an exchange of its own.
    await at(copy.url, (promised[0] as Acknowledged).trader).buy("0.001", "60000");
    assert.equal((await copy.stop()).code, 0);
  } finally {
    await copy.dispose();
  }
  assert.equal((await perpd("verify", started)).code, 0);
});

test("restore brings back the state of the backup and does not change the backup", async () => {
  const restored = join(folder, "restored");
  const before = contentOf(last);
  const { code, stdout, stderr } = await perpd("restore", last, restored);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(contentOf(last), before);
  const again = await startSmall(restored);
  const { symbols } = await new Operator(again).soundAudit();
  await again.dispose();
  // The first digest is the ledger's: a start opens a session for its demo account.
  const digests = symbols.map(({ digest }) => digest);
  assertUnchanged(backedUpAt, digests, digestsIn(stdout).slice(1));
});

test("no existing folder is overwritten, and a missing source is refused", async () => {
  const before = contentOf(last);
  const rows: [args: string[], says: RegExp][] = [
    [["backup", server.dataFolder, last], /must be empty or not exist/],
    [["restore", last, server.dataFolder], /must be empty or not exist/],
    [["backup", join(folder, "nowhere"), join(folder, "new")], /the folder does not exist/],
    [["restore", folder, join(folder, "new")], /this is not a data folder of perpd/],
    [["restore", last], /expected BACKUP DIR/],
  ];
  for (const [args, says] of rows) {
    const { code, stderr } = await perpd(...args);
    assert.equal(code, 2, `${args}: ${stderr}`);
    assert.match(stderr, says);
  }
  assert.deepEqual(contentOf(last), before);
  assert.equal(fs.existsSync(join(folder, "new")), false);
});

/** Of a segment's header, behind its magic word, its checksum and its version. */
const AT_FIRST_SEQUENCE = 16;

test("a damaged folder is not copied, and nothing is left of the attempt", async () => {
  const damaged = join(folder, "damaged");
  const target = join(folder, "empty");
  fs.cpSync(last, damaged, { recursive: true });
  fs.mkdirSync(target);
  // Its head, since a record may be one that the database is past, which nobody would miss.
  const path = join(damaged, "log", segmentName(listSegments(join(damaged, "log")).at(-1) ?? 0));
  const bytes = fs.readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(AT_FIRST_SEQUENCE) ^ 1, AT_FIRST_SEQUENCE);
  fs.writeFileSync(path, bytes);
  for (const command of ["backup", "restore"]) {
    const { code, stderr } = await perpd(command, damaged, target);
    assert.equal(code, 1);
    assert.match(stderr, /^damaged: log corrupt: .*segment header/);
    assert.deepEqual(fs.readdirSync(target), []);
  }
});

test("a copy that was cut short is refused by every command", async () => {
  const cut = join(folder, "cut");
  fs.cpSync(last, cut, { recursive: true });
  fs.rmSync(join(cut, "genesis.json"));
  for (const args of [
    ["verify", cut],
    ["backup", cut, join(folder, "new")],
    ["restore", cut, join(folder, "new")],
  ]) {
    const { code, stderr } = await perpd(...args);
    assert.equal(code, 1);
    assert.match(stderr, /an unfinished copy/);
  }
  const { code, output } = await startAndFail({ dataFolder: cut });
  assert.equal(code, 1);
  assert.match(output, /initialised\.json without genesis\.json: this is an unfinished copy/);
});

test("a copy that lost the end of its log is refused, though no file is damaged", async () => {
  const shortened = join(folder, "shortened");
  fs.cpSync(last, shortened, { recursive: true });
  const record = join(shortened, "copied.json");
  const { throughSequence, ...rest } = JSON.parse(fs.readFileSync(record, "utf8")) as CopyRecord;
  fs.writeFileSync(record, JSON.stringify({ ...rest, throughSequence: throughSequence + 1 }));
  const { code, stderr } = await perpd("verify", shortened);
  assert.equal(code, 1);
  assert.match(
    stderr,
    new RegExp(`the log ends with ${throughSequence}, but was copied through ${throughSequence + 1}`),
  );
});

test("a copy whose copied.json is unreadable is refused and not copied", async () => {
  const { exchangeId } = JSON.parse(fs.readFileSync(join(last, "copied.json"), "utf8")) as CopyRecord;
  for (const record of ["null", JSON.stringify({ exchangeId })]) {
    const forgetful = join(folder, "forgetful");
    fs.cpSync(last, forgetful, { recursive: true });
    fs.writeFileSync(join(forgetful, "copied.json"), record);
    for (const args of [
      ["verify", forgetful],
      ["backup", forgetful, join(folder, "of-forgetful")],
    ] as const) {
      const { code, stderr } = await perpd(...args);
      assert.equal(code, 1, args[0]);
      assert.match(stderr, /^damaged: .*copied\.json: cannot be read$/m);
    }
    fs.rmSync(forgetful, { recursive: true });
  }
});
