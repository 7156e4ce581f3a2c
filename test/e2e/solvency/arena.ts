import assert from "node:assert/strict";
import type { Insurance, NewOrder, PlacedOrder, Ticker } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { pause } from "../support/wait.ts";
import { HonestLosses, holdingOf, signedSize } from "./honest-losses.ts";

/** In USDC: more than the roundings of a test add up to, and less than any attack is worth. */
const ROUNDING = 0.01;
const FUND_POLL_MS = 20;
/** Nothing has changed for so many ticks: the exchange has done all that it does by itself. */
const QUIET_TICKS = 4;
/** The fund sells a fifth of what it holds at each tick, so its last lots are sold long after the first. */
const QUIET_WITHIN_MS = 5000;
/** Shorter than the default, so that a test takes seconds. */
const TICK_MS = 50;
/** The default: the share of the fund that each symbol may cost it within an hour. */
const FUND_LOSS_RATE = 0.01;

export interface ArenaOptions {
  /** Balance of the insurance fund at the start, in USDC. */
  fund: string;
  workers?: number;
  environment?: Record<string, string>;
  tickMs?: number;
}

/**
 * The most that a coalition may take: nothing; or the loss of the fund in a symbol within an hour, with the gain of honest winners
 * in a step beyond the margin of those that lost.
 */
export type Bound = "NOTHING" | "GAINS_OF_THE_STEP";

/** The outcome of an attack, in USDC. */
interface Verdict {
  /** Withdrawals and remaining equity of the coalition, less its deposits. */
  take: number;
  withdrawn: number;
  deposited: number;
  lowestFund: number;
  fund: number;
  /** See HonestLosses.largest. */
  honestLoss: number;
  /** See HonestLosses.haircut. */
  haircut: number;
  /** The lowest equity of any account at the end. */
  lowestEquity: number;
}

/** An exchange with a coalition and with honest accounts. It measures who gets whose money. */
export class Arena {
  readonly coalition: Trader[] = [];
  private readonly honest: Trader[] = [];
  private readonly server: TestServer;
  private readonly fundSeed: number;
  private readonly quietMs: number;
  private operator: Operator;
  private readonly losses = new HonestLosses(this.honest);
  private readonly refusals = new Set<string>();
  private deposited = 0;
  private withdrawn = 0;
  private lowestFund = Number.POSITIVE_INFINITY;
  private isWatching = true;
  private readonly watch: Promise<void>;

  private constructor(server: TestServer, fund: string, tickMs: number) {
    this.server = server;
    this.fundSeed = Number(fund);
    this.operator = new Operator(server);
    this.quietMs = QUIET_TICKS * tickMs;
    this.watch = this.watchFund();
  }

  static async start({ fund, workers = 1, environment = {}, tickMs = TICK_MS }: ArenaOptions): Promise<Arena> {
    const settings = { PERPD_INSURANCE_SEED: fund, PERPD_WITHDRAWAL_DELAY_MS: "0", PERPD_TICK_MS: String(tickMs) };
    const flags = ["--workers", String(workers)];
    return new Arena(await startServer({ environment: { ...settings, ...environment }, flags }), fund, tickMs);
  }

  async dispose(): Promise<void> {
    this.isWatching = false;
    await this.watch;
    await this.server.dispose();
  }

  /** Ends the server at once and starts it again, with the same accounts. */
  async crash(): Promise<void> {
    await this.server.kill();
    await this.server.start();
    this.operator = new Operator(this.server);
    for (const trader of [...this.coalition, ...this.honest]) (trader as { url: string }).url = this.server.url;
  }

  // ---- accounts -------------------------------------------------------------------------------------------------------

  /** Opens accounts of the coalition. */
  async members(count: number, money: string, leverage: number, symbol = "BTC-PERP"): Promise<Trader[]> {
    const traders = await this.open(count, money, leverage, symbol);
    this.coalition.push(...traders);
    this.deposited += count * Number(money);
    return traders;
  }

  /** Opens honest accounts. */
  async citizens(count: number, money: string, leverage: number, symbol = "BTC-PERP"): Promise<Trader[]> {
    const traders = await this.open(count, money, leverage, symbol);
    this.honest.push(...traders);
    return traders;
  }

