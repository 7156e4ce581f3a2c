import { errorsIn } from "../../wire/error-codes.ts";
import type { Auth } from "../auth/auth.ts";
import { ApiError } from "../common/errors.ts";
import { BASE_PATH, SOCKET_PATH } from "../common/paths.ts";
import type { Call } from "../http/call.ts";
import type { Context } from "../routing/context.ts";
import { type Route, Router, route } from "../routing/router.ts";
import { accountRoutes } from "./account.ts";
import { authRoutes } from "./auth.ts";
import { documentRoutes, redirectToDocs } from "./documents.ts";
import { marginRoutes } from "./margin.ts";
import { marketRoutes } from "./market.ts";
import { operatorRoutes } from "./operator.ts";
import { orderRoutes } from "./orders.ts";
import { positionRoutes } from "./positions.ts";
import { riskRoutes } from "./risk.ts";
import { systemRoutes } from "./system.ts";

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
    if (!redirectToDocs(call)) router.handle(call);
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
    errors: errorsIn("OPEN_SOCKET"),
    handle({ call }) {
      call.header("Upgrade", "websocket");
      call.header("Connection", "Upgrade");
      throw new ApiError("UPGRADE_REQUIRED");
    },
  });
}
