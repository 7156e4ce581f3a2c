import { signal } from "@preact/signals";
import { PerpdClient } from "../../client/client.ts";
import { PerpdError } from "../../client/error.ts";
import type { Session } from "../../client/types.ts";
import { accountFault, signIn } from "../state/account.ts";
import { BASE_URL } from "../state/connection.ts";
import { toast } from "../state/toasts.ts";
import { attempt, refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { usd } from "../text/format.ts";

/** The ways to an account: a demo account here, a wallet of the browser in wallets.ts. */

export const shortAddress = (address: string): string => `${address.slice(0, 6)}…${address.slice(-4)}`;

export const isSigningIn = signal(false);

const DEMO_FUNDS = "100000";

/** Runs a sign-in and shows why it failed. One at a time. */
export async function signingIn(run: () => Promise<void>): Promise<void> {
  if (isSigningIn.peek()) return;
  isSigningIn.value = true;
  accountFault.value = null;
  try {
    await run();
  } catch (error) {
    const isOwn = error instanceof Error && !(error instanceof PerpdError) && !(error instanceof TypeError);
    accountFault.value = isOwn ? error.message : refusalText(error);
    toast({ key: "sign-in", tone: "bad", title: text.signInFailed, detail: accountFault.value });
  } finally {
    isSigningIn.value = false;
  }
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
export const tryIt = (): Promise<void> =>
  signingIn(async () => {
    // Its cryptography is a tenth of the page, and most visits need none.
    const { newDemoWallet } = await import("./demo-wallet.ts");
    const wallet = newDemoWallet();
    const session = await openSession(wallet.address, (message) => wallet.sign(message));
    const { token, accountId, address, expiresAt } = session;
    signIn({ kind: "DEMO", token, accountId, address, expiresAt, sign: wallet.sign });
    await takeFromFaucet(DEMO_FUNDS);
  });

const takeFromFaucet = (amount: string): Promise<unknown> =>
  attempt("faucet", async (client) => {
    const reference = crypto.randomUUID();
    const { amount: paid } = await client.deposit({ asset: "USDC", amount, reference });
    toast({ key: "faucet", tone: "good", title: text.fundsArrived, detail: `${usd(paid)} USDC` });
  });
