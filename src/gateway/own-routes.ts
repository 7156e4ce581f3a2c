import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { ApiError } from "../front/common/errors.ts";
import { timeRoute } from "../front/routes/exchange.ts";
import { liveRoute } from "../front/routes/health.ts";
import { get, type Route } from "../front/routing/route.ts";
import type { Static } from "../packages/typebox.ts";
import type { Replication } from "../wire/schema/system.ts";

/** The state of a gateway, for health and metrics. */
export interface GatewayState {
  /** Why it cannot do a part of its work. Empty: it can do all of it. */
  problems(): readonly { readonly code: string; readonly message: string }[];
  readonly leader: string | null;
  /** The last transaction that it has read; 0 = none. */
  readonly sequence: number;
  /** For how long the stream has not been heard. */
  readonly streamAgeMs: number;
  readonly sockets: number;
  readonly leaderConnections: number;
  readonly forwarded: number;
}

/** Routes of a gateway whose answers are not those of the leader. */
export const ownRoutes = (state: GatewayState): Route[] => [
  timeRoute(),
  liveRoute(),
  readyRoute(state),
  replicationRoute(state),
  metricsRoute(state),
];

const readyRoute = (state: GatewayState): Route =>
  get("/health/ready", {
    ...{ access: "PUBLIC", isFree: true, summary: "", replies: {} },
    handle({ call }) {
      const problems = state.problems();
      if (problems.length > 0)
        throw new ApiError("NOT_READY", {
          message: "The gateway cannot do a part of its work. details.reasons says why.",
          details: { codes: problems.map(({ code }) => code), reasons: problems.map(({ message }) => message) },
        });
      call.reply(200, `{"ready":true,"serverTime":${Date.now()}}`);
    },
  });

const replicationRoute = (state: GatewayState): Route =>
  get("/replication", {
    ...{ access: "PUBLIC", isFree: true, summary: "", replies: {} },
    handle({ call }) {
      const { leader, sequence } = state;
      const own: Static<typeof Replication> = {
        ...{ role: "GATEWAY", leader, epoch: 0, sequence, lagTransactions: 0, lagMs: null, standbys: [] },
        serverTime: Date.now(),
      };
      call.reply(200, JSON.stringify(own));
    },
  });

function metricsRoute(state: GatewayState): Route {
  const registry = gatewayMetrics(state);
  return get("/metrics", {
    ...{ access: "METRICS", summary: "", replies: {} },
    async handle({ call }) {
      call.reply(200, await registry.metrics(), registry.contentType);
    },
  });
}

export function gatewayMetrics(state: GatewayState): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({ name: `perpd_${name}`, help, registers: [registry], collect: set });
    function set(this: Gauge): void {
      this.set(read());
    }
  };
  gauge("ready", "1 while GET /health/ready answers 200, else 0", () => Number(state.problems().length === 0));
  gauge("sequence", "Sequence of the last transaction that was read from the stream", () => state.sequence);
  gauge("gateway_stream_age_seconds", "For how long the stream has not answered", () => state.streamAgeMs / 1000);
  gauge("gateway_sockets", "WebSockets of clients", () => state.sockets);
  gauge("gateway_leader_connections", "Clients with a connection to the leader", () => state.leaderConnections);
  gauge("gateway_forwarded", "HTTP calls that wait for the leader's answer", () => state.forwarded);
  return registry;
}
