import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Random } from "../../e2e/support/random.ts";
import { TestServer } from "../../e2e/support/server.ts";
import { Operator } from "../../e2e/support/trader.ts";
import { pause } from "../../e2e/support/wait.ts";
import type { FuzzStage } from "../stage.ts";
import { growthOf } from "./growth.ts";
import { Samples, type Unit } from "./samples.ts";
import { Traffic } from "./traffic.ts";
import { Visitors } from "./visitors.ts";

const PROBE = new URL("./heap-probe.js", import.meta.url).href;
const PER_SECOND = 60;
/** Shares of the run: the process is stopped, then the next one killed. The third one is watched until the end. */
const STOP_AT = 0.05;
const KILL_AT = 0.1;
/** Caches fill, and V8 compiles what became hot. */
const WARM_UP_SHARE = 0.02;
const SAMPLES = 108;
const HEAP_SAMPLES = 54;
/** The thread for signatures ends after a minute, and idle connections before that. */
const QUIET_MS = 75_000;
const QUIET_SLACK = 4;

/**
 * Mixed traffic for a long time. Nothing may grow without an explanation: memory, descriptors, threads, and the disk by
 * what it is used for. One input is one minute.
 */
export const SOAK: FuzzStage = {
  name: "soak",
  runs: 60,
  async run(seed, minutes, say) {
    const folder = mkdtempSync(join(tmpdir(), "perpd-soak-"));
    const heapFile = join(folder, "heaps");
    const totalMs = 60_000 * minutes;
    writeFileSync(heapFile, "");
    const server = new TestServer({
      quiet: false,
      flags: ["--rate-limit", "on"],
      environment: {
        NODE_OPTIONS: `--import=${PROBE}`,
        SOAK_PROBE_FILE: heapFile,
        SOAK_PROBE_MS: String(totalMs / HEAP_SAMPLES),
      },
    });
    try {
      await new Soak(server, seed, new Samples(server, heapFile), say).run(totalMs);
    } finally {
      await server.dispose();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

class Soak {
  private readonly server: TestServer;
  private readonly traffic: Traffic;
  private readonly visitors: Visitors;
  private readonly samples: Samples;
  private readonly say: (line: string) => void;

  constructor(server: TestServer, seed: number, samples: Samples, say: (line: string) => void) {
    this.server = server;
    this.traffic = new Traffic(server, new Random(seed), PER_SECOND);
    this.visitors = new Visitors(server, this.traffic);
    this.samples = samples;
    this.say = say;
  }

  async run(totalMs: number): Promise<void> {
    const { server, traffic, visitors } = this;
    const startedAt = Date.now();
    const until = (share: number): Promise<void> => pause(Math.max(0, startedAt + share * totalMs - Date.now()));
    await server.start();
    await traffic.start();
    visitors.start();
    await until(STOP_AT);
    await traffic.interrupt(async () => {
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
      await server.start();
    });
    await until(KILL_AT);
    await traffic.interrupt(async () => {
      await server.kill();
      await server.start();
    });
    const descriptorsAtFirst = this.descriptors();
    await until(KILL_AT + WARM_UP_SHARE);
    await this.watch(startedAt + totalMs, totalMs / SAMPLES);
    await visitors.stop();
    await traffic.stop();
    await pause(QUIET_MS);
    const left = this.descriptors();
    const grown = this.report();
    this.say(`${left} descriptors when all clients have left, ${descriptorsAtFirst} at the start`);
    await this.finish();
    assert.ok(left <= descriptorsAtFirst + QUIET_SLACK, "descriptors were not closed");
    assert.deepEqual(grown, []);
  }

  private async watch(endsAt: number, everyMs: number): Promise<void> {
    const since = Date.now();
    while (Date.now() < endsAt) {
      await this.samples.take();
      await pause(everyMs);
    }
    this.samples.addHeaps(since);
  }

  /** The exchange must be sound, also after one more start. */
  private async finish(): Promise<void> {
    const { server } = this;
    await new Operator(server).soundAudit();
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    await server.start();
    await new Operator(server).soundAudit();
    await server.stop();
    const [first, ...more] = server.loggedErrors;
    this.say(
      `${server.stderr.split("the disk does not answer").length - 1} times the disk did not answer for two seconds`,
    );
    assert.equal(first, undefined, `the server has logged an error, and ${more.length} more`);
    const { faults } = this.traffic;
    assert.equal(faults.length, 0, faults.slice(0, 10).join("\n"));
  }

  /** Prints all figures. The result names those that have grown. */
  private report(): string[] {
    const { samples, traffic, say } = this;
    for (const [what, count] of [...traffic.outcomes].sort()) say(`${count} × ${what}`);
    say(`${traffic.orders} orders accepted over HTTP`);
    say("| figure | start | after 10 min | middle | end | per hour |");
    say("| --- | --- | --- | --- | --- | --- |");
    const faults: string[] = [];
    for (const [name, { unit, rule, points }] of samples.series) {
      const { start, early, middle, end, perHour, fault } = growthOf(points, samples.operations, rule);
      const cells = [start, early, middle, end].map((value) => print(value, unit));
      const slope = `${perHour < 0 ? "−" : "+"}${print(Math.abs(perHour), unit)}`;
      say(`| ${name} | ${cells.join(" | ")} | ${slope} |`);
      if (fault !== null) faults.push(`${name} ${fault}`);
    }
    return faults;
  }

  private descriptors(): number {
    return readdirSync(`/proc/${this.server.pid}/fd`).length;
  }
}

function print(value: number, unit: Unit): string {
  if (unit === "MiB") return `${(value / 2 ** 20).toFixed(2)} MiB`;
  if (unit === "KiB") return `${(value / 1024).toFixed(0)} KiB`;
  if (unit === "ms") return `${value.toFixed(1)} ms`;
  return unit === "µs" ? `${value.toFixed(0)} µs` : String(Math.round(value));
}
