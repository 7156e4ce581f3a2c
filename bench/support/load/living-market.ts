import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { PerpdClient } from "../../../src/client/client.ts";
import type { Stream } from "../../../src/client/stream.ts";

/** Keeps one market moving at a fixed rate, in a separate process: a maker changes the book and a taker trades. */
export interface LivingMarketTask {
  url: string;
  operatorToken: string;
  /** The first one moves; the others only get index prices. */
  prices: Record<string, string>;
  changesPerSecond: number;
  tradesPerSecond: number;
}

/** Since the last question, a second. */
export interface MarketRates {
  changes: number;
  trades: number;
}

const STEP_MS = 10;
/** On each side of the book. */
const LEVELS = 80;
/** From the middle to the best price: far enough that the oldest orders of the two sides never meet. */
const HALF_SPREAD = 2;
/** Between two levels. */
const LEVEL_GAP = 0.4;
/** The middle of the book swings around the first price. */
const SWING = 60;
const SWING_MS = 60_000;
/** Odd, so that each size is bought and sold. */
const TRADE_SIZES = 13;

process.once("message", async (task: LivingMarketTask) => {
  const market = new LivingMarket(task, await openTrader(task.url), await openTrader(task.url));
  process.on("message", () => process.send?.(market.rates()));
  process.send?.("ready");
});

async function openTrader(url: string): Promise<Stream> {
  const client = new PerpdClient({ baseUrl: url });
  const wallet = privateKeyToAccount(generatePrivateKey());
  await client.login(wallet.address, (message) => wallet.signMessage({ message }));
  await client.deposit({ asset: "USDC", amount: "1000000" });
  const stream = client.stream([], { onMessage() {} });
  await stream.ready;
  return stream;
}

interface Slot {
  readonly side: "BUY" | "SELL";
  readonly level: number;
  orderId: string | null;
  isAsking: boolean;
}

class LivingMarket {
  private readonly task: LivingMarketTask;
  private readonly maker: Stream;
  private readonly taker: Stream;
  private readonly symbol: string;
  private readonly slots: Slot[] = [];
  private readonly startedAt = performance.now();
  private nextSlot = 0;
  private turns = 0;
  private dueChanges = 0;
  private dueTrades = 0;
  private lastStepAt = performance.now();
  private tradeCount = 0;
  private counted = { changes: 0, trades: 0, since: performance.now() };

  constructor(task: LivingMarketTask, maker: Stream, taker: Stream) {
    this.task = task;
    this.maker = maker;
    this.taker = taker;
    this.symbol = Object.keys(task.prices)[0];
    for (let level = 0; level < LEVELS; level++)
      for (const side of ["BUY", "SELL"] as const) this.slots.push({ side, level, orderId: null, isAsking: false });
    setInterval(() => this.step(), STEP_MS);
    setInterval(() => this.setIndexPrices(), 1000);
  }

  rates(): MarketRates {
    const { changes, trades, since } = this.counted;
    const seconds = (performance.now() - since) / 1e3;
    this.counted = { changes: 0, trades: 0, since: performance.now() };
    return { changes: changes / seconds, trades: trades / seconds };
  }

  /** Sends what is due since the last step, at most a tenth of a second's worth. */
  private step(): void {
    const { changesPerSecond, tradesPerSecond } = this.task;
    const now = performance.now();
    const seconds = Math.min(0.1, (now - this.lastStepAt) / 1e3);
    this.lastStepAt = now;
    this.dueChanges += seconds * changesPerSecond;
    this.dueTrades += seconds * tradesPerSecond;
    for (; this.dueChanges >= 1; this.dueChanges--) this.change();
    for (; this.dueTrades >= 1; this.dueTrades--) this.trade();
  }

  /** The next slot that waits for no reply loses its order, or gets one. */
  private change(): void {
    let slot = this.takeSlot();
    for (let i = 0; slot.isAsking && i < this.slots.length; i++) slot = this.takeSlot();
    slot.isAsking = true;
    const { orderId } = slot;
    slot.orderId = null;
    // A trade may have filled it.
    const reply = orderId === null ? this.place(slot) : this.maker.cancelOrder({ orderId });
    reply
      .then(() => this.counted.changes++, ignore)
      .finally(() => {
        slot.isAsking = false;
      });
  }

  private takeSlot(): Slot {
    const slot = this.slots[this.nextSlot];
    this.nextSlot = (this.nextSlot + 1) % this.slots.length;
    if (this.nextSlot === 0) this.turns++;
    return slot;
  }

  private async place(slot: Slot): Promise<void> {
    const { side, level } = slot;
    // In the first turn every other level stays empty: otherwise all orders would come and go together.
    if (this.turns === 0 && level % 2 === 1) return;
    const away = HALF_SPREAD + LEVEL_GAP * (level + Math.random());
    const price = (this.middle() + (side === "BUY" ? -away : away)).toFixed(1);
    const quantity = (0.05 + 0.5 * Math.random()).toFixed(3);
    const order = { symbol: this.symbol, side, type: "LIMIT", timeInForce: "GTC", price, quantity } as const;
    slot.orderId = (await this.maker.placeOrder(order)).orderId;
  }

  /**
   * Buys and sells in turn, so that neither account's position grows. No trade looks like one of the last: a list of equal
   * rows would not change when one comes.
   */
  private trade(): void {
    const side = this.tradeCount % 2 === 0 ? "BUY" : "SELL";
    const quantity = (0.005 + 0.001 * (this.tradeCount % TRADE_SIZES)).toFixed(3);
    this.tradeCount++;
    const price = (this.middle() + (side === "BUY" ? SWING : -SWING)).toFixed(1);
    const order = { symbol: this.symbol, side, type: "LIMIT", timeInForce: "IOC", price, quantity } as const;
    this.taker.placeOrder(order).then(({ filledQuantity }) => {
      if (Number(filledQuantity) > 0) this.counted.trades++;
    }, ignore);
  }

  private middle(): number {
    const turns = (performance.now() - this.startedAt) / SWING_MS;
    return Number(this.task.prices[this.symbol]) + SWING * Math.sin(2 * Math.PI * turns);
  }

  private setIndexPrices(): void {
    const { url, operatorToken, prices } = this.task;
    const headers = { Authorization: `Bearer ${operatorToken}`, "Content-Type": "application/json" };
    for (const [symbol, first] of Object.entries(prices)) {
      const price = symbol === this.symbol ? this.middle() : Number(first) * (1 + 0.0005 * Math.random());
      const body = JSON.stringify({ price: price.toFixed(1) });
      fetch(`${url}/operator/index/${symbol}`, { method: "PUT", headers, body }).then((reply) => reply.text(), ignore);
    }
  }
}

function ignore(): void {}
