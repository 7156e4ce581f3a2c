import type { Engine, ReleasedTransaction } from "../actor/engine/engine.ts";
import { INSURANCE_ACCOUNT } from "../core/base/enums.ts";
import { QUANTA_PER_USDC, type Quanta, type TimeMs } from "../core/base/units.ts";
import { CancelAll, Describe, ReadPosition, SetIndexPrice } from "../core/protocol/commands.ts";
import { type Event, OrderClosed, PriceUpdated, Traded } from "../core/protocol/events.ts";
import type { Instrument } from "../core/protocol/instrument.ts";
import type { Message, MessageOf } from "../core/protocol/message-schema.ts";
import { PositionView, Refused, SymbolDescription } from "../core/protocol/replies.ts";
import { deposit, openAccount } from "./accounts.ts";
import { BotAccount, type Market, STEP_MS } from "./bot-account.ts";
import { Maker } from "./maker.ts";
import { SimulatedPrice } from "./price-source.ts";
import { Random } from "./random.ts";
import { expectReply, messageAs, sendCommand } from "./request.ts";
import { Taker } from "./taker.ts";

const MAKERS_PER_SYMBOL = 2;
const TAKERS_PER_SYMBOL = 2;
/** A bot's initial deposit, repeated once on a day when its equity is below half of it. */
const BOT_FUNDS: Quanta = 500_000 * QUANTA_PER_USDC;
/** A bot's session is not used: opening one is the way to open an account. */
const BOT_SESSION_MS = 60_000;
const STEPS_PER_INDEX = 1000 / STEP_MS;
const STEPS_PER_TOP_UP = 60_000 / STEP_MS;

export interface SandboxOptions {
  seed: number;
  bots: boolean;
  /** With "operator" and "feed", index prices come from outside and the bots wait for them. */
  priceSource: "simulated" | "operator" | "feed";
  /** The faucet's daily cap per account; a bot takes at most half of it at once, or the smallest deposit if that is more. */
  faucetCapQuanta: Quanta;
  minDepositQuanta: Quanta;
  /** Deposit to the insurance fund at the first start. */
  insuranceSeedQuanta: Quanta;
  /** Receives problems that stop nothing. */
  warn(message: string): void;
}

/**
 * Simulates a market: moving index prices, and makers and takers that trade through the same commands as everyone else.
 * One timer drives it; its actions follow from the seed and the exchange's replies.
 */
export class Sandbox {
  private readonly engine: Engine;
  private readonly options: SandboxOptions;
  private readonly markets = new Map<number, Market>();
  private readonly prices = new Map<number, SimulatedPrice>();
  private readonly makers = new Map<number, Maker>();
  private readonly takers = new Map<number, Taker>();
  private readonly botAccounts = new Map<number, BotAccount>();
  private readonly stopped = new AbortController();
  private timer: NodeJS.Timeout | null = null;
  private stepCount = 0;
  private now: TimeMs = 0;

  constructor(engine: Engine, options: SandboxOptions) {
    this.engine = engine;
    this.options = options;
  }

  /** Resolves when index prices are set and the bots' first orders are on their way, before those of anybody else. Rejects when it is stopped before. */
  async start(): Promise<void> {
    if (this.options.bots) this.engine.onReleased((transaction) => this.onTransaction(transaction));
    await this.seedInsurance();
    await Promise.all(this.engine.instruments.map((instrument) => this.openMarket(instrument)));
    if (this.options.bots) await Promise.all([...this.markets.values()].map((market) => this.openBots(market)));
    if (this.stopped.signal.aborted || (this.prices.size === 0 && this.botAccounts.size === 0)) return;
    this.timer = setInterval(() => this.step(), STEP_MS).unref();
    this.step();
  }

  /** Stops the bots. Their open orders stay in the books. */
  stop(): void {
    this.stopped.abort();
    if (this.timer !== null) clearInterval(this.timer);
  }

  private async seedInsurance(): Promise<void> {
    const { insuranceSeedQuanta } = this.options;
    if (insuranceSeedQuanta === 0) return;
    const { signal } = this.stopped;
    const refusal = await deposit(this.engine, INSURANCE_ACCOUNT, insuranceSeedQuanta, "insurance-seed-1", signal);
    if (refusal !== null) this.options.warn(`the insurance fund's deposit was refused: ${refusal}`);
  }

  private async openMarket(instrument: Instrument): Promise<void> {
    const { signal } = this.stopped;
    const describe = { type: Describe.code, from: 0 } as const;
    const lastIndexTicks = await sendCommand(this.engine, instrument.id, describe, signal, (reply, time) => {
      const { indexTicks, markTicks } = expectReply(SymbolDescription, reply, instrument.symbol).state;
      this.now = time;
      this.markets.set(instrument.id, { instrument, indexTicks, markTicks });
      return indexTicks;
    });
    if (this.options.priceSource !== "simulated") return;
    const price = new SimulatedPrice(instrument, this.options.seed, lastIndexTicks);
    this.prices.set(instrument.id, price);
    // Unguarded: the first price may be any, and no other source could confirm it.
    const command = { type: SetIndexPrice.code, indexTicks: price.ticks, isGuarded: 0, operator: "" } as const;
    await sendCommand(this.engine, instrument.id, command, signal, () => {});
  }

