import { PriceUpdated, type SymbolEvent, Traded } from "../../../src/core/protocol/events.ts";

/** The prices that orders wait for, by source, from the events of a symbol. 0 = there is none, or it does not count. */
export class TriggerPrices {
  private markTicks = 0;
  private lastTicks = 0;
  private indexTicks = 0;
  private limitPpm = 0;

  follow(event: SymbolEvent): void {
    if (event.type === Traded.code) this.lastTicks = event.priceTicks;
    if (event.type !== PriceUpdated.code) return;
    this.markTicks = event.markTicks;
    this.indexTicks = event.indexTicks;
    this.limitPpm = event.lastTriggerPpm;
  }

  of(source: number): number {
    const { markTicks, lastTicks, indexTicks } = this;
    if (source === 0) return markTicks;
    if (source === 2) return indexTicks;
    return this.limitPpm === 0 || this.isNear() ? lastTicks : 0;
  }

  private isNear(): boolean {
    const most = BigInt(this.markTicks) * BigInt(this.limitPpm);
    const away = BigInt(this.lastTicks - this.markTicks) * 1_000_000n;
    return away <= most && -away <= most;
  }
}
