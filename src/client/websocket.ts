/** The WebSocket class of Node 20, which has none of its own. Browsers get websocket-browser.ts: "imports" in package.json. */
export { WebSocket } from "ws";
