import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { StreamFault } from "../../../src/replication/batch.ts";
import {
  type MissingStream,
  openServer,
  openStreamReader,
  type ServerSettings,
} from "../../../src/replication/nats.ts";
import { requireSync, requireSyncLater } from "../../../src/replication/server-sync.ts";
import { UnknownOutcomeError } from "../../../src/replication/stream.ts";
import { batchOf, EXCHANGE, leaseOf } from "../../replication/support.ts";
import { makeCertificate } from "../support/certificate.ts";
import { freePort } from "../support/free-port.ts";
import { pause, until } from "../support/wait.ts";
import { NatsAccounts } from "./nats-accounts.ts";
import { NATS_SERVER, Nats } from "./nats-server.ts";
import { readAll } from "./read-all.ts";

/** A real NATS server, without an exchange. */

const options = { skip: NATS_SERVER === null && "no nats-server 2.10 or later is installed: NATS was not tested" };

/** Little, so that it can be filled. */
const DISK_BYTES = 4_000_000;
/** As docs/operating/replication.md names them. */
const PUBLISH = [
  ...["perpd.log", "perpd.standby", "$KV.perpd-lease.leader", "$JS.API.INFO"],
  ...["INFO", "CREATE", "PURGE"].map((call) => `$JS.API.STREAM.${call}.perpd`),
  ...["INFO", "CREATE"].map((call) => `$JS.API.STREAM.${call}.KV_perpd-lease`),
  ...["$JS.API.DIRECT.GET.perpd", "$JS.API.DIRECT.GET.KV_perpd-lease.>"],
];
const SUBSCRIBE = ["_INBOX.>", "perpd.log", "perpd.standby"];

const accounts = new NatsAccounts();
let nats: Nats;
let settings: ServerSettings;

const fileOf = (name: string): string => join(nats.folder, name);
function write(name: string, text: string): string {
  writeFileSync(fileOf(name), text);
  return fileOf(name);
}

const refuses = (changes: Partial<ServerSettings>, message: RegExp, missing: MissingStream = "lost"): Promise<void> =>
  assert.rejects(openServer({ ...settings, ...changes }, missing), { name: StreamFault.name, message });

before(async () => {
  if (NATS_SERVER === null) return;
  const [port, monitor] = [await freePort(), await freePort()];
  const own = makeCertificate("nats");
  const client = makeCertificate("perpd");
  nats = new Nats({ lines: accounts.lines(), diskBytes: DISK_BYTES, ports: [port, monitor] });
  const tls = [`cert_file: "${write("cert", own.cert)}"`, `key_file: "${write("key", own.key)}"`];
  nats.add(`tls { ${tls.join(", ")}, ca_file: "${write("client-cert", client.cert)}", verify: true }`);
  await nats.start();
  settings = {
    servers: [`tls://127.0.0.1:${port}`],
    credentialsFile: write("perpd.creds", accounts.credentials({ publish: PUBLISH, subscribe: SUBSCRIBE })),
    tls: { caFile: fileOf("cert"), certFile: fileOf("client-cert"), keyFile: write("client-key", client.key) },
    ...{ mode: "sync", stream: "perpd", replicas: 1, monitors: [nats.monitor], isUnsafe: false },
    ...{ retentionMs: 0, lingerMs: 0, url: "http://me", instruments: "", exchangeId: EXCHANGE },
  };
});
after(() => nats?.dispose());

test("TLS with a client certificate, a credentials file and the least permissions are enough", options, async () => {
  await refuses({}, /the stream perpd does not exist on the NATS server/);
  await refuses({}, /no stream perpd on the NATS server: start the leader first/, "awaited");
  const server = await openServer(settings, "new");
  const other = await openServer(settings, "lost");
  try {
    assert.equal(await server.stream.append(batchOf(1, 2), 0), true);
    assert.equal(await server.stream.append(batchOf(1, 2), 0), false);
    assert.deepEqual(await server.stream.bounds(), { first: 1, last: 1 });
    assert.deepEqual(await readAll(other.stream), [1, 2]);
    assert.equal(await server.lease.read(), null);
    const revision = (await server.lease.update(leaseOf("a", 1), 0)) ?? 0;
    assert.equal(await other.lease.update(leaseOf("b", 2), revision + 1), null);
    assert.deepEqual(await other.lease.read(), { entry: leaseOf("a", 1), revision });
    const heard: string[] = [];
    server.hear(({ id }) => heard.push(id));
    await until("a note", () => {
      other.announce({ id: "b", url: "", sequence: 1 });
      return heard.length > 0;
    });
    await server.stream.append(batchOf(3, 3), 1);
    await server.stream.purgeThrough(1);
    assert.deepEqual(await server.stream.bounds(), { first: 2, last: 2 });
  } finally {
    await server.close();
    await other.close();
  }
});