  /** Each of them keeps the margin of its position apart. */
  async isolate(traders: Trader[], symbol = "BTC-PERP"): Promise<void> {
    for (const trader of traders)
      await trader.call(200, "POST", `/positions/${symbol}/margin-mode`, { mode: "ISOLATED" });
  }

  private open(count: number, money: string, leverage: number, symbol: string): Promise<Trader[]> {
    return Promise.all(
      Array.from({ length: count }, async () => {
        const trader = await openTrader(this.server, money);
        await trader.call(200, "POST", `/positions/${symbol}/leverage`, { leverage });
        return trader;
      }),
    );
  }

  // ---- trading --------------------------------------------------------------------------------------------------------

  /** Places an order that the exchange may refuse. Returns null then. */
  async attempt(trader: Trader, order: NewOrder): Promise<PlacedOrder | null> {
    const { status, body } = await trader.request<PlacedOrder & { code: string }>("POST", "/orders", order);
    if (status === 201) return body;
    this.refusals.add(body.code);
    return null;
  }

  /** Two members trade with each other. Either order may be refused. */
  async cross(long: Trader, short: Trader, symbol: string, quantity: string, price: string | number): Promise<void> {
    const order = { symbol, type: "LIMIT", price: String(price), quantity } as const;
    const sold = await this.attempt(short, { ...order, side: "SELL" });
    if (sold === null) return;
    await this.attempt(long, { ...order, side: "BUY", timeInForce: "IOC" });
    if (sold.status !== "FILLED") await short.request("DELETE", `/orders/${sold.orderId}`);
  }

  /** As cross(), and both orders must fill. */
  async trade(long: Trader, short: Trader, symbol: string, quantity: string, price: string | number): Promise<void> {
    const order = { symbol, type: "LIMIT", price: String(price), quantity } as const;
    await short.place({ ...order, side: "SELL" });
    assert.equal((await long.place({ ...order, side: "BUY" })).status, "FILLED");
  }

  /** Signed. */
  async size(trader: Trader, symbol: string): Promise<number> {
    const position = await trader.position(symbol);
    return position === null ? 0 : signedSize(position);
  }

  // ---- prices ---------------------------------------------------------------------------------------------------------

  /** Sends a price once, as a feed does: a jump is held back for confirmation. Returns whether it counts now. */
  async announce(symbol: string, price: number): Promise<boolean> {
    const body = { price: String(price), guarded: true };
    return (await this.operator.request("PUT", `/operator/index/${symbol}`, body)).status === 200;
  }

  /** Sets a price that is not checked for jumps. */
  async setIndex(symbol: string, price: number): Promise<void> {
    await this.operator.setIndex(symbol, String(price));
  }

  /**
   * Runs something in which each mark moves once at most, waits until the exchange has done all that follows, and measures
   * what honest accounts have lost in it.
   */
  async step(act: () => Promise<unknown>): Promise<void> {
    const before = await this.losses.begin();
    await act();
    await this.settled();
    await this.losses.end(before);
  }

  /** One step() for each price. */
  async path(symbol: string, prices: number[]): Promise<void> {
    for (const price of prices) await this.step(() => this.setIndex(symbol, price));
  }

  async mark(symbol: string): Promise<number> {
    return Number((await new Api(this.server.url).get<Ticker>(`/market/ticker?symbol=${symbol}`)).markPrice);
  }

  /** Resolves when nothing changes any more by itself. */
  private async settled(): Promise<void> {
    const end = Date.now() + QUIET_WITHIN_MS;
    let last = "";
    let since = Date.now();
    let askedAt = since;
    // An answer may come late: the state that it shows was that of some time since it was asked for.
    while (Date.now() < end && askedAt - since < this.quietMs) {
      askedAt = Date.now();
      const { symbols, ledgerDigest, money } = await this.operator.audit();
      const now = JSON.stringify([symbols, ledgerDigest, money]);
      if (now !== last) since = Date.now();
      last = now;
      await pause(FUND_POLL_MS);
    }
  }

  private async watchFund(): Promise<void> {
    while (this.isWatching) {
      // The server may be down between a crash and the next start.
      await this.readFund().catch(() => undefined);
      await pause(FUND_POLL_MS);
    }
  }

