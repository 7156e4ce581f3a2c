import { purgeOld } from "../../../src/replication/retention.ts";
import { UnknownOutcomeError } from "../../../src/replication/stream.ts";
import { Random } from "../../e2e/support/random.ts";
import { type Counts, Node, type ReplicationTampering, type Surroundings } from "./node.ts";
import { ReplicationAuditor } from "./replication-auditor.ts";
import { StreamServer } from "./stream-server.ts";
import { World } from "./world.ts";

export interface ReplicationReport {
  readonly seed: number;
  readonly findings: readonly string[];
  readonly counts: Counts &
    Record<"transactions" | "acknowledged" | "reads" | "outdated" | "incomplete", number> &
    Record<"refused" | "lost" | "timeouts", number>;
  /** How long clients waited for a leader at the longest, in ms of the run. */
  readonly silentMs: number;
  readonly digest: string;
}

/** A run has faults for so long. Then they end, and the nodes must come to rest. */
const FAULTS_MS = 4000;
const REST_MS = 30_000;
const CLIENTS = 6;
const CLIENT_TIMEOUT_MS = 600;
const MAX_NODES = 3;

/** Two or three nodes, a stream, and clients, through one random history of faults. */
export async function runReplication(seed: number, tampering: ReplicationTampering = {}): Promise<ReplicationReport> {
  return new Cluster(seed, tampering).run();
}

class Cluster {
  private readonly seed: number;
  private readonly random: Random;
  private readonly world: World;
  private readonly auditor = new ReplicationAuditor();
  private readonly server: StreamServer;
  private readonly surroundings: Surroundings;
  private readonly nodes: Node[] = [];
  private readonly faultIntervalMs: number;
  private readonly counts: Counts = {
    ...{ kills: 0, powerCuts: 0, stops: 0, pauses: 0, partitions: 0, serverCrashes: 0, clockJumps: 0, joins: 0 },
    ...{ takeovers: 0, deposed: 0, cutTails: 0, readsRefused: 0, commandsRepeated: 0 },
  };
  private nextCommand = 1;
  private isCalm = false;
  private waiting = 0;
  private answeredAtMs = 0;
  private silentMs = 0;

  constructor(seed: number, tampering: ReplicationTampering) {
    this.seed = seed;
    const random = new Random(seed);
    this.random = random;
    this.world = new World(random);
    this.server = new StreamServer(this.world, this.auditor, random.pick([400, 1000, 100_000]));
    this.server.lagMs = random.pick([0, 0, 30]);
    this.server.strayChance = random.pick([0, 0, 0.5]);
    tampering.server?.(this.server);
    this.faultIntervalMs = random.pick([200, 600, 1500]);
    const { world, server, auditor, counts } = this;
    this.surroundings = { world, server, auditor, tampering, counts };
    server.onAppended = () => {
      for (const { process } of this.nodes) process?.remote.hint();
    };
    const lossChance = random.pick([0, 0, 0.01]);
    const slowChance = random.pick([0, 0.02, 0.1]);
    for (let i = 0; i < random.between(2, MAX_NODES); i++) {
      const node = new Node(`node ${i + 1}`, i === 0 || random.next() < 0.3, this.surroundings);
      node.link.lossChance = lossChance;
      node.link.slowChance = slowChance;
      node.link.slowMs = random.pick([50, 900, 3000]);
      if (tampering.partitionsOnly === true) Object.assign(node.link, { lossChance: 0, slowChance: 0.2, slowMs: 150 });
      this.nodes.push(node);
    }
  }

  async run(): Promise<ReplicationReport> {
    const { world, auditor, nodes, random, counts, server } = this;
    nodes.forEach((node, i) => {
      world.after(i < 2 ? 50 * i * random.next() : random.between(0, 2000), () => {
        counts.joins++;
        node.start();
      });
    });
    for (let i = 0; i < CLIENTS; i++) this.beClient();
    this.beReader();
    this.beFault();
    this.beServerDisk();
    this.bePurge();
    await world.run(FAULTS_MS, () => auditor.findings.length > 0);
    if (auditor.findings.length === 0) await this.rest();
    const { acknowledged, reads, outdated, incomplete } = auditor;
    const sum = (count: (node: Node) => number): number => nodes.reduce((total, node) => total + count(node), 0);
    return {
      seed: this.seed,
      findings: auditor.findings,
      counts: {
        ...counts,
        ...{ transactions: auditor.last, acknowledged, reads, outdated, incomplete, refused: server.refused },
        lost: sum(({ link }) => link.lost),
        timeouts: sum(({ link }) => link.timeouts),
      },
      silentMs: this.silentMs,
      digest: auditor.digest(),
    };
  }

