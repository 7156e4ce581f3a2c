import assert from "node:assert/strict";
import * as fs from "node:fs";
import { dirname, join, posix } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { Control } from "../../src/actor/threads/control.ts";
import { recover } from "../../src/actor/threads/recovery.ts";
import { DEFAULT_INSTRUMENTS } from "../../src/config/instruments.ts";
import { MarginTable } from "../../src/core/accounts/margin-table.ts";
import { LedgerActor } from "../../src/core/ledger/ledger.ts";
import type { Actor } from "../../src/core/protocol/actor.ts";
import { Audit } from "../../src/core/protocol/commands.ts";
import { compileInstrument } from "../../src/core/protocol/instrument.ts";
import { blank } from "../../src/core/protocol/message-schema.ts";
import type { ActorAudit } from "../../src/core/protocol/payloads.ts";
import { SymbolActor } from "../../src/core/symbol.ts";
import { openDatabase } from "../../src/store/database/database.ts";
import type { Snapshots } from "../../src/store/database/snapshots.ts";
import { readIndex } from "../../src/store/history/history-fold.ts";
import { startServer } from "../e2e/support/server.ts";
import { Operator } from "../e2e/support/trader.ts";
import { digestsIn, perpd, temporaryFolder } from "./support.ts";

/**
 * A data folder that the program of commit 340f8d8 wrote, before names and folders of the code changed. That program was
 * killed, so the log has three transactions behind the last snapshot. The folder holds orders of every kind, amendments,
 * a batch, an isolated position, a liquidation, a halt, an API key and a completed withdrawal. The digests are those that
 * `perpd verify` of that commit printed.
 */
const FIXTURE = "test/fixtures/folder-of-340f8d8";
const LAST_SEQUENCE = 133;
const DIGESTS = [
  "0b439b8fd74114a07e8e61af7b7222508ed2e45498b844f55f138c437a819a3a",
  "baf5e5499abcfbd8d313aab9ebece299aa48ead9d87b0a346656f4465ed27440",
  "02b27aac6fc0413868b3587aaa7228309a59a7202115812230b98abd051eecc1",
  "3347508b44f7f66b16205fed92635b782619cb89e2144670197ee1bcd9ba3e77",
];

const folder = temporaryFolder();
after(() => fs.rmSync(folder, { recursive: true }));

/** The tests run from where they were built to: the fixture lies above. */
function fixture(): string {
  let top = dirname(fileURLToPath(import.meta.url));
  while (!fs.existsSync(join(top, FIXTURE))) top = dirname(top);
  return join(top, FIXTURE);
}

function unpack(name: string): string {
  const target = join(folder, name);
  const source = fixture();
  for (const packed of fs.readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (!packed.endsWith(".gz")) continue;
    const path = join(target, packed.replaceAll("\\", posix.sep).slice(0, -".gz".length));
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.writeFileSync(path, gunzipSync(fs.readFileSync(join(source, packed))), { mode: 0o600 });
  }
  return target;
}

test("a folder of an earlier program is verified, and recovers to the same digests", async () => {
  const { code, stdout, stderr } = await perpd("verify", unpack("verified"));
  assert.equal(code, 0, stderr);
  assert.deepEqual(digestsIn(stdout), DIGESTS);
});

test("the log of an earlier program alone, without its snapshots, recovers to the same digests", () => {
  const marginTable = MarginTable.allocate(1000);
  const settings = { faucetCapQuanta: 1e12, withdrawalDelayMs: 3000 };
  const actors: Actor[] = [
    new LedgerActor(settings, marginTable),
    ...DEFAULT_INSTRUMENTS.map((instrument) => new SymbolActor(compileInstrument(instrument), marginTable)),
  ];
  const control = new Control();
  control.startAt(LAST_SEQUENCE);
  const noSnapshots = { load: () => 0, timeOf: () => 0 } as unknown as Snapshots;
  recover(actors, noSnapshots, join(unpack("log-only"), "log"), control);
  assert.deepEqual(actors.map(digestOf), DIGESTS);
});

function digestOf(actor: Actor): string {
  const reports: ActorAudit[] = [];
  actor.decide(blank(Audit), {
    time: 0,
    emit: () => assert.fail("an audit changes nothing"),
    reply: (reply) => void reports.push((reply as unknown as { report: ActorAudit }).report),
  });
  assert.equal(reports.length, 1);
  return (reports[0] as ActorAudit).digest;
}

test("the index of an earlier program follows no account's positions from their beginning", async () => {
  const database = openDatabase(unpack("index"), { readOnly: true });
  try {
    const { sequence, firstTrackedAccount } = readIndex(database);
    assert.ok(sequence > 0);
    assert.equal(firstTrackedAccount, 0);
  } finally {
    await database.close();
  }
});

test("an exchange starts on the folder of an earlier program, is sound and goes on", async () => {
  const server = await startServer({ dataFolder: unpack("started") });
  try {
    const operator = new Operator(server);
    const audit = await operator.soundAudit();
    assert.ok(audit.sequence >= LAST_SEQUENCE);
    assert.deepEqual(
      audit.symbols.map(({ openOrders, positions }) => [openOrders, positions]),
      [
        [69, 5],
        [1, 2],
        [2, 3],
      ],
    );
    await operator.setIndex("BTC-PERP", "58900");
    assert.ok((await operator.soundAudit()).sequence > audit.sequence);
  } finally {
    await server.dispose();
  }
});
