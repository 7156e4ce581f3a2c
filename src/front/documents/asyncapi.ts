import type { TSchema } from "../../packages/typebox.ts";
import { messageOf, specOf } from "../../wire/error-codes.ts";
import { CHANNELS, type ChannelName, PRIVATE_CHANNELS } from "../../wire/schema/channels.ts";
import { SocketError, STREAMS } from "../../wire/schema/messages.ts";
import { SOCKET_PATH } from "../common/paths.ts";
import type { Route } from "../routing/route.ts";
import { CONTACT } from "./prose.ts";
import { errorTable } from "./route-errors.ts";
import { describe, exampleOf, type Json, pascal, SchemaPrinter } from "./schemas.ts";
import { CHANNEL_TEXTS, REQUEST_CHANNELS, SOCKET_INTRODUCTION } from "./socket-prose.ts";
import { type SocketRequest, socketRequests } from "./socket-requests.ts";

const CHANNEL_NAMES = Object.keys(STREAMS) as ChannelName[];

/** Where clients reach the WebSocket. */
export interface SocketServer {
  /** With the port, if that is not the usual one. */
  readonly host: string;
  readonly protocol: "ws" | "wss";
}

/** Of a document that was not requested from a server. */
export const DEFAULT_SERVER: SocketServer = { host: "127.0.0.1:8080", protocol: "ws" };

/** The AsyncAPI 3.0 document of the WebSocket. Trading requests take their texts and codes from `routes`. */
export function asyncApiDocument(routes: readonly Route[], version: string): Json {
  const printer = new SchemaPrinter("ASYNCAPI");
  const requests = socketRequests(routes);
  const channels: Record<string, Json> = {};
  const operations: Record<string, Json> = {};
  for (const [name, description] of Object.entries(REQUEST_CHANNELS)) {
    const channelRequests = requests.filter(({ channel }) => channel === name);
    const messages = Object.assign({}, ...channelRequests.map((request) => messagesOf(request, printer))) as Json;
    channels[name] = { address: SOCKET_PATH, title: name, description, messages };
    for (const request of channelRequests) operations[camel(request.op)] = requestOperation(request);
  }
  for (const name of CHANNEL_NAMES) {
    channels[name] = streamChannel(name, printer);
    operations[name] = streamOperation(name);
  }
  return {
    asyncapi: "3.1.0",
    info: {
      title: "perpd WebSocket",
      version,
      description: SOCKET_INTRODUCTION,
      contact: CONTACT,
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
      tags: [{ name: "session" }, { name: "trading" }, { name: "streams" }],
    },
    defaultContentType: "application/json",
    servers: { exchange: { ...DEFAULT_SERVER, description: "This exchange." } },
    channels,
    operations,
    components: { schemas: printer.components() },
  };
}

/** The text of an asyncApiDocument() with another server. */
export function withServer(text: string, { host, protocol }: SocketServer): string {
  const { host: defaultHost, protocol: defaultProtocol } = DEFAULT_SERVER;
  return text.replace(serverText(defaultHost, defaultProtocol), () => serverText(host, protocol));
}

const serverText = (host: string, protocol: string): string =>
  `"exchange":{"host":${JSON.stringify(host)},"protocol":"${protocol}"`;

/** order.cancelAll → orderCancelAll */
const camel = (op: string): string => op.replace(/\.(\w)/g, (_dot, letter: string) => letter.toUpperCase());

