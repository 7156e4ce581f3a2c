/** The public package perpd/client: HTTP and WebSocket clients, without code of the server. */

export { PerpdClient, type PerpdClientOptions, type SignMessage } from "./client.ts";
export { PerpdError } from "./error.ts";
export { LocalOrderBook } from "./order-book.ts";
export { Stream, type StreamHandlers, type StreamOptions, type WebSocketConstructor } from "./stream.ts";
export type * from "./types.ts";
