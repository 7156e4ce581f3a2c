import { computed, signal } from "@preact/signals";
import { PerpdClient } from "../../client/client.ts";
import { PerpdError } from "../../client/error.ts";
import type { Session } from "../../client/types.ts";
import { accountFault, type SignedIn, signIn } from "../state/account.ts";
import { BASE_URL } from "../state/connection.ts";
import { toast } from "../state/toasts.ts";
import { refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { usd } from "../text/format.ts";
import { request } from "./requests.ts";

/** The ways to an account: a demo account here, a wallet of the browser in wallets.ts. */

export const shortAddress = (address: string): string => `${address.slice(0, 6)}…${address.slice(-4)}`;

/** The way to an account that is under way: the id of a wallet, or DEMO. */
export const signingInBy = signal<string | null>(null);
const DEMO = "DEMO";
export const isOpeningDemo = computed(() => signingInBy.value === DEMO);
let attempts = 0;

const DEMO_FUNDS = "100000";

/**
 * Signs in, or shows why it failed. A later way takes the place of one that a wallet does not answer. Returns whether this
 * one has signed in.
 */
export async function signingIn(way: string, open: () => Promise<SignedIn>): Promise<boolean> {
  const attempt = ++attempts;
  signingInBy.value = way;
  accountFault.value = null;
  try {
    const next = await open();
    if (attempt === attempts) {
      signingInBy.value = null;
      signIn(next);
      return true;
    }
    // Another way was chosen meanwhile, so nobody needs this session.
    await new PerpdClient({ baseUrl: BASE_URL, token: next.token }).logout();
  } catch (error) {
    if (attempt !== attempts) return false;
    const isOwn = error instanceof Error && !(error instanceof PerpdError) && !(error instanceof TypeError);
    signingInBy.value = null;
    accountFault.value = isOwn ? error.message : refusalText(error);
    toast({ key: "sign-in", tone: "bad", title: text.signInFailed, detail: accountFault.value });
  }
  return false;
}

/** Opens a session with the wallet. The first one after a start of the exchange may time out: it is repeated once. */
export async function openSession(address: string, sign: (message: string) => Promise<string>): Promise<Session> {
  const client = new PerpdClient({ baseUrl: BASE_URL });
  try {
    return await client.login(address, sign);
  } catch (error) {
    if (!(error instanceof PerpdError && error.code === "TIMEOUT")) throw error;
    return client.login(address, sign);
  }
}

/** A new account with test money from the faucet. */
export async function tryIt(): Promise<void> {
  if (isOpeningDemo.peek()) return;
  const isOpen = await signingIn(DEMO, async () => {
    // Its cryptography is a tenth of the page, and most visits need none.
    const { newDemoWallet } = await import("./demo-wallet.ts");
    const wallet = newDemoWallet();
    const session = await openSession(wallet.address, (message) => wallet.sign(message));
    const { token, accountId, address, expiresAt } = session;
    return { kind: "DEMO", token, accountId, address, expiresAt, sign: wallet.sign };
  });
  if (isOpen) await takeFromFaucet(DEMO_FUNDS);
}

async function takeFromFaucet(amount: string): Promise<void> {
  const reference = crypto.randomUUID();
  const refused = await request(async (client) => {
    const { amount: paid } = await client.deposit({ asset: "USDC", amount, reference });
    toast({ key: "faucet", tone: "good", title: text.fundsArrived, detail: `${usd(paid)} USDC` });
  });
  if (refused !== null)
    toast({ key: "faucet", tone: "bad", title: text.refused, detail: refusalText(refused), isLasting: true });
}
