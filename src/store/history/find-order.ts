import type { Database } from "../database/database.ts";
import { OrderRecord, type ReferenceRecord } from "../database/history-schema.ts";

/** The order as it is stored, also if it is older than the history that is kept. */
export function findOrder(database: Database, orderId: number): OrderRecord | undefined {
  const { orders, shortLivedOrders, closedOrders } = database;
  const order = orders.get(orderId);
  if (order !== undefined) return order;
  const location = shortLivedOrders.locationOf(orderId);
  const isIt = (entry: ReferenceRecord | OrderRecord) => entry.type === OrderRecord.code && entry.orderId === orderId;
  const entry = location && closedOrders.find(location.accountId, location, isIt);
  return entry?.type === OrderRecord.code ? entry : undefined;
}