test("wrong certificates and credentials are refused with what is wrong", options, async () => {
  const { tls } = settings;
  const stranger = makeCertificate("stranger");
  const [certFile, keyFile] = [write("wrong-cert", stranger.cert), write("wrong-key", stranger.key)];
  const wrong = /cannot connect to NATS at tls:\/\/127.0.0.1:\d+: .*; check replicate, its credentials and TLS/;
  await refuses({ tls: { ...tls, caFile: certFile } }, /: self-signed certificate; check replicate/);
  await refuses({ tls: { ...tls, certFile, keyFile } }, /: tlsv1 alert unknown ca; check replicate/);
  await refuses({ tls: { caFile: fileOf("cert") } }, /: tlsv13 alert certificate required; check replicate/);
  await refuses({ tls: null }, wrong);
  const foreign = write("foreign.creds", new NatsAccounts().credentials());
  await refuses({ credentialsFile: foreign }, /Authorization Violation/i);
  await refuses({ credentialsFile: "" }, /Authorization Violation/i);
  await refuses({ credentialsFile: fileOf("missing.creds") }, /missing\.creds/);
  await refuses({ credentialsFile: fileOf("cert") }, wrong);
});

test("a server that forbids the messages of the log is named with the reason", options, async () => {
  const publish = PUBLISH.filter((subject) => subject !== "perpd.log");
  assert.notDeepEqual(publish, PUBLISH);
  const credentialsFile = write("mute.creds", accounts.credentials({ publish, subscribe: SUBSCRIBE }));
  const { stream, close } = await openServer({ ...settings, credentialsFile }, "lost");
  const { last } = await stream.bounds();
  const message = /^the stream perpd: Permissions Violation for Publish to "perpd.log"$/;
  await assert.rejects(stream.append(batchOf(9, 9), last), { name: UnknownOutcomeError.name, message });
  await close();
  await assert.rejects(stream.append(batchOf(9, 9), last), { name: UnknownOutcomeError.name });
});

test("streams of another mode, another exchange or another program are refused", options, async () => {
  await refuses({ mode: "async" }, /the stream perpd is replicated in mode sync; set replicateMode/);
  await refuses({ exchangeId: "another" }, new RegExp(`holds the log of the exchange ${EXCHANGE}`));
  const credentialsFile = write("all.creds", accounts.credentials());
  const all = { ...settings, credentialsFile };
  const lease = { ...all, stream: "KV_perpd-lease" };
  await assert.rejects(openServer(lease, "new"), /exists and was not made by perpd; set replicateStream/);
  // A new stream has nothing to do with the lease of one that was deleted.
  const first = await openServer({ ...all, stream: "again" }, "new");
  await first.lease.update(leaseOf("a", 7), 0);
  await first.close();
  await nats.loseStream("again");
  const second = await openServer({ ...all, stream: "again" }, "new");
  assert.equal(await second.lease.read(), null);
  assert.ok(((await second.lease.update(leaseOf("b", 1), 0)) ?? 0) > 0);
  await second.close();
});

test("a full stream takes nothing more, and goes on when there is room", options, async () => {
  const { stream, close } = await openServer(settings, "lost");
  try {
    const large = (first: number) => batchOf(first, first, { bytes: Buffer.alloc(400_000, first) });
    let { last } = await stream.bounds();
    await assert.rejects(
      (async () => {
        for (;;) {
          assert.equal(await stream.append(large(last + 100), last), true);
          last++;
        }
      })(),
      UnknownOutcomeError,
    );
    assert.ok(last > 3, `${last}`);
    assert.deepEqual((await stream.bounds()).last, last);
    await stream.purgeThrough(last - 1);
    assert.equal(await stream.append(batchOf(9, 9), last), true);
  } finally {
    await close();
  }
});

