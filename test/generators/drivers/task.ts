/** Given by the test that runs this program. */
export const task = { url: process.env.EXCHANGE_URL ?? "", token: process.env.EXCHANGE_TOKEN ?? "" };

export const ORDER = {
  symbol: "BTC-PERP",
  side: "BUY",
  type: "LIMIT",
  timeInForce: "GTC",
  price: "60000",
  quantity: "0.001",
} as const;

/** Checks that the order was open, and then canceled. */
export function finish(orderId: string, openIds: readonly string[] | undefined, status: string | undefined): void {
  if (openIds?.includes(orderId) !== true) throw new Error(`${orderId} is not among the open orders: ${openIds}`);
  if (status !== "CANCELED") throw new Error(`${orderId} is ${status} after its cancellation`);
}
