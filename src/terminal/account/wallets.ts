import { signal } from "@preact/signals";
import { text } from "../text/catalogue.ts";
import { openSession, signingIn } from "./sign-in.ts";

/** Wallets of the browser, as they announce themselves (EIP-6963). The page never sees a key. */

interface Provider {
  request(request: { method: string; params?: unknown[] }): Promise<unknown>;
}

export interface Wallet {
  readonly id: string;
  readonly name: string;
  /** A data: image; "" when the wallet has none. */
  readonly icon: string;
  readonly provider: Provider;
}

interface Announcement {
  info: Record<string, unknown>;
  provider: Provider;
}

export const wallets = signal<readonly Wallet[]>([]);

/** Asks the wallets to announce themselves. Call once. */
export function openWallets(): void {
  addEventListener("eip6963:announceProvider", (event) => {
    const { info, provider } = (event as CustomEvent<Partial<Announcement> | null>).detail ?? {};
    if (info == null || typeof provider?.request !== "function") return;
    const id = String(info.uuid ?? "");
    const icon = String(info.icon ?? "");
    if (wallets.peek().some((each) => each.id === id)) return;
    // Signs that are not seen, or turn the text around, could make one wallet look like another.
    const name =
      String(info.name ?? "")
        .replaceAll(/\p{C}/gu, "")
        .trim()
        .slice(0, 40) || text.namelessWallet;
    wallets.value = [...wallets.peek(), { id, name, icon: icon.startsWith("data:image/") ? icon : "", provider }];
  });
  dispatchEvent(new Event("eip6963:requestProvider"));
}

const toHex = (message: string): string =>
  `0x${[...new TextEncoder().encode(message)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;

/** Codes of EIP-1193. */
const DECLINED = 4001;

async function ask(provider: Provider, method: string, params: unknown[] = []): Promise<unknown> {
  try {
    return await provider.request({ method, params });
  } catch (error) {
    // Wallets throw what they like.
    const { code, message } = Object(error) as { code?: unknown; message?: unknown };
    throw new Error(code === DECLINED ? text.declined : text.walletFailed(String(message ?? code ?? error)));
  }
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

export const signInWith = (wallet: Wallet): Promise<boolean> =>
  signingIn(wallet.id, async () => {
    const { provider } = wallet;
    const accounts = await ask(provider, "eth_requestAccounts");
    const address: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
    if (typeof address !== "string" || !ADDRESS.test(address)) throw new Error(text.noAccount(wallet.name));
    const sign = async (message: string) => String(await ask(provider, "personal_sign", [toHex(message), address]));
    const session = await openSession(address, (message) => {
      requireOwnMessage(message, address);
      return sign(message);
    });
    const { token, accountId, expiresAt } = session;
    return { kind: "WALLET", token, accountId, address: session.address, expiresAt, sign };
  });

/** EIP-4361 names the site twice, and the account: a wallet must not sign in to another site from here. */
function requireOwnMessage(message: string, address: string): void {
  const [first = "", second = ""] = message.split("\n");
  const domain = first.replace(/ wants you to sign in with your Ethereum account:$/, "");
  const uris = [...message.matchAll(/^URI: (?:https?:\/\/)?([^/?#\n]*)/gm)].map(([, host = ""]) => host);
  for (const named of [domain, uris[0] ?? "", ...uris])
    if (named !== location.host) throw new Error(text.otherDomain(named, location.host));
  if (second.toLowerCase() !== address.toLowerCase()) throw new Error(text.otherAddress);
}
