import type { Auth } from "../auth/auth.ts";
import type { Call } from "../http/call.ts";
import type { Context } from "../routing/context.ts";
import type { Route } from "../routing/route.ts";
import { Router } from "../routing/router.ts";
import { fillsRoute, fundingPaymentsRoute, ledgerRoute } from "./account/account-history.ts";
import { balanceRoute } from "./account/balance.ts";
import { depositRoute, depositsRoute, withdrawalsRoute, withdrawRoute } from "./account/transfers.ts";
import { createKeyRoute, keysRoute, revokeKeyRoute } from "./auth/keys.ts";
import { challengeRoute, loginRoute } from "./auth/login.ts";
import { endSessionRoute, endSessionsRoute, logoutRoute, sessionsRoute } from "./auth/sessions.ts";
import { documentRoutes, redirectToDocs } from "./documents.ts";
import { fundingRatesRoute } from "./market/funding.ts";
import { insuranceRoute } from "./market/insurance.ts";
import { klinesRoute } from "./market/klines.ts";
import { openInterestHistoryRoute, openInterestRoute } from "./market/open-interest.ts";
import { symbolsRoute } from "./market/symbols.ts";
import { orderBookRoute, tickerRoute } from "./market/ticker-and-orderbook.ts";
import { liquidationsRoute, tradesRoute } from "./market/trades.ts";
import { metricsRoute } from "./metrics.ts";
import { auditRoute } from "./operator/audit.ts";
import { haltRoute, resumeRoute } from "./operator/halts.ts";
import { indexPriceRoute } from "./operator/index-price.ts";
import { amendOrderRoute } from "./orders/amend-order.ts";
import { batchOrdersRoute } from "./orders/batch-orders.ts";
import { cancelAfterRoute, cancelAllRoute, cancelOrderRoute } from "./orders/cancel-orders.ts";
import { placeOrderRoute } from "./orders/place-order.ts";
import { openOrdersRoute, orderHistoryRoute, readOrderRoute } from "./orders/read-orders.ts";
import { closePositionRoute, leverageRoute, marginModeRoute, marginRoute } from "./positions/change-positions.ts";
import { openPositionsRoute, readPositionRoute } from "./positions/read-positions.ts";
import { healthRoute, timeRoute } from "./status.ts";
import { websocketRoute } from "./websocket.ts";

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
