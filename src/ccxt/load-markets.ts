/** What ccxt's classes have, and do not declare. */
interface LoadsMarkets {
  marketsLoading?: unknown;
}

/** ccxt remembers that an exchange's markets could not be loaded, and would say so for ever. */
export async function forgetFailedLoad<T>(exchange: object, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    (exchange as LoadsMarkets).marketsLoading = undefined;
    throw error;
  }
}
