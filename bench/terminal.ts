import type { ChildProcess } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { must } from "../src/assert.ts";
import { CHROMIUM, openBrowser } from "../test/e2e/support/browser.ts";
import { Tab } from "../test/e2e/support/tab.ts";
import type { LivingMarketTask, MarketRates } from "./support/load/living-market.ts";
import type { Loaded, PageLoadsTask } from "./support/load/page-loads.ts";
import { TraderProcess } from "./support/load/trader-process.ts";
import { type Busy, MeasuredPage, type Memory } from "./support/measured-page.ts";
import { giveOwnCore } from "./support/own-core.ts";
import type { Inputs, Recorded } from "./support/probe-results.ts";
import { endProcess, forkScript, type RunningExchange, request, startExchange } from "./support/processes.ts";
import { goalRow, median, type Row, ratioRow } from "./support/report.ts";

const MAX_ROUNDS = 3;
const PRICES = { "BTC-PERP": "65000", "ETH-PERP": "3200", "SOL-PERP": "150" };
const CHANGES_PER_SECOND = 1000;
const TRADES_PER_SECOND = 200;
/** Of each measurement of a round. */
const SECONDS = 5;
/** A page that was just opened still compiles its scripts. */
const SETTLE_MS = 1500;
const SLOWDOWN = 4;
const INPUT_ROUNDS = 6;
const INPUT_EVERY_MS = 40;
/** Samples of the memory in the long run. */
const SAMPLES = 20;
const PAGES = 50;
const ORDERS_PER_SECOND = 500;
/** Rounds of orders for each other round. In one of them the p99 is that of the slowest 25 orders, which varies much. */
const ORDER_ROUNDS = 5;
/** An order that goes the whole way but leaves nothing behind: IOC, far below the market. */
const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", timeInForce: "IOC", price: "63000", quantity: "0.001" };
const MIB = 2 ** 20;

/** `make bench STAGES=terminal MINUTES=60`: how long the page stays open. */
const MINUTES = Number(process.env.MINUTES ?? 1);

/**
 * The trading terminal in Chromium, beside the exchange on the same machine, while a separate process changes the book
 * and trades. Each figure stands beside its goal; some also beside a bare page, which opens the same WebSockets, parses
 * each message and writes one number.
 */
export async function benchTerminal(rounds: number): Promise<Row[]> {
  if (CHROMIUM === null) {
    console.error("no Chromium is installed (Debian package chromium): the terminal is not measured");
    return [];
  }
  const exchange = await startExchange(PRICES);
  const browser = await openBrowser();
  try {
    return await new TerminalBench(exchange, browser, Math.min(rounds, MAX_ROUNDS)).run();
  } finally {
    await browser.close();
    await exchange.stop();
  }
}

class TerminalBench {
  private readonly exchange: RunningExchange;
  private readonly browser: Browser;
  private readonly rounds: number;
  private readonly url: string;

  constructor(exchange: RunningExchange, browser: Browser, rounds: number) {
    this.exchange = exchange;
    this.browser = browser;
    this.rounds = rounds;
    this.url = new URL("/", exchange.url).href;
  }

  async run(): Promise<Row[]> {
    const market = await this.openMarket();
    try {
      const load = await this.recordLoad();
      return [
        ...(await this.measureBytes()),
        ...(await this.measureNavigation()),
        ...(await this.measureRounds(market, load)),
        await this.countViolations(),
        ...(await this.measureOrders(market, load)),
        ...(await this.measureLongRun()),
      ];
    } finally {
      await endProcess(market, "SIGKILL");
    }
  }

  private async openMarket(): Promise<ChildProcess> {
    const market = forkScript("bench/support/load/living-market.js", []);
    const { url, operatorToken } = this.exchange;
    const rates = { changesPerSecond: CHANGES_PER_SECOND, tradesPerSecond: TRADES_PER_SECOND };
    await request(market, { url, operatorToken, prices: PRICES, ...rates } satisfies LivingMarketTask);
    await pause(SETTLE_MS);
    return market;
  }

