import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type * as perpd from "../../../src/client/index.ts";
import { bundleClient, CHROMIUM, openBrowser, openSite, type Site } from "../support/browser.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { newPrivateKey, walletOf } from "../support/wallet.ts";

/** Pages in a real browser, of other origins than the exchange's. */

const skip = CHROMIUM === null && "no Chromium is installed: nothing here was tested in a browser";

/** With rate limits, so that their headers are sent. */
const FLAGS = ["--no-bots", "--price-source", "operator", "--rate-limit", "on"];

let browser: Browser;
let site: Site;
let hostileSite: Site;
let server: TestServer;
let maker: Trader;

before(async () => {
  if (CHROMIUM === null) return;
  const script = await bundleClient();
  [site, hostileSite] = await Promise.all([openSite(script), openSite(script)]);
  [server, browser] = await Promise.all([
    startServer({ quiet: false, flags: FLAGS, environment: { PERPD_ALLOWED_ORIGINS: `*,${site.origin}` } }),
    openBrowser(),
  ]);
  site.exchange = hostileSite.exchange = new URL(server.url).origin;
  await new Operator(server).setIndex("BTC-PERP", "65000");
  maker = await openTrader(server);
});

after(async () => {
  site?.close();
  hostileSite?.close();
  await browser?.close();
  await server?.dispose();
});

/** What a page of a site can call. */
interface InPage {
  perpd: typeof perpd;
  signMessage(message: string): Promise<string>;
  sellMeanwhile(): Promise<void>;
}

/** An empty page of the site. `faults`: errors that nobody caught, and what a policy has blocked. */
async function openPage({ origin }: Site): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (line) => {
    if (/Content Security Policy/.test(line.text())) faults.push(line.text());
  });
  await page.goto(origin);
  return { page, faults };
}

test("the client signs in, signs, trades, follows and resumes in a page of an allowed site", { skip }, async () => {
  const { page, faults } = await openPage(site);
  const wallet = walletOf(newPrivateKey());
  await page.exposeFunction("signMessage", (message: string) => wallet.signMessage({ message }));
  await page.exposeFunction("sellMeanwhile", async () => void (await maker.sell("0.02", "64000")));
  // The first try is lost on the way.
  await page.route("**/v1/time", (route) => route.abort(), { times: 1 });
  const seen = await page.evaluate(
    async ([baseUrl, address]) => {
      const { perpd, signMessage, sellMeanwhile } = globalThis as unknown as InPage;
      const { LocalOrderBook, PerpdClient } = perpd;
      const client = new PerpdClient({ baseUrl });
      const { serverTime } = await client.time();
      await client.login(address, signMessage);
      await client.deposit({ asset: "USDC", amount: "100000", reference: "start" });
      const { apiKey, secret } = await client.createKey({ label: "page", permissions: ["READ", "TRADE"] });

      const sockets: WebSocket[] = [];
      class Noted extends WebSocket {
        constructor(url: string) {
          super(url);
          sockets.push(this);
        }
      }
      const trader = new PerpdClient({ baseUrl, apiKey, secret, WebSocket: Noted });
      const book = new LocalOrderBook();
      const snapshots: string[] = [];
      let isBookRight = true;
      let lost = (): void => {};
      let caughtUp = (): void => {};
      const hasCaughtUp = new Promise<void>((resolve) => {
        caughtUp = resolve;
      });
      const symbol = "BTC-PERP";
      const channels = [
        { channel: "orderbook", symbol },

        { channel: "orders" },
      ] as const;
      const stream = trader.stream([...channels], {
        onMessage: (message) => {
          if (message.type === "SNAPSHOT") snapshots.push(message.channel);
          if (message.channel === "orderbook") isBookRight &&= book.apply(message);
          if (snapshots.length >= 3 && book.bids[0]?.[1] === "0.03") caughtUp();
        },
        onDisconnect: () => lost(),
      });
      await stream.ready;
      const limit = { symbol, side: "BUY", type: "LIMIT", price: "64000" } as const;
      const first = await trader.placeOrder({ ...limit, quantity: "0.02", clientOrderId: "signed" });
      const second = await stream.placeOrder({ ...limit, quantity: "0.03" });
      const refusal = await trader.placeOrder({ ...limit, quantity: "1e9" }).catch((error) => error);

      const cut = new Promise<void>((resolve) => {
        lost = resolve;
      });
      sockets[0].close();
      await cut;
      await sellMeanwhile();
      await hasCaughtUp;
      stream.close();
      return {
        hasTime: serverTime > 0,
        statuses: [first.status, second.status],
        refusal: [refusal.status, refusal.code, typeof refusal.requestId],
        connections: sockets.length,
        snapshots: snapshots.toSorted(),
        isBookRight,
        bids: book.bids,
      };
    },
    [server.url, wallet.address],
  );
  assert.deepEqual(seen, {
    hasTime: true,
    statuses: ["NEW", "NEW"],
    refusal: [400, "BAD_NUMBER", "string"],
    connections: 2,
    // The account's channel has no resume: it begins with a snapshot again.
    snapshots: ["orderbook", "orders", "orders"],
    isBookRight: true,
    bids: [["64000", "0.03"]],
  });
  assert.deepEqual(faults, []);
});

test("a hostile page reads public data, and nothing more even with a stolen token", { skip }, async () => {
  const { page } = await openPage(hostileSite);
  const seen = await page.evaluate(
    async ([baseUrl, token]) => {
      const { LocalOrderBook, PerpdClient } = (globalThis as unknown as InPage).perpd;
      const open = new PerpdClient({ baseUrl, retries: 0 });
      const thief = new PerpdClient({ baseUrl, token, retries: 0 });
      const symbol = "BTC-PERP";
      /** An answer that the browser hides is a TypeError, like a lost connection. */
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => "read it",
          (error) => error.code ?? error.name,
        );
      const book = new LocalOrderBook();
      const isRight = new Promise<boolean>((resolve) => {
        const channels = [{ channel: "orderbook", symbol }] as const;
        const stream = open.stream([...channels], {
          onMessage: (message) => {
            if (message.channel !== "orderbook") return;
            resolve(book.apply(message));
            stream.close();
          },
        });
      });
      const headers = (await fetch(`${baseUrl}/market/ticker`)).headers;
      return {
        public: [await codeOf(open.ticker(symbol)), await codeOf(open.openApi()), await codeOf(open.ticker("X"))],
        headers: [headers.get("X-Request-Id") !== null, headers.get("RateLimit-Remaining") !== null],
        isBookRight: await isRight,
        private: await Promise.all([
          codeOf(thief.balance()),
          codeOf(thief.ticker(symbol)),
          codeOf(thief.placeOrder({ symbol, side: "BUY", type: "MARKET", quantity: "0.01" })),
          codeOf(open.balance()),
          codeOf(open.challenge("0x8ba1f109551bD432803012645Ac136ddd64DBA72")),
        ]),
        stream: await codeOf(thief.stream([{ channel: "balance" }], { onMessage() {} }).ready),
      };
    },
    [server.url, maker.token ?? ""],
  );
  assert.deepEqual(seen, {
    public: ["read it", "read it", "UNKNOWN_SYMBOL"],
    headers: [true, true],
    isBookRight: true,
    private: ["TypeError", "TypeError", "TypeError", "TypeError", "TypeError"],
    stream: "ORIGIN_NOT_ALLOWED",
  });
  assert.equal((await maker.history()).data.filter(({ type }) => type === "MARKET").length, 0);
});
