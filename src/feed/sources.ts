import { pathToFileURL } from "node:url";
import { forgetFailedLoad } from "../ccxt/load-markets.ts";
import type { FeedSource } from "../config/feed.ts";

/** The part of ccxt's ticker that is used here. */
export interface TickerLike {
  bid?: number | undefined;
  ask?: number | undefined;
  last?: number | undefined;
  timestamp?: number | undefined;
}

/** A price source: an exchange of ccxt, or any object with this method. */
export interface TickerSource {
  fetchTicker(market: string): Promise<TickerLike>;
}

type SourceClass = new (options: object) => TickerSource;

type CcxtClass = new (options: object) => TickerSource & { loadMarkets(...given: unknown[]): Promise<unknown> };

/** Default timeout of a request. */
const TIMEOUT_MS = 5000;
/** The longest delay of a timer. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Opens a configured source: a class of ccxt, or the default export of a module. Rejects with what to do about it. */
export async function openSource(source: FeedSource): Promise<TickerSource> {
  const Source = source.module === undefined ? await classOfCcxt(source.exchange) : await classOf(source.module);
  return new Source({ enableRateLimit: true, timeout: timeoutOf(source), ...source.options });
}

/** Timeout of a request, in milliseconds. */
export function timeoutOf({ options }: FeedSource): number {
  const timeout = options?.timeout;
  return typeof timeout === "number" && timeout > 0 ? Math.min(timeout, MAX_TIMEOUT_MS) : TIMEOUT_MS;
}

async function classOfCcxt(exchange: string): Promise<SourceClass> {
  const ccxt = await importCcxt();
  const Source = ccxt[exchange];
  if (typeof Source !== "function" || !("prototype" in Source) || !("fetchTicker" in Source.prototype))
    throw new Error(`feed: ccxt has no exchange "${exchange}": check the spelling`);
  return retryingLoads(Source as CcxtClass);
}

/** Makes ccxt load the markets again after a failed attempt. */
const retryingLoads = (Source: CcxtClass): SourceClass =>
  class extends Source {
    override loadMarkets(...given: unknown[]): Promise<unknown> {
      return forgetFailedLoad(this, () => super.loadMarkets(...given));
    }
  };

async function importCcxt(): Promise<Record<string, unknown>> {
  try {
    return (await import("ccxt")).default as unknown as Record<string, unknown>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error("the price source feed needs the package ccxt, which is not installed: npm install ccxt");
  }
}

async function classOf(path: string): Promise<SourceClass> {
  const module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  if (typeof module.default !== "function") throw new Error(`feed: ${path} has no class as its default export`);
  return module.default as SourceClass;
}
