import {
  ChannelsRequest,
  KeyAuthRequest,
  MAX_REQUEST_ID_LENGTH,
  PingRequest,
  TokenAuthRequest,
  TradingRequest,
} from "../../wire/schema/channels.ts";
import { isTradingOp, TRADING_PARAMS, type TradingOp } from "../../wire/schema/trading.ts";
import { ApiError } from "../common/errors.ts";
import { type RequestId, SocketRefusal } from "../common/socket-errors.ts";
import type { SocketCredentials } from "../exchange/credentials.ts";
import { Input } from "../json/input.ts";
import type { Symbols } from "../routing/context.ts";
import { type ChannelRequest, readChannel, withDefaults } from "../streams/channel-requests.ts";

export type ClientRequest =
  | { readonly op: "ping" }
  | { readonly op: "auth"; readonly credentials: SocketCredentials; readonly cancelOnDisconnect: boolean }
  | { readonly op: "subscribe" | "unsubscribe"; readonly channels: readonly ChannelRequest[] }
  /** The params are checked later, after the identity. */
  | { readonly op: TradingOp; readonly params: unknown };

const OPS = ["ping", "auth", "subscribe", "unsubscribe", ...Object.keys(TRADING_PARAMS)];

const PING = new Input(PingRequest);
const TOKEN_AUTH = new Input(TokenAuthRequest);
const KEY_AUTH = new Input(KeyAuthRequest);
const TRADING_REQUEST = new Input(TradingRequest);
const CHANNELS_REQUEST = new Input(ChannelsRequest);

/** The id of a message; null when it has none. Throws BAD_VALUE. */
export function readId(message: unknown): RequestId {
  if (!isObject(message) || message.id === undefined) return null;
  const { id } = message;
  if (typeof id === "string" && isShort(id)) return id;
  if (Number.isSafeInteger(id)) return id as number;
  const rule = `An id is an integer or a string of at most ${MAX_REQUEST_ID_LENGTH} characters.`;
  throw new ApiError("BAD_VALUE", { field: "id", message: rule });
}

/** Counts characters like a schema does. A character has at most two UTF-16 units. */
const isShort = (id: string): boolean =>
  id.length <= 2 * MAX_REQUEST_ID_LENGTH && [...id].length <= MAX_REQUEST_ID_LENGTH;

/** Reads and checks a message. Throws an ApiError or a SocketRefusal that names the field at fault. */
export function readRequest(message: unknown, symbols: Symbols): ClientRequest {
  if (!isObject(message))
    throw new ApiError("BAD_TYPE", { message: "The message is not a JSON object. Send an object with an op." });
  const { op } = message;
  switch (op) {
    case "ping":
      PING.check(message);
      return { op };
    case "auth": {
      const credentials = (message.apiKey === undefined ? TOKEN_AUTH : KEY_AUTH).check(message);
      return { op, credentials, cancelOnDisconnect: credentials.cancelOnDisconnect === true };
    }
    case "subscribe": {
      const channels = readChannels(message, symbols);
      return { op, channels: channels.map(withDefaults) };
    }
    case "unsubscribe":
      return { op, channels: readChannels(message, symbols) };
    case undefined:
      throw new ApiError("MISSING_FIELD", { field: "op" });
    default:
      if (!isTradingOp(op))
        throw new SocketRefusal("UNKNOWN_OP", "op", `There is no such op. Use one of ${OPS.join(", ")}.`);
      return { op, params: TRADING_REQUEST.check(message).params ?? {} };
  }
}

function readChannels(message: unknown, symbols: Symbols): ChannelRequest[] {
  const { channels } = CHANNELS_REQUEST.check(message);
  return channels.map((request, index) => readChannel(request, `channels.${index}`, symbols));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
