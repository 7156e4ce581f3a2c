import { cancelOrder, openOrders, placeOrder } from "../out/orval/api.ts";
import { finish, ORDER, task } from "./task.ts";

// orval's client sends to paths: a program in Node puts the exchange before them.
const platformFetch = globalThis.fetch;
globalThis.fetch = (target, options) => platformFetch(`${task.url}${target}`, options);
const headers = { Authorization: `Bearer ${task.token}` };
const placed = await placeOrder(ORDER, { headers });
if (placed.status !== 201) throw new Error(`not placed: ${placed.status}`);
const { orderId } = placed.data;
if (orderId === null) throw new Error("a dry run has no orderId");
const open = await openOrders({ symbol: "BTC-PERP" }, { headers });
const canceled = await cancelOrder(orderId, { headers });
if (open.status !== 200 || canceled.status !== 200) throw new Error(`${open.status}, ${canceled.status}`);
finish(
  orderId,
  open.data.data.map((each) => each.orderId),
  canceled.data.status,
);
