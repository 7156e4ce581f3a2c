import { AssertionError } from "node:assert";
import type { CreatedApiKey, NewOrder, PlacedOrder, TickerList } from "../../../src/client/types.ts";
import { openApiDocument } from "../../../src/front/documents/openapi.ts";
import { declaredRoutes } from "../../../src/reference/declared.ts";
import { type Answer, Api, type Headers } from "../../e2e/support/api.ts";
import { signed } from "../../e2e/support/keys.ts";
import type { Random } from "../../e2e/support/random.ts";
import { OPERATOR_TOKEN, type TestServer } from "../../e2e/support/server.ts";
import { openTrader, type Trader } from "../../e2e/support/trader.ts";
import { login } from "../../e2e/support/wallet.ts";

/** Requests of all kinds at a steady rate, over any number of restarts of the server. */

const ACCOUNTS = 8;
const MONEY = "200000";
const MAX_OPEN = 40;
const MAX_WAITING = 64;
const TURN_MS = 100;
const ADDRESS = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
const UNKNOWN_ORDER = "999999999999";

interface Market {
  symbol: string;
  decimals: number;
  quantity: string;
}
export const MARKETS: readonly Market[] = [
  { symbol: "BTC-PERP", decimals: 1, quantity: "0.001" },
  { symbol: "ETH-PERP", decimals: 2, quantity: "0.02" },
  { symbol: "SOL-PERP", decimals: 3, quantity: "0.5" },
];

interface Account {
  trader: Trader;
  /** Order ids, and `client:` with a client order id; the oldest first. Some have ended. */
  open: string[];
}

export class Traffic {
  /** Number of answers by action and outcome. */
  readonly outcomes = new Map<string, number>();
  readonly faults: string[] = [];
  readonly random: Random;
  readonly accounts: Account[] = [];
  /** Order actions that were accepted. */
  orders = 0;
  /** True while a test stops or starts the server: requests may fail then. */
  isInterrupted = false;
  private readonly server: TestServer;
  private readonly perSecond: number;
  private readonly marks = new Map<string, number>();
  private readonly paths = getPaths();
  private interruptions = 0;
  private nextPath = 0;
  private nextId = 0;
  private waiting = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(server: TestServer, random: Random, perSecond: number) {
    this.server = server;
    this.random = random;
    this.perSecond = perSecond;
  }

  async start(): Promise<void> {
    for (let i = 0; i < ACCOUNTS; i++) this.accounts.push({ trader: await openTrader(this.server, MONEY), open: [] });
    await this.readMarks();
    this.timer = setInterval(() => this.takeTurn(), TURN_MS);
  }

  /** Resolves when no request is on its way. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    while (this.waiting > 0) await new Promise((resolve) => setTimeout(resolve, TURN_MS));
  }

  /** Runs an action that makes the server unreachable for a while. */
  async interrupt(act: () => Promise<unknown>): Promise<void> {
    this.isInterrupted = true;
    this.interruptions++;
    await act();
    this.isInterrupted = false;
  }

  count(what: string): void {
    this.outcomes.set(what, (this.outcomes.get(what) ?? 0) + 1);
  }

  private takeTurn(): void {
    if (this.isInterrupted) return;
    for (let i = (this.perSecond * TURN_MS) / 1000; i > 0 && this.waiting < MAX_WAITING; i--) {
      const [name, act] = this.pickAction();
      this.waiting++;
      act(this.random.pick(this.accounts))
        .catch((error) => this.faults.push(`${name}: ${error.stack}`))
        .finally(() => {
          this.waiting--;
        });
    }
  }

  private pickAction(): [string, (account: Account) => Promise<unknown>] {
    let roll = this.random.between(1, TOTAL_WEIGHT);
    for (const [name, weight, act] of ACTIONS) {
      roll -= weight;
      if (roll <= 0) return [name, (account) => act(this, account)];
    }
    throw new Error("the weights are wrong");
  }

  /** Resolves with null when the server was interrupted. */
  async send<T>(
    what: string,
    token: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers?: Headers,
  ): Promise<Answer<T> | null> {
    const { interruptions } = this;
    try {
      const answer = await new Api(this.server.url, token).request<T>(method, path, body, headers);
      const { code = "" } = (answer.status >= 400 ? answer.body : {}) as { code?: string };
      this.count(`${what} ${answer.status} ${code}`.trim());
      if (answer.status >= 500 && answer.status !== 503) this.faults.push(`${method} ${path}: ${answer.text}`);
      return answer;
    } catch (error) {
      const wasInterrupted = this.isInterrupted || interruptions !== this.interruptions;
      if (error instanceof AssertionError || !wasInterrupted) this.faults.push(`${method} ${path}: ${error}`);
      this.count(`${what} lost`);
      return null;
    }
  }

