import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { PerpdError } from "../../client/error.ts";
import type { Order, OrderChanges } from "../../client/types.ts";
import { amendOrder } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { cleanDecimal } from "../text/decimal.ts";
import { words } from "../text/format.ts";
import { Dialog } from "./dialog.tsx";
import { TextField } from "./text-field.tsx";

/** The order whose dialog is open. */
export const amending = signal<Order | null>(null);

type Field = "price" | "triggerPrice" | "quantity" | "displayQuantity";

/** What of an order can be amended: see docs/trading/orders.md. */
function fieldsOf(order: Order): Field[] {
  const isWaiting = order.status === "UNTRIGGERED";
  const fields: Field[] = [];
  if (order.triggerPrice !== null && isWaiting && order.callbackRate === null) fields.push("triggerPrice");
  if (order.price !== null) fields.push("price");
  if (!order.closePosition && order.parentOrderId === null) fields.push("quantity");
  if (order.displayQuantity !== null && !isWaiting) fields.push("displayQuantity");
  return fields;
}

export function AmendDialog() {
  const order = amending.value;
  return order === null ? null : <AmendForm key={order.orderId} order={order} />;
}

function AmendForm({ order }: { order: Order }) {
  const fields = fieldsOf(order);
  const [typed, setTyped] = useState(() => Object.fromEntries(fields.map((field) => [field, order[field] ?? ""])));
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const close = (): void => {
    amending.value = null;
  };
  const send = async (): Promise<void> => {
    const changes: Record<string, string> = {};
    for (const field of fields) {
      const value = cleanDecimal(typed[field] ?? "") ?? typed[field] ?? "";
      if (value !== order[field]) changes[field] = value;
    }
    if (Object.keys(changes).length === 0) return close();
    const refused = await amendOrder(order, changes as OrderChanges);
    setRefusal(refused);
    if (refused === null) close();
  };
  return (
    <Dialog title={text.amendTitle(words(order.side), order.symbol)} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {fields.map((field) => (
          <TextField
            label={text.amendFields[field]}
            value={typed[field] ?? ""}
            refusal={refusal?.field === field ? refusal : null}
            onChange={(value) => setTyped({ ...typed, [field]: value })}
          />
        ))}
        <p class="note">{text.amendHint}</p>
        <button type="submit" class="big accent">
          {text.amend}
        </button>
      </form>
    </Dialog>
  );
}
