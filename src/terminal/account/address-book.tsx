import { useEffect, useRef, useState } from "preact/hooks";
import { PerpdError } from "../../client/error.ts";
import type { WithdrawalAddress } from "../../client/types.ts";
import { Refused } from "../dialogs/refused.tsx";
import { TextField } from "../dialogs/text-field.tsx";
import { exchangeNow } from "../state/clock.ts";
import { text } from "../text/catalogue.ts";
import { dayAndClock } from "../text/format.ts";
import { firstRefusal } from "../text/refusals.ts";
import { addressOf, labelOf, request } from "./requests.ts";

const NONE = { label: "", address: "" };

/** The account's addresses for withdrawals. A new one may have to wait. */
export function AddressBook(props: {
  book: readonly WithdrawalAddress[];
  /** The exchange has asked for it. */
  isNeeded: boolean;
  onChange: (book: readonly WithdrawalAddress[]) => void;
}) {
  const { book, isNeeded, onChange } = props;
  const element = useRef<HTMLDetailsElement>(null);
  // It stays open afterwards.
  useEffect(() => {
    if (isNeeded && element.current !== null) element.current.open = true;
  }, [isNeeded]);
  const [typed, setTyped] = useState(NONE);
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const refusalOf = (field: string): PerpdError | null => (refusal?.field === field ? refusal : null);
  const change = (changed: Partial<typeof typed>): void => {
    setTyped({ ...typed, ...changed });
    setRefusal(null);
  };
  const add = async (): Promise<void> => {
    const label = labelOf(typed.label);
    const address = addressOf(typed.address);
    if (label instanceof PerpdError || address instanceof PerpdError) return setRefusal(firstRefusal(label, address));
    const refused = await request(async (client, approve) => {
      await client.addWithdrawalAddress(address, label, approve);
      onChange((await client.withdrawalAddresses()).data);
    });
    setRefusal(refused);
    if (refused === null) setTyped(NONE);
  };
  const remove = async (address: string): Promise<void> =>
    setRefusal(
      await request(async (client) => {
        await client.removeWithdrawalAddress(address);
        onChange((await client.withdrawalAddresses()).data);
      }),
    );
  return (
    <details class="more-fields" ref={element}>
      <summary>
        {text.accountDialogs.addressBook} <span class="muted">{book.length}</span>
      </summary>
      {book.length === 0 && <p class="note">{text.accountDialogs.noAddresses}</p>}
      <ul class="entries" aria-label={text.accountDialogs.addressBook}>
        {book.map(({ address, label, usableAt }) => (
          <li key={address}>
            <div>
              <strong>{label}</strong>{" "}
              {usableAt > exchangeNow() && (
                <span class="tag warn">{text.accountDialogs.onHoldUntil(dayAndClock(usableAt))}</span>
              )}
              <code>{address}</code>
            </div>
            <button type="button" class="mini" onClick={() => void remove(address)}>
              {text.accountDialogs.remove}
              <span class="hidden"> {label}</span>
            </button>
          </li>
        ))}
      </ul>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <TextField
          label={text.accountDialogs.name}
          isText
          value={typed.label}
          placeholder={text.accountDialogs.addressNameHint}
          refusal={refusalOf("label")}
          onChange={(label) => change({ label })}
        />
        <TextField
          label={text.accountDialogs.newAddress}
          isText
          value={typed.address}
          placeholder="0x…"
          refusal={refusalOf("address")}
          onChange={(address) => change({ address })}
        />
        <Refused refusal={refusal} fields={["label", "address"]} />
        <button type="submit" class="chip">
          {text.accountDialogs.addAddress}
        </button>
      </form>
    </details>
  );
}
