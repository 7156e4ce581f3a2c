import { MAX_BODY_BYTES } from "../../wire/errors/gateway-errors.ts";
import { type ChannelName, MAX_REQUEST_ID_LENGTH } from "../../wire/schema/channels.ts";
import { SOCKET_MESSAGES_PER_SECOND } from "../auth/limits.ts";
import { CLOSE_CREDENTIAL_ENDED, CLOSE_RATE_LIMITED, CLOSE_SLOW_CONSUMER } from "../common/socket-errors.ts";
import { CHECKSUM_LEVELS } from "../json/market-json.ts";
import { CONVENTIONS } from "./prose.ts";
import { errorTable } from "./route-errors.ts";
import { UNKNOWN_OP_ERRORS } from "./socket-requests.ts";

/** The Markdown texts of asyncapi.json. */

/** The two groups of requests. */
export const REQUEST_CHANNELS: Readonly<Record<"session" | "trading", string>> = {
  session: "Authentication and subscriptions.",
  trading: "Trading over the WebSocket, with the same fields, results and error codes as over REST.",
};

export const CHANNEL_TEXTS: Readonly<Record<ChannelName, string>> = {
  orderbook:
    "The best `depth` levels of an order book: a snapshot, then deltas. The new quantity of a level replaces the old one; " +
    '"0" removes the level. All changes within `updateMs` come in one delta.',
  trades: "The last hundred trades of the symbol, or of all symbols together, then each new trade.",
  liquidations:
    "Liquidations in the order book, and positions that the insurance fund or a counterparty took over, of the symbol or of all.",
  ticker: "The whole ticker, when one of its values has changed, at most once in `updateMs`.",
  tickers: "The tickers of all symbols, then those of which a value has changed, at most once in `updateMs`.",
  "mark-price":
    "Mark price, index price and funding rate of the symbol or of all symbols, then those that have changed, at most every 250 ms.",
  symbols:
    "The instruments as in `GET /market/symbols`, then each one whose status or limits have changed. A change of the status, of " +
    "its end or of a pending index price is sent at once. Changes of figures such as the open interest are sent once in a second.",
  klines:
    "The current candle, at most every 250 ms. At the end of its interval it comes once more with its final values. " +
    "`priceType` selects its source: trades (LAST), mark prices, index prices or the funding premium.",
  orders: "The open orders, then each order that a transaction has changed or closed.",
  fills: "The last hundred fills, then the fills of each transaction.",
  positions:
    'The open positions, then one message for each changed position. A size of "0" means that it was closed, or ' +
    "that the symbol has no position and its leverage or marginMode was changed. The `sequence` in `data` is that of the position's last change. Two messages may have the same.",
  balance:
    "The balance, then the whole balance again when one of its values has changed. It includes everything up to `sequence`, " +
    "and may include the next few transactions. So two messages may have the same `sequence`.",
  transfers:
    "The last hundred deposits and withdrawals with their current status, oldest first, then each one that is new or whose " +
    "`status` has changed.",
  "positions-history": "The last hundred closed positions, then each one that is closed, at most a few ticks later.",
  funding: "The last hundred funding payments, then those of each transaction.",
  "margin-calls":
    "The active margin calls, then each one that begins or ends. A call begins when the margin ratio of the cross positions, " +
    "or of an isolated position, rises to the ratio of `POST /account/margin-call`. It ends below 95 % of that ratio. A " +
    "price that jumps may lead to liquidation without a call before it.",
};

