import type { Instrument } from "../core/instrument.ts";
import { ApiError } from "./errors.ts";
import type { SocketCredentials } from "./socket-auth.ts";
import { SocketRefusal } from "./socket-errors.ts";

export const CHANNELS = ["orderbook", "trades", "positions", "balance"] as const;
export type ChannelName = (typeof CHANNELS)[number];

/** A stream is kept for each depth and pace in use, whoever asks: so there are a few of each. */
export const BOOK_DEPTHS: readonly number[] = [1, 5, 10, 20, 25, 50, 100, 200, 500, 1000];
export const BOOK_PACES_MS: readonly number[] = [0, 100, 250, 500, 1000];

const MAX_ID_LENGTH = 64;
const MAX_CHANNELS_PER_REQUEST = 200;

export type RequestId = string | number | null;

/** The book as deep as it is ever shown, with every change. */
const BOOK_DEFAULTS = { depth: 1000, updateMs: 0 };

/**
 * A channel as a client names it. Null: the channel has no such field, or (positions) all symbols are meant, or
 * (unsubscribe) whatever was subscribed to.
 */
export interface ChannelRequest {
  readonly channel: ChannelName;
  readonly instrument: Instrument | null;
  readonly depth: number | null;
  readonly updateMs: number | null;
}

/** Private channels show the account that the socket acts for. */
export const isPrivate = ({ channel }: ChannelRequest): boolean => channel === "positions" || channel === "balance";

export type ClientRequest =
  | { readonly op: "ping" }
  | { readonly op: "auth"; readonly credentials: SocketCredentials }
  | { readonly op: "subscribe" | "unsubscribe"; readonly channels: readonly ChannelRequest[] };

/** Which fields a channel knows beside its name. `resume` may stand in each: a new snapshot answers it. */
const CHANNEL_FIELDS: Record<ChannelName, readonly string[]> = {
  orderbook: ["symbol", "depth", "updateMs", "resume"],
  trades: ["symbol", "resume"],
  positions: ["symbol", "resume"],
  balance: ["resume"],
};

type Fields = Readonly<Record<string, unknown>>;

/** The message's id, null when it has none. */
export function readId(message: unknown): RequestId {
  if (!isObject(message) || message.id === undefined) return null;
  const { id } = message;
  if (typeof id === "string" && id.length <= MAX_ID_LENGTH) return id;
  if (Number.isSafeInteger(id)) return id as number;
  const rule = `An id is an integer or a string of at most ${MAX_ID_LENGTH} characters.`;
  throw new ApiError("BAD_VALUE", { field: "id", message: rule });
}

/** A client's message, checked whole. Throws an ApiError or a SocketRefusal that says what is wrong and where. */
export function readRequest(message: unknown, instruments: readonly Instrument[]): ClientRequest {
  if (!isObject(message)) throw new ApiError("BAD_TYPE", { message: "A message is a JSON object." });
  switch (message.op) {
    case "ping":
      allowFields(message, ["op", "id"], "");
      return { op: "ping" };
    case "auth":
      return { op: "auth", credentials: readCredentials(message) };
    case "subscribe":
    case "unsubscribe":
      allowFields(message, ["op", "id", "channels"], "");
      return { op: message.op, channels: readChannels(message.channels, instruments, message.op === "subscribe") };
    case undefined:
      throw new ApiError("MISSING_FIELD", { field: "op" });
    default:
      throw new SocketRefusal("UNKNOWN_OP", "op");
  }
}

function readCredentials(message: Fields): SocketCredentials {
  if (message.token !== undefined) {
    allowFields(message, ["op", "id", "token"], "");
    return { token: readString(message, "token", "") };
  }
  allowFields(message, ["op", "id", "apiKey", "timestamp", "signature"], "");
  if (message.apiKey === undefined) throw new ApiError("MISSING_FIELD", { field: "token" });
  const apiKey = readString(message, "apiKey", "");
  const signature = readString(message, "signature", "");
  if (message.timestamp === undefined) throw new ApiError("MISSING_FIELD", { field: "timestamp" });
  if (!Number.isSafeInteger(message.timestamp))
    throw new ApiError("BAD_TYPE", { field: "timestamp", message: "timestamp is an integer: ms since the epoch." });
  return { apiKey, timestamp: message.timestamp as number, signature };
}

