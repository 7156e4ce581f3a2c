import type { Order } from "../../client/types.ts";
import { cancelOrder } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { amending } from "./amend.tsx";

/** The buttons of an open order. */
export const OrderActions = ({ order }: { order: Order }) => (
  <span class="row-actions">
    <button
      type="button"
      class="mini"
      onClick={() => {
        amending.value = order;
      }}
    >
      {text.amend}
      <span class="hidden"> {text.orderId(order.orderId)}</span>
    </button>
    <button type="button" class="mini" onClick={() => void cancelOrder(order)}>
      {text.cancel}
      <span class="hidden"> {text.orderId(order.orderId)}</span>
    </button>
  </span>
);
