import type { Auth } from "../auth/auth.ts";
import type { Call } from "../http/call.ts";
import type { Context } from "../routing/context.ts";
import type { Route } from "../routing/route.ts";
import { Router } from "../routing/router.ts";
import {
  balanceRoute,
  depositRoute,
  depositsRoute,
  fillsRoute,
  fundingPaymentsRoute,
  ledgerRoute,
  withdrawalsRoute,
  withdrawRoute,
} from "./account.ts";
import {
  challengeRoute,
  createKeyRoute,
  endSessionRoute,
  endSessionsRoute,
  keysRoute,
  loginRoute,
  logoutRoute,
  revokeKeyRoute,
  sessionsRoute,
} from "./auth.ts";
import { documentRoutes, redirectToDocs } from "./documents.ts";
import { healthRoute, metricsRoute, timeRoute, websocketRoute } from "./exchange.ts";
import {
  fundingRatesRoute,
  insuranceRoute,
  klinesRoute,
  liquidationsRoute,
  openInterestHistoryRoute,
  openInterestRoute,
  orderBookRoute,
  symbolsRoute,
  tickerRoute,
  tradesRoute,
} from "./market.ts";
import { auditRoute, haltRoute, indexPriceRoute, resumeRoute } from "./operator.ts";
import {
  amendOrderRoute,
  batchOrdersRoute,
  cancelAfterRoute,
  cancelAllRoute,
  cancelOrderRoute,
  openOrdersRoute,
  orderHistoryRoute,
  placeOrderRoute,
  readOrderRoute,
} from "./orders.ts";
import {
  closePositionRoute,
  leverageRoute,
  marginModeRoute,
  marginRoute,
  openPositionsRoute,
  readPositionRoute,
} from "./positions.ts";

/** Every endpoint, in the order in which the documents list them. */
const ENDPOINTS: readonly ((context: Context) => Route)[] = [
  placeOrderRoute,
  openOrdersRoute,
  cancelAllRoute,
  batchOrdersRoute,
  cancelAfterRoute,
  orderHistoryRoute,
  readOrderRoute,
  amendOrderRoute,
  cancelOrderRoute,
  openPositionsRoute,
  readPositionRoute,
  closePositionRoute,
  leverageRoute,
  marginModeRoute,
  marginRoute,
  balanceRoute,
  depositRoute,
  withdrawRoute,
  fillsRoute,
  ledgerRoute,
  depositsRoute,
  withdrawalsRoute,
  fundingPaymentsRoute,
  tickerRoute,
  orderBookRoute,
  tradesRoute,
  liquidationsRoute,
  klinesRoute,
  symbolsRoute,
  fundingRatesRoute,
  insuranceRoute,
  openInterestRoute,
  openInterestHistoryRoute,
  challengeRoute,
  loginRoute,
  logoutRoute,
  sessionsRoute,
  endSessionsRoute,
  endSessionRoute,
  createKeyRoute,
  keysRoute,
  revokeKeyRoute,
  timeRoute,
  healthRoute,
  metricsRoute,
  auditRoute,
  indexPriceRoute,
  haltRoute,
  resumeRoute,
  websocketRoute,
];

/** Every route of the exchange and of the documents that describe it. `version`: of the program. */
export function apiRoutes(context: Context, version: string): Route[] {
  const routes = ENDPOINTS.map((declare) => declare(context));
  return [...routes, ...documentRoutes(routes, version)];
}

/** The REST API: the handler of a server's calls. */
export function createApi(context: Context, auth: Auth, version: string): (call: Call) => void {
  const router = new Router(apiRoutes(context, version), auth, context.log, context.limits);
  return (call) => {
    if (!redirectToDocs(call)) router.handle(call);
  };
}
