import type { Fill } from "../../client/types.ts";
import { fills } from "../state/account.ts";
import { chooseMarket, decimalsOfMarket } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { dayAndClock, price, signed, tone, usd, words } from "../text/format.ts";
import { type Column, Table } from "./table.tsx";

const COLUMNS: readonly Column<Fill>[] = [
  { title: text.time, cell: ({ time }) => dayAndClock(time) },
  {
    title: text.market,
    cell: ({ symbol, side }) => (
      <button
        type="button"
        class={`market-link ${side === "SELL" ? "short" : "long"}`}
        onClick={() => chooseMarket(symbol)}
      >
        {symbol}
      </button>
    ),
  },
  {
    title: text.side,
    cell: ({ side, execType }) => (
      <>
        <span class={side === "BUY" ? "up" : "down"}>{side === "BUY" ? text.buy : text.sell}</span>
        {execType !== "TRADE" && <span class="tag warn">{words(execType)}</span>}
      </>
    ),
  },
  { title: text.price, isNumber: true, cell: (row) => price(row.price, decimalsOfMarket(row.symbol).price) },
  { title: text.size, isNumber: true, cell: ({ quantity, symbol }) => `${quantity} ${symbol.replace(/-PERP$/, "")}` },
  { title: text.value, isNumber: true, cell: ({ quoteQuantity }) => usd(quoteQuantity) },
  { title: text.fee, isNumber: true, cell: ({ fee }) => fee },
  { title: text.liquidity, cell: ({ liquidity }) => words(liquidity) },
  {
    title: text.realizedPnl,
    isNumber: true,
    cell: ({ realizedPnl }) => <span class={tone(realizedPnl)}>{signed(realizedPnl)}</span>,
  },
];

export function Fills() {
  return (
    <Table
      caption={text.fills}
      columns={COLUMNS}
      rows={fills.value}
      keyOf={({ tradeId, side }) => tradeId + side}
      empty={text.noFills}
    />
  );
}