function readChannels(channels: unknown, instruments: readonly Instrument[], complete: boolean): ChannelRequest[] {
  if (channels === undefined) throw new ApiError("MISSING_FIELD", { field: "channels" });
  if (!Array.isArray(channels)) throw new ApiError("BAD_TYPE", { field: "channels", message: "channels is a list." });
  if (channels.length === 0 || channels.length > MAX_CHANNELS_PER_REQUEST) {
    const rule = `channels names 1 to ${MAX_CHANNELS_PER_REQUEST} channels.`;
    throw new ApiError("BAD_VALUE", { field: "channels", message: rule });
  }
  const requests = channels.map((channel, index) => readChannel(channel, `channels.${index}`, instruments));
  return complete ? requests.map(withDefaults) : requests;
}

function readChannel(request: unknown, at: string, instruments: readonly Instrument[]): ChannelRequest {
  if (!isObject(request)) throw new ApiError("BAD_TYPE", { field: at, message: "A channel is a JSON object." });
  const name = readString(request, "channel", at);
  const channel = CHANNELS.find((known) => known === name);
  if (channel === undefined) {
    const known = `There is no such channel. Channels: ${CHANNELS.join(", ")}.`;
    throw new SocketRefusal("UNKNOWN_CHANNEL", `${at}.channel`, known);
  }
  allowFields(request, ["channel", ...CHANNEL_FIELDS[channel]], at);
  if (request.resume !== undefined && !Number.isSafeInteger(request.resume))
    throw new ApiError("BAD_TYPE", { field: `${at}.resume`, message: "resume is a sequence, an integer." });
  const needsSymbol = channel === "orderbook" || channel === "trades";
  if (needsSymbol && request.symbol === undefined) throw new ApiError("MISSING_FIELD", { field: `${at}.symbol` });
  return {
    channel,
    instrument: request.symbol === undefined ? null : readSymbol(request, at, instruments),
    depth: readChoice(request, "depth", at, BOOK_DEPTHS),
    updateMs: readChoice(request, "updateMs", at, BOOK_PACES_MS),
  };
}

const withDefaults = (request: ChannelRequest): ChannelRequest =>
  request.channel !== "orderbook"
    ? request
    : {
        ...request,
        depth: request.depth ?? BOOK_DEFAULTS.depth,
        updateMs: request.updateMs ?? BOOK_DEFAULTS.updateMs,
      };

function readSymbol(request: Fields, at: string, instruments: readonly Instrument[]): Instrument {
  const symbol = readString(request, "symbol", at);
  const instrument = instruments.find((known) => known.symbol === symbol);
  if (instrument === undefined) throw new ApiError("UNKNOWN_SYMBOL", { field: `${at}.symbol` });
  return instrument;
}

function readChoice(fields: Fields, name: string, at: string, choices: readonly number[]): number | null {
  const value = fields[name];
  if (value === undefined) return null;
  const field = join(at, name);
  if (typeof value !== "number") throw new ApiError("BAD_TYPE", { field, message: `${name} is an integer.` });
  if (!choices.includes(value))
    throw new ApiError("BAD_VALUE", { field, message: `${name} is one of ${choices.join(", ")}.` });
  return value;
}

function readString(fields: Fields, name: string, at: string): string {
  const value = fields[name];
  const field = join(at, name);
  if (value === undefined) throw new ApiError("MISSING_FIELD", { field });
  if (typeof value !== "string") throw new ApiError("BAD_TYPE", { field, message: `${name} is a string.` });
  return value;
}

function allowFields(fields: Fields, allowed: readonly string[], at: string): void {
  for (const name of Object.keys(fields))
    if (!allowed.includes(name)) throw new ApiError("UNKNOWN_FIELD", { field: join(at, name) });
}

const join = (at: string, name: string): string => (at === "" ? name : `${at}.${name}`);

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