function messagesOf(request: SocketRequest, printer: SchemaPrinter): Json {
  const { op, requests, examples, answer, errors } = request;
  const name = camel(op);
  const title = pascal(op);
  const asked = requests.map((request, i) =>
    printer.printAs(`${title}Request${i === 0 ? "" : i + 1}`, request, "CLIENT"),
  );
  const [code = "INTERNAL"] = errors;
  const refused = {
    title: `${title}Error`,
    allOf: [printer.print(SocketError, "EXCHANGE"), { properties: { code: { enum: errors } } }],
  };
  const { retryable = false } = specOf(code);
  const error = { op: "error", id: null, code, message: messageOf(code), retryable, serverTime: 1_790_000_000_000 };
  return {
    [`${name}Request`]: messageJson(
      `${op} request`,
      request.summary,
      asked.length === 1 ? asked[0] : { anyOf: asked },
      examples,
    ),
    [`${name}Answer`]: messageJson(
      `${op} answer`,
      describe(answer),
      printer.printAs(`${title}Answer`, answer, "EXCHANGE"),
      [exampleOf(answer)],
    ),
    [`${name}Error`]: {
      ...messageJson(`${op} error`, "The request was refused.", refused, [error]),
      description: errorTable(errors),
    },
  };
}

const messageJson = (title: string, summary: string, payload: unknown, examples: readonly unknown[]): Json => ({
  name: title,
  title,
  summary,
  payload,
  examples: examples.map((example) => ({ payload: example })),
});

function requestOperation({ op, channel, summary, description, cost }: SocketRequest): Json {
  const name = camel(op);
  return {
    action: "receive",
    title: op,
    summary,
    description: description ?? `${summary}.`,
    channel: { $ref: `#/channels/${channel}` },
    messages: [{ $ref: `#/channels/${channel}/messages/${name}Request` }],
    reply: {
      channel: { $ref: `#/channels/${channel}` },
      messages: [
        { $ref: `#/channels/${channel}/messages/${name}Answer` },
        { $ref: `#/channels/${channel}/messages/${name}Error` },
      ],
    },
    ...(cost !== undefined && { "x-rate-limit": cost }),
  };
}

function streamChannel(name: ChannelName, printer: SchemaPrinter): Json {
  const messages = Object.entries(STREAMS[name]).map(([kind, schema]: [string, TSchema]) => {
    const payload = printer.print(schema, "EXCHANGE");
    return [kind, messageJson(`${name} ${kind}`, describe(schema), payload, [exampleOf(schema)])];
  });
  return {
    address: SOCKET_PATH,
    title: name,
    description: streamDescription(name),
    messages: Object.fromEntries(messages),
    "x-subscription": printer.print(CHANNELS[name], "CLIENT"),
  };
}

const streamDescription = (name: ChannelName): string =>
  `${CHANNEL_TEXTS[name]}${PRIVATE_CHANNELS.has(name) ? " Needs `auth` with the permission READ." : ""}`;

const streamOperation = (name: ChannelName): Json => ({
  action: "send",
  title: name,
  summary: `Messages to subscribers of \`${name}\``,
  description: streamDescription(name),
  channel: { $ref: `#/channels/${name}` },
  messages: Object.keys(STREAMS[name]).map((kind) => ({ $ref: `#/channels/${name}/messages/${kind}` })),
});

/** The content of asyncapi.json as Markdown with its examples, for readers of openapi.json. */
export const socketMarkdown = (routes: readonly Route[]): string =>
  [
    "[asyncapi.json](asyncapi.json) has the same content, and the schema of every message.",
    SOCKET_INTRODUCTION,
    ...socketRequests(routes).map(requestText),
    ...CHANNEL_NAMES.map(streamText),
  ].join("\n\n");

const requestText = ({ op, summary, description, examples, answer, errors }: SocketRequest): string =>
  [
    `### ${op}`,
    description === undefined ? `${summary}.` : `${summary}. ${description}`,
    ...examples.map(jsonBlock),
    "Answer:",
    jsonBlock(exampleOf(answer)),
    "Errors:",
    errorTable(errors),
  ].join("\n\n");

const streamText = (name: ChannelName): string =>
  [
    `### ${name}`,
    streamDescription(name),
    ...Object.values<TSchema>(STREAMS[name]).flatMap((schema) => [describe(schema), jsonBlock(exampleOf(schema))]),
  ].join("\n\n");

const jsonBlock = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
