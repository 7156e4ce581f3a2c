import { useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import { Dialog } from "../dialogs/dialog.tsx";
import { Refused } from "../dialogs/refused.tsx";
import { TextField } from "../dialogs/text-field.tsx";
import { balance } from "../state/account.ts";
import { toast } from "../state/toasts.ts";
import { text } from "../text/catalogue.ts";
import { usd } from "../text/format.ts";
import { amountOf, request } from "./requests.ts";

const AMOUNTS = ["1000", "10000", "100000"] as const;

/** Test money from the faucet of the sandbox. */
export function DepositDialog({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState<string>("10000");
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const [isSending, setSending] = useState(false);
  // One for each dialog: a second try after a lost answer must not be credited twice.
  const [reference] = useState(() => crypto.randomUUID());
  const change = (value: string): void => {
    setTyped(value);
    setRefusal(null);
  };
  const send = async (): Promise<void> => {
    const amount = amountOf(typed);
    if (amount instanceof PerpdError) return setRefusal(amount);
    setSending(true);
    const refused = await request((client) => client.deposit({ asset: "USDC", amount, reference }));
    setSending(false);
    setRefusal(refused);
    if (refused !== null) return;
    toast({ key: "faucet", tone: "good", title: text.fundsArrived, detail: `${usd(amount)} USDC` });
    onClose();
  };
  return (
    <Dialog title={text.accountDialogs.deposit} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <p class="note">{text.accountDialogs.depositHint}</p>
        <TextField
          label={text.amount}
          value={typed}
          unit="USDC"
          refusal={refusal?.field === "amount" ? refusal : null}
          onChange={change}
        />
        <div class="option-row" role="group" aria-label={text.accountDialogs.amounts}>
          {AMOUNTS.map((each) => (
            <button type="button" class="chip" aria-pressed={typed === each} onClick={() => change(each)}>
              {usd(each).replace(".00", "")}
            </button>
          ))}
        </div>
        <dl class="pairs flat">
          <div>
            <dt>{text.walletBalance}</dt>
            <dd class="num">{usd(balance.value?.walletBalance)} USDC</dd>
          </div>
        </dl>
        <Refused refusal={refusal} fields={["amount"]} />
        <button type="submit" class="big accent" disabled={isSending}>
          {isSending ? text.sending : text.accountDialogs.deposit}
        </button>
      </form>
    </Dialog>
  );
}
