import { OpenAPI } from "../out/openapi-typescript-codegen/core/OpenAPI";
import { OrderType } from "../out/openapi-typescript-codegen/models/OrderType";
import { Side } from "../out/openapi-typescript-codegen/models/Side";
import { TimeInForce } from "../out/openapi-typescript-codegen/models/TimeInForce";
import { OrdersService } from "../out/openapi-typescript-codegen/services/OrdersService";
import { finish, ORDER, task } from "./task.ts";

OpenAPI.BASE = task.url;
OpenAPI.TOKEN = task.token;
const placed = await OrdersService.placeOrder({
  ...ORDER,
  side: Side.BUY,
  type: OrderType.LIMIT,
  timeInForce: TimeInForce.GTC,
});
const { orderId } = placed;
if (orderId === null) throw new Error("a dry run has no orderId");
const open = await OrdersService.openOrders();
const canceled = await OrdersService.cancelOrder(orderId);
finish(
  orderId,
  open.data.map((each) => each.orderId),
  canceled.status,
);
