import { PerpdError } from "./error.ts";
import type { ApprovedWithdrawal, NewApiKey, NewWithdrawalAddress } from "./types.ts";

/**
 * The lines of the text that a wallet approves. The exchange and the client make them from the same request. So a client signs
 * nothing that it has not asked for.
 */
export const withdrawalLines = ({ amount, asset, address, reference = "" }: ApprovedWithdrawal): string[] => [
  `Withdraw ${amount} ${asset}`,
  `To: ${address}`,
  `Reference: ${reference}`,
];

export const addressLines = ({ address, label }: NewWithdrawalAddress): string[] => [
  "Add an address to which this account may withdraw",
  `Address: ${address}`,
  `Label: ${label}`,
];

export const keyLines = (key: NewApiKey): string[] => [
  "Create an API key for this account",
  `Label: ${key.label}`,
  `Permissions: ${key.permissions.join(", ")}`,
  `IP addresses: ${listed(key.allowedIps, "any")}`,
  `Symbols: ${listed(key.allowedSymbols, "all")}`,
  `Largest order: ${key.maxOrderNotional ?? "not limited"}`,
  `Largest position: ${key.maxPositionNotional ?? "not limited"}`,
  `Largest leverage: ${key.maxLeverage ?? "not limited"}`,
  `Ends: ${key.expiresAt === undefined ? "never" : timeText(key.expiresAt)}`,
];

/** The last time that a Date holds, in the year 275760. */
const LAST_DATE_MS = 8_640_000_000_000_000;
const timeText = (time: number): string => new Date(Math.min(time, LAST_DATE_MS)).toISOString();

const listed = (values: readonly string[] | undefined, none: string): string =>
  values === undefined || values.length === 0 ? none : values.join(", ");

/**
 * The message that the exchange asks the wallet to sign; null if the error is another one. Throws when the message is not for
 * the request with these lines.
 */
export function messageToSign(error: unknown, lines: readonly string[]): string | null {
  if (!(error instanceof PerpdError) || error.code !== "WALLET_SIGNATURE_REQUIRED") return null;
  const message = error.details?.message;
  if (typeof message === "string" && message.split("\n\n")[1] === lines.join("\n")) return message;
  throw new Error(`the exchange asks for a signature of something else than the request: ${message}`);
}
