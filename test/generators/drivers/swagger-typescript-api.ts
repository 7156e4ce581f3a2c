import { Api, OrderType, Side, TimeInForce } from "../out/swagger-typescript-api/api.ts";
import { finish, ORDER, task } from "./task.ts";

const api = new Api<string>({
  baseUrl: task.url,
  securityWorker: (token) => ({ headers: { Authorization: `Bearer ${token}` } }),
});
api.setSecurityData(task.token);
const placed = await api.orders.placeOrder({
  ...ORDER,
  side: Side.BUY,
  type: OrderType.LIMIT,
  timeInForce: TimeInForce.GTC,
});
const { orderId } = placed.data;
if (orderId === null) throw new Error("a dry run has no orderId");
const open = await api.orders.openOrders({ symbol: "BTC-PERP" });
const canceled = await api.orders.cancelOrder(orderId);
finish(
  orderId,
  open.data.data.map((each) => each.orderId),
  canceled.data.status,
);
