import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Config, loadConfig } from "../../src/config.ts";
import { FIRST_CUSTOMER_ACCOUNT, LEDGER } from "../../src/core/base/enums.ts";
import { blank, defineMessage, type MessageOf } from "../../src/core/protocol/message-schema.ts";
import { AccountRow } from "../../src/core/protocol/snapshot-schema.ts";
import { verifyFolder } from "../../src/operate/verify.ts";
import { type Database, openDatabase } from "../../src/store/database/database.ts";
import { isOpen, type OrderRecord, type PositionStateRecord } from "../../src/store/database/history-schema.ts";
import { WriteBatch } from "../../src/store/database/write-batch.ts";
import { readIndex } from "../../src/store/history/history-fold.ts";
import { positionStateKey } from "../../src/store/history/position-fold.ts";
import { encodeHeader, listSegments, openSegment, segmentName } from "../../src/store/log/log-segment.ts";
import { openKey } from "../e2e/support/keys.ts";
import { startAndFail } from "../e2e/support/server.ts";
import { Operator, openTrader } from "../e2e/support/trader.ts";
import { contentOf, digestsIn, perpd, startSmall, temporaryFolder } from "./support.ts";

const folder = temporaryFolder();
/** An exchange that was stopped in good order, with all of its log. */
const sound = join(folder, "sound");
/** What the running exchange said of itself last. */
let digests: string[];

const MARK = "mark-of-an-order";
const HEADER_BYTES = 4096;
const ORDERS = 800;

before(async () => {
  fs.mkdirSync(sound);
  const server = await startSmall(sound, { PERPD_KEEP_SEGMENTS: "on" });
  try {
    const operator = new Operator(server);
    await operator.setIndex("BTC-PERP", "65000");
    const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
    await openKey(server, alice, ["READ"]);
    await bob.sell("0.01", "65000");
    await alice.buy("0.01", "65000");
    await alice.buy("0.01", "60000", { clientOrderId: MARK });
    for (let done = 0; done < ORDERS; done += 50) {
      const some = Array.from({ length: 50 }, (_, i) => String(64000 + ((done + i) % 400) * (i % 2 === 0 ? -1 : 0.5)));
      await Promise.all(some.map((price, i) => (i % 2 === 0 ? alice.buy("0.001", price) : bob.sell("0.001", price))));
    }
    const { ledgerDigest, symbols } = await operator.soundAudit();
    digests = [ledgerDigest, ...symbols.map(({ digest }) => digest)];
    assert.equal((await server.stop()).code, 0);
  } finally {
    await server.dispose();
  }
  assert.ok(listSegments(join(sound, "log")).length >= 3, "several segments");
});

after(() => fs.rmSync(folder, { recursive: true }));

function configOf(dir: string): Config {
  const invocation = loadConfig(["verify", dir], {});
  assert.ok(invocation.kind === "verify");
  return invocation.config;
}

const segments = (dir: string): string[] =>
  listSegments(join(dir, "log")).map((firstSequence) => join(dir, "log", segmentName(firstSequence)));

function change(path: string, by: (bytes: Buffer) => void): void {
  const bytes = fs.readFileSync(path);
  by(bytes);
  fs.writeFileSync(path, bytes);
}

const flip = (bytes: Buffer, at: number): number => bytes.writeUInt8(bytes.readUInt8(at) ^ 4, at);

function flipMarks(bytes: Buffer, distance: number): void {
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) flip(bytes, at + distance);
}

const dataFile = (dir: string): string => join(dir, "database", "data.mdb");

/** Writes to the database as the store would: nothing about the bytes is wrong afterwards. */
async function rewrite(dir: string, by: (database: Database, batch: WriteBatch) => void): Promise<void> {
  const database = openDatabase(dir, { probe: false });
  const batch = new WriteBatch();
  by(database, batch);
  database.commit(batch);
  await database.close();
}

function anOpenOrder(database: Database): OrderRecord {
  let found: OrderRecord | undefined;
  database.orders.each({}, (_key, order) => {
    if (isOpen(order)) found = order;
  });
  assert.ok(found);
  return found;
}

function anOpenPosition(database: Database): PositionStateRecord {
  let found: PositionStateRecord | undefined;
  database.positionStates.each(
    { start: ["POSITION"], end: ["POSITION", Number.MAX_SAFE_INTEGER] },
    (_key, position) => {
      if (position.sizeLots !== 0) found = position;
    },
  );
  assert.ok(found);
  return found;
}