  // ---- orders ------------------------------------------------------------------------------------------------------

  newOrder(market = this.random.pick(MARKETS)): NewOrder {
    const side = this.random.pick(["BUY", "SELL"] as const);
    const { symbol, quantity } = market;
    return { symbol, side, type: "LIMIT", quantity, price: this.price(market, side, this.random.between(-5, 40)) };
  }

  nextClientId(): string {
    return `soak-${this.nextId++}`;
  }

  /** `steps` of 0.01 % away from the mark, on the passive side. */
  price({ symbol, decimals }: Market, side: "BUY" | "SELL", steps: number): string {
    const factor = 1 + (side === "BUY" ? -steps : steps) * 1e-4;
    return String(Number(((this.marks.get(symbol) ?? 1) * factor).toFixed(decimals)));
  }

  async place(what: string, { trader, open }: Account, order: NewOrder): Promise<void> {
    if (open.length >= MAX_OPEN) return this.cancelOldest({ trader, open });
    const answer = await this.send<PlacedOrder>(what, trader.token, "POST", "/orders", order);
    if (answer === null || answer.status >= 300) return;
    this.orders++;
    const { clientOrderId } = order;
    if (answer.body.status !== "FILLED") open.push(clientOrderId ? `client:${clientOrderId}` : answer.body.orderId);
  }

  async cancelOldest({ trader, open }: Account): Promise<void> {
    const id = open.shift() ?? UNKNOWN_ORDER;
    await this.send("cancel", trader.token, "DELETE", `/orders/${id}`);
  }

  async batch({ trader, open }: Account): Promise<void> {
    const market = this.random.pick(MARKETS);
    const items = Array.from({ length: 4 }, (_, i) => {
      const { symbol: _symbol, ...order } = this.newOrder(market);
      return { action: "PLACE", ...order, ...(i % 2 === 0 && { clientOrderId: this.nextClientId() }) };
    });
    const answer = await this.send<{ results: { order?: PlacedOrder }[] }>(
      "batch",
      trader.token,
      "POST",
      "/orders/batch",
      { symbol: market.symbol, items },
    );
    this.orders += answer?.status === 200 ? items.length : 0;
    for (const { order } of answer?.body?.results ?? []) if (order) open.push(order.orderId);
    for (let i = 0; i < items.length; i++) await this.cancelOldest({ trader, open });
  }

  // ---- accounts ----------------------------------------------------------------------------------------------------

  transfer({ trader }: Account, path: string, more: object): Promise<unknown> {
    const amount = `${this.random.between(1, 20)}.${this.random.between(1, 999_999)}`;
    const reference = this.random.next() < 0.7 ? { reference: this.nextClientId() } : {};
    return this.send(path, trader.token, "POST", path, { asset: "USDC", amount, ...more, ...reference });
  }

  async session({ trader }: Account): Promise<void> {
    const { interruptions } = this;
    try {
      const { token } = await login(this.server.url, trader.privateKey);
      await this.send("sessions", token, "GET", "/auth/sessions");
      await this.send("logout", token, "POST", "/auth/logout");
    } catch (error) {
      if (this.isInterrupted || interruptions !== this.interruptions) return;
      // All clients of the soak share the budgets of one address.
      if (!/"RATE_LIMITED"/.test((error as Error).message)) throw error;
      this.count("login 429 RATE_LIMITED");
    }
  }

  async apiKey({ trader }: Account): Promise<void> {
    const body = { label: "soak", permissions: ["READ", "TRADE"] };
    const made = await this.send<CreatedApiKey>("key", trader.token, "POST", "/auth/keys", body);
    if (made?.status !== 201) return;
    const path = "/account/balance";
    await this.send("signed", undefined, "GET", path, undefined, signed(made.body, "GET", path));
    await this.send("revoke", trader.token, "DELETE", `/auth/keys/${made.body.apiKey}`);
  }

  // ---- reads and refusals ------------------------------------------------------------------------------------------

  async readMarks(): Promise<void> {
    const answer = await this.send<TickerList>("marks", undefined, "GET", "/market/ticker");
    for (const { symbol, markPrice } of answer?.body.data ?? []) this.marks.set(symbol, Number(markPrice));
  }

  /** Each GET endpoint in turn. */
  async poll({ trader, open }: Account): Promise<void> {
    const path = this.paths[this.nextPath++ % this.paths.length] as string;
    const { symbol } = this.random.pick(MARKETS);
    const token = /^\/(operator|metrics)/.test(path) ? OPERATOR_TOKEN : trader.token;
    const target = path.replace("{id}", open[0] ?? UNKNOWN_ORDER).replaceAll("{symbol}", symbol);
    await this.send(`poll ${path}`, token, "GET", target);
  }

