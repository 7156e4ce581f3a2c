import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import type { Inputs, Probe, Recorded, SinceLoad } from "./probe-results.ts";

/** Seen from the built file. */
const PROBE = fileURLToPath(new URL("../../../bench/support/page/probe.ts", import.meta.url));

/** The main thread, in milliseconds a second. */
export interface Busy {
  /** In tasks; on a busy machine this includes times in which another process had the core. */
  taskMs: number;
  processorMs: number;
}

/** After a forced garbage collection. */
export interface Memory {
  heapBytes: number;
  nodes: number;
  listeners: number;
}

interface InPage {
  probe: Probe;
}

/** A page of a browser of its own storage, with the probe in it. */
export class MeasuredPage {
  readonly page: Page;
  private readonly context: BrowserContext;
  private readonly devTools: CDPSession;

  private constructor(page: Page, devTools: CDPSession) {
    this.page = page;
    this.context = page.context();
    this.devTools = devTools;
  }

  /** `slowdown`: of the page's processor. `prepare` runs before the page is loaded. */
  static async open(
    browser: Browser,
    url: string,
    { slowdown = 1, prepare }: { slowdown?: number; prepare?: (page: Page) => Promise<void> } = {},
  ): Promise<MeasuredPage> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    const devTools = await context.newCDPSession(page);
    await devTools.send("Performance.enable");
    await devTools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
    await page.addInitScript({ content: probeScript() });
    await prepare?.(page);
    await page.goto(url);
    return new MeasuredPage(page, devTools);
  }

  /** Milliseconds from the navigation until the page shows both sides of the book. */
  async bookShownMs(): Promise<number> {
    await this.page.waitForFunction(() => (globalThis as unknown as InPage).probe.bookShownAt !== null);
    return this.page.evaluate(() => (globalThis as unknown as InPage).probe.bookShownAt as number);
  }

  async busy(seconds: number): Promise<Busy> {
    const before = await this.metrics();
    await this.page.waitForTimeout(1e3 * seconds);
    const after = await this.metrics();
    const rate = (name: string): number => (1e3 * (after[name] - before[name])) / (after.Timestamp - before.Timestamp);
    return { taskMs: rate("TaskDuration"), processorMs: rate("ThreadTime") };
  }

  record(seconds: number): Promise<Recorded> {
    return this.page.evaluate((ms) => (globalThis as unknown as InPage).probe.record(ms), 1e3 * seconds);
  }

  takeInputs(): Promise<Inputs> {
    return this.page.evaluate(() => (globalThis as unknown as InPage).probe.takeInputs());
  }

  sinceLoad(): Promise<SinceLoad> {
    return this.page.evaluate(() => (globalThis as unknown as InPage).probe.sinceLoad());
  }

  async memory(): Promise<Memory> {
    // The first collection only finds what finalizers hold.
    for (let i = 0; i < 2; i++) await this.devTools.send("HeapProfiler.collectGarbage");
    const { JSHeapUsedSize, Nodes, JSEventListeners } = await this.metrics();
    return { heapBytes: JSHeapUsedSize, nodes: Nodes, listeners: JSEventListeners };
  }

  close(): Promise<void> {
    return this.context.close();
  }

  private async metrics(): Promise<Record<string, number>> {
    const { metrics } = await this.devTools.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  }
}

let script: string | null = null;
function probeScript(): string {
  script ??= buildSync({ entryPoints: [PROBE], bundle: true, format: "iife", write: false }).outputFiles[0].text;
  return script;
}
