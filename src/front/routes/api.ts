import type { Auth } from "../auth/auth.ts";
import type { Call } from "../http/call.ts";
import type { Context } from "../routing/context.ts";
import type { Route } from "../routing/route.ts";
import { Router } from "../routing/router.ts";
import * as account from "./account.ts";
import * as auth from "./auth.ts";
import { documentRoutes, redirectToDocs } from "./documents.ts";
import * as exchange from "./exchange.ts";
import * as market from "./market.ts";
import * as operator from "./operator.ts";
import * as orders from "./orders.ts";
import * as positions from "./positions.ts";

/** Every endpoint, in the order in which the documents list them. */
const ENDPOINTS: readonly ((context: Context) => Route)[] = [
  orders.placeOrderRoute,
  orders.openOrdersRoute,
  orders.cancelAllRoute,
  orders.batchOrdersRoute,
  orders.cancelAfterRoute,
  orders.maxOrderSizeRoute,
  orders.orderHistoryRoute,
  orders.readOrderRoute,
  orders.amendOrderRoute,
  orders.cancelOrderRoute,
  positions.openPositionsRoute,
  positions.positionHistoryRoute,
  positions.readPositionRoute,
  positions.closePositionRoute,
  positions.leverageRoute,
  positions.marginModeRoute,
  positions.marginRoute,
  account.balanceRoute,
  account.marginCallRoute,
  account.setMarginCallRoute,
  account.depositRoute,
  account.withdrawRoute,
  account.fillsRoute,
  account.ledgerRoute,
  account.depositsRoute,
  account.withdrawalsRoute,
  account.fundingPaymentsRoute,
  market.tickerRoute,
  market.orderBookRoute,
  market.tradesRoute,
  market.liquidationsRoute,
  market.klinesRoute,
  market.symbolsRoute,
  market.fundingRatesRoute,
  market.insuranceRoute,
  market.openInterestRoute,
  market.openInterestHistoryRoute,
  auth.challengeRoute,
  auth.loginRoute,
  auth.logoutRoute,
  auth.sessionsRoute,
  auth.endSessionsRoute,
  auth.endSessionRoute,
  auth.createKeyRoute,
  auth.keysRoute,
  auth.revokeKeyRoute,
  exchange.timeRoute,
  exchange.healthRoute,
  exchange.metricsRoute,
  operator.auditRoute,
  operator.indexPriceRoute,
  operator.haltRoute,
  operator.resumeRoute,
  exchange.websocketRoute,
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
