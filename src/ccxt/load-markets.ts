/** A field that ccxt's classes have but do not declare. */
interface LoadsMarkets {
  marketsLoading?: unknown;
}

/** ccxt caches a failed market load and would repeat its error for ever. This clears the cache. */
export async function forgetFailedLoad<T>(exchange: object, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    (exchange as LoadsMarkets).marketsLoading = undefined;
    throw error;
  }
}
