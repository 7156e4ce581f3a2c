import type { Page } from "playwright-core";
import type { PrivateKey } from "../support/wallet.ts";
import { newPrivateKey, walletOf } from "../support/wallet.ts";

/** A wallet extension, as a page meets it (EIP-6963). */
export interface AnnouncedWallet {
  readonly name: string;
  /** An account to sign with, otherwise a new one. */
  readonly privateKey?: PrivateKey;
  readonly icon?: string;
  /** What it answers instead of its account, as JavaScript: a value, or a throw. */
  readonly accounts?: string;
  /** What it answers instead of a signature, as JavaScript. */
  readonly signature?: string;
  /** What it announces instead, as JavaScript: for a script that is no wallet. */
  readonly detail?: string;
}

/** Has the wallets announce themselves to the page. They sign outside of it, and their keys never enter it. */
export async function announceWallets(page: Page, wallets: readonly AnnouncedWallet[]): Promise<void> {
  const keys = wallets.map(({ privateKey }) => walletOf(privateKey ?? newPrivateKey()));
  await page.exposeFunction("signOutside", (index: number, hex: string) =>
    keys[index]?.signMessage({ message: Buffer.from(hex.slice(2), "hex").toString() }),
  );
  const announcements = wallets.map(({ name, icon, accounts, signature, detail }, index) => {
    const info = { uuid: `wallet-${index}`, name, icon: icon ?? "", rdns: "test.wallet" };
    const answer = (code: string | undefined, own: string): string => `(async () => { ${code ?? `return ${own}`} })()`;
    const request = `({ method, params }) => method === "eth_requestAccounts"
      ? ${answer(accounts, JSON.stringify([keys[index]?.address]))}
      : ${answer(signature, `signOutside(${index}, params[0])`)}`;
    return detail ?? `{ info: ${JSON.stringify(info)}, provider: { request: ${request} } }`;
  });
  await page.addInitScript({
    content: `addEventListener("eip6963:requestProvider", () => {
      for (const detail of [${announcements.join(", ")}])
        dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
    });`,
  });
}