  async refused({ trader }: Account): Promise<void> {
    const order = this.newOrder();
    const requests: readonly (readonly [string, string, unknown?, (string | undefined)?])[] = [
      ["POST", "/orders", "{"],
      ["POST", "/orders", { ...order, price: "0.00001" }],
      ["POST", "/orders", { ...order, unknown: 1 }],
      ["POST", "/orders", { ...order, symbol: "NO-PERP" }],
      ["POST", "/orders", { ...order, quantity: "1000000" }],
      ["DELETE", `/orders/${UNKNOWN_ORDER}`],
      ["DELETE", `/orders/client:unknown-${this.nextId++}`],
      ["GET", "/orders?limit=100000"],
      ["GET", "/account/balance", undefined, "wrong"],
      ["POST", "/account/withdraw", { asset: "USDC", amount: "100000000", address: ADDRESS }],
      ["GET", "/nowhere"],
    ];
    const [method, path, body, token = trader.token] = this.random.pick(requests);
    await this.send("refused", token, method, path, body);
  }
}

/** Name, weight, action. */
const ACTIONS: readonly (readonly [string, number, (traffic: Traffic, account: Account) => Promise<unknown>])[] = [
  ["limit", 190, (traffic, account) => traffic.place("limit", account, traffic.newOrder())],
  [
    "limit with an id",
    190,
    (traffic, account) =>
      traffic.place("limit with an id", account, { ...traffic.newOrder(), clientOrderId: traffic.nextClientId() }),
  ],
  ["cancel", 220, (traffic, account) => traffic.cancelOldest(account)],
  [
    "market",
    40,
    (traffic, account) => {
      const { price: _, ...order } = traffic.newOrder();
      return traffic.place("market", account, { ...order, type: "MARKET" });
    },
  ],
  [
    "stop",
    40,
    (traffic, account) => {
      const market = traffic.random.pick(MARKETS);
      const side = traffic.random.pick(["BUY", "SELL"] as const);
      const triggerPrice = traffic.price(market, side, -traffic.random.between(20, 200));
      const { symbol, quantity } = market;
      return traffic.place("stop", account, { symbol, side, type: "STOP_MARKET", quantity, triggerPrice });
    },
  ],
  [
    "amend",
    40,
    (traffic, { trader, open }) => {
      const id = open.at(-1) ?? UNKNOWN_ORDER;
      return traffic.send("amend", trader.token, "PATCH", `/orders/${id}`, { quantity: "0.5" });
    },
  ],
  ["batch", 15, (traffic, account) => traffic.batch(account)],
  [
    "cancel all",
    4,
    (traffic, { trader }) =>
      traffic.send("cancel all", trader.token, "DELETE", `/orders?symbol=${traffic.random.pick(MARKETS).symbol}`),
  ],
  [
    "close",
    12,
    (traffic, { trader }) =>
      traffic.send("close", trader.token, "POST", `/positions/${traffic.random.pick(MARKETS).symbol}/close`, {}),
  ],
  [
    "leverage",
    5,
    (traffic, { trader }) =>
      traffic.send("leverage", trader.token, "POST", `/positions/${traffic.random.pick(MARKETS).symbol}/leverage`, {
        leverage: traffic.random.between(5, 20),
      }),
  ],
  ["deposit", 35, (traffic, account) => traffic.transfer(account, "/account/deposit", {})],
  ["withdraw", 30, (traffic, account) => traffic.transfer(account, "/account/withdraw", { address: ADDRESS })],
  ["session", 8, (traffic, account) => traffic.session(account)],
  ["key", 8, (traffic, account) => traffic.apiKey(account)],
  ["refused", 60, (traffic, account) => traffic.refused(account)],
  ["marks", 15, (traffic) => traffic.readMarks()],
  ["poll", 120, (traffic, account) => traffic.poll(account)],
];
const TOTAL_WEIGHT = ACTIONS.reduce((sum, [, weight]) => sum + weight, 0);

/** All GET endpoints with the parameters that they need, `{symbol}` and `{id}` left open. */
function getPaths(): string[] {
  const { paths } = openApiDocument(declaredRoutes(), "soak") as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(paths).flatMap(([path, { get }]) => {
    if (get === undefined || path === "/ws") return [];
    const query = (get.parameters ?? []).filter((each) => each.in === "query" && each.required === true);
    const values = query.map(({ name, schema }) => `${name}=${schema.enum?.at(-1) ?? "{symbol}"}`);
    return values.length === 0 ? path : `${path}?${values.join("&")}`;
  });
}
interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: { enum?: string[] } }[];
}
