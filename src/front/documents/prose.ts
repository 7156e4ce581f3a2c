import { ERRORS, type ErrorCode, errorsIn } from "../../wire/error-codes.ts";
import { DEFAULT_RECV_WINDOW_MS, MAX_CLOCK_LEAD_MS, MAX_RECV_WINDOW_MS } from "../auth/auth.ts";
import { byStatus, errorTable } from "./route-errors.ts";

/** The Markdown texts of openapi.json. */

/** The program does not know who runs it. */
export const CONTACT = { name: "The operator of this exchange" };

/** Groups of endpoints, by the first word of their paths. */
export const TAGS: Readonly<Record<string, string>> = {
  orders: "Place, find, amend and cancel orders.",
  positions: "Open positions, their leverage and margin.",
  account: "Balance, fills, deposits and withdrawals.",
  market: "Public market data: prices, order books, trades and instruments.",
  auth: "Wallet login and API keys.",
  operator: "For the operator of the exchange.",
  exchange: "The exchange itself, and its documents.",
};

export const CONVENTIONS = `Decimals are strings: digits with at most one point, without an exponent. A minus appears only
where an amount may be negative. Times are integer milliseconds since the epoch; ids are strings. Requests with unknown fields
are refused. A field of a request that is null counts as left out. Answers may get new fields: ignore fields that you do not know. When you get a reply, its content is on disk, and
every later read shows it.`;

export const REST_INTRODUCTION = `${CONVENTIONS}

The WebSocket is described below and in [asyncapi.json](asyncapi.json).

## Authentication

**Wallet.** \`POST /auth/challenge\` returns an EIP-4361 message. The wallet signs it (\`personal_sign\`). Send message and
signature to \`POST /auth/login\`; it returns a token. Send the token as \`Authorization: Bearer TOKEN\`. The first login opens
the account.

**API key.** \`POST /auth/keys\` creates a key and its secret. A request has the headers \`X-Api-Key\`, \`X-Timestamp\` and
\`X-Signature\`. The signature is the hex HMAC-SHA256 of \`X-Timestamp\` + method + path with query + body, without separators
and exactly as sent, for example \`1790000000000GET/v1/orders?symbol=BTC-PERP\`. The HMAC key is the text of the secret. The
timestamp is in milliseconds. It may be ${MAX_CLOCK_LEAD_MS} ms in the future and \`X-Recv-Window\` ms in the past (default
${DEFAULT_RECV_WINDOW_MS}, at most ${MAX_RECV_WINDOW_MS}). The signature of a request that changes something is accepted once.

## Errors

All errors have the same form (schema \`ErrorBody\`). \`code\` is stable. An error means that nothing was done. The exceptions
are \`TIMEOUT\` and \`INTERNAL\`: repeat the request with the same \`clientOrderId\` or \`reference\`. Each endpoint lists its
codes. These codes mean that there is no such endpoint:

${errorTable(errorsIn("NO_ENDPOINT"))}

All codes, with their HTTP status:

${statusTable()}

## Rate limits

The address, the account and the API key have token buckets. \`RateLimit-Limit\`, \`RateLimit-Remaining\` and
\`RateLimit-Reset\` (seconds) describe the bucket that is nearest to empty. \`x-rate-limit\` of an operation names its budget
and its cost in tokens: per request, or per item of a batch. Cancels have a separate budget. Beyond a limit the answer is 429 with \`Retry-After\`. Nobody is
banned.

## Several processes

An exchange may have a leader and standbys that answer reads. An answer from their state has the header \`Perpd-Sequence\`: it
includes everything through that sequence. A refusal such as \`NOT_LEADER\` lacks it. A standby is some milliseconds behind its leader. To read your own change there,
send the header of the answer to that change as the query field \`minSequence\`. Every \`GET\` takes it. The read waits for
the sequence, at most a second; then it gets \`SEQUENCE_NOT_REACHED\`. A request that changes something gets \`NOT_LEADER\`
from a standby, with the leader's address in \`details.leader\`.

## Connections

**One request at a time on a connection.** Wait for the answer before you send the next request. Otherwise the connection is
closed, and your requests may or may not have been executed. Give orders a \`clientOrderId\`, and transfers and margin moves a
\`reference\`; then it is safe to send them again. \`HEAD\` works wherever \`GET\` does. \`OPTIONS\` returns the methods of a path.`;

function statusTable(): string {
  const lines = byStatus(Object.keys(ERRORS) as ErrorCode[]).map(
    ([status, codes]) => `| ${status} | ${codes.map((code) => `\`${code}\``).join(", ")} |`,
  );
  return ["| status | codes |", "| --- | --- |", ...lines].join("\n");
}
