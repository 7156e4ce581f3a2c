import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { MODE_TRADING } from "../../core/base/enums.ts";
import { statusOf } from "../../core/pricing/halt.ts";
import type { Context } from "./context.ts";

/** What Prometheus asks for: how the exchange does at this moment, and the process's own figures. */
export function createMetrics({ engine, symbols, market, isReady }: Context): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({ name: `perpd_${name}`, help, registers: [registry], collect: set });
    function set(this: Gauge): void {
      this.set(read());
    }
  };
  gauge("ready", "1 while orders are taken", () => Number(isReady()));
  gauge("sequence", "The last turn of the log that was released", () => engine.releasedSequence());
  gauge("requests_in_flight", "Requests that wait for their turn to be on disk", () => engine.inFlight);
  gauge("history_lag_transactions", "Turns that the history index is behind", () => engine.historyLag);
  gauge("rebuilds", "How often an actor thread has died and was rebuilt", () => engine.rebuilds);
  gauge("stalled", "1 while turns wait for the log and the disk takes none", () => Number(engine.isStalled));
  gauge("disk_room", "1 while the disk has room for new orders", () => Number(engine.hasDiskRoom));

  const bySymbol = (name: string, help: string, read: (symbolId: number) => number): void => {
    new Gauge({ name: `perpd_${name}`, help, labelNames: ["symbol"], registers: [registry], collect: set });
    function set(this: Gauge<"symbol">): void {
      for (const { id, symbol } of symbols.all) this.set({ symbol }, read(id));
    }
  };
  bySymbol("trading", "1 while the symbol takes every order, 0 while it is restricted or halted", (id) =>
    Number(statusOf(market.symbol(id)).mode === MODE_TRADING),
  );
  bySymbol("sound", "0 when the self-check has found a fault", (id) => Number(market.symbol(id).faults.length === 0));
  bySymbol("mark_price_ticks", "In ticks; 0 before the first price", (id) => market.symbol(id).markTicks);
  bySymbol("index_price_ticks", "In ticks; 0 before the first price", (id) => market.symbol(id).indexTicks);
  bySymbol("open_interest_lots", "Sum of all long positions, in lots", (id) => market.symbol(id).openInterestLots);
  return registry;
}