test("a server that is gone is no fault, and its damaged disk never gives other transactions", options, async () => {
  const all = { ...settings, stream: "bits", credentialsFile: fileOf("all.creds") };
  const { stream, close } = await openServer(all, "new");
  for (let i = 0; i < 5; i++) await stream.append(batchOf(3 * i + 1, 3 * i + 3), i);
  await nats.kill();
  await assert.rejects(openServer(all, "lost"), UnknownOutcomeError);
  await assert.rejects(openServer({ ...all, isUnsafe: true }, "lost"), UnknownOutcomeError);
  await assert.rejects(stream.get(2), UnknownOutcomeError);
  const block = join(nats.folderOf("bits"), "msgs", "1.blk");
  const bytes = readFileSync(block);
  const at = bytes.indexOf(batchOf(7, 9).bytes) + 100;
  assert.ok(at > 100);
  bytes[at] ^= 4;
  writeFileSync(block, bytes);
  await nats.start();
  const { last } = await until("the stream", () => stream.bounds().catch(() => undefined));
  const found = await readAll(stream).catch((error: Error) => error);
  // This server drops the damaged message, and perhaps those behind it: a folder that proves more refuses to start.
  if (found instanceof Error) assert.match(found.name, /StreamFault|UnknownOutcomeError/);
  else assert.deepEqual(found, [1, 2, 3, 4, 5, 6], `${last}`);
  await close();
});

test("a server that ends the connection before its greeting is no fault, with TLS or without", async (t) => {
  const door = createServer((socket) => socket.end());
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  t.after(() => door.close());
  const { port } = door.address() as AddressInfo;
  const plain: ServerSettings = {
    ...{ servers: [`nats://127.0.0.1:${port}`], credentialsFile: "", tls: null },
    ...{ mode: "sync", stream: "perpd", replicas: 1, monitors: [], isUnsafe: true },
    ...{ retentionMs: 0, lingerMs: 0, url: "http://me", instruments: "", exchangeId: EXCHANGE },
  };
  const silence = {
    name: UnknownOutcomeError.name,
    message: /cannot connect to NATS at .*: the server ended the connection before its greeting;/,
  };
  await assert.rejects(openServer(plain, "new"), silence);
  await assert.rejects(openServer({ ...plain, servers: [`tls://127.0.0.1:${port}`], tls: {} }, "new"), silence);
  await assert.rejects(openStreamReader(plain), silence);
});

test(
  "of three servers one may be down at a start, and is asked whether it writes to its disk when it is back",
  options,
  async (t) => {
    const ports = [await freePort(), await freePort()] as const;
    const [one, two, late, lax] = [new Nats(), new Nats(), new Nats({ ports }), new Nats({ ports, isSync: false })];
    t.after(() => Promise.all([one, two, late, lax].map((server) => server.dispose())));
    await one.start();
    const down = `http://127.0.0.1:${ports[1]}`;
    const monitors = [one.monitor, down, `http://127.0.0.1:${await freePort()}`];
    await assert.rejects(requireSync({ ...settings, monitors }), UnknownOutcomeError);
    await two.start();
    monitors[2] = two.monitor;
    assert.deepEqual(await requireSync({ ...settings, monitors }), [down]);
    const clock = { sleep: () => pause(10), isOver: () => false };
    const checked = requireSyncLater([down], clock);
    await late.start();
    await checked;
    await late.kill();
    const refused = assert.rejects(requireSyncLater([down], clock), {
      name: StreamFault.name,
      message: /sync_interval: always/,
    });
    await lax.start();
    await refused;
    await assert.rejects(requireSync({ ...settings, monitors }), { name: StreamFault.name });
    await lax.kill();
    await requireSyncLater([down], { ...clock, isOver: () => true });
  },
);
