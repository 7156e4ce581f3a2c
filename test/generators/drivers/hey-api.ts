import { client } from "../out/hey-api/client.gen.ts";
import { cancelOrder, openOrders, placeOrder } from "../out/hey-api/sdk.gen.ts";
import { finish, ORDER, task } from "./task.ts";

client.setConfig({ baseUrl: task.url, auth: () => task.token, throwOnError: true });
const placed = await placeOrder({ body: ORDER, throwOnError: true });
const { orderId } = placed.data;
if (orderId === null) throw new Error("a dry run has no orderId");
const open = await openOrders({ query: { symbol: "BTC-PERP" }, throwOnError: true });
const canceled = await cancelOrder({ path: { id: orderId }, throwOnError: true });
finish(
  orderId,
  open.data.data.map((each) => each.orderId),
  canceled.data.status,
);
