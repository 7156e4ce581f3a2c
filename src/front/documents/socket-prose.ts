import { MAX_BODY_BYTES } from "../../wire/errors/gateway-errors.ts";
import { type ChannelName, MAX_REQUEST_ID_LENGTH } from "../../wire/schema/channels.ts";
import { SOCKET_MESSAGES_PER_SECOND } from "../auth/limits.ts";
import { CLOSE_CREDENTIAL_ENDED, CLOSE_RATE_LIMITED, CLOSE_SLOW_CONSUMER } from "../common/socket-errors.ts";
import { CHECKSUM_LEVELS } from "../json/market-json.ts";
import { CONVENTIONS } from "./prose.ts";
import { errorTable } from "./route-errors.ts";
import { UNKNOWN_OP_ERRORS } from "./socket-requests.ts";

/** What asyncapi.json says in words. */

/** What a client asks for, by what it is about. */
export const REQUEST_CHANNELS: Readonly<Record<"session" | "trading", string>> = {
  session: "Who the client is, and what it follows.",
  trading: "Orders over the socket: the same fields, results and error codes as over REST.",
};

export const CHANNEL_TEXTS: Readonly<Record<ChannelName, string>> = {
  orderbook:
    "The best `depth` levels of a book: a snapshot, then deltas. A level's new quantity takes the place of the old one; " +
    '"0" removes the level. Several changes within `updateMs` come as one.',
  trades: "The last hundred trades, then each.",
  liquidations: "Liquidations in the book, and positions that the insurance fund or the other side took over.",
  ticker: "The ticker, whole, at most once in `updateMs` when something in it has moved.",
  klines:
    "The current candle, at most every 250 ms; when its interval is over, it comes once more as it closed. " +
    "`priceType` says what it is made of: trades (LAST), or mark or index prices.",
  orders: "The open orders, then those that a turn of the exchange changed or closed.",
  fills: "The last hundred fills, then those of each turn of the exchange.",
  positions:
    'The open positions, then each that changed, a message for each. A size of "0" means that it was closed. The ' +
    "`sequence` in `data` is that of the position's last change; two messages may bear the same.",
  balance:
    "The balance, then again whenever one of its figures has moved. What came up to `sequence` is in it, and what came right " +
    "behind may be: so two messages may bear the same.",
  transfers:
    "The last hundred deposits and withdrawals as they stand, the oldest first, then each that is asked for or whose " +
    "`status` has changed.",
  funding: "The last hundred payments of funding, then those of each turn of the exchange.",
};

const CLOSE_CODES: readonly (readonly [code: number, reason: string, meaning: string])[] = [
  [1001, "GOING_AWAY", "The exchange stops. Connect again."],
  [1003, "TEXT_ONLY", "Messages are text, not binary."],
  [CLOSE_RATE_LIMITED, "RATE_LIMITED", `More than ${SOCKET_MESSAGES_PER_SECOND} messages in a second, where limited.`],
  [
    1006,
    "",
    `No close frame: a message is larger than ${MAX_BODY_BYTES} bytes or breaks the protocol, or nothing was heard.`,
  ],
  [1011, "INTERNAL", "Something went wrong here; it has been logged."],
  [CLOSE_SLOW_CONSUMER, "SLOW_CONSUMER", "The client does not read what it is sent."],
  [CLOSE_CREDENTIAL_ENDED, "CREDENTIAL_EXPIRED", "The session or the API key has expired."],
  [CLOSE_CREDENTIAL_ENDED, "SESSION_CLOSED", "The session was logged out, or gave way to a newer one of its account."],
  [CLOSE_CREDENTIAL_ENDED, "KEY_REVOKED", "The API key was revoked."],
];

export const SOCKET_INTRODUCTION = `${CONVENTIONS}

One socket does everything that is described here: all channels of this document are at one address. REST is described in
[openapi.json](openapi.json).

## Requests

A request is \`{"op": ..., "id": ...}\`; its answer bears its \`id\`, or null when it had none. An \`id\` is an integer or a
string of at most ${MAX_REQUEST_ID_LENGTH} characters. A request that is refused is answered with \`{"op": "error", "id": ..., "code": ...}\`, and
nothing was done. These answer what is no known request, too:

${errorTable(UNKNOWN_OP_ERRORS)}

## Authentication

\`auth\` with a session's \`token\`, or with \`apiKey\`, \`timestamp\` and \`signature\`: the hex HMAC-SHA256, with the secret's text as
the key, of timestamp + \`GET/v1/ws\`. A signature opens one socket. With \`cancelOnDisconnect\` all open orders of the account (of the symbols
that the key may trade) are canceled when the socket closes, however it closes. It is of no help when the exchange itself is
killed: the orders are there again when it starts. \`order.cancelAfter\` holds then, too.

## Streams

\`subscribe\` to a channel brings a \`SNAPSHOT\`, then a \`DELTA\` or \`UPDATE\` for each change. \`sequence\` is a place in the
exchange's one log, on every stream and in REST replies alike; \`prevSequence\` is that of the stream's message before, so a
client knows a gap from a pause. A stream with nothing to say repeats its last \`sequence\` in a \`HEARTBEAT\` every 5 to 10
seconds. After a lost connection, \`"resume": SEQUENCE\` brings what was missed of \`orderbook\`, \`trades\` and
\`liquidations\`, where that is still known, else a snapshot.

**Checksum of a book**: the CRC-32 (that of zlib) of its best ${CHECKSUM_LEVELS} levels of each side, or of all that a
shallower book shows, taken in turns, best bid first: \`bidPrice:bidQuantity:askPrice:askQuantity:...\` as they are printed; when
one side has fewer levels, the rest of the other stands alone. Bids 65000.5 × 1.2 and 65000 × 3 and an ask 65001 × 0.5 are
\`65000.5:1.2:65001:0.5:65000:3\`, whose checksum is 842467022.

## Connections

The exchange sends WebSocket pings every 15 seconds, and closes a socket from which nothing has come for 45 seconds, not
even a pong. Where rate limits hold, an address may have so many sockets open; one more handshake is answered 429
\`TOO_MANY_SOCKETS\`.

| close code | reason | meaning |
| --- | --- | --- |
${CLOSE_CODES.map(([code, reason, meaning]) => `| ${code} | ${reason === "" ? "" : `\`${reason}\``} | ${meaning} |`).join("\n")}
`;
