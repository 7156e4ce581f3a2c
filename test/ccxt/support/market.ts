import type { Dict } from "ccxt";
import { perpd } from "../../../src/ccxt/index.ts";
import { PerpdClient } from "../../../src/client/client.ts";
import type { NewApiKey } from "../../../src/client/types.ts";
import "../../e2e/support/documents/documented-fetch.ts";
import { insistOnReply } from "../../e2e/support/documents/documented-replies.ts";
import { startServer, type TestServer } from "../../e2e/support/server.ts";
import { Operator, openTrader, type Trader } from "../../e2e/support/trader.ts";

export const BTC = "BTC/USDC:USDC";
export const ETH = "ETH/USDC:USDC";

/** An account, by its session and as a ccxt program with an API key of its own. */
export interface Member {
  trader: Trader;
  exchange: perpd;
}

export interface Market {
  server: TestServer;
  operator: Operator;
  /** Rests. */
  maker: Member;
  /** Takes. */
  taker: Member;
}

/** A running exchange with prices, and two accounts that trade through ccxt. */
export async function openMarket(): Promise<Market> {
  const server = await startServer();
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  const [maker, taker] = await Promise.all([openMember(server), openMember(server)]);
  return { server, operator, maker, taker };
}

export async function openMember(server: TestServer): Promise<Member> {
  const trader = await openTrader(server);
  return { trader, exchange: await programOf(server, trader) };
}

/** A ccxt program that signs with a new API key of the account's. */
export async function programOf(server: TestServer, trader: Trader, options: Dict = {}): Promise<perpd> {
  const permissions: NewApiKey["permissions"] = ["READ", "TRADE", "WITHDRAW"];
  const session = new PerpdClient({ baseUrl: server.url, token: trader.token as string });
  const { apiKey, secret } = await session.createKey({ label: "ccxt", permissions });
  return new Documented({ apiKey, secret, hostname: `127.0.0.1:${server.port}`, ...options });
}

/** Replies that openapi.json does not allow fail the test. */
class Documented extends perpd {
  override onRestResponse(...response: Parameters<perpd["onRestResponse"]>): string {
    const [status, , url, method, headers, text, , body] = response;
    const { pathname, search } = new URL(url);
    const lower = Object.entries(headers as Record<string, string>).map(([name, value]) => [name.toLowerCase(), value]);
    const sent: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
    insistOnReply(method, pathname + search, sent, { status, headers: Object.fromEntries(lower), text });
    return super.onRestResponse(...response);
  }
}