  /** What a page asks of the exchange while it opens. */
  private async recordLoad(): Promise<PageLoadsTask> {
    const html = await (await fetch(this.url)).text();
    const [document, named, later]: [string[], string[], string[]] = [[], [], []];
    const load: PageLoadsTask = { pages: PAGES, stages: [document, named, later], sockets: [] };
    const watch = async (page: Page): Promise<void> => {
      page.on("request", (each) => {
        const url = each.url();
        const { pathname, search } = new URL(url);
        if (each.isNavigationRequest()) document.push(url);
        else (html.includes(`"${pathname}${search}"`) ? named : later).push(url);
      });
      page.on("websocket", (socket) => {
        const messages: string[] = [];
        load.sockets.push({ url: socket.url(), messages });
        socket.on("framesent", ({ payload }) => {
          if (String(payload).includes('"subscribe"')) messages.push(String(payload));
        });
      });
    };
    const measured = await MeasuredPage.open(this.browser, this.url, { prepare: watch });
    await measured.bookShownMs();
    await pause(SETTLE_MS);
    await measured.close();
    return load;
  }

  /** Of the files that the document names: what else the page loads comes later. */
  private async measureBytes(): Promise<Row[]> {
    const html = await (await fetch(this.url)).text();
    const kilobytes = { js: 0, css: 0 };
    for (const [, path, type] of html.matchAll(/(?:src|href)="([^"]+\.(js|css))"/g)) {
      const reply = await fetch(new URL(path, this.url), { headers: { "Accept-Encoding": "br" } });
      await reply.arrayBuffer();
      kilobytes[type as "js" | "css"] += Number(reply.headers.get("content-length")) / 1e3;
    }
    return [
      goalRow("terminal, first JavaScript, brotli", "kB", 110, [kilobytes.js]),
      goalRow("terminal, first CSS, brotli", "kB", 12, [kilobytes.css]),
    ];
  }

  private async measureNavigation(): Promise<Row[]> {
    const [plain, slow]: [number[], number[]] = [[], []];
    for (let round = 0; round < this.rounds; round++) {
      plain.push(await this.bookShownMs(1));
      slow.push(await this.bookShownMs(SLOWDOWN));
    }
    const what = "terminal, usable book after navigation";
    return [goalRow(what, "ms", 600, plain), goalRow(`${what}, processor slowed ${SLOWDOWN} times`, "ms", 2000, slow)];
  }

  private async bookShownMs(slowdown: number): Promise<number> {
    const measured = await MeasuredPage.open(this.browser, this.url, { slowdown });
    const ms = await measured.bookShownMs();
    await measured.close();
    return ms;
  }

  private async measureRounds(market: ChildProcess, load: PageLoadsTask): Promise<Row[]> {
    const [ours, bare]: [Round[], Round[]] = [[], []];
    const inputs: Inputs[] = [];
    const rates: MarketRates[] = [];
    const site = await serveBarePage(load);
    const bareUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}/bare`;
    for (let round = 0; round < this.rounds; round++) {
      const barePage = await MeasuredPage.open(this.browser, bareUrl);
      bare.push(await measureRound(barePage));
      await barePage.close();
      const measured = await this.openTerminal();
      await request(market, {});
      ours.push(await measureRound(measured));
      rates.push(await request<MarketRates>(market, {}));
      inputs.push(await useForm(measured));
      await measured.close();
    }
    site.close();
    const row = (what: string, unit: string, goal: number, of: (round: Round) => number): Row[] => [
      goalRow(`terminal, ${what}`, unit, goal, ours.map(of)),
      ratioRow(`terminal, ${what}`, unit, "bare page", ours.map(of), bare.map(of)),
    ];
    return [
      figureRow(
        "terminal, book changes while it was measured",
        "changes/s",
        rates.map(({ changes }) => changes),
      ),
      figureRow(
        "terminal, trades while it was measured",
        "trades/s",
        rates.map(({ trades }) => trades),
      ),
      ...row("main thread in a second", "ms", 250, ({ taskMs }) => taskMs),
      ...row("main thread in a second, its processor time", "ms", 250, ({ processorMs }) => processorMs),
      ...row("message to paint, p99", "ms", 50, ({ messageToPaint }) => percentile(messageToPaint, 99)),
      goalRow(
        "terminal, frames over 33 ms",
        "%",
        1,
        ours.map(({ frames }) => slowFrames(frames)),
      ),
      goalRow(
        "terminal, key or click to paint, p98",
        "ms",
        100,
        inputs.map(({ toPaint }) => percentile(toPaint, 98)),
      ),
      goalRow(
        "terminal, click to request sent, p98",
        "ms",
        16,
        inputs.map(({ toRequest }) => percentile(toRequest, 98)),
      ),
    ];
  }

  /** A page whose account has a position and orders. */
  private async openTerminal(): Promise<MeasuredPage> {
    const measured = await MeasuredPage.open(this.browser, this.url);
    await measured.bookShownMs();
    const { page } = measured;
    await page.getByRole("banner").getByRole("button", { name: "Try it" }).click();
    await page.getByRole("region", { name: "Account" }).getByText("100,000.00 USDC").first().waitFor();
    await page.getByRole("button", { name: "Leave the tour" }).click();
    const form = page.getByRole("region", { name: "Place an order" });
    await form.getByRole("button", { name: "Market" }).click();
    await form.getByLabel("Size", { exact: true }).fill("0.02");
    await form.getByRole("button", { name: "Buy 0.02 BTC" }).click();
    await page.getByRole("table", { name: "Positions" }).waitFor();
    await form.getByRole("button", { name: "Limit" }).click();
    for (const price of ["64000", "64500"]) {
      await form.getByLabel("Price", { exact: true }).fill(price);
      await form.getByLabel("Size", { exact: true }).fill("0.02");
      await form.getByRole("button", { name: "Buy 0.02 BTC" }).click();
      await page.waitForTimeout(200);
    }
    await page.waitForTimeout(SETTLE_MS);
    await measured.takeInputs();
    return measured;
  }

  private async countViolations(): Promise<Row> {
    const tab = await Tab.open(this.browser, this.url);
    await tab.page.waitForTimeout(SETTLE_MS);
    const violations = await tab.axe();
    for (const each of violations) console.error(each);
    await tab.page.close();
    return goalRow("terminal, rules of axe-core that are violated", "", 0, [violations.length]);
  }

  /** Orders of an API client while many pages load and stay open, beside those just before. The load has another core. */
  private async measureOrders(market: ChildProcess, load: PageLoadsTask): Promise<Row[]> {
    const shareCores = giveOwnCore(this.exchange.pid, [market.pid as number]);
    const { socketUrl: url, token } = this.exchange;
    const openingMessage = JSON.stringify({ op: "auth", token });
    const order = JSON.stringify({ op: "order.place", id: 1, params: ORDER });
    const trader = await TraderProcess.start({ url, openingMessage, request: order, connections: 4, inFlight: 32 });
    const [before, during]: [number[], number[]] = [[], []];
    const together = { before: Number.NaN, during: Number.NaN };
    const p99 = async (series: "before" | "during"): Promise<number> => {
      const traded = await trader.measure(SECONDS, ORDERS_PER_SECOND, series);
      together[series] = must(traded.together, "the latencies of all rounds").p99;
      return must(traded.latency, "the latencies").p99;
    };
    try {
      await trader.measure(SECONDS, ORDERS_PER_SECOND); // warm-up
      for (let round = 0; round < ORDER_ROUNDS * this.rounds; round++) {
        before.push(await p99("before"));
        const pages = forkScript("bench/support/load/page-loads.js", []);
        await request(pages, load);
        const loaded = request<Loaded>(pages, {});
        during.push(await p99("during"));
        console.error(`${PAGES} pages loaded in ${(await loaded).seconds.toFixed(1)} s`);
        await endProcess(pages, "SIGKILL");
        await pause(SETTLE_MS);
      }
    } finally {
      await trader.stop();
      shareCores();
    }
    const what = `an API client's order while ${PAGES} pages load, p99`;
    const ratio = together.during / together.before;
    return [
      ratioRow(what, "us", "before", during, before),
      ratioRow(`${what} of all rounds together`, "us", "before", [together.during], [together.before]),
      goalRow(`${what} of all rounds together ÷ that before`, "", 1.2, [ratio]),
    ];
  }

  private async measureLongRun(): Promise<Row[]> {
    const measured = await this.openTerminal();
    let longFrames = 0;
    const samples: (Memory & { hours: number })[] = [];
    const from = performance.now();
    const busy: Busy[] = [];
    for (let i = 0; i <= SAMPLES; i++) {
      samples.push({ ...(await measured.memory()), hours: (performance.now() - from) / 3.6e6 });
      if (i === SAMPLES) break;
      // The forced collection of a sample makes a long frame, which is not the page's.
      await pause(SETTLE_MS);
      const before = (await measured.sinceLoad()).longFrames;
      busy.push(await measured.busy((60 * MINUTES) / SAMPLES));
      longFrames += (await measured.sinceLoad()).longFrames - before;
    }
    const after = await measured.sinceLoad();
    await measured.close();
    // In the first samples the page is still filling its lists.
    const steady = samples.slice(SAMPLES / 4);
    const [first, last] = [steady[0], steady[steady.length - 1]];
    const during = `in ${MINUTES} minutes`;
    return [
      goalRow(
        `terminal, main thread in a second, its processor time, ${during}`,
        "ms",
        250,
        busy.map(({ processorMs }) => processorMs),
      ),
      goalRow(`terminal, frames over 50 ms after load, ${during}`, "", 0, [longFrames]),
      goalRow(`terminal, layout shift, ${during}`, "", 0.02, [after.layoutShift]),
      goalRow(`terminal, heap after collection, ${during}`, "MiB", 60, [last.heapBytes / MIB]),
      goalRow(`terminal, growth of the heap in an hour, over ${MINUTES} minutes`, "MiB", 5, [slope(steady) / MIB]),
      goalRow(`terminal, growth of DOM nodes, ${during}`, "", 0, [last.nodes - first.nodes]),
      goalRow(`terminal, growth of listeners, ${during}`, "", 0, [last.listeners - first.listeners]),
    ];
  }
}

