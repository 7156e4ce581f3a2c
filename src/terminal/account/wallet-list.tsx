import { text } from "../text/catalogue.ts";
import { signingInBy } from "./sign-in.ts";
import { signInWith, wallets } from "./wallets.ts";

/** A button for each wallet that has announced itself. A wallet that does not answer blocks none of the others. */
export function WalletList() {
  const waiting = wallets.value.find(({ id }) => id === signingInBy.value);
  return (
    <>
      {wallets.value.map((wallet) => (
        <button key={wallet.id} type="button" class="wallet" onClick={() => void signInWith(wallet)}>
          {wallet.icon === "" ? (
            <span class="wallet-icon" aria-hidden="true">
              {wallet.name.charAt(0)}
            </span>
          ) : (
            <img src={wallet.icon} alt="" width="20" height="20" />
          )}
          {text.connect(wallet.name)}
        </button>
      ))}
      <p class="note" role="status">
        {waiting !== undefined && text.waitingForWallet(waiting.name)}
      </p>
    </>
  );
}
