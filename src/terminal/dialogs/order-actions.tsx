import type { Order } from "../../client/types.ts";
import { cancelOrder } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { ActionButton } from "./action-button.tsx";
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
    <ActionButton
      action={`order-${order.orderId}`}
      label={text.cancel}
      of={text.orderId(order.orderId)}
      onPress={() => void cancelOrder(order)}
    />
  </span>
);
