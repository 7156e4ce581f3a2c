import { ERRORS, type ErrorCode, errorsIn } from "../../wire/error-codes.ts";
import { DEFAULT_RECV_WINDOW_MS, MAX_CLOCK_LEAD_MS, MAX_RECV_WINDOW_MS } from "../auth/auth.ts";
import { byStatus, errorTable } from "./route-errors.ts";

/** What the documents say in words. */

/** Groups of endpoints: the first word of their paths. */
export const TAGS: Readonly<Record<string, string>> = {
  orders: "Placing, finding and canceling orders.",
  positions: "Open positions, their leverage and margin.",
  account: "Balance, fills, deposits and withdrawals.",
  market: "Prices, books, trades and instruments, for everyone.",
  auth: "Wallet login and API keys.",
  operator: "For whoever runs the exchange.",
  exchange: "The exchange itself, and its documents.",
};

export const CONVENTIONS = `Decimals are strings: digits with at most one point, no exponent, and a minus only where an
amount may be negative. Times are integer milliseconds since the epoch, ids are strings. Unknown fields in what you send are
refused; to what is answered, fields may be added: ignore those that you do not know. A reply means that what it says is on
disk, and a read that follows it sees it.`;

export const REST_INTRODUCTION = `${CONVENTIONS}

The WebSocket is described below, and in [asyncapi.json](asyncapi.json).

## Authentication

**Wallet.** \`POST /auth/challenge\` answers with an EIP-4361 message. The wallet signs it (\`personal_sign\`), and
\`POST /auth/login\` answers with a token, which is sent as \`Authorization: Bearer TOKEN\`. The first login opens the account.

**API key.** \`POST /auth/keys\` makes one. Requests bear \`X-Api-Key\`, \`X-Timestamp\` and \`X-Signature\`: the hex HMAC-SHA256,
with the secret's text as the key, of \`X-Timestamp\` + method + path with query + body, one directly behind the other, as
they are sent: for example \`1790000000000GET/v1/orders?symbol=BTC-PERP\`. The timestamp is in milliseconds and may be
\`X-Recv-Window\` (${DEFAULT_RECV_WINDOW_MS} unless sent, at most ${MAX_RECV_WINDOW_MS}) in the past and ${MAX_CLOCK_LEAD_MS} in the future. A signature that changes something
counts once.

## Errors

Every answer other than success has the same shape (schema \`ErrorBody\`). \`code\` is stable. An error means that nothing was
done; only \`TIMEOUT\` and \`INTERNAL\` cannot promise that: ask again with the same \`clientOrderId\` or \`reference\`. Each
endpoint lists its codes; these are answered where there is no endpoint:

${errorTable(errorsIn("NO_ENDPOINT"))}

All codes, with their HTTP status:

${statusTable()}

## Rate limits

\`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` (seconds) tell of the token bucket, among those of the
address, the account and the API key, that is nearest to empty. \`x-rate-limit\` of an operation names the budget that pays
for it and how much. Cancels have a budget of their own. Past a limit the answer is 429 with \`Retry-After\`; nobody is
banned.

## Connections

**One request at a time on a connection.** A second request before the answer to the first closes the connection, and
what was asked may have been done: name orders (\`clientOrderId\`), transfers and moves of margin (\`reference\`), and send
them again. \`HEAD\` is answered wherever \`GET\` is, and \`OPTIONS\` with the path's methods.`;

function statusTable(): string {
  const lines = byStatus(Object.keys(ERRORS) as ErrorCode[]).map(
    ([status, codes]) => `| ${status} | ${codes.map((code) => `\`${code}\``).join(", ")} |`,
  );
  return ["| status | codes |", "| --- | --- |", ...lines].join("\n");
}
