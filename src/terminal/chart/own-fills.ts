import { computed, effect, signal } from "@preact/signals";
import type { Fill, Kline } from "../../client/types.ts";
import { accountClient, fills } from "../state/account.ts";
import { symbol } from "../state/markets.ts";

/** The account's own fills in the chosen market, for the chart and its table. */

const PAGE = 500;
/** Before the account's stream: it has the last ones of all markets only. */
const earlier = signal<readonly Fill[]>([]);

/** Oldest first. */
export const ownFills = computed<readonly Fill[]>(() => {
  const name = symbol.value;
  const byKey = new Map<string, Fill>();
  for (const fill of [...earlier.value, ...fills.value])
    if (fill.symbol === name) byKey.set(fill.tradeId + fill.side, fill);
  return [...byKey.values()].sort((a, b) => a.sequence - b.sequence);
});

/** Reads the fills of each market that is chosen. Returns a function that ends it. */
export const followOwnFills = (): (() => void) =>
  effect(() => {
    const client = accountClient.value;
    const name = symbol.value;
    earlier.value = [];
    if (client === null || name === "") return;
    client.fills({ symbol: name, limit: PAGE }).then(
      ({ data }) => {
        if (accountClient.peek() === client && symbol.peek() === name) earlier.value = data;
      },
      // The stream's fills are shown all the same.
      () => {},
    );
  });

/** Those of one candle, oldest first. */
export const fillsIn = ({ openTime, closeTime }: Kline): readonly Fill[] =>
  ownFills.value.filter(({ time }) => time >= openTime && time <= closeTime);
