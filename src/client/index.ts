/** The package as a program sees it, perpd/client: it speaks HTTP and WebSocket, and holds nothing of the exchange itself. */

export { PerpdClient, type PerpdClientOptions } from "./client.ts";
export { PerpdError } from "./error.ts";
export { LocalOrderBook } from "./order-book.ts";
export { Stream, type StreamHandlers, type StreamOptions, type WebSocketConstructor } from "./stream.ts";
export type * from "./types.ts";
