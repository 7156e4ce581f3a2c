import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { open } from "lmdb";
import { databaseFileOf, databaseOf, logOf } from "../../../src/store/files/data-folder.ts";
import { Api } from "../../e2e/support/api.ts";
import { OPERATOR_TOKEN, type TestServer } from "../../e2e/support/server.ts";
import type { Point, Rule } from "./growth.ts";
import type { HeapSample } from "./heap-probe.ts";

/** What a running server uses, from the kernel, its metrics, its data folder and heap-probe.ts. */

const MIB = 2 ** 20;
const PAGE_BYTES = 4096;

export type Unit = "MiB" | "KiB" | "ms" | "µs" | "";
export interface Series {
  unit: Unit;
  rule: Rule;
  points: Point[];
}

/** Memory that the allocator or V8 may keep for later. */
const HEAP: Rule = { kind: "FLAT", slack: 1.5 * MIB, share: 0.05 };
const RESIDENT: Rule = { kind: "FLAT", slack: 24 * MIB, share: 0.05 };
const SOME: Rule = { kind: "FLAT", slack: 20 };
const NONE: Rule = { kind: "FLAT", slack: 0 };
/** Of the main thread. Work that grows with the past shows here, even where other processes delay everything. */
const PROCESSOR_TIME: Rule = { kind: "FLAT", slack: 50, share: 0.3 };
const REPORTED: Rule = { kind: "REPORTED" };
/** Of a table of the database, for each transaction. The sum of all tables has the same bound. */
const TABLE: Rule = { kind: "PER_OPERATION", most: 400, slack: 64 * 1024 };
const ALL_TABLES: Rule = { kind: "PER_OPERATION", most: 800, slack: 64 * 1024 };

export class Samples {
  readonly series = new Map<string, Series>();
  /** Sequence of the log, which counts transactions. */
  readonly operations: Point[] = [];
  private readonly server: TestServer;
  private readonly heapFile: string;
  /** Processor time of the main thread until the last sample. */
  private ranUs: number | null = null;

  constructor(server: TestServer, heapFile: string) {
    this.server = server;
    this.heapFile = heapFile;
  }

  async take(): Promise<void> {
    const at = Date.now();
    this.addProcess(at);
    await this.addMetrics(at);
    this.addFiles(at);
  }

  /** Adds what heap-probe.ts has written since the time. */
  addHeaps(since: number): void {
    for (const line of readFileSync(this.heapFile, "utf8").split("\n")) {
      if (line === "") continue;
      const { at, thread, heap, external } = JSON.parse(line) as HeapSample;
      // The thread for signatures ends when it is idle, and the next one begins with a small heap.
      const rule = thread === "compute" ? REPORTED : HEAP;
      if (at < since) continue;
      this.add(`heap of ${thread}`, "MiB", rule, at, heap);
      this.add(`external of ${thread}`, "MiB", rule, at, external);
    }
  }

  /** Reads the number of pages of each table. Another process may read LMDB while the server writes. */
  addTables(at: number): void {
    const root = open({ path: databaseOf(this.server.dataFolder), readOnly: true, maxDbs: 32, encoding: "binary" });
    let total = 0;
    for (const name of [...root.getKeys()].map(String)) {
      const table = root.openDB({ name, encoding: "binary" });
      const stats = table.getStats() as Record<"treeBranchPageCount" | "treeLeafPageCount" | "overflowPages", number>;
      const bytes = PAGE_BYTES * (stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages);
      this.add(`table ${name}`, "KiB", TABLE, at, bytes);
      total += bytes;
    }
    this.add("tables, all", "KiB", ALL_TABLES, at, total);
    void root.close();
  }

  private addProcess(at: number): void {
    const { pid } = this.server;
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const field = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
    this.add("resident, anonymous", "MiB", RESIDENT, at, 1024 * field("RssAnon"));
    // Pages of the database and of shared libraries, which the kernel takes back when it needs memory.
    this.add("resident, files", "MiB", REPORTED, at, 1024 * (field("RssFile") + field("RssShmem")));
    this.add("threads", "", { kind: "FLAT", slack: 2 }, at, field("Threads"));
    this.add("descriptors", "", SOME, at, readdirSync(`/proc/${pid}/fd`).length);
  }

  private async addMetrics(at: number): Promise<void> {
    const { text } = await new Api(this.server.url, OPERATOR_TOKEN).request("GET", "/metrics");
    const metric = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    this.operations.push({ at, value: metric("perpd_sequence") });
    this.addProcessorTime(at);
    // Other work on the machine delays the loop, too, so this has no rule.
    this.add("event-loop delay, p99", "ms", REPORTED, at, 1e3 * metric("nodejs_eventloop_lag_p99_seconds"));
    this.add("requests in flight", "", SOME, at, metric("perpd_requests_in_flight"));
    this.add("history lag", "", { kind: "FLAT", slack: 1000 }, at, metric("perpd_history_lag_transactions"));
    this.add("rebuilt threads", "", NONE, at, metric("perpd_rebuilds"));
    this.add("transactions", "", REPORTED, at, metric("perpd_sequence"));
  }

  /** Of the time since the last sample. */
  private addProcessorTime(at: number): void {
    const { pid } = this.server;
    const ranUs = Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e3;
    const [before, now] = this.operations.slice(-2);
    if (before !== undefined && now !== undefined && this.ranUs !== null) {
      const perOperation = (ranUs - this.ranUs) / (now.value - before.value);
      this.add("main thread, for each transaction", "µs", PROCESSOR_TIME, at, perOperation);
    }
    this.ranUs = ranUs;
  }

  private addFiles(at: number): void {
    const folder = logOf(this.server.dataFolder);
    const segments = readdirSync(folder).map((name) => join(folder, name));
    this.add("log", "MiB", { kind: "FLAT", slack: 16 * MIB }, at, sumOf(segments));
    this.add("log segments", "", { kind: "FLAT", slack: 1 }, at, segments.length);
    this.add("database file", "MiB", REPORTED, at, sumOf([databaseFileOf(this.server.dataFolder)]));
    this.addTables(at);
  }

  private add(name: string, unit: Unit, rule: Rule, at: number, value: number): void {
    const series = this.series.get(name) ?? { unit, rule, points: [] };
    this.series.set(name, series);
    series.points.push({ at, value });
  }
}

/** A segment may be removed meanwhile. */
const sumOf = (files: readonly string[]): number =>
  files
    .filter((file) => existsSync(file))
    .reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
