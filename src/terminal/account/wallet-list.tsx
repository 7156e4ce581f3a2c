import { text } from "../text/catalogue.ts";
import { isSigningIn } from "./sign-in.ts";
import { signInWith, wallets } from "./wallets.ts";

/** A button for each wallet that has announced itself. */
export function WalletList() {
  return (
    <>
      {wallets.value.map((wallet) => (
        <button
          key={wallet.id}
          type="button"
          class="wallet"
          disabled={isSigningIn.value}
          onClick={() => void signInWith(wallet)}
        >
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
    </>
  );
}
