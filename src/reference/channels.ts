import type { TSchema } from "typebox";
import { CHANNEL_TEXTS } from "../front/documents/socket-prose.ts";
import { CHANNELS, type ChannelName, PRIVATE_CHANNELS } from "../wire/schema/channels.ts";
import { STREAMS } from "../wire/schema/messages.ts";
import { code, fieldsTable, page, table } from "./markdown.ts";

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
    names.map((name) => [`[${code(name)}](#${name})`, who(name), parameters(name)]),
  );
  return page(
    "WebSocket channels",
    'Connect to `/v1/ws` and send `{"op":"subscribe","channels":[{"channel":"trades","symbol":"BTC-PERP"}]}`. [Streams](../trading/streams.md) explains snapshots, sequences and how to resume. A running exchange serves the schema and an example of every message as AsyncAPI 3.0 at `/v1/asyncapi.json`.',
    overview,
    ...names.map(channelText),
  );
}

function channelText(name: ChannelName): string {
  const messages = Object.entries<TSchema>(STREAMS[name]).map(([kind, schema]) => [
    code(kind),
    (schema as { description?: string }).description ?? "",
  ]);
  return [
    `## ${code(name)}`,
    CHANNEL_TEXTS[name],
    ...(PRIVATE_CHANNELS.has(name) ? ["Needs `auth` with the permission `READ`."] : []),
    fieldsTable(CHANNELS[name]),
    table(["message", "meaning"], messages),
  ].join("\n\n");
}
