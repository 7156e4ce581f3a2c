import type { Engine, OnReply } from "../actor/engine/engine.ts";
import { must } from "../assert.ts";
import { BUY, type Side } from "../core/base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../core/base/units.ts";
import type { Instrument } from "../core/protocol/instrument.ts";
import type { Command } from "./request.ts";

/** How often every bot gets its turn. */
export const STEP_MS = 250;

/** What bots see of a market. 0 = there is no price yet. */
export interface Market {
  readonly instrument: Instrument;
  indexTicks: PriceTicks;
  markTicks: PriceTicks;
}

/** A bot's seat in one market: its account, its position, its money, and the way its orders go out. */
export class BotAccount {
  readonly market: Market;
  readonly accountId: number;
  readonly budgetQuanta: Quanta;
  /** Signed; kept up by what the log says. */
  positionLots: QuantityLots = 0;
  /** 1, less after margin was refused. Scales the size of orders. */
  sizeFactor = 1;
  private readonly engine: Engine;

  constructor(engine: Engine, market: Market, accountId: number, budgetQuanta: Quanta) {
    this.engine = engine;
    this.market = market;
    this.accountId = accountId;
    this.budgetQuanta = budgetQuanta;
  }

  /** False: the actor has no room for it now, nothing was done. `onReply` gets null when it has died before it did anything. */
  send(command: Command, onReply: OnReply): boolean {
    return this.engine.request(this.market.instrument.id, command, onReply);
  }

  /** How many lots `notionalQuanta` buy at the index price. */
  lotsFor(notionalQuanta: Quanta): QuantityLots {
    return Math.floor(notionalQuanta / (this.market.indexTicks * this.market.instrument.quantaPerTickLot));
  }

  /** The least that an order may be: minimum quantity and minimum notional, with room for a move of the price. */
  minOrderLots(): QuantityLots {
    const { minQuantityLots, minNotionalQuanta } = this.market.instrument;
    return Math.max(minQuantityLots, this.lotsFor(1.1 * minNotionalQuanta) + 1);
  }

  /** The largest position that the instrument lets an account have, with room for a move of the price. */
  maxPositionQuanta(): Quanta {
    const { indexTicks, instrument } = this.market;
    const { riskTiers, maxPositionLots, quantaPerTickLot } = instrument;
    const lastTier = must(riskTiers.at(-1), "risk tier");
    return 0.9 * Math.min(lastTier.maxNotionalQuanta, maxPositionLots * indexTicks * quantaPerTickLot);
  }

  /** How many more lots may be bought (sold) before the position could reach `limitLots`, `openLots` being on the way. */
  roomLots(side: Side, limitLots: QuantityLots, openLots: QuantityLots): QuantityLots {
    return limitLots - openLots - (side === BUY ? this.positionLots : -this.positionLots);
  }

  onMarginRefused(): void {
    this.sizeFactor = Math.max(this.sizeFactor / 2, 1 / 64);
  }

  /** A little more courage at every beat: back from half to whole in a minute. */
  recoverSize(): void {
    this.sizeFactor = Math.min(1, this.sizeFactor * 1.003);
  }
}
