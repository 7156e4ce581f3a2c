import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { PlacedOrder } from "../../../src/client/types.ts";
import { idToInstrumentId, LEDGER } from "../../../src/core/base/enums.ts";
import { openDatabase } from "../../../src/store/database/database.ts";
import { SnapshotRecord } from "../../../src/store/database/history-schema.ts";
import { clientIdKey } from "../../../src/store/database/past-client-ids.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import { verifyLog } from "../../../src/store/log/log-scan.ts";
import { encodeHeader, openSegment } from "../../../src/store/log/log-segment.ts";
import { Api } from "../support/api.ts";
import { openKey } from "../support/keys.ts";
import { startAndFail, startServer, TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

/** What a person reads who starts the exchange on a folder that is damaged. */

const root = fs.mkdtempSync(join(tmpdir(), "perpd-damaged-"));
const sound = join(root, "sound");
const dataFile = "database/data.mdb";

/** Of the sound folder. */
let trader: Trader;
let orderId = "";
const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "40000", quantity: "0.001" } as const;
const first = { ...order, clientOrderId: "first" };

before(async () => {
  fs.mkdirSync(sound);
  const server = await startServer({ dataFolder: sound });
  try {
    trader = await openTrader(server, "1000");
    await openKey(server, trader, ["READ"]);
    await new Operator(server).setIndex("BTC-PERP", "50000");
    orderId = (await trader.place(first)).orderId;
    await trader.cancel(orderId);
    // A start reads the last id.
    await trader.cancel((await trader.place({ ...order, clientOrderId: "last" })).orderId);
    assert.equal((await server.stop()).code, 0);
  } finally {
    await server.dispose();
  }
});
after(() => fs.rmSync(root, { recursive: true }));

const segmentOf = (dir: string): string =>
  join("log", fs.readdirSync(join(dir, "log")).find((name) => name.endsWith(".seg")) ?? "");

function change(path: string, by: (bytes: Buffer) => Buffer): void {
  fs.writeFileSync(path, by(fs.readFileSync(path)));
}

const DAMAGES: [what: string, damage: (dir: string) => void | Promise<void>, says: RegExp][] = [
  [
    "a database that is none ends the probe, not the server",
    (dir) => fs.writeFileSync(join(dir, dataFile), Buffer.alloc(1 << 20, "garbage!")),
    /the database cannot be read \((SIGSEGV|SIGBUS|SIGABRT|exit code 1)\)/,
  ],
  [
    "a database that was cut short",
    // Its second half may be unused, so no more than the first pages are left.
    (dir) => change(join(dir, dataFile), (bytes) => bytes.subarray(0, 12_288)),
    /the database cannot be read/,
  ],
  ["a database that is empty", (dir) => fs.truncateSync(join(dir, dataFile), 0), /the database is missing or empty/],
  [
    "a log with a flipped bit names the turn",
    (dir) =>
      change(join(dir, segmentOf(dir)), (bytes) => {
        bytes.writeUInt8(bytes.readUInt8(4096 + 30) ^ 1, 4096 + 30);
        return bytes;
      }),
    /log corrupt: log-0+1\.seg at byte 4096, expected sequence 1: the record is damaged/,
  ],
  [
    "a log that ends before a snapshot does, though not before the history",
    async (dir) => {
      const database = openDatabase(dir, { probe: false });
      const { lastSequence } = verifyLog(join(dir, "log"));
      const batch = new WriteBatch();
      batch.put(database.snapshotHeads, LEDGER, { type: SnapshotRecord.code, sequence: lastSequence + 1, time: 0 });
      database.commit(batch);
      await database.close();
    },
    /log corrupt: .*: the record is missing, but \d+ was acknowledged/,
  ],
  [
    "a log of another exchange",
    (dir) => {
      const { fd, segment } = openSegment(join(dir, "log"), 1, "r+");
      fs.writeSync(fd, encodeHeader({ ...segment, exchangeId: randomUUID() }), 0, undefined, 0);
      fs.closeSync(fd);
    },
    /log corrupt: log-0+1\.seg .*: it belongs to the exchange [0-9a-f-]{36}, not to [0-9a-f-]{36}$/m,
  ],
  ["a log that is gone", (dir) => fs.rmSync(join(dir, "log"), { recursive: true }), /there is no log/],
  [
    "a secret that is another exchange's",
    (dir) => fs.writeFileSync(join(dir, "secret.key"), Buffer.alloc(32, 7)),
    /secret\.key is not the key that the API secrets of this exchange were encrypted with/,
  ],
  [
    "a folder that has lost its marker files does not become a fresh exchange",
    (dir) => {
      for (const name of ["genesis.json", "initialised.json", "database"])
        fs.rmSync(join(dir, name), { recursive: true });
    },
    /holds a log, but .* has lost its genesis\.json and its database/,
  ],
];

