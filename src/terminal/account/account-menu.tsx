import { useEffect, useRef, useState } from "preact/hooks";
import { account } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { ACCOUNT_DIALOGS, endSession, openAccountDialog } from "./account-dialogs.tsx";
import { TryItButton } from "./account-panel.tsx";
import { shortAddress } from "./sign-in.ts";

/** At the top of the page: who is signed in, or the ways to an account. */
export function AccountMenu() {
  const signedIn = account.value;
  if (signedIn !== null) return <Menu address={signedIn.address} />;
  return (
    <>
      <button type="button" class="plain" onClick={() => openAccountDialog("signIn")}>
        {text.accountDialogs.signIn}
      </button>
      <TryItButton />
    </>
  );
}

function Menu({ address }: { address: string }) {
  const [isOpen, setOpen] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const closeOutside = ({ target }: Event): void => {
      if (!element.current?.contains(target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", closeOutside);
    return () => removeEventListener("pointerdown", closeOutside);
  }, [isOpen]);
  const choose = (run: () => void): void => {
    // The dialog gives the focus back to where it was: the menu's button stays, its entries do not.
    element.current?.querySelector("button")?.focus();
    setOpen(false);
    run();
  };
  return (
    <div
      class="account-menu"
      ref={element}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen) return;
        element.current?.querySelector("button")?.focus();
        setOpen(false);
      }}
    >
      <button
        type="button"
        class="plain"
        aria-expanded={isOpen}
        aria-label={text.accountDialogs.menu(shortAddress(address))}
        onClick={() => setOpen(!isOpen)}
      >
        {shortAddress(address)} ▾
      </button>
      {isOpen && (
        <div class="menu" role="group" aria-label={text.account}>
          <code>{address}</code>
          {ACCOUNT_DIALOGS.map((name) => (
            <button type="button" onClick={() => choose(() => openAccountDialog(name))}>
              {text.accountDialogs[name]}
            </button>
          ))}
          <button type="button" onClick={() => choose(endSession)}>
            {text.signOut}
          </button>
        </div>
      )}
    </div>
  );
}
