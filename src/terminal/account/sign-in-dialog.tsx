import { Dialog } from "../dialogs/dialog.tsx";
import { accountFault } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { isOpeningDemo, tryIt } from "./sign-in.ts";
import { WalletList } from "./wallet-list.tsx";
import { wallets } from "./wallets.ts";

/** All ways to an account. It closes when there is one. */
export function SignInDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={text.accountDialogs.signIn} onClose={onClose}>
      <div class="sign-in">
        <p class="note">{text.accountDialogs.signInHint}</p>
        <WalletList />
        {wallets.value.length === 0 && <p class="note">{text.accountDialogs.noWallet}</p>}
        <p class="or">
          <span>{text.accountDialogs.or}</span>
        </p>
        <button type="button" class="big accent" disabled={isOpeningDemo.value} onClick={() => void tryIt()}>
          {isOpeningDemo.value ? text.opening : text.accountDialogs.demoAccount}
        </button>
        <p class="note">{text.tryItHint}</p>
        {accountFault.value !== null && (
          <p class="note bad" role="alert">
            {accountFault.value}
          </p>
        )}
      </div>
    </Dialog>
  );
}
