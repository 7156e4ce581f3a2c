import { useEffect, useRef, useState } from "preact/hooks";
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

interface Payment {
  readonly amount: string;
  readonly address: string;
}

const FIELDS = ["amount", "address"];

/** Withdraws to an address. The wallet signs where the exchange asks for it. */
export function WithdrawDialog({ onClose }: { onClose: () => void }) {
  const own = account.value?.address ?? "";
  const [typed, setTyped] = useState({ amount: "", address: own });
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const [isSending, setSending] = useState(false);
  /** Of the question before money goes to another address. */
  const [asked, setAsked] = useState<Payment | null>(null);
  const [book, setBook] = useState<readonly WithdrawalAddress[]>([]);
  // One for each dialog: a second try after a lost answer must not pay twice.
  const [reference] = useState(() => crypto.randomUUID());
  useEffect(() => void request(async (client) => setBook((await client.withdrawalAddresses()).data)), []);
  const change = (changed: Partial<typeof typed>): void => {
    setTyped({ ...typed, ...changed });
    setRefusal(null);
    setAsked(null);
  };
  const refusalOf = (field: string): PerpdError | null => (refusal?.field === field ? refusal : null);
  const send = async (): Promise<void> => {
    const amount = amountOf(typed.amount);
    const address = addressOf(typed.address);
    if (amount instanceof PerpdError || address instanceof PerpdError) return setRefusal(firstRefusal(amount, address));
    if (address.toLowerCase() !== own.toLowerCase()) return setAsked({ amount, address });
    await pay({ amount, address });
  };
  const pay = async ({ amount, address }: Payment): Promise<void> => {
    setAsked(null);
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
        {asked === null ? (
          <button type="submit" class="big accent" disabled={isSending}>
            {isSending ? text.sending : text.accountDialogs.withdraw}
          </button>
        ) : (
          <Question payment={asked} onBack={() => setAsked(null)} onPay={() => void pay(asked)} />
        )}
      </form>
      <AddressBook book={book} isNeeded={refusal?.code === "ADDRESS_NOT_IN_BOOK"} onChange={setBook} />
    </Dialog>
  );
}

/**
 * The safe answer has the focus: a second press of the same key sends nothing. The second click of a double click is no answer, and
 * does not take the focus away.
 */
function Question(props: { payment: Payment; onBack: () => void; onPay: () => void }) {
  const { amount, address } = props.payment;
  const back = useRef<HTMLButtonElement>(null);
  const keepFocus = (): void => back.current?.focus();
  useEffect(keepFocus, []);
  const answer =
    (give: () => void) =>
    ({ detail }: MouseEvent): void => {
      if (detail <= 1) give();
    };
  return (
    <div
      class="choices"
      role="group"
      aria-label={text.accountDialogs.withdraw}
      onMouseUp={({ detail }) => detail > 1 && keepFocus()}
    >
      <p class="warn" role="alert">
        {text.accountDialogs.payQuestion(amount, address)}
      </p>
      <button ref={back} type="button" class="mini" onClick={answer(props.onBack)}>
        {text.accountDialogs.payNot}
      </button>
      <button type="button" class="mini danger" onClick={answer(props.onPay)}>
        {text.accountDialogs.pay(amount)}
      </button>
    </div>
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
