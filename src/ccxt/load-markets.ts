/** ccxt keeps a failed load of the markets in an undeclared field and would repeat its error for ever. This clears it. */
export async function forgetFailedLoad<T>(exchange: object, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    Object.assign(exchange, { marketsLoading: undefined });
    throw error;
  }
}
