import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Order } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../../e2e/support/server.ts";
import { Operator, openTrader, type Trader } from "../../e2e/support/trader.ts";
import { pause, until } from "../../e2e/support/wait.ts";
import type { FuzzStage } from "../stage.ts";
import type { FloodTask, LoadPhase, LoadReport, Percentiles } from "./flood.ts";

const FLOOD = fileURLToPath(new URL("./flood.js", import.meta.url));
const CONNECTIONS = 8;
const CALIBRATION_SECONDS = 3;
const TIMES_SUSTAINABLE = 2;
const CANCEL_EVERY_MS = 100;
const STEPS = 10;
/** Allowed memory growth after an eighth of the run, when caches are full. */
const MAX_GROWTH_BYTES = 256 * 2 ** 20;

/** IOC far below the market: each order goes the whole way and leaves nothing behind. */
const FLOOD_ORDER = {
  symbol: "BTC-PERP",
  side: "BUY",
  type: "LIMIT",
  timeInForce: "IOC",
  price: "30000",
  quantity: "0.001",
};

/**
 * Sends twice the orders that the exchange can process; one input is one second. Accepted orders must be answered in
 * bounded time and the others refused at once. Meanwhile cancels and liquidations must work, and memory must stay flat.
 */
export const OVERLOAD: FuzzStage = {
  name: "overload",
  runs: 60,
  async run(_seed, seconds, say) {
    const server = await startServer({ flags: ["--workers", "2"] });
    const flood = await Flood.open(server);
    try {
      const others = await OtherClients.open(server);
      const calm = await flood.runPhase({ seconds: CALIBRATION_SECONDS, perSecond: null });
      const sustainable = calm.taken / calm.seconds;
      const flooding = flood.runPhase({ seconds, perSecond: TIMES_SUSTAINABLE * sustainable });
      const [wave, seen] = await Promise.all([flooding, others.watch(seconds)]);
      assert.ok(wave.taken > 0);
      say(
        `${rate(calm.taken, calm.seconds)} orders/s sustained; then ${rate(wave.taken + wave.overloaded, seconds)} sent`,
      );
      say(`taken ${rate(wave.taken, wave.seconds)}/s: ${print(wave.takenMs)}`);
      say(`refused ${rate(wave.overloaded, wave.seconds)}/s: ${print(wave.overloadedMs)}`);
      if (wave.cutOff > 0) say(`${wave.cutOff} lost with connections that were dropped for reading too slowly`);
      say(`${seen.cancelsMs.length} cancels, none refused: ${printAll(seen.cancelsMs)}`);
      say(
        `${seen.liquidationsMs.length} liquidations, from the price to the closed position: ${printAll(seen.liquidationsMs)}`,
      );
      say(`resident ${mebibytes(seen.firstBytes)} at first, ${mebibytes(seen.lastBytes)} at last`);
      assert.ok(seen.lastBytes - seen.firstBytes < MAX_GROWTH_BYTES, "memory grew");
      await new Operator(server).soundAudit();
      assert.deepEqual(server.loggedErrors, []);
    } finally {
      flood.close();
      await server.dispose();
    }
  },
};

/** The process of flood.ts. */
class Flood {
  private readonly child: ChildProcess;

  static async open(server: TestServer): Promise<Flood> {
    const operator = new Operator(server);
    await operator.setIndex("BTC-PERP", "65000");
    const { token = "" } = await openTrader(server, "1000000");
    const flood = new Flood(fork(FLOOD, { stdio: "inherit" }));
    await flood.ask({ port: server.port, token, connections: CONNECTIONS, params: FLOOD_ORDER });
    return flood;
  }

  private constructor(child: ChildProcess) {
    this.child = child;
  }

  runPhase(wave: LoadPhase): Promise<LoadReport> {
    return this.ask<LoadReport>(wave);
  }

  close(): void {
    this.child.kill("SIGKILL");
  }

