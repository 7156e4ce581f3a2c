import createClient from "openapi-fetch";
import type { paths } from "../out/openapi-typescript.ts";
import { finish, ORDER, task } from "./task.ts";

const client = createClient<paths>({
  baseUrl: task.url,
  headers: { Authorization: `Bearer ${task.token}` },
});
const placed = await client.POST("/orders", { body: ORDER });
if (placed.error !== undefined) throw new Error(placed.error.message);
if (!("orderId" in placed.data)) throw new Error("a dry run has no orderId");
const { orderId } = placed.data;
const open = await client.GET("/orders", { params: { query: { symbol: "BTC-PERP" } } });
const canceled = await client.DELETE("/orders/{id}", { params: { path: { id: orderId } } });
finish(
  orderId,
  open.data?.data.map((each) => each.orderId),
  canceled.data?.status,
);
