import { effect, signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import type { NewOrder, Order, Position } from "../../client/types.ts";
import { openOrders, pnlOf, positions } from "../state/account.ts";
import { decimalsOfMarket, instruments } from "../state/markets.ts";
import { amendOrder, cancelOrder, closePart, closeWhole, isUnknown, placeOrder } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { price as showPrice, signed } from "../text/format.ts";
import { readDecimal } from "../text/refusals.ts";
import { Choice } from "./choice.tsx";
import { quantityToClose } from "./close-quantity.ts";
import { Dialog } from "./dialog.tsx";
import { MarginDialog } from "./margin.tsx";
import { Refused } from "./refused.tsx";
import { SendButton, useSending } from "./sending.tsx";
import { TextField } from "./text-field.tsx";

/** The dialogs of a position: close a part of it, and protect it by a take-profit and a stop-loss. */

type Which = "CLOSE" | "PROTECT" | "MARGIN";
export const positionDialog = signal<{ readonly which: Which; readonly symbol: string } | null>(null);

const close = (): void => {
  positionDialog.value = null;
};

// A dialog that only hid would come back over the next position, and Enter would close that one.
effect(() => {
  const open = positionDialog.value;
  if (open !== null && !positions.value.some((each) => each.symbol === open.symbol)) close();
});

export function PositionDialogs() {
  const open = positionDialog.value;
  const position = positions.value.find((each) => each.symbol === open?.symbol);
  if (open === null || position === undefined) return null;
  if (open.which === "MARGIN") {
    const decimals = decimalsOfMarket(open.symbol).price;
    return <MarginDialog position={position} decimals={decimals} onClose={close} />;
  }
  return open.which === "CLOSE" ? <CloseDialog position={position} /> : <ProtectDialog position={position} />;
}

/** An optional price; "" when the field is empty. */
function priceOf(symbol: string, field: string, typed: string): string | PerpdError {
  const market = instruments.peek().find((each) => each.symbol === symbol);
  return readDecimal(field, typed, { step: market?.tickSize ?? "0.1", most: market?.maxPrice, isOptional: true });
}

const SHARES = [25, 50, 75, 100] as const;

function CloseDialog({ position }: { position: Position }) {
  const [share, setShare] = useState<(typeof SHARES)[number]>(100);
  const [price, setPrice] = useState("");
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const { symbol, size } = position;
  // Without the market's step only the whole can be closed.
  const limits = instruments.value.find((each) => each.symbol === symbol) ?? { stepSize: size, maxQuantity: size };
  const quantity = quantityToClose(size, share, limits);
  const [isSending, run] = useSending();
  const send = async (): Promise<void> => {
    const limit = priceOf(symbol, "price", price);
    if (limit instanceof PerpdError) return setRefusal(limit);
    const isWhole = share === 100 && limit === "";
    const refused = isWhole ? await closeWhole(symbol) : await closePart(position, quantity, limit);
    setRefusal(refused);
    // The tables show what happened.
    if (refused === null || isUnknown(refused)) close();
  };
  return (
    <Dialog title={text.closeTitle(symbol)} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run(send);
        }}
      >
        <Choice
          name="share"
          label={text.shareToClose}
          groupClass="four"
          options={SHARES}
          value={share}
          textOf={(each) => `${each}%`}
          onChoose={setShare}
        />
        <TextField
          label={text.limitPrice}
          value={price}
          placeholder={text.atMarket}
          refusal={refusal?.field === "price" ? refusal : null}
          onChange={setPrice}
        />
        <Refused refusal={refusal} fields={["price"]} />
        <dl class="pairs flat">
          <div>
            <dt>{text.quantityToClose}</dt>
            <dd class="num">
              {quantity} / {size}
            </dd>
          </div>
          <div>
            <dt>{text.pnlOfPart}</dt>
            <dd class="num">{signed((pnlOf(position) * Number(quantity)) / Number(size))} USDC</dd>
          </div>
        </dl>
        <SendButton isSending={isSending}>{text.closeShare(share)}</SendButton>
      </form>
    </Dialog>
  );
}

/** The order that closes the whole position at a trigger, if there is one. */
export const guardOf = (symbol: string, type: Order["type"]): Order | undefined =>
  openOrders.value.find((each) => each.symbol === symbol && each.type === type && each.closePosition);

const GUARDS = [
  { type: "TAKE_PROFIT_MARKET", label: text.takeProfit },
  { type: "STOP_MARKET", label: text.stopLoss },
] as const;

/** Places, amends or cancels one of the two orders. Returns the refusal. */
async function setGuard(position: Position, type: NewOrder["type"], triggerPrice: string): Promise<PerpdError | null> {
  const { symbol } = position;
  const existing = guardOf(symbol, type);
  if (triggerPrice === "") return existing === undefined ? null : cancelOrder(existing);
  if (existing !== undefined)
    return existing.triggerPrice === triggerPrice ? null : amendOrder(existing, { triggerPrice });
  const side = position.side === "SHORT" ? "BUY" : "SELL";
  return placeOrder({ symbol, side, type, triggerPrice, closePosition: true });
}

function ProtectDialog({ position }: { position: Position }) {
  const { symbol, entryPrice, liquidationPrice } = position;
  const { price: decimals } = decimalsOfMarket(symbol);
  const [before] = useState(() => GUARDS.map(({ type }) => guardOf(symbol, type)?.triggerPrice ?? ""));
  const [typed, setTyped] = useState(before);
  const [refusals, setRefusals] = useState<(PerpdError | null)[]>([null, null]);
  const [isSending, run] = useSending();
  const send = async (): Promise<void> => {
    const prices = typed.map((each) => priceOf(symbol, "triggerPrice", each));
    if (prices.some((each) => each instanceof PerpdError))
      return setRefusals(prices.map((each) => (each instanceof PerpdError ? each : null)));
    const results: (PerpdError | null)[] = [];
    for (const [index, { type }] of GUARDS.entries()) {
      // A field that was left alone must not cancel an order that was placed elsewhere meanwhile.
      const isSame = prices[index] === before[index];
      results.push(isSame ? null : await setGuard(position, type, String(prices[index])));
    }
    setRefusals(results);
    if (results.every((each) => each === null)) close();
  };
  return (
    <Dialog title={text.protectTitle(symbol)} onClose={close}>
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
        </dl>
        {GUARDS.map(({ label }, index) => (
          <TextField
            label={label}
            value={typed[index] ?? ""}
            placeholder={text.none}
            unit={text.triggerSources.MARK}
            refusal={refusals[index] ?? null}
            onChange={(value) => setTyped(typed.map((each, i) => (i === index ? value : each)))}
          />
        ))}
        <p class="note">{text.protectHint}</p>
        <SendButton isSending={isSending}>{text.confirm}</SendButton>
      </form>
    </Dialog>
  );
}
