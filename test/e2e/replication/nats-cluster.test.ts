import assert from "node:assert/strict";
import { after, test } from "node:test";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { StreamFault } from "../../../src/replication/batch.ts";
import { openServer, openStreamReader, requireNoStream, type ServerSettings } from "../../../src/replication/nats.ts";
import { Publisher } from "../../../src/replication/publisher.ts";
import { untilAnswered } from "../../../src/replication/until-answered.ts";
import { batchOf, EXCHANGE } from "../../replication/support.ts";
import { freePort } from "../support/free-port.ts";
import { pause, until } from "../support/wait.ts";
import { NATS_SERVER, Nats } from "./nats-server.ts";
import { readAll } from "./read-all.ts";

/** Three real NATS servers, without an exchange. The tests build on each other. */

const options = { skip: NATS_SERVER === null && "no nats-server 2.10 or later is installed: a cluster was not tested" };

const ports = await Promise.all(Array.from({ length: 9 }, freePort));
const routes = ports.slice(6).map((port) => `nats://127.0.0.1:${port}`);
const servers = ports.slice(0, 3).map((port, i) => {
  const cluster = `cluster { name: three, listen: "127.0.0.1:${ports[6 + i]}", routes: [${routes.join(", ")}] }`;
  return new Nats({ ports: [port, ports[3 + i] as number], lines: [`server_name: n${i}`, cluster] });
});
const three: ServerSettings = {
  servers: ports.slice(0, 3).map((port) => `nats://127.0.0.1:${port}`),
  monitors: ports.slice(3, 6).map((port) => `http://127.0.0.1:${port}`),
  ...{ credentialsFile: "", tls: null, mode: "sync", stream: "perpd", replicas: 3, isUnsafe: false },
  ...{ retentionMs: 0, lingerMs: 0, url: "http://me", instruments: "", exchangeId: EXCHANGE },
};

after(() => Promise.all(servers.map((server) => server.dispose())));

test("a start waits for three servers, of which any one may die", options, async () => {
  await startTogether(servers.slice(1));
  const reasons: string[] = [];
  const opening = untilAnswered(
    () => openServer(three, "new"),
    (reason) => reasons.push(reason),
  );
  const tooFew = /no suitable peers for placement.*the stream needs 3 NATS servers that are up \(replicateReplicas\)/;
  await until("a leader that lacks a server", () => reasons.some((reason) => tooFew.test(reason)));
  await servers[0]?.start();
  const { stream, close } = await opening;
  const publisher = new Publisher({
    stream,
    place: 0,
    pause: () => pause(50),
    isOver: () => false,
    onSilence: () => {},
  });
  const victim = await until("the leader of the stream", () => leaderOf(servers));
  for (let sequence = 1; sequence <= 30; sequence++) {
    if (sequence === 10) void victim.kill();
    assert.equal(await publisher.publish(batchOf(sequence, sequence)), true);
  }
  assert.deepEqual(
    await until("all messages", () =>
      readAll(stream).then(
        (found) => found.length === 30 && found,
        () => false,
      ),
    ),
    Array.from({ length: 30 }, (_, i) => i + 1),
  );
  assert.deepEqual(await stream.bounds(), { first: 1, last: 30 });
  await close();
  await victim.start();
});

/** The copies of a stream. `wanted`: changes them first, as "nats stream edit" does. */
async function copiesOf(name: string, wanted?: number): Promise<number> {
  const connection = await connect({ servers: [...three.servers] });
  try {
    const { streams } = await jetstreamManager(connection);
    const { config } =
      wanted === undefined ? await streams.info(name) : await streams.update(name, { num_replicas: wanted });
    return config.num_replicas;
  } finally {
    await connection.close();
  }
}

const opened = (settings: ServerSettings, missing: "new" | "lost") =>
  untilAnswered(
    () => openServer(settings, missing),
    () => {},
  );

test(
  "a stream or a lease with another number of copies than the setting is refused with what to do",
  options,
  async () => {
    const grown = { ...three, stream: "grown" };
    const one = { ...grown, replicas: 1 };
    await (await opened(one, "new")).close();
    const refused = (settings: ServerSettings, message: RegExp): Promise<void> =>
      assert.rejects(opened(settings, "lost"), { name: StreamFault.name, message });
    await refused(
      grown,
      /replicateReplicas is 3, but .*\(grown 1, KV_grown-lease 1\): run "nats stream edit grown --replicas 3 && nats stream edit KV_grown-lease --replicas 3"/,
    );
    // A process that only reads makes neither.
    await (await openStreamReader(grown)).close();
    assert.equal(await copiesOf("grown", 3), 3);
    await refused(grown, /\(grown 3, KV_grown-lease 1\): run "nats stream edit KV_grown-lease --replicas 3"/);
    await refused(one, /\(grown 3, KV_grown-lease 1\): run "nats stream edit grown --replicas 1"/);
    await copiesOf("KV_grown-lease", 3);
    await (await opened(grown, "lost")).close();
    assert.deepEqual([await copiesOf("grown"), await copiesOf("KV_grown-lease")], [3, 3]);
  },
);

test("a start on new streams waits for their leaders", options, async () => {
  for (let i = 0; i < 4; i++) {
    const fresh = { ...three, stream: `fresh-${i}` };
    await untilAnswered(
      () => requireNoStream(fresh),
      () => {},
    );
    await (await opened(fresh, "new")).close();
    assert.deepEqual([await copiesOf(fresh.stream), await copiesOf(`KV_${fresh.stream}-lease`)], [3, 3]);
  }
});

/** Two of three new servers do not always agree on which of them leads, however long they run. Then they start again. */
async function startTogether(servers: readonly Nats[]): Promise<void> {
  const killAll = () => Promise.all(servers.map((server) => server.kill()));
  for (let tries = 1; ; tries++) {
    const timer = setTimeout(killAll, AGREE_WITHIN_MS);
    const starting = Promise.all(servers.map((server) => server.start()));
    const error = await starting.then(() => null).catch((why: Error) => why);
    clearTimeout(timer);
    if (error === null) return;
    if (tries === 4) throw error;
    await killAll();
  }
}
const AGREE_WITHIN_MS = 15_000;

/** The server that leads the stream, or undefined while the first server does not know it. */
async function leaderOf(servers: readonly Nats[]): Promise<Nats | undefined> {
  interface Jsz {
    account_details?: { stream_detail?: { name: string; cluster?: { leader?: string } }[] }[];
  }
  const reply = await fetch(`${servers[0]?.monitor}/jsz?streams=true&accounts=true`);
  const streams =
    ((await reply.json()) as Jsz).account_details?.flatMap(({ stream_detail = [] }) => stream_detail) ?? [];
  const leader = streams.find(({ name }) => name === "perpd")?.cluster?.leader;
  return leader === undefined ? undefined : servers[Number(leader.slice(1))];
}