test("a sound folder recovers to the state of the exchange, and nothing in it changes", async () => {
  const before = contentOf(sound);
  const { code, stdout, stderr } = await perpd("verify", sound);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^sound$/m);
  assert.match(stdout, /transactions 1 to \d+ in [3-9] segments/);
  assert.match(
    stdout,
    /database {3}\d+ values in \d+ tables; snapshots through [1-9]\d* at least, history through [1-9]/,
  );
  assert.match(
    stdout,
    /history {4}[1-9]\d* open orders of customers, [1-9]\d* positions? and .* agree with the actors$/m,
  );
  assert.deepEqual(digestsIn(stdout), digests);
  assert.deepEqual(contentOf(sound), before);
});

test("the folder of a running exchange is refused", async () => {
  const server = await startSmall();
  try {
    for (const args of [
      ["verify", server.dataFolder],
      ["restore", server.dataFolder, join(folder, "new")],
    ]) {
      const { code, stdout, stderr } = await perpd(...args);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, new RegExp(`in use by another perpd: stop it first, or ${args[0]} a backup of it`));
    }
    const { code, output } = await startAndFail({ dataFolder: server.dataFolder });
    assert.equal(code, 1);
    assert.match(output, /in use by another perpd: stop it first, or give another --data/);
  } finally {
    await server.dispose();
  }
});

function giveGenesisAnotherId(dir: string): void {
  change(join(dir, "genesis.json"), (bytes) => bytes.write("f00d", bytes.indexOf('"exchangeId": "') + 15));
}

const DAMAGES: [what: string, damage: (dir: string) => void | Promise<void>, says: RegExp][] = [
  [
    "a flipped byte of a record in the middle of the log",
    (dir) => change(segments(dir)[1] as string, (bytes) => flip(bytes, HEADER_BYTES + 20_004)),
    /log corrupt: log-\d+\.seg at byte \d+, expected sequence \d+: the record is damaged/,
  ],
  [
    "a flipped byte of one of the last records",
    (dir) => change(segments(dir).at(-1) as string, (bytes) => flip(bytes, HEADER_BYTES + 44)),
    /log corrupt: .* the record is damaged .* says that it was on disk/,
  ],
  [
    "a missing segment",
    (dir) => fs.rmSync(segments(dir)[1] as string),
    /log corrupt: .*the segment before it, log-\d+\.seg, is missing/,
  ],
  [
    "a missing last segment",
    (dir) => fs.rmSync(segments(dir).at(-1) as string),
    /the log ends with \d+, but (actor \d+ has a snapshot of|the index goes through) \d+/,
  ],
  [
    "a missing first segment that the index has yet to see",
    async (dir) => {
      await rewrite(dir, (database, batch) => {
        batch.put(database.index, "history", { ...readIndex(database), sequence: 1 });
      });
      fs.rmSync(segments(dir)[0] as string);
    },
    /the log begins with \d+, but 2 is needed/,
  ],
  ["no log at all", (dir) => fs.rmSync(join(dir, "log"), { recursive: true }), /the log is missing/],
  [
    "a flipped byte of a row in a page of the database",
    (dir) => change(dataFile(dir), (bytes) => flipMarks(bytes, 3)),
    /table \w+, key .*: wrong checksum/,
  ],
  ["half a database", (dir) => fs.truncateSync(dataFile(dir), 65536), /LMDB cannot read the database|table |MDB_/],
  [
    "zeros in the database's first pages",
    (dir) => change(dataFile(dir), (bytes) => bytes.fill(0, 0, 8192)),
    /LMDB cannot read the database|table |MDB_/,
  ],
  ["the log of another exchange", giveGenesisAnotherId, /log corrupt: log-0+1\.seg .*: it belongs to the exchange/],
  [
    "the database of another exchange",
    (dir) => {
      giveGenesisAnotherId(dir);
      const { exchangeId } = JSON.parse(fs.readFileSync(join(dir, "genesis.json"), "utf8"));
      for (const firstSequence of listSegments(join(dir, "log"))) {
        const { fd, segment } = openSegment(join(dir, "log"), firstSequence, "r+");
        fs.writeSync(fd, encodeHeader({ ...segment, exchangeId }), 0, undefined, 0);
        fs.closeSync(fd);
      }
    },
    /the database belongs to the exchange/,
  ],
  ["no secret", (dir) => fs.rmSync(join(dir, "secret.key")), /secret\.key is missing/],
  [
    "the secret of another exchange",
    (dir) => fs.writeFileSync(join(dir, "secret.key"), Buffer.alloc(32, 7)),
    /secret\.key is not the key that the API secrets of this exchange were encrypted with/,
  ],
  ["no genesis", (dir) => fs.rmSync(join(dir, "genesis.json")), /genesis\.json was lost/],
  [
    "money from nowhere",
    (dir) =>
      rewrite(dir, (database, batch) => {
        const key = [LEDGER, "accounts", FIRST_CUSTOMER_ACCOUNT];
        const row = database.snapshotRows.require(key) as MessageOf<typeof AccountRow>;
        assert.equal(row.type, AccountRow.code);
        row.balanceQuanta++;
        batch.put(database.snapshotRows, key, row);
      }),
    /the recovered state has faults:[\s\S]*but deposits − withdrawals are/,
  ],
  [
    "an order that the index has otherwise",
    (dir) =>
      rewrite(dir, (database, batch) => {
        const order = anOpenOrder(database);
        batch.put(database.orders, order.orderId, { ...order, remainingLots: order.remainingLots + 1 });
      }),
    /history: order \d+ differs between the index and its symbol/,
  ],
  [
    "an open position that the index has otherwise",
    (dir) =>
      rewrite(dir, (database, batch) => {
        const position = anOpenPosition(database);
        const key = positionStateKey(position.instrumentId, position.accountId);
        batch.put(database.positionStates, key, { ...position, sizeLots: position.sizeLots + 1 });
      }),
    /history: the position of account \d+ in instrument \d+ differs between the index and its symbol/,
  ],
  [
    "an open position that the index has lost",
    (dir) =>
      rewrite(dir, (database, batch) => {
        const { instrumentId, accountId } = anOpenPosition(database);
        batch.remove(database.positionStates, positionStateKey(instrumentId, accountId));
      }),
    /history: the position of account \d+ in instrument \d+ differs between the index and its symbol/,
  ],
  [
    "an open order that the index has lost",
    (dir) =>
      rewrite(dir, (database, batch) => {
        batch.remove(database.orders, anOpenOrder(database).orderId);
      }),
    /history: order \d+ is open, but not in the index/,
  ],
  [
    "a row under a key that is not its own",
    (dir) =>
      rewrite(dir, (database, batch) => {
        batch.put(database.orders, 12345, anOpenOrder(database));
      }),
    /table orders, key 12345: the row belongs under another key/,
  ],
];

