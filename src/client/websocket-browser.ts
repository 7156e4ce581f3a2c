import type { WebSocketConstructor } from "./stream.ts";

/** The platform's own class, for browsers. */
export const WebSocket: WebSocketConstructor = globalThis.WebSocket;
