import { useState } from "preact/hooks";
import type { PerpdError } from "../../client/error.ts";
import type { Position } from "../../client/types.ts";
import { moveMargin } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { cleanDecimal } from "../text/decimal.ts";
import { price as showPrice, usd } from "../text/format.ts";
import { Dialog } from "./dialog.tsx";
import { TextField } from "./text-field.tsx";

/** Adds margin to an isolated position, or takes some out. */
export function MarginDialog(props: { position: Position; decimals: number; onClose: () => void }) {
  const { position, decimals, onClose } = props;
  const [amount, setAmount] = useState("");
  const [isRemoval, setRemoval] = useState(false);
  // One for each dialog: a second try after a lost answer must not move it twice.
  const [reference] = useState(() => crypto.randomUUID());
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const send = async (): Promise<void> => {
    const value = cleanDecimal(amount) ?? amount.trim();
    const refused = await moveMargin(position.symbol, isRemoval ? `-${value}` : value, reference);
    setRefusal(refused);
    if (refused === null) onClose();
  };
  return (
    <Dialog title={text.marginTitle(position.symbol)} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <div class="sides" role="radiogroup" aria-label={text.marginTitle(position.symbol)}>
          {[false, true].map((each) => (
            <label class="side" data-on={isRemoval === each || undefined}>
              <input
                type="radio"
                name="direction"
                class="hidden"
                checked={isRemoval === each}
                onChange={() => setRemoval(each)}
              />
              {each ? text.removeMargin : text.addMargin}
            </label>
          ))}
        </div>
        <dl class="pairs flat">
          <div>
            <dt>{text.margin}</dt>
            <dd class="num">{usd(position.isolatedMargin)} USDC</dd>
          </div>
          <div>
            <dt>{text.liquidationPrice}</dt>
            <dd class="num warn">{showPrice(position.liquidationPrice, decimals)}</dd>
          </div>
        </dl>
        <TextField label={text.amount} value={amount} unit="USDC" refusal={refusal} onChange={setAmount} />
        <button type="submit" class="big accent" disabled={amount.trim() === ""}>
          {isRemoval ? text.removeMargin : text.addMargin}
        </button>
      </form>
    </Dialog>
  );
}
