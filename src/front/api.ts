import type { Auth } from "./auth.ts";
import type { Call } from "./call.ts";
import type { Context } from "./context.ts";
import { ApiError } from "./errors.ts";
import { BASE_PATH, SOCKET_PATH } from "./paths.ts";
import { type Route, Router, route } from "./router.ts";
import { accountRoutes } from "./routes/account.ts";
import { authRoutes } from "./routes/auth.ts";
import { documentRoutes, leadToDocs } from "./routes/documents.ts";
import { marginRoutes } from "./routes/margin.ts";
import { marketRoutes } from "./routes/market.ts";
import { operatorRoutes } from "./routes/operator.ts";
import { orderRoutes } from "./routes/orders.ts";
import { positionRoutes } from "./routes/positions.ts";
import { riskRoutes } from "./routes/risk.ts";
import { systemRoutes } from "./routes/system.ts";

/** Every route of the exchange, the documents that describe them included. `version` is the program's. */
export function apiRoutes(context: Context, version: string): Route[] {
  const routes = [
    ...orderRoutes(context),
    ...positionRoutes(context),
    ...marginRoutes(context),
    ...accountRoutes(context),
    ...marketRoutes(context),
    ...riskRoutes(context),
    ...authRoutes(context),
    ...systemRoutes(context),
    ...operatorRoutes(context),
    socketRoute(),
  ];
  return [...routes, ...documentRoutes(routes, version)];
}

/** The whole REST API as the handler of a server's calls. */
export function createApi(context: Context, auth: Auth, version: string): (call: Call) => void {
  const router = new Router(apiRoutes(context, version), auth, context.log, context.limits);
  return (call) => {
    if (!leadToDocs(call)) router.handle(call);
  };
}

/** A plain GET where a WebSocket handshake belongs. */
function socketRoute(): Route {
  return route({
    method: "GET",
    path: SOCKET_PATH.slice(BASE_PATH.length),
    access: "PUBLIC",
    summary: "The WebSocket",
    description: "Speaks WebSocket alone, as [asyncapi.json](asyncapi.json) describes.",
    replies: {},
    errors: ["UPGRADE_REQUIRED", "TOO_MANY_SOCKETS"],
    handle({ call }) {
      call.header("Upgrade", "websocket");
      call.header("Connection", "Upgrade");
      throw new ApiError("UPGRADE_REQUIRED");
    },
  });
}
