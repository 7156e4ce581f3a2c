import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import { Dialog } from "../dialogs/dialog.tsx";
import { TextField } from "../dialogs/text-field.tsx";
import { account, accountClient, balance } from "../state/account.ts";
import { toast } from "../state/toasts.ts";
import { refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { cleanDecimal } from "../text/decimal.ts";
import { usd } from "../text/format.ts";

export const isWithdrawing = signal(false);

const close = (): void => {
  isWithdrawing.value = false;
};

/** Withdraws to an address. The wallet signs where the exchange asks for it. */
export function WithdrawDialog() {
  return isWithdrawing.value && account.value !== null ? <WithdrawForm own={account.value.address} /> : null;
}

function WithdrawForm({ own }: { own: string }) {
  const [amount, setAmount] = useState("");
  const [address, setAddress] = useState(own);
  // One for each dialog: a second try after a lost answer must not pay twice.
  const [reference] = useState(() => crypto.randomUUID());
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const most = balance.value?.withdrawable ?? "0";
  const send = async (): Promise<void> => {
    const client = accountClient.peek();
    const sign = account.peek()?.sign;
    if (client === null || sign === undefined) return;
    const request = {
      asset: "USDC",
      amount: cleanDecimal(amount) ?? amount,
      address: address.trim(),
      reference,
    } as const;
    try {
      await client.withdraw(request, sign);
      toast({ key: "withdraw", tone: "good", title: text.withdrawalRequested, detail: `${usd(request.amount)} USDC` });
      close();
    } catch (error) {
      setRefusal(
        error instanceof PerpdError ? error : new PerpdError(0, { code: "FAILED", message: (error as Error).message }),
      );
    }
  };
  const refusalOf = (field: string): PerpdError | null => (refusal?.field === field ? refusal : null);
  const isElsewhere = refusal !== null && refusal.field !== "amount" && refusal.field !== "address";
  return (
    <Dialog title={text.withdraw} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <dl class="pairs flat">
          <div>
            <dt>{text.withdrawable}</dt>
            <dd class="num">
              <button type="button" class="link" onClick={() => setAmount(most)}>
                {usd(most)} USDC
              </button>
            </dd>
          </div>
        </dl>
        <TextField label={text.amount} value={amount} unit="USDC" refusal={refusalOf("amount")} onChange={setAmount} />
        <TextField label={text.address} value={address} refusal={refusalOf("address")} onChange={setAddress} />
        {isElsewhere && (
          <p class="note bad" role="alert">
            {refusalText(refusal)}
          </p>
        )}
        <button type="submit" class="big accent">
          {text.withdraw}
        </button>
      </form>
    </Dialog>
  );
}
