import type { Fill, FillsQuery } from "../../client/types.ts";
import { messagesOf } from "../state/account.ts";
import { decimalsOfMarket } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { assetOf, dayAndClock, exact, price, signed, tone, usd, words } from "../text/format.ts";
import { MarketLink, sideCell } from "./cells.tsx";
import type { HistoryList } from "./history.tsx";
import type { Column } from "./table.tsx";

const COLUMNS: readonly Column<Fill>[] = [
  { title: text.time, cell: ({ time }) => dayAndClock(time) },
  {
    title: text.market,
    cell: ({ symbol, side }) => <MarketLink symbol={symbol} isShort={side === "SELL"} />,
  },
  {
    title: text.side,
    cell: ({ side, execType }) => (
      <>
        {sideCell({ side })}
        {execType !== "TRADE" && <span class="tag warn">{words(execType)}</span>}
      </>
    ),
  },
  { title: text.price, isNumber: true, cell: (row) => price(row.price, decimalsOfMarket(row.symbol).price) },
  { title: text.size, isNumber: true, cell: ({ quantity, symbol }) => `${quantity} ${assetOf(symbol)}` },
  { title: text.value, isNumber: true, cell: ({ quoteQuantity }) => usd(quoteQuantity) },
  { title: text.fee, isNumber: true, cell: ({ fee }) => exact(fee) },
  { title: text.liquidity, cell: ({ liquidity }) => words(liquidity) },
  {
    title: text.realizedPnl,
    isNumber: true,
    cell: ({ realizedPnl }) => <span class={tone(realizedPnl)}>{signed(realizedPnl)}</span>,
  },
];

export const FILLS: HistoryList<Fill, NonNullable<FillsQuery["execType"]>> = {
  id: "fills",
  caption: text.fills,
  columns: COLUMNS,
  empty: text.noFills,
  hasSymbols: true,
  kinds: ["TRADE", "LIQUIDATION", "ADL"],
  keyOf: ({ tradeId, side }) => tradeId + side,
  read: (client, query, execType) => client.fills({ ...query, ...(execType !== null && { execType }) }),
  news: () => messagesOf("fills"),
};
