import { useEffect, useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import type { WithdrawalAddress } from "../../client/types.ts";
import { Dialog } from "../dialogs/dialog.tsx";
import { Refused } from "../dialogs/refused.tsx";
import { TextField } from "../dialogs/text-field.tsx";
import { account, balance } from "../state/account.ts";
import { toast } from "../state/toasts.ts";
import { text } from "../text/catalogue.ts";
import { usd } from "../text/format.ts";
import { firstRefusal } from "../text/refusals.ts";
import { AddressBook } from "./address-book.tsx";
import { addressOf, amountOf, request } from "./requests.ts";

const FIELDS = ["amount", "address"];

/** Withdraws to an address. The wallet signs where the exchange asks for it. */
export function WithdrawDialog({ onClose }: { onClose: () => void }) {
  const own = account.value?.address ?? "";
  const [typed, setTyped] = useState({ amount: "", address: own });
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const [isSending, setSending] = useState(false);
  const [book, setBook] = useState<readonly WithdrawalAddress[]>([]);
  // One for each dialog: a second try after a lost answer must not pay twice.
  const [reference] = useState(() => crypto.randomUUID());
  useEffect(() => void request(async (client) => setBook((await client.withdrawalAddresses()).data)), []);
  const change = (changed: Partial<typeof typed>): void => {
    setTyped({ ...typed, ...changed });
    setRefusal(null);
  };
  const refusalOf = (field: string): PerpdError | null => (refusal?.field === field ? refusal : null);
  const send = async (): Promise<void> => {
    const amount = amountOf(typed.amount);
    const address = addressOf(typed.address);
    if (amount instanceof PerpdError || address instanceof PerpdError) return setRefusal(firstRefusal(amount, address));
    setSending(true);
    const refused = await request((client, approve) =>
      client.withdraw({ asset: "USDC", amount, address, reference }, approve),
    );
    setSending(false);
    setRefusal(refused);
    if (refused !== null) return;
    toast({
      key: "withdraw",
      tone: "good",
      title: text.accountDialogs.withdrawalRequested,
      detail: `${usd(amount)} USDC`,
    });
    onClose();
  };
  const most = balance.value?.withdrawable ?? "0";
  const additional = balance.value?.additionalMargin ?? "0";
  return (
    <Dialog title={text.accountDialogs.withdraw} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <TextField
          label={text.amount}
          value={typed.amount}
          unit="USDC"
          refusal={refusalOf("amount")}
          onChange={(amount) => change({ amount })}
        />
        <dl class="pairs flat">
          <div>
            <dt>{text.accountDialogs.withdrawable}</dt>
            <dd class="num">
              {usd(most)} USDC{" "}
              <button type="button" class="mini" onClick={() => change({ amount: most })}>
                {text.accountDialogs.max}
              </button>
            </dd>
          </div>
          {additional !== "0" && (
            <div title={text.accountDialogs.additionalMarginHint}>
              <dt>{text.accountDialogs.additionalMargin}</dt>
              <dd class="num">{usd(additional)} USDC</dd>
            </div>
          )}
        </dl>
        <TextField
          label={text.address}
          isText
          value={typed.address}
          placeholder="0x…"
          refusal={refusalOf("address")}
          onChange={(address) => change({ address })}
        />
        <Choices own={own} book={book} chosen={typed.address} onChoose={(address) => change({ address })} />
        <p class="note">{text.accountDialogs.withdrawHint}</p>
        <Refused refusal={refusal} fields={FIELDS} />
        <button type="submit" class="big accent" disabled={isSending}>
          {isSending ? text.sending : text.accountDialogs.withdraw}
        </button>
      </form>
      <AddressBook book={book} isNeeded={refusal?.code === "ADDRESS_NOT_IN_BOOK"} onChange={setBook} />
    </Dialog>
  );
}

/** The addresses that a person need not type. */
function Choices(props: {
  own: string;
  book: readonly WithdrawalAddress[];
  chosen: string;
  onChoose: (address: string) => void;
}) {
  const { own, book, chosen, onChoose } = props;
  const others = book.filter(({ address }) => address.toLowerCase() !== own.toLowerCase());
  const choices = [{ address: own, label: text.accountDialogs.ownWallet }, ...others];
  return (
    <div class="choices" role="group" aria-label={text.accountDialogs.addressBook}>
      {choices.map(({ address, label }) => (
        <button
          type="button"
          class="mini"
          title={address}
          aria-pressed={address.toLowerCase() === chosen.trim().toLowerCase()}
          onClick={() => onChoose(address)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
