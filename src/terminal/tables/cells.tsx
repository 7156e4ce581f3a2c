import type { ComponentChildren } from "preact";
import { chooseMarket } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";

/** Cells that several tables have. */

/** Opens the market of the row. */
export function MarketLink({ symbol, isShort }: { symbol: string; isShort: boolean }) {
  return (
    <button type="button" class={`market-link ${isShort ? "short" : "long"}`} onClick={() => chooseMarket(symbol)}>
      {symbol}
    </button>
  );
}

export const sideCell = ({ side }: { side: "BUY" | "SELL" }): ComponentChildren => (
  <span class={side === "BUY" ? "up" : "down"}>{side === "BUY" ? text.buy : text.sell}</span>
);
