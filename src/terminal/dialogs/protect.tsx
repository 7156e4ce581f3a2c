import { useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import type { Order, Position } from "../../client/types.ts";
import { openOrders } from "../state/account.ts";
import { decimalsOfMarket, instruments } from "../state/markets.ts";
import { amendOrder, cancelOrder, placeOrder } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { isAbove, sum } from "../text/decimal.ts";
import { assetOf, price as showPrice } from "../text/format.ts";
import { readDecimal } from "../text/refusals.ts";
import { Dialog } from "./dialog.tsx";
import { OrderActions } from "./order-actions.tsx";
import { SendButton, useSending } from "./sending.tsx";
import { TextField } from "./text-field.tsx";

/** The take-profits and stop-losses of a position, and the dialog that sets them. */

export const EXITS = [
  { type: "TAKE_PROFIT_MARKET", name: text.takeProfitName, label: text.takeProfit },
  { type: "STOP_MARKET", name: text.stopLossName, label: text.stopLoss },
] as const;
type ExitType = (typeof EXITS)[number]["type"];

const closingSide = ({ side }: Position): Order["side"] => (side === "SHORT" ? "BUY" : "SELL");

/** The open orders that close the position at a trigger, those of the whole first. One that an order brought closes a part. */
export function exitsOf(position: Position, type: ExitType): Order[] {
  const side = closingSide(position);
  return openOrders.value
    .filter((each) => each.symbol === position.symbol && each.type === type)
    .filter((each) => each.closePosition || (each.reduceOnly && each.side === side))
    .sort((a, b) => Number(b.closePosition) - Number(a.closePosition));
}

/** "60,000.0", or "60,000.0 for 0.1" of a part. */
export function exitText({ symbol, triggerPrice, closePosition, remainingQuantity }: Order): string {
  const at = showPrice(triggerPrice, decimalsOfMarket(symbol).price);
  return closePosition ? at : text.exitOfPart(at, remainingQuantity);
}

/** An optional price; "" when the field is empty. */
export function optionalPrice(symbol: string, field: string, typed: string): string | PerpdError {
  const market = instruments.peek().find((each) => each.symbol === symbol);
  return readDecimal(field, typed, { step: market?.tickSize ?? "0.1", most: market?.maxPrice, isOptional: true });
}

const wholeExit = (position: Position, type: ExitType): Order | undefined =>
  exitsOf(position, type).find(({ closePosition }) => closePosition);

const partialExits = (position: Position, type: ExitType): Order[] =>
  exitsOf(position, type).filter(({ closePosition }) => !closePosition);

/** Those of a part, when they leave nothing of the position to an exit of the whole. */
function coveringExits(position: Position, type: ExitType): { orders: Order[]; quantity: string } | null {
  const orders = partialExits(position, type);
  const quantity = sum(orders.map(({ remainingQuantity }) => remainingQuantity));
  return orders.length === 0 || isAbove(position.size, quantity) ? null : { orders, quantity };
}

/** Places, amends or cancels one of the two orders that close the whole. Returns the refusal. */
async function setExit(position: Position, type: ExitType, triggerPrice: string): Promise<PerpdError | null> {
  const existing = wholeExit(position, type);
  if (triggerPrice === "") return existing === undefined ? null : cancelOrder(existing);
  if (existing !== undefined)
    return existing.triggerPrice === triggerPrice ? null : amendOrder(existing, { triggerPrice });
  const { symbol } = position;
  return placeOrder({ symbol, side: closingSide(position), type, triggerPrice, closePosition: true });
}

export function ProtectDialog({ position, onClose }: { position: Position; onClose: () => void }) {
  const { symbol, entryPrice, liquidationPrice } = position;
  const { price: decimals } = decimalsOfMarket(symbol);
  const [before] = useState(() => EXITS.map(({ type }) => wholeExit(position, type)?.triggerPrice ?? ""));
  const [typed, setTyped] = useState(before);
  const [refusals, setRefusals] = useState<(PerpdError | null)[]>([null, null]);
  const [isReplacing, setReplacing] = useState([false, false]);
  const [isSending, run] = useSending();
  // Without an exit of the whole, those of parts are what the person wants.
  const covering = EXITS.map(({ type }, index) => (typed[index]?.trim() === "" ? null : coveringExits(position, type)));
  const setOne = async (index: number, type: ExitType, price: string): Promise<PerpdError | null> => {
    // A field that was left alone must not cancel an order that was placed elsewhere meanwhile.
    const refused = price === before[index] ? null : await setExit(position, type, price);
    if (refused !== null || isReplacing[index] !== true) return refused;
    // Only now: until the new one stands, these protect the position.
    const canceled = await Promise.all(covering[index]?.orders.map(cancelOrder) ?? []);
    return canceled.find((each) => each !== null) ?? null;
  };
  const send = async (): Promise<void> => {
    const prices = typed.map((each) => optionalPrice(symbol, "triggerPrice", each));
    if (prices.some((each) => each instanceof PerpdError))
      return setRefusals(prices.map((each) => (each instanceof PerpdError ? each : null)));
    const results: (PerpdError | null)[] = [];
    for (const [index, { type }] of EXITS.entries()) results.push(await setOne(index, type, String(prices[index])));
    setRefusals(results);
    if (results.every((each) => each === null)) onClose();
  };
  return (
    <Dialog title={text.protectTitle(symbol)} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run(send);
        }}
      >
        <dl class="pairs flat">
          <div>
            <dt>{text.entry}</dt>
            <dd class="num">{showPrice(entryPrice, decimals)}</dd>
          </div>
          <div>
            <dt>{text.liquidationPrice}</dt>
            <dd class="num warn">{showPrice(liquidationPrice, decimals)}</dd>
          </div>
          {EXITS.flatMap(({ type, name }) =>
            partialExits(position, type).map((order) => (
              <div key={order.orderId}>
                <dt>{name}</dt>
                <dd class="num">
                  {exitText(order)} <OrderActions order={order} />
                </dd>
              </div>
            )),
          )}
        </dl>
        {EXITS.map(({ label, name }, index) => {
          const { orders, quantity = "" } = covering[index] ?? {};
          return (
            <>
              <TextField
                label={label}
                value={typed[index] ?? ""}
                placeholder={text.none}
                unit={text.triggerSources.MARK}
                refusal={refusals[index] ?? null}
                onChange={(value) => setTyped(typed.map((each, i) => (i === index ? value : each)))}
              />
              {orders !== undefined && (
                <div class="covering">
                  <p class="warn" role="status">
                    {text.partsCoverAll(name, orders.length, quantity, `${position.size} ${assetOf(symbol)}`)}
                  </p>
                  <label class="check">
                    <input
                      type="checkbox"
                      checked={isReplacing[index] === true}
                      onChange={({ currentTarget: { checked } }) =>
                        setReplacing(isReplacing.map((each, i) => (i === index ? checked : each)))
                      }
                    />
                    <span>
                      {text.cancelParts(orders.length)}
                      <span class="hidden"> {name}</span>
                    </span>
                  </label>
                </div>
              )}
            </>
          );
        })}
        <p class="note">{text.protectHint}</p>
        <SendButton isSending={isSending}>{text.confirm}</SendButton>
      </form>
    </Dialog>
  );
}
