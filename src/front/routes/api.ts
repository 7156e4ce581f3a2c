import type { Auth } from "../auth/auth.ts";
import { BASE_PATH } from "../common/paths.ts";
import { SequenceWaits } from "../exchange/sequence-waits.ts";
import type { Call } from "../http/call.ts";
import type { Context } from "../routing/context.ts";
import { isForOperators, type Route } from "../routing/route.ts";
import { Router } from "../routing/router.ts";
import * as account from "./account.ts";
import * as auth from "./auth.ts";
import { documentRoutes, redirectToDocs } from "./documents.ts";
import * as exchange from "./exchange.ts";
import * as health from "./health.ts";
import * as market from "./market.ts";
import * as operator from "./operator.ts";
import * as orders from "./orders.ts";
import { CONSOLE_PATH, Pages } from "./pages.ts";
import * as positions from "./positions.ts";
import * as withdrawalAddresses from "./withdrawal-addresses.ts";

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
  withdrawalAddresses.withdrawalAddressesRoute,
  withdrawalAddresses.addWithdrawalAddressRoute,
  withdrawalAddresses.removeWithdrawalAddressRoute,
  account.fillsRoute,
  account.ledgerRoute,
  account.equityHistoryRoute,
  account.depositsRoute,
  account.withdrawalsRoute,
  account.fundingPaymentsRoute,
  market.tickerRoute,
  market.sparklinesRoute,
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
  health.healthRoute,
  health.liveRoute,
  health.replicationRoute,
  health.symbolPageRoute,
  health.readyRoute,
  exchange.metricsRoute,
  operator.auditRoute,
  operator.indexPriceRoute,
  operator.haltRoute,
  operator.resumeRoute,
  operator.operatorActsRoute,
  operator.stepDownRoute,
  exchange.websocketRoute,
];

const endpoints = (context: Context): Route[] => ENDPOINTS.map((declare) => declare(context));

/** Every route of the exchange and of the documents that describe it. `version`: of the program. */
export function apiRoutes(context: Context, version: string): Route[] {
  const routes = endpoints(context);
  return [...routes, ...documentRoutes(routes, version).routes];
}

/** The operator's console reads these, too, wherever it is served. */
const READ_BY_CONSOLE = ["/health", "/market/symbols", "/market/ticker", "/market/insurance", "/market/liquidations"];

const isForOperatorServer = ({ access, method, path }: Route): boolean =>
  isForOperators(access) || (method === "GET" && READ_BY_CONSOLE.includes(path));

/** The handler of a server's calls. */
export type Api = (call: Call) => void;

/**
 * The REST API and the pages for browsers. `isSplit`: operators have a server of their own, and the public one has neither
 * their endpoints nor their console, and does not document them.
 */
export function createApis(
  context: Context,
  auth: Auth,
  version: string,
  isSplit: boolean,
): { readonly open: Api; readonly operators: Api } {
  const routes = endpoints(context);
  const shown = isSplit ? routes.filter(({ access }) => !isForOperators(access)) : routes;
  const documents = documentRoutes(shown, version);
  documents.prepare();
  const pages = new Pages();
  const answerPage = (call: Call) => pages.answer(call);
  const sequences = new SequenceWaits(context.engine, context.engine.replication !== null);
  const routerOf = (chosen: readonly Route[]) => new Router(chosen, auth, context.log, context.limits, sequences);
  const router = routerOf([...shown, ...documents.routes]);
  const operatorRouter = routerOf(routes.filter(isForOperatorServer));
  return {
    open(call) {
      if (call.path.startsWith(`${BASE_PATH}/`)) router.handle(call);
      else if (pages.has(call) && !(isSplit && call.path === CONSOLE_PATH)) router.answerFile(call, answerPage);
      else if (!redirectToDocs(call)) router.handle(call);
    },
    operators(call) {
      if (pages.has(call) && call.path !== "/") operatorRouter.answerFile(call, answerPage);
      else operatorRouter.handle(call);
    },
  };
}