  private async readFund(): Promise<number> {
    const { balance } = await new Api(this.server.url).get<Insurance>("/market/insurance");
    this.lowestFund = Math.min(this.lowestFund, Number(balance));
    return Number(balance);
  }

  // ---- the end --------------------------------------------------------------------------------------------------------

  /** The coalition closes what it can at the mark, with itself, with others and with the fund. */
  async closeAll(symbol = "BTC-PERP", digits = 1): Promise<void> {
    await Promise.all(this.coalition.map((trader) => trader.request("DELETE", `/orders?symbol=${symbol}`)));
    const price = (await this.mark(symbol)).toFixed(digits);
    await Promise.all(
      this.coalition.map(async (trader) => {
        const size = await this.size(trader, symbol);
        if (size === 0) return;
        const side = size > 0 ? "SELL" : "BUY";
        const quantity = String(Math.abs(size));
        await this.attempt(trader, { symbol, side, type: "LIMIT", price, quantity, reduceOnly: true });
      }),
    );
    await this.settled();
  }

  /** Each member withdraws what it may. */
  async withdrawAll(): Promise<void> {
    await Promise.all(this.coalition.map((trader) => this.withdraw(trader)));
  }

  async withdraw(trader: Trader): Promise<void> {
    const { withdrawable } = await trader.balance();
    if (Number(withdrawable) === 0) return;
    const body = { asset: "USDC", amount: withdrawable, address: trader.address };
    const reply = await trader.request<{ code: string }>("POST", "/account/withdraw", body);
    if (reply.status === 201) this.withdrawn += Number(withdrawable);
    else this.refusals.add(reply.body.code);
  }

  /** Asserts that the exchange is sound, and that the coalition has taken no more than `bound`. Returns the figures in words. */
  async assertTake(bound: Bound): Promise<string> {
    await this.settled();
    await this.operator.soundAudit();
    const verdict = await this.verdict();
    const figures = Object.entries(verdict).map(([name, value]) => `${name} ${Math.round(value)}`);
    const text = [...figures, "refusals", ...this.refusals].join(" ");
    const { take, lowestFund, honestLoss, haircut, lowestEquity } = verdict;
    assert.ok(lowestFund >= 0, `the fund was below zero: ${text}`);
    assert.ok(lowestEquity >= -ROUNDING, `an account is below zero: ${text}`);
    assert.ok(honestLoss <= ROUNDING, `an honest account lost more than the gain of a step: ${text}`);
    const most = bound === "NOTHING" ? 0 : haircut + this.fundSeed * FUND_LOSS_RATE;
    assert.ok(take <= most + ROUNDING, `the coalition has taken money: ${text}`);
    assert.ok(lowestFund >= this.fundSeed * (1 - FUND_LOSS_RATE) - ROUNDING, `the fund lost too much: ${text}`);
    return text;
  }

  private async verdict(): Promise<Verdict> {
    const equityOf = async (trader: Trader) => (await holdingOf(trader)).equity;
    const ours = await Promise.all(this.coalition.map(equityOf));
    const theirs = await Promise.all(this.honest.map(equityOf));
    // Nobody pays what an account owes, so a debt is not a loss of the coalition.
    const left = ours.reduce((sum, equity) => sum + Math.max(0, equity), 0);
    const fund = await this.readFund();
    return {
      take: this.withdrawn + left - this.deposited,
      withdrawn: this.withdrawn,
      deposited: this.deposited,
      lowestFund: this.lowestFund,
      fund,
      honestLoss: this.losses.largest,
      haircut: this.losses.haircut,
      lowestEquity: Math.min(...ours, ...theirs),
    };
  }
}

/** Runs an attack on an exchange of its own. It must take no more than `bound`. Returns its figures. */
export async function inArena(
  options: ArenaOptions,
  attack: (arena: Arena) => Promise<void>,
  bound: Bound = "NOTHING",
): Promise<string> {
  const arena = await Arena.start(options);
  try {
    await attack(arena);
    return await arena.assertTake(bound);
  } finally {
    await arena.dispose();
  }
}
