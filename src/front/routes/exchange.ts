import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { ReplicationStatus } from "../../actor/engine/engine.ts";
import { LEDGER, MODE_TRADING } from "../../core/base/enums.ts";
import { statusOf } from "../../core/pricing/halt.ts";
import Type from "../../packages/typebox.ts";
import { errorsIn } from "../../wire/error-codes.ts";
import { ServerTime } from "../../wire/schema/system.ts";
import { ApiError } from "../common/errors.ts";
import { BASE_PATH, SOCKET_PATH } from "../common/paths.ts";
import { roleOf } from "../json/replication-json.ts";
import type { Context } from "../routing/context.ts";
import { get, type Route } from "../routing/route.ts";
import { problemsOf } from "./health.ts";

export const timeRoute = (): Route =>
  get("/time", {
    access: "PUBLIC",
    summary: "The time of the server's clock",
    replies: { 200: ServerTime },
    handle: ({ call }) => call.reply(200, `{"serverTime":${Date.now()}}`),
  });

export function metricsRoute(context: Context): Route {
  const metrics = createMetrics(context);
  return get("/metrics", {
    access: "METRICS",
    summary: "Metrics for Prometheus",
    replies: { 200: Type.String({ description: "The text format of Prometheus." }) },
    contentType: metrics.contentType,
    async handle({ call }) {
      call.reply(200, await metrics.metrics(), metrics.contentType);
    },
  });
}

function lagSeconds(replication: ReplicationStatus | null): number {
  if (replication?.isFollowing !== true) return 0;
  return replication.lagMs === null ? -1 : replication.lagMs / 1000;
}

/** How far the time of the log is ahead of the machine's clock. Both are the same, but for a tick, unless that was set back. */
function logClockAheadSeconds({ engine, symbols }: Context): number {
  const actorIds = [LEDGER, ...symbols.all.map(({ id }) => id)];
  const time = Math.max(...actorIds.map((id) => engine.releasedTime(id)));
  return Math.max(0, time - Date.now()) / 1000;
}

/** The state of the exchange, and that of the process. */
export function createMetrics(context: Context): Registry {
  const { engine, symbols, market, solvency, isReady, droppedLogLines } = context;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({ name: `perpd_${name}`, help, registers: [registry], collect: set });
    function set(this: Gauge): void {
      this.set(read());
    }
  };
  gauge("ready", "1 while GET /health/ready answers 200, else 0", () =>
    Number(isReady() && problemsOf(context).length === 0),
  );
  gauge("sequence", "Sequence of the last transaction that is durable and published", () => engine.releasedSequence());
  gauge("requests_in_flight", "Requests whose transaction is not durable yet", () => engine.inFlight);
  gauge(
    "history_lag_transactions",
    "Durable transactions that the history index does not hold yet",
    () => engine.historyLag,
  );
  gauge("rebuilds", "How often an actor thread died and was rebuilt since the start", () => engine.rebuilds);
  gauge("log_lines_dropped", "Log lines that were not written since the start, because the log was not read", () =>
    droppedLogLines(),
  );
  gauge(
    "log_clock_ahead_seconds",
    "Seconds that the time of the log is ahead of the machine's clock, which was set back; 0 = it is not",
    () => logClockAheadSeconds(context),
  );
  gauge("stalled", "1 while the disk or the replicated stream does not answer and no transaction becomes durable", () =>
    Number(engine.isStalled),
  );
  gauge("history_stalled", "1 while the history index makes no progress although transactions wait for it", () =>
    Number(engine.isHistoryStalled),
  );
  gauge("disk_free_bytes", "Free bytes on the disk of the data folder", () => engine.diskFreeBytes);
  gauge("disk_room", "1 while the disk has enough free space for new orders", () => Number(engine.hasDiskRoom));
  gauge("leader", "1 while this process leads or is alone, 0 while another one may lead", () =>
    Number(["ALONE", "LEADER"].includes(roleOf(engine.replication))),
  );
  gauge(
    "replication_lag_transactions",
    "Transactions that the replicated stream does not hold yet",
    () => engine.replication?.lagTransactions ?? 0,
  );
  gauge(
    "replication_lag_seconds",
    "Seconds since this standby had everything that the leader had answered; -1 = never yet; 0 = it leads",
    () => lagSeconds(engine.replication),
  );
  gauge(
    "replication_epoch",
    "Of the leader: its number since the stream was made; 0 on a standby and without replication",
    () => engine.replication?.epoch ?? 0,
  );
  gauge(
    "replication_standbys",
    "Standbys that the leader has heard in the last seconds",
    () => engine.replication?.standbys.length ?? 0,
  );
  new Gauge({
    name: "perpd_replication_standby_lag_transactions",
    help: "By standby: so many transactions it was behind when the leader last heard it",
    labelNames: ["standby"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { url, lagTransactions } of engine.replication?.standbys ?? [])
        this.set({ standby: url }, lagTransactions);
    },
  });
  gauge("solvent", "0 while withdrawals are refused with WITHDRAWALS_GATED, else 1", () =>
    Number(solvency.gateReason === null),
  );
  gauge("fund_equity_quanta", "Equity of the insurance fund in quanta", () => solvency.figures.fundEquityQuanta);
  gauge(
    "fund_notional_quanta",
    "Notional of the insurance fund's positions at the mark, in quanta",
    () => solvency.figures.fundNotionalQuanta,
  );
  gauge(
    "deficit_quanta",
    "Quanta that accounts below zero owe, for a second or longer",
    () => solvency.figures.deficitQuanta,
  );

  new Gauge({
    name: "perpd_actor_up",
    help: "By symbol, and for the ledger: 0 while its thread is dead, being rebuilt or takes no commands, else 1",
    labelNames: ["actor"],
    registers: [registry],
    collect() {
      const set = (actor: string, id: number): void =>
        this.set({ actor }, Number(!engine.isDown(id) && !engine.isUnresponsive(id)));
      set("ledger", LEDGER);
      for (const { id, symbol } of symbols.all) set(symbol, id);
    },
  });
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

/** Answers a plain GET at the WebSocket's path. Handshakes do not come here. */
export const websocketRoute = (): Route =>
  get(SOCKET_PATH.slice(BASE_PATH.length), {
    access: "PUBLIC",
    summary: "The WebSocket",
    description: "Accepts WebSocket handshakes only. [asyncapi.json](asyncapi.json) describes the messages.",
    replies: {},
    errors: errorsIn("OPEN_SOCKET"),
    handle({ call }) {
      call.header("Upgrade", "websocket");
      call.header("Connection", "Upgrade");
      throw new ApiError("UPGRADE_REQUIRED");
    },
  });
