import { effect, signal } from "@preact/signals";
import type { Position } from "../../client/types.ts";
import { accountClient, positions } from "./account.ts";
import { symbol } from "./markets.ts";

/** The account's leverage and margin mode in the chosen market; null without an account. */
export const marginSetting = signal<Pick<Position, "leverage" | "marginMode"> | null>(null);

export async function readMarginSetting(): Promise<void> {
  const client = accountClient.peek();
  const name = symbol.peek();
  if (client === null || name === "") return;
  try {
    const { leverage, marginMode } = await client.position(name);
    if (symbol.peek() === name && accountClient.peek() === client) marginSetting.value = { leverage, marginMode };
  } catch {
    // The next change of the market or of a position asks again.
  }
}

/** Keeps it up to date. Call once. */
export function openMarginSetting(): void {
  effect(() => {
    void [symbol.value, positions.value];
    if (accountClient.value === null) marginSetting.value = null;
    else void readMarginSetting();
  });
}
