import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import type { Order, OrderChanges } from "../../client/types.ts";
import { forgetWithAccount } from "../state/account.ts";
import { instruments } from "../state/markets.ts";
import { amendOrder, askToAmend } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { assetOf, words } from "../text/format.ts";
import { readDecimal } from "../text/refusals.ts";
import { Dialog } from "./dialog.tsx";
import { Refused } from "./refused.tsx";
import { SendButton, useSending } from "./sending.tsx";
import { TextField } from "./text-field.tsx";

/** The order whose dialog is open. */
export const amending = signal<Order | null>(null);

forgetWithAccount(() => {
  amending.value = null;
});

type Field = "price" | "triggerPrice" | "quantity" | "displayQuantity";

/** The fields of an order that can be amended: see docs/trading/orders.md. */
function fieldsOf(order: Order): Field[] {
  const isWaiting = order.status === "UNTRIGGERED";
  const fields: Field[] = [];
  if (order.triggerPrice !== null && isWaiting && order.callbackRate === null) fields.push("triggerPrice");
  if (order.price !== null) fields.push("price");
  if (!order.closePosition && order.parentOrderId === null) fields.push("quantity");
  if (order.displayQuantity !== null && !isWaiting) fields.push("displayQuantity");
  return fields;
}

function limitsOf({ symbol }: Order, field: Field): { step: string; most?: string } {
  const market = instruments.peek().find((each) => each.symbol === symbol);
  if (market === undefined) return { step: "0.000000000001" };
  return field === "price" || field === "triggerPrice"
    ? { step: market.tickSize, most: market.maxPrice }
    : { step: market.stepSize, most: market.maxQuantity };
}

const isPrice = (field: Field): boolean => field === "price" || field === "triggerPrice";
const unitOf = ({ symbol }: Order, field: Field): string => (isPrice(field) ? "USDC" : assetOf(symbol));

export function AmendDialog() {
  const order = amending.value;
  return order === null ? null : <AmendForm key={order.orderId} order={order} />;
}

function AmendForm({ order }: { order: Order }) {
  const fields = fieldsOf(order);
  const [typed, setTyped] = useState(() => Object.fromEntries(fields.map((field) => [field, order[field] ?? ""])));
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  // A trigger that is reached already is answered as a fault of the order.
  const at = refusal?.code === "WOULD_TRIGGER" ? "triggerPrice" : (refusal?.field as Field);
  const close = (): void => {
    amending.value = null;
  };
  const [isSending, run] = useSending();
  const send = async (): Promise<void> => {
    const changes: Record<string, string> = {};
    for (const field of fields) {
      const value = readDecimal(field, typed[field] ?? "", limitsOf(order, field));
      if (value instanceof PerpdError) return setRefusal(value);
      if (value !== order[field]) changes[field] = value;
    }
    if (Object.keys(changes).length === 0) return close();
    if (!(await askToAmend(order, changes as OrderChanges))) return;
    const refused = await amendOrder(order, changes as OrderChanges);
    setRefusal(refused);
    if (refused === null) close();
  };
  return (
    <Dialog title={text.amendTitle(words(order.side), order.symbol)} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run(send);
        }}
      >
        {fields.map((field) => (
          <TextField
            label={text.amendFields[field]}
            value={typed[field] ?? ""}
            unit={unitOf(order, field)}
            refusal={at === field ? refusal : null}
            onChange={(value) => setTyped({ ...typed, [field]: value })}
          />
        ))}
        <p class="note">{text.amendHint}</p>
        {!fields.includes(at) && <Refused refusal={refusal} fields={[]} />}
        <SendButton isSending={isSending}>{text.amend}</SendButton>
      </form>
    </Dialog>
  );
}
