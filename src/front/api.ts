import type { Auth } from "./auth.ts";
import type { Call } from "./call.ts";
import type { Context } from "./context.ts";
import { openApiDocument } from "./documents.ts";
import { ApiError } from "./errors.ts";
import type { Limits } from "./limits.ts";
import { BASE_PATH, type Route, Router, route } from "./router.ts";
import { accountRoutes } from "./routes/account.ts";
import { authRoutes } from "./routes/auth.ts";
import { marketRoutes } from "./routes/market.ts";
import { orderRoutes } from "./routes/orders.ts";
import { positionRoutes } from "./routes/positions.ts";
import { riskRoutes } from "./routes/risk.ts";
import { documentRoute, systemRoutes } from "./routes/system.ts";

/** Where the server speaks WebSocket. */
export const SOCKET_PATH = `${BASE_PATH}/ws`;

/** Every REST route of the exchange. */
export const apiRoutes = (context: Context): Route[] => [
  ...orderRoutes(context),
  ...positionRoutes(context),
  ...accountRoutes(context),
  ...marketRoutes(context),
  ...riskRoutes(context),
  ...authRoutes(context),
  ...systemRoutes(context),
];

/** The whole REST API as the handler of a server's calls. `version` is the program's; `limits` null: none. */
export function createApi(context: Context, auth: Auth, limits: Limits | null, version: string): (call: Call) => void {
  const routes = apiRoutes(context);
  const document = documentRoute(openApiDocument(routes, version));
  const router = new Router([...routes, document, socketRoute()], auth, context.log, limits);
  return (call) => router.handle(call);
}

/** A plain GET where a WebSocket handshake belongs. */
function socketRoute(): Route {
  return route({
    method: "GET",
    path: SOCKET_PATH.slice(BASE_PATH.length),
    access: "PUBLIC",
    summary: "WebSocket",
    replies: {},
    handle({ call }) {
      call.header("Upgrade", "websocket");
      throw new ApiError("UPGRADE_REQUIRED");
    },
  });
}
