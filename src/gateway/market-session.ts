import { AssertionError } from "../assert.ts";
import type { Limits } from "../front/auth/limits.ts";
import { SequenceWaits } from "../front/exchange/sequence-waits.ts";
import type { OperatorLog } from "../front/http/answer.ts";
import type { Call } from "../front/http/call.ts";
import * as market from "../front/routes/market.ts";
import { Symbols } from "../front/routing/context.ts";
import { type Authenticator, Router } from "../front/routing/router.ts";
import type { Publish } from "../front/streams/base/stream.ts";
import type { KlineSource } from "../front/streams/market/relayed-kline-stream.ts";
import type { StreamHistory } from "../front/streams/streams.ts";
import type { Relay } from "../front/websocket/relay.ts";
import { WebSocketApi } from "../front/websocket/websocket-api.ts";
import type { Follower } from "./follower.ts";

export interface MarketSessionOptions {
  readonly follower: Follower;
  readonly limits: Limits | null;
  readonly relay: Relay;
  readonly klines: KlineSource;
  readonly auth: Authenticator;
  readonly publish: Publish;
  /** Passes a call on to the leader, after the router has written its headers. */
  readonly forward: (call: Call) => void;
  readonly log: OperatorLog;
}

const neverHere = (): never => {
  throw new AssertionError("a gateway has no accounts and no history");
};
const NO_HISTORY = new Proxy({} as StreamHistory, { get: neverHere });

/** The API of the market data that one follower has. Its sockets are closed when the follower cannot go on. */
export class MarketSession {
  readonly follower: Follower;
  readonly sockets: WebSocketApi;
  private readonly router: Router;
  private readonly paths: ReadonlySet<string>;

  constructor({ follower, limits, relay, klines, auth, publish, forward, log }: MarketSessionOptions) {
    const { engine } = follower;
    this.follower = follower;
    const context = { market: follower.market, symbols: new Symbols(engine.instruments) };
    const routes = [
      market.tickerRoute(context),
      market.sparklinesRoute(context),
      market.orderBookRoute(context),
      market.newestTradesRoute(context, forward),
      market.newestLiquidationsRoute(context, forward),
      market.symbolsRoute(context),
      market.openInterestRoute(context),
    ];
    this.router = new Router(routes, auth, log, limits, new SequenceWaits(engine, true));
    this.paths = Router.pathsOf(routes);
    this.sockets = new WebSocketApi({
      ...{
        engine,
        market: follower.market,
        transfers: { onChanged() {}, pendingWithdrawal: neverHere },
        history: NO_HISTORY,
      },
      ...{ auth: { socket: neverHere }, trade: neverHere, limits, log, publish, relay, klines },
      now: Date.now,
      monotonic: () => performance.now(),
    });
    this.sockets.start();
  }

  /** Whether the path is one of market data in memory. */
  has(path: string): boolean {
    return this.paths.has(path);
  }

  handle(call: Call): void {
    this.router.handle(call);
  }

  async close(): Promise<void> {
    this.follower.stop();
    this.sockets.closeAll();
    await this.sockets.stop();
  }
}
