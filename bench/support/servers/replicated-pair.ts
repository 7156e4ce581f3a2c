import { join } from "node:path";
import type { Replication } from "../../../src/client/types.ts";
import { seed } from "../../../test/e2e/replication/commands.ts";
import { freePort } from "../../../test/e2e/support/free-port.ts";
import { TestServer } from "../../../test/e2e/support/server.ts";
import { Operator, openTrader, Trader } from "../../../test/e2e/support/trader.ts";
import { until } from "../../../test/e2e/support/wait.ts";
import { type TemporaryFolder, temporaryFolder } from "../folder.ts";
import type { RunningNats } from "./nats.ts";

const SYMBOL = "BTC-PERP";
const STREAM = "pair";

/** A leader and a standby that answers reads, with an account that trades. */
export class ReplicatedPair {
  private readonly folder: TemporaryFolder;
  private readonly environment: Record<string, string>;
  private nodes: [leader: TestServer, standby: TestServer];
  private account!: Trader;

  private constructor(nats: RunningNats, folder: TemporaryFolder, ports: readonly [number, number]) {
    this.folder = folder;
    this.environment = {
      PERPD_REPLICATE: nats.url,
      PERPD_REPLICATE_MONITORS: nats.monitor,
      PERPD_REPLICATE_STREAM: STREAM,
    };
    const node = (name: string, port: number) =>
      new TestServer({
        ...{ port, dataFolder: join(folder.path, name), flags: ["--serve-reads"], environment: this.environment },
      });
    this.nodes = [node("a", ports[0]), node("b", ports[1])];
  }

  static async open(nats: RunningNats): Promise<ReplicatedPair> {
    const pair = new ReplicatedPair(nats, temporaryFolder(), [await freePort(), await freePort()]);
    const [leader, standby] = pair.nodes;
    await leader.start();
    await new Operator(leader).setIndex(SYMBOL, "65000");
    pair.account = await openTrader(leader, "1000000");
    await seed(leader.dataFolder, join(pair.folder.path, "backup"), standby.dataFolder);
    await pair.startStandby();
    return pair;
  }

  get leaderPid(): number {
    return this.nodes[0].pid as number;
  }

  get standbyPid(): number {
    return this.nodes[1].pid as number;
  }

  get token(): string {
    return this.account.token as string;
  }

  get leaderUrl(): string {
    return this.nodes[0].url;
  }

  get standbyUrl(): string {
    return this.nodes[1].url;
  }

  /** Kills the leader. Returns the time until the standby acknowledged an order, in ms. */
  async killLeader(): Promise<number> {
    return this.takeOver(() => this.nodes[0].signal("SIGKILL"));
  }

  /** An operator has the leader step down. Returns as killLeader(). */
  async stepDown(): Promise<number> {
    return this.takeOver(() => void new Operator(this.nodes[0]).call(200, "POST", "/operator/step-down"));
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.dispose();
    this.folder.remove();
  }

  private async takeOver(loseLeader: () => void): Promise<number> {
    const [leader, standby] = this.nodes;
    const { token = "", accountId, address, privateKey } = this.account;
    const next = new Trader(standby.url, token, accountId, address, privateKey);
    const fromMs = performance.now();
    loseLeader();
    const order = { symbol: SYMBOL, side: "BUY", type: "LIMIT", timeInForce: "IOC", price: "50000", quantity: "0.001" };
    await until(
      "an order at the next leader",
      async () => (await next.request("POST", "/orders", order)).status === 201,
    );
    const tookMs = performance.now() - fromMs;
    await leader.exit();
    this.nodes = [standby, leader];
    await this.startStandby();
    return tookMs;
  }

  /** Resolves when the leader has heard that the standby follows. */
  private async startStandby(): Promise<void> {
    const [leader, standby] = this.nodes;
    // It is ready when it leads.
    standby.start().catch(() => {});
    await until("the standby to follow", async () => {
      const { standbys } = await new Operator(leader).get<Replication>("/replication");
      return standbys.some(({ healthy, lagTransactions }) => healthy && lagTransactions === 0);
    });
  }
}