const CLOSE_CODES: readonly (readonly [code: number, reason: string, meaning: string])[] = [
  [1001, "GOING_AWAY", "The exchange is stopping. Connect again later."],
  [1003, "TEXT_ONLY", "The client sent a binary message. Send text."],
  [
    CLOSE_RATE_LIMITED,
    "RATE_LIMITED",
    `The client sent more than ${SOCKET_MESSAGES_PER_SECOND} messages in a second. Only where rate limits apply.`,
  ],
  [
    1006,
    "",
    `No close frame. A message was larger than ${MAX_BODY_BYTES} bytes or broke the protocol, or the client was silent.`,
  ],
  [1011, "INTERNAL", "An internal error. It is in the log of the exchange."],
  [CLOSE_SLOW_CONSUMER, "SLOW_CONSUMER", "The client reads too slowly."],
  [CLOSE_CREDENTIAL_ENDED, "CREDENTIAL_EXPIRED", "The session or the API key has expired."],
  [
    CLOSE_CREDENTIAL_ENDED,
    "SESSION_CLOSED",
    "The session was logged out, or a newer session of the account replaced it.",
  ],
  [CLOSE_CREDENTIAL_ENDED, "KEY_REVOKED", "The API key was revoked."],
];

export const SOCKET_INTRODUCTION = `${CONVENTIONS}

All channels of this document share one address and one socket. [openapi.json](openapi.json) describes REST.

## Requests

A request is \`{"op": ..., "id": ...}\`. Its answer has the same \`id\`, or null when the request had none. An \`id\` is an
integer or a string of at most ${MAX_REQUEST_ID_LENGTH} characters. A refused request is answered with
\`{"op": "error", "id": ..., "code": ...}\`, and nothing was done. Requests to
authenticate, subscribe and unsubscribe take effect and are answered in their order; other answers may come between.
These codes also answer unknown requests:

${errorTable(UNKNOWN_OP_ERRORS)}

## Authentication

Send \`auth\` with the \`token\` of a session, or with \`apiKey\`, \`timestamp\` and \`signature\`. The signature is the hex
HMAC-SHA256 of timestamp + \`GET/v1/ws\`, with the text of the secret as the key. It opens one socket. With
\`cancelOnDisconnect\` all open orders of the account (on the symbols that the key may trade) are canceled when the socket
closes for any reason. This does not work when the exchange itself is killed: the orders are open again after its restart.
\`order.cancelAfter\` also survives a restart.

## Streams

A subscription starts with a \`SNAPSHOT\`; a \`DELTA\` or \`UPDATE\` follows for each change. \`sequence\` is the number of a
transaction of the exchange. It has the same meaning on every stream and in REST replies. \`prevSequence\` is the
\`sequence\` of the stream's previous message. A client that has not received that message has a gap. A stream without changes
repeats its last \`sequence\` in a \`HEARTBEAT\` every 5 to 10 seconds. After a lost connection, subscribe to \`orderbook\`,
\`trades\` or \`liquidations\` with \`"resume": SEQUENCE\` to get the missed messages. When they are no longer available,
you get a snapshot.

**Checksum of a book**: the CRC-32 (as in zlib) of a text with the best ${CHECKSUM_LEVELS} levels of each side, or with all levels of a
shallower book. Bids and asks alternate, best bid first: \`bidPrice:bidQuantity:askPrice:askQuantity:...\`, with the numbers as
printed. When one side has fewer levels, the remaining levels of the other side follow. Example: bids 65000.5 × 1.2 and
65000 × 3 and an ask 65001 × 0.5 give \`65000.5:1.2:65001:0.5:65000:3\`, whose checksum is 842467022.

## Connections

The exchange sends WebSocket pings every 15 seconds. It closes a socket from which nothing, not even a pong, has come for 45
seconds. Where rate limits apply, the number of sockets of an address is limited; a handshake beyond the limit gets 429
\`TOO_MANY_SOCKETS\`. Each channel in \`subscribe\` and \`unsubscribe\` is paid from the address's budget for requests. A request
beyond it gets \`RATE_LIMITED\` and changes nothing; the socket stays open.

| close code | reason | meaning |
| --- | --- | --- |
${CLOSE_CODES.map(([code, reason, meaning]) => `| ${code} | ${reason === "" ? "" : `\`${reason}\``} | ${meaning} |`).join("\n")}
`;
