import { describe } from "../front/documents/schemas.ts";
import { CHANNEL_TEXTS } from "../front/documents/socket-prose.ts";
import { type SocketRequest, socketRequests } from "../front/documents/socket-requests.ts";
import type { Route } from "../front/routing/route.ts";
import type { TSchema } from "../packages/typebox.ts";
import { CHANNELS, type ChannelName, PRIVATE_CHANNELS } from "../wire/schema/channels.ts";
import { STREAMS } from "../wire/schema/messages.ts";
import { TRADING_PARAMS, type TradingOp } from "../wire/schema/trading.ts";
import { anchor, code, codes, fieldsTable, page, table } from "./markdown.ts";
import { costText } from "./rate-limits.ts";

/** Every WebSocket channel: how to subscribe, and which messages it sends. */
export function channelsPage(): string {
  const names = Object.keys(CHANNELS) as ChannelName[];
  const who = (name: ChannelName): string => (PRIVATE_CHANNELS.has(name) ? "after `auth`, with READ" : "everyone");
  const parameters = (name: ChannelName): string =>
    Object.keys(CHANNELS[name].properties)
      .filter((field) => field !== "channel" && field !== "resume")
      .map(code)
      .join(", ");
  const overview = table(
    ["channel", "who may subscribe", "parameters"],
    names.map((name) => [`[${code(name)}](#${anchor(name)})`, who(name), parameters(name)]),
  );
  return page(
    "WebSocket channels",
    'Connect to `/v1/ws` and send `{"op":"subscribe","channels":[{"channel":"trades","symbol":"BTC-PERP"}]}`. [Streams](../trading/streams.md) explains snapshots, sequences and how to resume. A running exchange serves the schema and an example of every message as AsyncAPI 3.0 at `/v1/asyncapi.json`.',
    overview,
    ...names.map(channelText),
  );
}

function channelText(name: ChannelName): string {
  const messages = Object.entries<TSchema>(STREAMS[name]).map(([kind, schema]) => [code(kind), describe(schema)]);
  return [
    `## ${code(name)}`,
    CHANNEL_TEXTS[name],
    ...(PRIVATE_CHANNELS.has(name) ? ["Needs `auth` with the permission `READ`."] : []),
    fieldsTable(CHANNELS[name]),
    table(["message", "meaning"], messages),
  ].join("\n\n");
}

/** Every `op` that a client may send on the WebSocket. */
export function operationsPage(routes: readonly Route[]): string {
  const requests = socketRequests(routes);
  const overview = table(
    ["op", "summary"],
    requests.map(({ op, summary }) => [`[${code(op)}](#${anchor(op)})`, summary]),
  );
  return page(
    "WebSocket operations",
    'Each message is `{"op":...,"id":...}`; the answer repeats `id`. A refused request is answered `{"op":"error","id":...,"code":"..."}`. Trading operations take `params` and answer with the body of the REST endpoint that does the same.',
    overview,
    ...requests.map(operationText),
  );
}

function operationText({ op, summary, description, examples, errors, cost }: SocketRequest): string {
  const params = op in TRADING_PARAMS ? fieldsTable(TRADING_PARAMS[op as TradingOp]) : "";
  return [
    `## ${code(op)}`,
    `${summary}.`,
    ...(description === undefined ? [] : [description]),
    ...(params === "" ? [] : ["`params`:", params]),
    ...examples.slice(0, 1).map((example) => `\`\`\`json\n${JSON.stringify(example)}\n\`\`\``),
    table(
      ["", ""],
      [...(cost === undefined ? [] : [["cost", costText(cost)]]), ["[errors](errors.md)", codes(errors)]],
    ),
  ].join("\n\n");
}
