import { computed, effect, signal } from "@preact/signals";
import type { PerpdClient } from "../../client/client.ts";
import type { Position } from "../../client/types.ts";
import { accountClient, positions } from "./account.ts";
import { symbol } from "./markets.ts";

export type MarginSetting = Pick<Position, "leverage" | "marginMode">;

/** The last one that was read, and whose it is. */
const known = signal<{ client: PerpdClient; name: string; setting: MarginSetting } | null>(null);

/** The account's leverage and margin mode in the chosen market; null without an account, and until they were read. */
export const marginSetting = computed<MarginSetting | null>(() => {
  const found = known.value;
  return found !== null && found.name === symbol.value && found.client === accountClient.value ? found.setting : null;
});

const RETRY_MS = 1_000;
let timer = 0;
let asked = 0;
/** The newest request that was answered: a late answer to an older one is not shown. */
let answered = 0;

export async function readMarginSetting(): Promise<void> {
  const client = accountClient.peek();
  const name = symbol.peek();
  clearTimeout(timer);
  if (client === null || name === "") return;
  const number = ++asked;
  try {
    const { leverage, marginMode } = await client.position(name);
    if (number < answered) return;
    answered = number;
    const shown = marginSetting.peek();
    const isSame = shown?.leverage === leverage && shown.marginMode === marginMode;
    known.value = { client, name, setting: isSame ? shown : { leverage, marginMode } };
  } catch {
    if (number < asked) return;
    // It may have changed since it was last read.
    known.value = null;
    timer = window.setTimeout(readMarginSetting, RETRY_MS);
  }
}

/** Keeps it up to date. Call once. */
export function openMarginSetting(): void {
  effect(() => {
    void [symbol.value, positions.value, accountClient.value];
    void readMarginSetting();
  });
}