/** Serves a page that opens the terminal's WebSockets, parses each message and writes one number: the least of any page. */
async function serveBarePage({ sockets }: PageLoadsTask): Promise<Server> {
  const script = `for (const { url, messages } of ${JSON.stringify(sockets)}) {
    const socket = new WebSocket(url);
    socket.onopen = () => messages.forEach((message) => socket.send(message));
    socket.onmessage = ({ data }) => { document.body.textContent = JSON.parse(data).sequence; };
  }`;
  const page = `<!doctype html><title>bare</title><body><script>${script}</script></body>`;
  const server = createServer((_request, response) => response.setHeader("Content-Type", "text/html").end(page));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

interface Round extends Recorded, Busy {}

async function measureRound(measured: MeasuredPage): Promise<Round> {
  await pause(SETTLE_MS);
  return { ...(await measured.busy(SECONDS)), ...(await measured.record(SECONDS)) };
}

/** Types orders, sends them, and looks at them. */
async function useForm(measured: MeasuredPage): Promise<Inputs> {
  const { page } = measured;
  const form = page.getByRole("region", { name: "Place an order" });
  const type = async (label: string, text: string): Promise<void> => {
    await form.getByLabel(label, { exact: true }).click();
    await page.keyboard.press("ControlOrMeta+A");
    for (const key of text) await page.keyboard.press(key, { delay: INPUT_EVERY_MS });
  };
  for (let i = 0; i < INPUT_ROUNDS; i++) {
    await type("Price", "64100");
    await type("Size", "0.01");
    await form.getByRole("button", { name: "Buy 0.01 BTC" }).click();
    await page.getByRole("tab", { name: "Open orders" }).click();
    await page.getByRole("tab", { name: "Positions" }).click();
    await page.waitForTimeout(INPUT_EVERY_MS);
  }
  return measured.takeInputs();
}

function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** In percent. */
const slowFrames = (frames: readonly number[]): number =>
  (100 * frames.filter((ms) => ms > 33).length) / Math.max(1, frames.length);

const figureRow = (what: string, unit: string, values: readonly number[]): Row => {
  return { what, unit, perpd: median(values), beside: "", other: null, ratio: null, spread: null };
};

/** Bytes an hour, by least squares. */
function slope(samples: readonly { hours: number; heapBytes: number }[]): number {
  const mean = (of: (sample: (typeof samples)[number]) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [hours, bytes] = [mean((each) => each.hours), mean((each) => each.heapBytes)];
  const covariance = mean((each) => (each.hours - hours) * (each.heapBytes - bytes));
  return covariance / mean((each) => (each.hours - hours) ** 2);
}