for (const [what, damage, says] of DAMAGES) {
  test(`damage is named: ${what}`, async () => {
    const dir = fs.mkdtempSync(join(folder, "damaged-"));
    fs.cpSync(sound, dir, { recursive: true });
    await damage(dir);
    const said: string[] = [];
    await assert.rejects(
      verifyFolder(configOf(dir), (line) => said.push(line)),
      says,
      said.join("\n"),
    );
  });
}

test("damage ends the program with 1", async () => {
  const dir = join(folder, "damaged");
  fs.cpSync(sound, dir, { recursive: true });
  fs.rmSync(segments(dir)[1] as string);
  const { code, stdout, stderr } = await perpd("verify", dir);
  assert.equal(code, 1);
  assert.match(stderr, /^damaged: log corrupt/);
  assert.doesNotMatch(stdout, /^sound$/m);
  // A segment may be gone because the exchange has removed it meanwhile, but not each time that is looked.
  const copied = await perpd("backup", dir, join(folder, "of-damaged"));
  assert.equal(copied.code, 1);
  assert.match(copied.stderr, /^damaged: the log segment log-\d+\.seg is missing, or was removed during the copy/);
  assert.equal(fs.existsSync(join(folder, "of-damaged")), false);
});

test("a folder written by a newer version is refused and not called damaged", async () => {
  const dir = join(folder, "newer");
  fs.cpSync(sound, dir, { recursive: true });
  const later = blank(defineMessage(60_301, "OfALaterVersion", {}));
  await rewrite(dir, (database, batch) => {
    batch.put(database.snapshotRows, [LEDGER, "accounts", FIRST_CUSTOMER_ACCOUNT], later);
  });
  const before = contentOf(dir);
  const { code, stderr } = await perpd("verify", dir);
  assert.deepEqual(
    [code, stderr],
    [2, "unknown message code 60301: this was written by a newer version of perpd. Use that version.\n"],
  );
  assert.deepEqual(contentOf(dir), before);
});
