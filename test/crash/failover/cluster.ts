import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Audit, Replication } from "../../../src/client/types.ts";
import { seed } from "../../e2e/replication/commands.ts";
import { Nats } from "../../e2e/replication/nats-server.ts";
import { TcpProxy } from "../../e2e/replication/tcp-proxy.ts";
import { Api } from "../../e2e/support/api.ts";
import { freePort } from "../../e2e/support/free-port.ts";
import { OPERATOR_TOKEN, removeFolder, TestServer } from "../../e2e/support/server.ts";
import { until } from "../../e2e/support/wait.ts";

/** One process of the exchange, on a port and a folder of its own, with a network to the stream that can be cut. */
export class FailoverNode {
  readonly server: TestServer;
  readonly network: TcpProxy;

  private constructor(port: number, dataFolder: string, network: TcpProxy) {
    this.server = new TestServer({ port, dataFolder, flags: ["--serve-reads"] });
    this.network = network;
  }

  get url(): string {
    return this.server.url;
  }

  static async create(natsUrl: string, dataFolder: string): Promise<FailoverNode> {
    const network = new TcpProxy(Number(new URL(natsUrl).port));
    await network.open();
    return new FailoverNode(await freePort(), dataFolder, network);
  }

  /** Starts the process, and does not wait until it leads. */
  start(environment: Record<string, string>): Promise<void> {
    this.server.environment = { ...environment, PERPD_REPLICATE: `nats://127.0.0.1:${this.network.port}` };
    const leads = this.server.start();
    // It may be killed before it leads.
    leads.catch(() => {});
    return leads;
  }

  /** Null: it does not answer. */
  replication(): Promise<Replication | null> {
    return new Api(this.url).get<Replication>("/replication").catch(() => null);
  }

  /** Everything but sessions: each process opens one for its demo account when it leads. */
  async digests(): Promise<string> {
    const { symbols, money } = await new Api(this.url, OPERATOR_TOKEN).get<Audit>("/operator/audit");
    return JSON.stringify({ symbols, money });
  }
}

/** A leader, a standby and a NATS server. */
export class FailoverCluster {
  readonly nats = new Nats();
  leader!: FailoverNode;
  standby!: FailoverNode;
  private readonly folder = mkdtempSync(join(tmpdir(), "perpd-failover-"));

  /** Starts the NATS server and the leader. */
  async open(environment: Record<string, string>): Promise<void> {
    await this.nats.start();
    this.leader = await FailoverNode.create(this.nats.url, join(this.folder, "a"));
    this.standby = await FailoverNode.create(this.nats.url, join(this.folder, "b"));
    await this.leader.start(this.settings(environment));
  }

  /** Starts the standby with a copy of the leader's folder. */
  async joinStandby(environment: Record<string, string>): Promise<void> {
    await seed(this.leader.server.dataFolder, join(this.folder, "backup"), this.standby.server.dataFolder);
    this.restartStandby(environment);
  }

  restartStandby(environment: Record<string, string>): void {
    void this.standby.start(this.settings(environment)).catch(() => {});
  }

  /** Resolves when the standby has everything that the leader has now. */
  async untilStandbyFollows(): Promise<void> {
    const sequence = (await this.leader.replication())?.sequence ?? 0;
    await until("the standby to follow", async () => {
      const state = await this.standby.replication();
      return state?.role === "STANDBY" && state.lagMs !== null && state.sequence >= sequence;
    });
  }

  swap(): void {
    [this.leader, this.standby] = [this.standby, this.leader];
  }

  async dispose(): Promise<void> {
    for (const { server, network } of [this.leader, this.standby]) {
      server.signal("SIGCONT");
      await server.dispose();
      network.close();
    }
    await this.nats.dispose();
    await removeFolder(this.folder);
  }

  private settings(environment: Record<string, string>): Record<string, string> {
    return { ...environment, PERPD_REPLICATE_MONITORS: this.nats.monitor };
  }
}
