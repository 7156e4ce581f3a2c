import { setTimeout as pause } from "node:timers/promises";
import { Api } from "../../e2e/support/api.ts";
import { Random } from "../../e2e/support/random.ts";
import { until } from "../../e2e/support/wait.ts";
import { MIN_LOAD, openAccounts, runLoad, serverSettings } from "../harness.ts";
import { type CrashLoad, indexPriceOf, newLoad, sendOrder } from "../load.ts";
import { type AccountModel, Findings, type OrderEntry } from "../model.ts";
import { verifyAll } from "../verify-exchange.ts";
import { FailoverCluster, type FailoverNode } from "./cluster.ts";

export interface FailoverOptions {
  /** How many leaders are lost. */
  faults: number;
  seed: number;
  /** Settings of the processes; each start picks one at random. */
  environments: readonly Record<string, string>[];
  /** Called after each take-over. */
  onRound?: (text: string) => void;
}

/** KILL: SIGKILL. STOP: SIGSTOP, and SIGCONT when another one leads. CUT: its network to the stream, until then. */
const FAULTS = ["KILL", "STOP", "CUT"] as const;
type Fault = (typeof FAULTS)[number];

export interface FailoverReport {
  readonly lost: Record<Fault, number>;
  /** How often the NATS server was killed at the same time, and started again. */
  outages: number;
  acknowledged: number;
  readonly findings: Findings;
  /** Changes that an old leader acknowledged although they were asked for after a new leader's first answer. */
  lateAnswers: number;
  /** Reads, likewise. */
  lateReads: number;
  /** How often the new leader refused a check, since it was late with its lease. */
  refusedChecks: number;
  /** From the loss of the leader to the first order that the next one acknowledged, in ms. */
  readonly takeoverMs: number[];
  /** The same, where the NATS server was killed at the same time. */
  readonly takeoverInOutageMs: number[];
}

const OUTAGE_CHANCE = 0.25;
const MAX_OUTAGE_MS = 800;
const PROBE_EVERY_MS = 5;
/** Clients that no one answers do not ask as fast as they can. */
const FAULT_PAUSE_MS = 5;

/**
 * Puts a leader under load and takes it away: killed, stopped, or cut off from the stream. The standby takes over. Then
 * compares its state with every reply of all leaders, and starts the lost one again as the next standby.
 */
export async function runFailovers(options: FailoverOptions): Promise<FailoverReport> {
  const run = new FailoverRun(options);
  try {
    await run.run();
  } catch (error) {
    run.report.findings.other.push(`${(error as Error).stack}\n${run.logs()}`);
  } finally {
    await run.dispose();
  }
  return run.report;
}

class FailoverRun {
  readonly report: FailoverReport = {
    lost: { KILL: 0, STOP: 0, CUT: 0 },
    ...{ outages: 0, acknowledged: 0, lateAnswers: 0, lateReads: 0, refusedChecks: 0, findings: new Findings() },
    ...{ takeoverMs: [], takeoverInOutageMs: [] },
  };
  private readonly options: FailoverOptions;
  private readonly random: Random;
  private readonly load: CrashLoad;
  private readonly cluster = new FailoverCluster();
  private accounts: AccountModel[] = [];
  /** When the new leader's first answer came. Infinity: there is none yet. */
  private nextAnsweredAtMs = Number.POSITIVE_INFINITY;

  constructor(options: FailoverOptions) {
    this.options = options;
    this.random = new Random(options.seed);
    this.load = newLoad(this.random, this.report.findings);
  }

  async run(): Promise<void> {
    const { cluster, load, report, options } = this;
    await cluster.open(this.pickSettings());
    load.url = cluster.leader.url;
    this.accounts = await openAccounts(load);
    await cluster.joinStandby(this.pickSettings());
    let verifiedAt = 0;
    for (let round = 1; round <= options.faults && report.findings.all.length === 0; round++) {
      await cluster.untilStandbyFollows();
      await this.compareDigests();
      const text = await this.loseLeader(round);
      const now = Date.now();
      // One second earlier, so that the ranges of two checks overlap.
      await verifyAll(load, this.accounts, Math.max(0, verifiedAt - 1000));
      verifiedAt = now;
      cluster.restartStandby(this.pickSettings());
      Object.assign(report, { acknowledged: load.acknowledged, refusedChecks: load.refusedChecks });
      options.onRound?.(`${round} ${text}`);
    }
    // Finally checks everything since the beginning.
    await verifyAll(load, this.accounts, 0);
    report.refusedChecks = load.refusedChecks;
  }

  logs(): string {
    const { leader, standby } = this.cluster;
    return [leader, standby].map((node) => node?.server.stderr.slice(-2000)).join("\n");
  }

  async dispose(): Promise<void> {
    this.load.stopping = true;
    await this.cluster.dispose();
  }

