import { effect, signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import type { Position } from "../../client/types.ts";
import { pnlOf, positions } from "../state/account.ts";
import { decimalsOfMarket, instruments } from "../state/markets.ts";
import { closePart, closeWhole, isUnknown } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { assetOf, signed } from "../text/format.ts";
import { Choice } from "./choice.tsx";
import { quantityToClose } from "./close-quantity.ts";
import { Dialog } from "./dialog.tsx";
import { MarginDialog } from "./margin.tsx";
import { optionalPrice, ProtectDialog } from "./protect.tsx";
import { Refused } from "./refused.tsx";
import { SendButton, useSending } from "./sending.tsx";
import { TextField } from "./text-field.tsx";

/** The dialogs of a position, and the one that closes a part of it. */

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
  return open.which === "CLOSE" ? (
    <CloseDialog position={position} />
  ) : (
    <ProtectDialog position={position} onClose={close} />
  );
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
    const limit = optionalPrice(symbol, "price", price);
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
          unit="USDC"
          placeholder={text.atMarket}
          refusal={refusal?.field === "price" ? refusal : null}
          onChange={setPrice}
        />
        <Refused refusal={refusal} fields={["price"]} />
        <dl class="pairs flat">
          <div>
            <dt>{text.quantityToClose}</dt>
            <dd class="num">
              {quantity} / {size} {assetOf(symbol)}
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
