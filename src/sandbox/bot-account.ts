import type { Engine, OnReply } from "../actor/engine/engine.ts";
import { must } from "../assert.ts";
import { BUY, type Side } from "../core/base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../core/base/units.ts";
import type { Instrument } from "../core/protocol/instrument.ts";
import type { Command } from "./request.ts";

/** Interval at which every bot acts. */
export const STEP_MS = 250;

/** A market as bots see it. 0 = no price yet. */
export interface Market {
  readonly instrument: Instrument;
  indexTicks: PriceTicks;
  markTicks: PriceTicks;
}

/** A bot's account in one market: its position, its budget, and how it sends orders. */
export class BotAccount {
  readonly market: Market;
  readonly accountId: number;
  readonly budgetQuanta: Quanta;
  /** Signed; updated from trades in the log. */
  positionLots: QuantityLots = 0;
  /** Scales the size of orders: 1, less after margin was refused. */
  sizeFactor = 1;
  private readonly engine: Engine;

  constructor(engine: Engine, market: Market, accountId: number, budgetQuanta: Quanta) {
    this.engine = engine;
    this.market = market;
    this.accountId = accountId;
    this.budgetQuanta = budgetQuanta;
  }

  /**
   * False when the actor's queue is full: nothing was done. `onReply` gets null when the actor died before it decided.
   */
  send(command: Command, onReply: OnReply): boolean {
    return this.engine.request(this.market.instrument.id, command, onReply);
  }

  /** Lots that `notionalQuanta` buy at the index price. */
  lotsFor(notionalQuanta: Quanta): QuantityLots {
    return Math.floor(notionalQuanta / (this.market.indexTicks * this.market.instrument.quantaPerTickLot));
  }

  /** The smallest order: minimum quantity and minimum notional, with 10 % of room for a price move. */
  minOrderLots(): QuantityLots {
    const { minQuantityLots, minNotionalQuanta } = this.market.instrument;
    return Math.max(minQuantityLots, this.lotsFor(1.1 * minNotionalQuanta) + 1);
  }

  /** The largest position that the instrument allows an account, with 10 % of room for a price move. */
  maxPositionQuanta(): Quanta {
    const { indexTicks, instrument } = this.market;
    const { riskTiers, maxPositionLots, quantaPerTickLot } = instrument;
    const lastTier = must(riskTiers.at(-1), "risk tier");
    return 0.9 * Math.min(lastTier.maxNotionalQuanta, maxPositionLots * indexTicks * quantaPerTickLot);
  }

  /**
   * Lots that may still be bought (sold) before the position could reach `limitLots`. `openLots`: already in open
   * orders.
   */
  roomLots(side: Side, limitLots: QuantityLots, openLots: QuantityLots): QuantityLots {
    return limitLots - openLots - (side === BUY ? this.positionLots : -this.positionLots);
  }

  onMarginRefused(): void {
    this.sizeFactor = Math.max(this.sizeFactor / 2, 1 / 64);
  }

  /** Called at each step: grows from one half to 1 in a minute. */
  recoverSize(): void {
    this.sizeFactor = Math.min(1, this.sizeFactor * 1.003);
  }
}