  private pickSettings(): Record<string, string> {
    return serverSettings(this.random.pick(this.options.environments));
  }

  /** A standby that follows has the leader's state. */
  private async compareDigests(): Promise<void> {
    const { leader, standby } = this.cluster;
    // Withdrawals that are due go on without a request.
    await until("the standby to have the leader's state", async () => {
      const [theirs, ours] = await Promise.all([leader.digests(), standby.digests()]);
      return theirs === ours;
    });
  }

  private async loseLeader(round: number): Promise<string> {
    const { cluster, load, random, report } = this;
    const { leader, standby } = cluster;
    const fault = random.pick(FAULTS);
    const isOutage = random.next() < OUTAGE_CHANCE;
    this.watchAnswersOf(leader);
    Object.assign(load, { url: leader.url, stopping: false, pauseMs: 0 });
    const begun = load.acknowledged;
    const clients = runLoad(load, this.accounts);
    await until("load", () => load.acknowledged >= begun + MIN_LOAD);
    await pause(random.between(20, 700));
    const outage = isOutage ? this.interruptStream() : Promise.resolve();
    const lostAtMs = performance.now();
    load.pauseMs = FAULT_PAUSE_MS;
    await this.inflict(fault, leader);
    const reads = this.readFrom(leader);
    await this.probe(standby, `first-of-${round}`);
    this.nextAnsweredAtMs = performance.now();
    const tookMs = this.nextAnsweredAtMs - lostAtMs;
    await pause(random.between(0, 500));
    await this.heal(fault, leader);
    load.stopping = true;
    await Promise.all([clients, reads, outage]);
    (isOutage ? report.takeoverInOutageMs : report.takeoverMs).push(tookMs);
    report.lost[fault]++;
    if (isOutage) report.outages++;
    cluster.swap();
    load.url = standby.url;
    return `${fault}${isOutage ? " in an outage of the stream" : ""}: ${Math.round(tookMs)} ms, ${load.acknowledged - begun} acknowledged`;
  }

  private watchAnswersOf(leader: FailoverNode): void {
    this.nextAnsweredAtMs = Number.POSITIVE_INFINITY;
    this.load.onAcknowledged = (url, askedAtMs) => {
      if (url !== leader.url || askedAtMs <= this.nextAnsweredAtMs) return;
      this.report.lateAnswers++;
      this.report.findings.other.push("an old leader has acknowledged a change after a new leader's first answer");
    };
  }

  private async interruptStream(): Promise<void> {
    const { nats } = this.cluster;
    await pause(this.random.between(0, 100));
    await nats.kill();
    await pause(this.random.between(0, MAX_OUTAGE_MS));
    await nats.start();
  }

  private async inflict(fault: Fault, { server, network }: FailoverNode): Promise<void> {
    if (fault === "STOP") server.signal("SIGSTOP");
    else if (fault === "CUT") network.cut();
    else {
      const killed = server.kill();
      this.load.stopping = true;
      await killed;
    }
  }

  /** Ends the fault. A leader that lives finds out that another one leads, and ends. */
  private async heal(fault: Fault, { server, network }: FailoverNode): Promise<void> {
    if (fault === "KILL") return;
    if (fault === "STOP") server.signal("SIGCONT");
    else network.heal();
    const { code } = await server.exit();
    if (code !== 1) this.report.findings.other.push(`an old leader ended with exit code ${code}`);
  }

  /** Reads from a leader that was lost, until it ends. */
  private async readFrom({ url, server }: FailoverNode): Promise<void> {
    const api = new Api(url, this.accounts[0]?.token);
    while (server.isRunning) {
      const askedAtMs = performance.now();
      const answer = await api.request("GET", "/account/balance").catch(() => null);
      if (answer?.status === 200 && askedAtMs > this.nextAnsweredAtMs) {
        this.report.lateReads++;
        this.report.findings.other.push("an old leader has answered a read after a new leader's first answer");
      }
      await pause(FAULT_PAUSE_MS);
    }
  }

  /** Sends the same order until the node acknowledges it. */
  private async probe({ url }: FailoverNode, clientOrderId: string): Promise<void> {
    const account = this.random.pick(this.accounts);
    const price = indexPriceOf("BTC-PERP", -100);
    const entry: OrderEntry = {
      body: {
        symbol: "BTC-PERP",
        side: "BUY",
        type: "LIMIT",
        timeInForce: "IOC",
        price,
        quantity: "0.001",
        clientOrderId,
      },
      ...{ state: "ASKED", order: null, fills: [], settled: false },
    };
    account.orders.set(clientOrderId, entry);
    const load = { ...this.load, url };
    await until("an order at the next leader", async () => {
      await sendOrder(load, account, entry);
      if (entry.state === "ACKNOWLEDGED") return true;
      await pause(PROBE_EVERY_MS);
      return false;
    });
    this.load.acknowledged++;
  }
}
