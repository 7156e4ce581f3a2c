import { apiRoutes } from "../front/routes/api.ts";
import { type Context, Symbols } from "../front/routing/context.ts";
import type { Route } from "../front/routing/route.ts";
import type { GatewayState } from "../gateway/own-routes.ts";

/** A context without an exchange behind it. Routes and metrics can be declared with it, and never run. */
export const NO_EXCHANGE = { engine: { instruments: [] }, symbols: new Symbols([]) } as unknown as Context;
export const NO_GATEWAY = {} as GatewayState;

let routes: Route[] | null = null;

/** Every route, for readers of the declarations. No handler may be called. The same list each time. */
export function declaredRoutes(): readonly Route[] {
  routes ??= apiRoutes(NO_EXCHANGE, "docs");
  return routes;
}