  private async openBots(market: Market): Promise<void> {
    const { symbol } = market.instrument;
    const makers = Array.from({ length: MAKERS_PER_SYMBOL }, async (_, i) => {
      const { account, random } = await this.openBotAccount(market, `${symbol} maker ${i + 1}`);
      const maker = new Maker(account, random);
      await this.cancelAll(account, maker);
      this.makers.set(account.accountId, maker);
    });
    const takers = Array.from({ length: TAKERS_PER_SYMBOL }, async (_, i) => {
      const { account, random } = await this.openBotAccount(market, `${symbol} taker ${i + 1}`);
      this.takers.set(account.accountId, new Taker(account, random));
    });
    await Promise.all([...makers, ...takers]);
  }

  private async openBotAccount(market: Market, name: string): Promise<{ account: BotAccount; random: Random }> {
    const { signal } = this.stopped;
    const { accountId } = await openAccount(this.engine, name, this.now + BOT_SESSION_MS, signal);
    const account = new BotAccount(this.engine, market, accountId, this.depositQuanta());
    const refusal = await deposit(this.engine, accountId, account.budgetQuanta, "bot-funding-1", signal);
    if (refusal !== null) this.options.warn(`the deposit of bot ${name} was refused: ${refusal}`);
    await sendCommand(this.engine, market.instrument.id, { type: ReadPosition.code, accountId }, signal, (reply) => {
      account.positionLots = messageAs(PositionView, reply)?.sizeLots ?? 0;
      this.botAccounts.set(accountId, account);
    });
    return { account, random: new Random(this.options.seed, name) };
  }

  /**
   * Cancels what an earlier run has left. So the first step quotes, and the first order of a person, which comes after it,
   * finds a market. If it is refused the maker tries again by itself.
   */
  private cancelAll({ accountId, market }: BotAccount, maker: Maker): Promise<void> {
    const command = { type: CancelAll.code, accountId, side: -1 } as const;
    return sendCommand(this.engine, market.instrument.id, command, this.stopped.signal, (reply) => {
      if (messageAs(Refused, reply) === null) maker.allCanceled();
    });
  }

  private depositQuanta(): Quanta {
    const { faucetCapQuanta, minDepositQuanta } = this.options;
    return Math.min(BOT_FUNDS, Math.max(Math.floor(faucetCapQuanta / 2), minDepositQuanta));
  }

  private step(): void {
    if (this.stepCount % STEPS_PER_INDEX === STEPS_PER_INDEX - 1) this.movePrices();
    for (const maker of this.makers.values()) maker.cancelStaleQuotes();
    for (const maker of this.makers.values()) maker.placeMissingQuotes();
    for (const taker of this.takers.values()) taker.trade();
    if (this.stepCount % STEPS_PER_TOP_UP === STEPS_PER_TOP_UP - 1) this.topUp();
    this.stepCount++;
  }

  private movePrices(): void {
    for (const [actorId, price] of this.prices) {
      const command = { type: SetIndexPrice.code, indexTicks: price.step(1000), isGuarded: 1, operator: "" } as Message;
      this.engine.request(actorId, command, () => {});
    }
  }

  /**
   * Tops up bots that lost half of their budget to fees and spreads. The date in the reference limits it to once a day.
   */
  private topUp(): void {
    const reference = `bot-funding-${new Date(this.now).toISOString().slice(0, 10)}`;
    for (const [accountId, account] of this.botAccounts) {
      if (this.engine.marginTable.equity(accountId) >= account.budgetQuanta / 2) continue;
      // Refused: done before today, or the faucet's cap is reached. Rejected: the sandbox was stopped. Neither matters.
      deposit(this.engine, accountId, account.budgetQuanta, reference, this.stopped.signal).catch(() => {});
    }
  }

  /** Runs for every transaction of the whole exchange, so it handles trades, closed orders and prices only. */
  private onTransaction(transaction: ReleasedTransaction): void {
    this.now = transaction.time;
    for (let i = 0; i < transaction.eventCount; i++) {
      const event = transaction.messages[i] as Event;
      if (event.type === Traded.code) this.onTrade(event);
      else if (event.type === OrderClosed.code) this.makers.get(event.accountId)?.onClosed(event.orderId);
      else if (event.type === PriceUpdated.code) {
        const market = this.markets.get(transaction.actorId);
        if (market === undefined) continue;
        market.indexTicks = event.indexTicks;
        market.markTicks = event.markTicks;
      }
    }
  }

  private onTrade(trade: MessageOf<typeof Traded>): void {
    const taker = this.botAccounts.get(trade.takerAccountId);
    if (taker !== undefined) taker.positionLots = trade.takerSizeLots;
    const maker = this.botAccounts.get(trade.makerAccountId);
    if (maker === undefined) return;
    maker.positionLots = trade.makerSizeLots;
    this.makers.get(trade.makerAccountId)?.onFilled(trade.makerOrderId, trade.quantityLots);
  }
}
