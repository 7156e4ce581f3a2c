import type { PerpdClient, SignMessage } from "../../client/client.ts";
import { isOutcomeUnknown, PerpdError } from "../../client/error.ts";
import { account, accountClient } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { localRefusal, readDecimal, refusalText } from "../text/refusals.ts";

/** Requests of the account's dialogs. */

/** Has the account's wallet sign a request, such as a withdrawal. It signs only what names this site and this account. */
const approve: SignMessage = (message) => {
  const signedIn = account.peek();
  if (signedIn === null) throw new Error(text.signInFirst);
  if (!message.startsWith(`${location.host} asks you to approve `)) throw new Error(text.accountDialogs.otherApproval);
  if (!message.toLowerCase().includes(`\naccount: ${signedIn.address.toLowerCase()}\n`))
    throw new Error(text.otherAddress);
  return signedIn.sign(message);
};

/** Returns the refusal; null when it was done. */
export async function request(
  run: (client: PerpdClient, approve: SignMessage) => Promise<unknown>,
): Promise<PerpdError | null> {
  const client = accountClient.peek();
  if (client === null) return localRefusal("", text.signInFirst);
  try {
    await run(client, approve);
    return null;
  } catch (error) {
    return explained(error);
  }
}

/** The error as a sentence for a person. */
function explained(error: unknown): PerpdError {
  if (!(error instanceof PerpdError)) {
    // The wallet's own words. A failed fetch is a TypeError.
    const isOwn = error instanceof Error && !(error instanceof TypeError);
    return localRefusal("", isOwn ? error.message : `${text.noConnection} ${text.accountDialogs.sendAgain}`);
  }
  return isOutcomeUnknown(error) ? localRefusal("", `${refusalText(error)} ${text.accountDialogs.sendAgain}`) : error;
}

/** An amount of USDC as the API wants it, or why it cannot be one. */
export const amountOf = (typed: string, field = "amount"): string | PerpdError =>
  readDecimal(field, typed, { step: "0.000001", tooFine: text.accountDialogs.tooFine });

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

export function addressOf(typed: string): string | PerpdError {
  const address = typed.trim();
  return ADDRESS.test(address) ? address : localRefusal("address", text.accountDialogs.noAddress);
}

const LABEL = /^[\x20-\x7e]{1,64}$/;

export function labelOf(typed: string): string | PerpdError {
  const label = typed.trim();
  return LABEL.test(label) ? label : localRefusal("label", text.accountDialogs.noLabel);
}