  /** All faults end. One node must lead, clients must be answered, and all nodes must get the whole history. */
  private async rest(): Promise<void> {
    const { world, server, nodes, auditor } = this;
    this.isCalm = true;
    server.isUp = true;
    server.isFull = false;
    for (const node of nodes) {
      Object.assign(node.link, { isCutIn: false, isCutOut: false, lossChance: 0, slowChance: 0 });
      node.process?.resume();
      if (node.process !== null) node.process.diskCallsLeft = Number.POSITIVE_INFINITY;
    }
    const acknowledged = auditor.acknowledged;
    const endMs = world.nowMs + REST_MS;
    const isAtRest = (): boolean =>
      auditor.findings.length > 0 ||
      (this.waiting === 0 &&
        auditor.acknowledged > acknowledged &&
        nodes.every(({ process }) => process?.released === auditor.last));
    while (world.nowMs < endMs && !isAtRest()) {
      for (const node of nodes) if (node.process?.isAlive !== true) this.restart(node, false);
      await world.run(world.nowMs + 100, isAtRest);
    }
    if (isAtRest()) return;
    const where = nodes.map(({ name, process }) => `${name}: ${process?.released}`).join(", ");
    auditor.report(`no rest: ${this.waiting} clients wait, ${auditor.last} in the stream; ${where}`);
  }

  private restart(node: Node, withPower: boolean): void {
    node.kill(withPower);
    node.start();
  }

  /** Sends a command, again and again to another node until it is answered; then the next one. */
  private beClient(): void {
    const { world, random } = this;
    world.after(random.between(1, 60), () => {
      // In the end each client sends one more.
      const isLast = this.isCalm;
      const command = this.nextCommand++;
      this.waiting++;
      let isAnswered = false;
      const attempt = (): void => {
        if (isAnswered) return;
        const node = this.nodes.find(({ process }) => process?.isServing === true && random.next() < 0.8);
        node?.process?.command(command, () => {
          world.after(random.next(), () => {
            if (isAnswered) return;
            isAnswered = true;
            this.waiting--;
            this.noteAnswer();
            if (!isLast) this.beClient();
          });
        });
        world.after(node === undefined ? 20 : CLIENT_TIMEOUT_MS * random.next(), attempt);
      };
      attempt();
    });
  }

  private noteAnswer(): void {
    const { nowMs } = this.world;
    this.silentMs = Math.max(this.silentMs, nowMs - this.answeredAtMs);
    this.answeredAtMs = nowMs;
  }

  private beReader(): void {
    const { world, random, nodes } = this;
    world.after(random.between(1, 20), () => {
      for (const { process } of nodes) process?.read();
      if (!this.isCalm) this.beReader();
    });
  }

  private beServerDisk(): void {
    this.world.after(500, () => {
      this.server.sync();
      if (!this.isCalm) this.beServerDisk();
    });
  }

  /** Removes what no database needs from the front of the stream. */
  private bePurge(): void {
    const { world, random, nodes } = this;
    world.after(random.between(200, 4000), () => {
      const node = random.pick(nodes);
      const neededFrom = 1 + Math.min(...nodes.map(({ snapshot }) => snapshot.through));
      if (node.process !== null)
        purgeOld(node.process.remote, neededFrom, Number.POSITIVE_INFINITY).catch((error) => {
          if (!(error instanceof UnknownOutcomeError)) this.auditor.report(`purge: ${error.stack}`);
        });
      if (!this.isCalm) this.bePurge();
    });
  }

  private beFault(): void {
    const { world, random } = this;
    world.after(2 * this.faultIntervalMs * random.next(), () => {
      if (this.isCalm) return;
      this.breakSomething();
      for (const node of this.nodes)
        if (node.process !== null && !node.process.isAlive && random.next() < 0.5)
          this.restart(node, random.next() < 0.4);
      this.beFault();
    });
  }

  private breakSomething(): void {
    const { random, counts, nodes, server, world } = this;
    const { partitionsOnly = false } = this.surroundings.tampering;
    // Leaders are struck more often than others.
    const leader = nodes.find(({ process }) => process?.isServing === true);
    const node = leader !== undefined && (partitionsOnly || random.next() < 0.5) ? leader : random.pick(nodes);
    const { process } = node;
    const dice = partitionsOnly ? 0.6 : random.next();
    if (dice < 0.2) {
      counts.kills++;
      if (process === null) return;
      process.isAlive = false;
    } else if (dice < 0.3) {
      counts.kills++;
      if (process !== null) process.diskCallsLeft = random.between(1, 60);
    } else if (dice < 0.35) {
      counts.powerCuts++;
      if (process !== null) this.restart(node, true);
    } else if (dice < 0.55) {
      counts.pauses++;
      process?.pause();
      world.after(random.pick([100, 1200, 5000]) * random.next(), () => process?.resume());
    } else if (dice < 0.75) {
      counts.partitions++;
      node.link.isCutOut = random.next() < 0.7;
      node.link.isCutIn = !node.link.isCutOut || random.next() < 0.5;
      // About as long as a lease: then its holder is back when another node takes over.
      const leaseMs = (partitionsOnly ? 1050 : 900) + 250 * random.next();
      const otherMs = random.pick([leaseMs, 1500 * random.next(), 3000 * random.next()]);
      world.after(partitionsOnly ? leaseMs : otherMs, () => {
        node.link.isCutOut = false;
        node.link.isCutIn = false;
      });
    } else if (dice < 0.85) {
      counts.serverCrashes++;
      const kind = random.next();
      if (kind < 0.2) server.isFull = true;
      else if (kind < 0.3) server.lease = null;
      else server.crash();
      world.after(random.pick([100, 1000, 2500]) * random.next(), () => {
        server.isUp = true;
        server.isFull = false;
      });
    } else if (dice < 0.92) {
      counts.clockJumps++;
      node.setClock();
    } else process?.stop();
  }
}