  private async ask<T>(message: FloodTask | LoadPhase): Promise<T> {
    const died = once(this.child, "exit").then(([code]) => Promise.reject(new Error(`the flood ended with ${code}`)));
    died.catch(() => {});
    this.child.send(message);
    const [answer] = await Promise.race([once(this.child, "message"), died]);
    return answer as T;
  }
}

interface Seen {
  cancelsMs: number[];
  liquidationsMs: number[];
  firstBytes: number;
  lastBytes: number;
}

/** Other clients: one that places and cancels orders, and some that falling prices liquidate one after the other. */
class OtherClients {
  private readonly server: TestServer;
  private readonly operator: Operator;
  private readonly alice: Trader;
  /** In the order in which falling prices reach them. */
  private readonly victims: Trader[];

  static async open(server: TestServer): Promise<OtherClients> {
    const operator = new Operator(server);
    await operator.setIndex("SOL-PERP", "150");
    const [alice, maker] = await Promise.all([openTrader(server), openTrader(server, "1000000")]);
    const sol = { symbol: "SOL-PERP", type: "LIMIT", quantity: "10" } as const;
    const victims: Trader[] = [];
    for (let i = 0; i < STEPS; i++) {
      // Each holds 1500 USDC of position: a price fall of 3 USDC costs the account 30 USDC.
      const victim = await openTrader(server, String(35 + 30 * i));
      await victim.call(200, "POST", "/positions/SOL-PERP/leverage", { leverage: 50 });
      await maker.place({ ...sol, side: "SELL", price: "150" });
      await victim.place({ ...sol, side: "BUY", price: "150" });
      victims.push(victim);
    }
    await maker.place({ ...sol, quantity: "2000", side: "BUY", price: "100" });
    return new OtherClients(server, operator, alice, victims);
  }

  private constructor(server: TestServer, operator: Operator, alice: Trader, victims: Trader[]) {
    this.server = server;
    this.operator = operator;
    this.alice = alice;
    this.victims = victims;
  }

  async watch(seconds: number): Promise<Seen> {
    const until = performance.now() + seconds * 1e3;
    const firstBytes = pause((seconds * 1e3) / 8).then(() => this.residentBytes());
    const [cancelsMs, liquidationsMs] = await Promise.all([this.cancels(until), this.liquidations(seconds)]);
    return { cancelsMs, liquidationsMs, firstBytes: await firstBytes, lastBytes: this.residentBytes() };
  }

  private async cancels(end: number): Promise<number[]> {
    const times: number[] = [];
    const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "30000", quantity: "0.001" };
    while (performance.now() < end) {
      const placed = await until("an order that is taken", async () => {
        const answer = await this.alice.request<Order>("POST", "/orders", order);
        assert.ok(answer.status === 201 || answer.status === 503, answer.text);
        return answer.status === 201 && answer.body;
      });
      const from = performance.now();
      const canceled = await this.alice.call<Order>(200, "DELETE", `/orders/${placed.orderId}`);
      assert.equal(canceled.status, "CANCELED");
      times.push(performance.now() - from);
      await pause(CANCEL_EVERY_MS);
    }
    return times;
  }

  private async liquidations(seconds: number): Promise<number[]> {
    const times: number[] = [];
    let price = 150;
    for (const victim of this.victims) {
      await pause((seconds * 1e3) / (2 * STEPS));
      // Lowers the price until this account is liquidated.
      const from = performance.now();
      price -= 3;
      await this.operator.setIndex("SOL-PERP", String(price));
      await until("a liquidation", async () => (await victim.position("SOL-PERP")) === null);
      times.push(performance.now() - from);
    }
    return times;
  }

  private residentBytes(): number {
    const [, pages = "0"] = readFileSync(`/proc/${this.server.pid}/statm`, "utf8").split(" ");
    return Number(pages) * 4096;
  }
}

const rate = (count: number, seconds: number): string => `${(count / seconds / 1e3).toFixed(1)}k`;
const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
const print = ({ p50, p99, max }: Percentiles): string =>
  `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(0)} ms`;

function printAll(timesMs: number[]): string {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return print({ p50: at(0.5), p99: at(0.99), max: at(1) });
}