for (const [what, damage, says] of DAMAGES)
  test(`the start is refused with a reason: ${what}`, async () => {
    const dir = join(root, "trial");
    fs.rmSync(dir, { recursive: true, force: true });
    fs.cpSync(sound, dir, { recursive: true });
    await damage(dir);
    const { code, output } = await startAndFail({ dataFolder: dir });
    assert.equal(code, 1);
    assert.match(output, /^perpd cannot start: /m);
    assert.match(output, says);
    assert.match(output, /perpd has changed nothing.*perpd restore/);
    assert.doesNotMatch(output, /^ {4}at /m, "no stack");
  });

test("a torn end of the log is cut off and logged once, and the exchange starts", async (t) => {
  const dir = join(root, "torn");
  fs.cpSync(sound, dir, { recursive: true });
  const { lastSequence } = verifyLog(join(dir, "log"));
  const segment = segmentOf(dir);
  // The beginning of a record behind the last one.
  change(join(dir, segment), (bytes) => {
    const end = Math.ceil((bytes.findLastIndex((byte) => byte !== 0) + 1) / 8) * 8;
    bytes.writeUInt32LE(200, end);
    return bytes.fill(1, end + 4, end + 96);
  });
  const server = await startServer({ dataFolder: dir });
  t.after(() => server.dispose());
  // The client's reply was lost. Its id is in no memory.
  const retry = await new Api(server.url, trader.token).call<PlacedOrder>(200, "POST", "/orders", first);
  assert.deepEqual([retry.duplicate, retry.orderId, retry.status], [true, orderId, "CANCELED"]);
  const told = () => server.stderr.split("\n").filter((line) => line.includes("cut off a torn record"));
  const [line = "{}"] = told();
  const { segment: name, sequence, bytes } = JSON.parse(line) as Record<string, unknown>;
  assert.deepEqual([name, sequence], [segment.slice("log/".length), lastSequence + 1]);
  assert.equal(bytes, 96);
  await server.stop();
  await server.start();
  assert.equal(told().length, 1);
});

test("a damaged row that the start has not read stops the exchange soon after, and is named", async (t) => {
  const dir = join(root, "past");
  fs.cpSync(sound, dir, { recursive: true });
  const database = openDatabase(dir);
  const key = clientIdKey(idToInstrumentId(Number(orderId)), Number(orderId));
  const value = Buffer.from(database.pastRows.lmdb.getBinary(key) as Buffer);
  value.writeUInt8(value.readUInt8(value.length - 1) ^ 1, value.length - 1);
  database.pastRows.lmdb.putSync(key, value);
  await database.close();
  const server = new TestServer({ dataFolder: dir });
  t.after(() => server.dispose());
  // On a busy machine it may stop before it is ready.
  await server.start().catch(() => {});
  assert.equal((await server.exit()).code, 1);
  assert.match(
    server.stderr,
    /table pastRows, key \[\d+,\\"clientIds\\",\d+\]: wrong checksum; Run `perpd verify DIR`/,
  );
});
