import type { PerpdClient, SignMessage } from "../../client/client.ts";
import { isOutcomeUnknown, PerpdError } from "../../client/error.ts";
import { account, accountClient } from "../state/account.ts";
import { refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { cleanDecimal, decimalsOf, fromUnits, toUnits } from "../text/decimal.ts";
import { dayAndClock, usd } from "../text/format.ts";

/** Requests of the account's dialogs. Each refusal tells its limit and when to try again, for the field that it names. */

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
  if (client === null) return refusal("", text.signInFirst);
  try {
    await run(client, approve);
    return null;
  } catch (error) {
    return explained(error);
  }
}

/** A refusal by the page itself: nothing is sent. */
export const refusal = (field: string, message: string, nearest: readonly string[] = []): PerpdError =>
  new PerpdError(0, { code: "BAD_VALUE", message, field, details: { nearest: [...nearest] } });

/** Without the sentences for programs, which name paths and fields of the API: the figures follow in words. */
const plainWords = (error: PerpdError): string =>
  refusalText(error)
    .split(/(?<=\.) /)
    .filter((sentence) => !/details\.|\b(GET|POST|DELETE) \//.test(sentence))
    .join(" ");

function explained(error: unknown): PerpdError {
  if (!(error instanceof PerpdError)) {
    // The wallet's own words. A failed fetch is a TypeError.
    const isOwn = error instanceof Error && !(error instanceof TypeError);
    return refusal("", isOwn ? error.message : `${text.noConnection} ${text.accountDialogs.sendAgain}`);
  }
  const { status, code, field, details = {} } = error;
  const parts = [plainWords(error)];
  if (code === "ADDRESS_NOT_IN_BOOK") parts.push(text.accountDialogs.addFirst);
  if (isOutcomeUnknown(error)) parts.push(text.accountDialogs.sendAgain);
  if (typeof details.reason === "string") parts.push(text.accountDialogs.because(details.reason));
  if (typeof details.usableAt === "number") parts.push(text.accountDialogs.usableFrom(dayAndClock(details.usableAt)));
  const available = typeof details.available === "string" ? details.available : null;
  if (available !== null) parts.push(text.accountDialogs.atMost(usd(available)));
  if (error.retryAfterMs !== undefined || typeof details.retryAfterMs === "number")
    parts.push(text.accountDialogs.tryAgainIn(Math.ceil(Number(error.retryAfterMs ?? details.retryAfterMs) / 1000)));
  const nearest = available !== null && Number(available) > 0 ? [available] : details.nearest;
  return new PerpdError(status, {
    code,
    message: parts.join(" "),
    details: { ...details, nearest },
    ...(field !== undefined && { field }),
  });
}

/** USDC has six decimals. */
const DECIMALS = 6;

/** An amount as the API wants it, or why it cannot be one. */
export function amountOf(typed: string, field = "amount"): string | PerpdError {
  const amount = cleanDecimal(typed);
  if (amount === null) return refusal(field, typed.trim() === "" ? text.faultEmpty : text.faultNoNumber);
  if (amount.startsWith("-") || !/[1-9]/.test(amount)) return refusal(field, text.faultZero);
  if (decimalsOf(amount) <= DECIMALS) return amount;
  const down = toUnits(amount, DECIMALS);
  const nearest = [down, down + 1n].filter((units) => units > 0n).map((units) => fromUnits(units, DECIMALS));
  return refusal(field, text.accountDialogs.tooFine, nearest);
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

export function addressOf(typed: string): string | PerpdError {
  const address = typed.trim();
  return ADDRESS.test(address) ? address : refusal("address", text.accountDialogs.noAddress);
}

const LABEL = /^[\x20-\x7e]{1,64}$/;

export function labelOf(typed: string): string | PerpdError {
  const label = typed.trim();
  return LABEL.test(label) ? label : refusal("label", text.accountDialogs.noLabel);
}

/** The first refusal among checked values; null when all are good. */
export const firstRefusal = (...checked: readonly (string | PerpdError)[]): PerpdError | null =>
  checked.find((each): each is PerpdError => each instanceof PerpdError) ?? null;
