import type { Static } from "typebox";
import type { Engine } from "../../actor/engine/engine.ts";
import { Health, ServerTime } from "../../wire/schema/system.ts";
import { ApiError } from "../common/errors.ts";
import type { Context } from "../routing/context.ts";
import { type Route, route } from "../routing/route.ts";

export const timeRoute = (): Route =>
  route({
    method: "GET",
    path: "/time",
    access: "PUBLIC",
    summary: "The time of the server's clock",
    replies: { 200: ServerTime },
    handle: ({ call }) => call.reply(200, `{"serverTime":${Date.now()}}`),
  });

export function healthRoute({ engine, symbols, market, isReady }: Context): Route {
  const startedAt = performance.now();
  return route({
    method: "GET",
    path: "/health",
    access: "PUBLIC",
    summary: "Whether the exchange accepts orders",
    replies: { 200: Health },
    handle({ call }) {
      const serverTime = Date.now();
      if (!isReady()) throw new ApiError("NOT_READY");
      const sequence = engine.releasedSequence();
      const faults = symbols.all.flatMap(({ id }) => market.symbol(id).faults);
      const status = healthOf(engine, faults);
      const { rebuilds } = engine;
      const uptimeMs = Math.round(performance.now() - startedAt);
      call.reply(200, JSON.stringify({ status, faults, rebuilds, sequence, uptimeMs, serverTime }));
    },
  });
}

/** The most serious problem first. */
function healthOf(engine: Engine, faults: readonly string[]): Static<typeof Health>["status"] {
  if (engine.isStalled) return "STALLED";
  if (faults.length > 0) return "UNSOUND";
  return engine.hasDiskRoom ? "OK" : "STORAGE_FULL";
}
