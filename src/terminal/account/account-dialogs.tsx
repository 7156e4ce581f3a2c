import { effect, signal } from "@preact/signals";
import { account, accountClient, signOut } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { ApiKeysDialog } from "./api-keys.tsx";
import { DepositDialog } from "./deposit.tsx";
import { SessionsDialog } from "./sessions.tsx";
import { SignInDialog } from "./sign-in-dialog.tsx";
import { WithdrawDialog } from "./withdraw.tsx";

/** The dialogs of the account, and the buttons that open them. */

const DIALOGS = {
  deposit: DepositDialog,
  withdraw: WithdrawDialog,
  apiKeys: ApiKeysDialog,
  sessions: SessionsDialog,
} as const;

type Name = keyof typeof DIALOGS | "signIn";
export const ACCOUNT_DIALOGS = Object.keys(DIALOGS) as (keyof typeof DIALOGS)[];

/** Null while all are closed. */
export const accountDialog = signal<Name | null>(null);

// The dialogs of an account end with it, and signing in is done once there is one.
effect(() => {
  void account.value;
  accountDialog.value = null;
});

export function openAccountDialog(name: Name): void {
  accountDialog.value = name;
}

const close = (): void => {
  accountDialog.value = null;
};

export function AccountDialogs() {
  const name = accountDialog.value;
  if (name === null) return null;
  if (name === "signIn") return <SignInDialog onClose={close} />;
  const Chosen = DIALOGS[name];
  return account.value === null ? null : <Chosen onClose={close} />;
}

export function endSession(): void {
  void accountClient
    .peek()
    ?.logout()
    .catch(() => {});
  signOut();
}

export function AccountActions() {
  return (
    <div class="account-actions">
      {(["deposit", "withdraw", "apiKeys"] as const).map((name) => (
        <button type="button" class="mini" onClick={() => openAccountDialog(name)}>
          {text.accountDialogs[name]}
        </button>
      ))}
      <button type="button" class="mini" onClick={endSession}>
        {text.signOut}
      </button>
    </div>
  );
}
