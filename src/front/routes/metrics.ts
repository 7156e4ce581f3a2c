import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import Type from "typebox";
import { MODE_TRADING } from "../../core/base/enums.ts";
import { statusOf } from "../../core/pricing/halt.ts";
import type { Context } from "../routing/context.ts";
import { type Route, route } from "../routing/route.ts";

export function metricsRoute(context: Context): Route {
  const metrics = createMetrics(context);
  return route({
    method: "GET",
    path: "/metrics",
    access: "OPERATOR",
    summary: "Metrics for Prometheus",
    replies: { 200: Type.String({ description: "The text format of Prometheus." }) },
    contentType: metrics.contentType,
    async handle({ call }) {
      call.reply(200, await metrics.metrics(), metrics.contentType);
    },
  });
}

/** The state of the exchange, and that of the process. */
export function createMetrics({ engine, symbols, market, isReady }: Context): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({ name: `perpd_${name}`, help, registers: [registry], collect: set });
    function set(this: Gauge): void {
      this.set(read());
    }
  };
  gauge("ready", "1 while orders are accepted", () => Number(isReady()));
  gauge("sequence", "Sequence of the last transaction that is durable and published", () => engine.releasedSequence());
  gauge("requests_in_flight", "Requests whose transaction is not durable yet", () => engine.inFlight);
  gauge(
    "history_lag_transactions",
    "Durable transactions that the history index does not hold yet",
    () => engine.historyLag,
  );
  gauge("rebuilds", "How often an actor thread died and was rebuilt since the start", () => engine.rebuilds);
  gauge("stalled", "1 while the disk does not answer and no transaction becomes durable", () =>
    Number(engine.isStalled),
  );
  gauge("disk_room", "1 while the disk has enough free space for new orders", () => Number(engine.hasDiskRoom));

  const bySymbol = (name: string, help: string, read: (symbolId: number) => number): void => {
    new Gauge({ name: `perpd_${name}`, help, labelNames: ["symbol"], registers: [registry], collect: set });
    function set(this: Gauge<"symbol">): void {
      for (const { id, symbol } of symbols.all) this.set({ symbol }, read(id));
    }
  };
  bySymbol("trading", "1 while the symbol accepts every order, 0 while trading is restricted or halted", (id) =>
    Number(statusOf(market.symbol(id)).mode === MODE_TRADING),
  );
  bySymbol("sound", "1 while the self-check finds no fault in the symbol, else 0", (id) =>
    Number(market.symbol(id).faults.length === 0),
  );
  bySymbol("mark_price_ticks", "Mark price in ticks; 0 before the first price", (id) => market.symbol(id).markTicks);
  bySymbol("index_price_ticks", "Index price in ticks; 0 before the first price", (id) => market.symbol(id).indexTicks);
  bySymbol("open_interest_lots", "Sum of all long positions in lots", (id) => market.symbol(id).openInterestLots);
  return registry;
}
