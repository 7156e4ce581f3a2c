import { useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import type { Position } from "../../client/types.ts";
import { balance } from "../state/account.ts";
import { liquidationPriceAt, removableMargin } from "../state/margin-change.ts";
import { instruments } from "../state/markets.ts";
import { moveMargin } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { cleanDecimal } from "../text/decimal.ts";
import { price as showPrice, usd } from "../text/format.ts";
import { readDecimal } from "../text/refusals.ts";
import { Change } from "./change.tsx";
import { Choice } from "./choice.tsx";
import { Dialog } from "./dialog.tsx";
import { SendButton, useSending } from "./sending.tsx";
import { TextField } from "./text-field.tsx";

/** Adds margin to an isolated position, or takes some out. */
export function MarginDialog(props: { position: Position; decimals: number; onClose: () => void }) {
  const { position, decimals, onClose } = props;
  const [amount, setAmount] = useState("");
  const [isRemoval, setRemoval] = useState(false);
  // One for each dialog: a second try after a lost answer must not move it twice.
  const [reference] = useState(() => crypto.randomUUID());
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const [isSending, run] = useSending();
  const margin = Number(position.isolatedMargin);
  const market = instruments.value.find((each) => each.symbol === position.symbol);
  const free = isRemoval
    ? market === undefined
      ? 0
      : removableMargin(position, market)
    : Number(balance.value?.withdrawable ?? 0);
  const typed = Number(cleanDecimal(amount) ?? 0);
  // More than that is refused.
  const after = typed > free ? margin : margin + (isRemoval ? -typed : typed);
  const priceNow = showPrice(position.liquidationPrice, decimals);
  // The exchange rounds it, and knows the margin rate at that price.
  const priceAfter = after === margin ? priceNow : text.about(showPrice(liquidationPriceAt(position, after), decimals));
  const send = async (): Promise<void> => {
    const value = readDecimal("amount", amount, { step: "0.000001", tooFine: text.accountDialogs.tooFine });
    if (value instanceof PerpdError) return setRefusal(value);
    const refused = await moveMargin(position.symbol, isRemoval ? `-${value}` : value, reference);
    setRefusal(refused);
    if (refused === null) onClose();
  };
  return (
    <Dialog title={text.marginTitle(position.symbol)} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run(send);
        }}
      >
        <Choice
          name="direction"
          label={text.marginTitle(position.symbol)}
          options={[false, true]}
          value={isRemoval}
          textOf={(each) => (each ? text.removeMargin : text.addMargin)}
          onChoose={setRemoval}
        />
        <dl class="pairs flat" aria-label={text.changes}>
          <Change label={text.margin} before={usd(margin)} after={usd(after)} unit="USDC" />
          <Change label={text.liquidationPrice} before={priceNow} after={priceAfter} />
          <div>
            <dt>{isRemoval ? text.freeToRemove : text.freeToAdd}</dt>
            <dd class="num">{isRemoval ? text.about(usd(free)) : usd(free)} USDC</dd>
          </div>
        </dl>
        <TextField label={text.amount} value={amount} unit="USDC" refusal={refusal} onChange={setAmount} />
        <SendButton isSending={isSending}>{isRemoval ? text.removeMargin : text.addMargin}</SendButton>
      </form>
    </Dialog>
  );
}
