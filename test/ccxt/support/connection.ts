import type { Dict } from "ccxt";
import type { SocketClient } from "../../../src/ccxt/connection.ts";
import type { perpd } from "../../../src/ccxt/index.ts";
import { until } from "../../e2e/support/wait.ts";

/** A program's WebSocket. */
export function connectionOf(program: perpd): SocketClient & { connection: { pause(): void; terminate(): void } } {
  const [client] = Object.values(program.clients as Dict);
  return client;
}

/** The first snapshot of what the program watches has come. */
export async function subscribed(program: perpd): Promise<void> {
  await until("a snapshot", () => {
    const subscriptions = Object.entries(connectionOf(program)?.subscriptions ?? {});
    const streams = subscriptions.filter(([, subscription]) => subscription?.request !== undefined);
    return streams.length > 0 && streams.every(([, subscription]) => subscription?.sequence !== null);
  });
}
