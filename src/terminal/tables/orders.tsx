import type { Order, OrderHistoryQuery } from "../../client/types.ts";
import { ActionButton } from "../dialogs/action-button.tsx";
import { OrderActions } from "../dialogs/order-actions.tsx";
import { messagesOf, openOrders } from "../state/account.ts";
import { decimalsOfMarket } from "../state/markets.ts";
import { cancelAll } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { clock, dayAndClock, exact, price, words } from "../text/format.ts";
import { CancelAfter } from "./cancel-after.tsx";
import { MarketLink, sideCell } from "./cells.tsx";
import type { HistoryList } from "./history.tsx";
import { type Column, Table } from "./table.tsx";

type ClosedStatus = NonNullable<OrderHistoryQuery["status"]>[number];

const TIME: Column<Order> = { title: text.time, cell: ({ createdAt }) => dayAndClock(createdAt) };

const MARKET: Column<Order> = {
  title: text.market,
  cell: ({ symbol, side }) => <MarketLink symbol={symbol} isShort={side === "SELL"} />,
};

const SIDE: Column<Order> = { title: text.side, cell: sideCell };

const priceOf = (symbol: string, value: string | null): string => price(value, decimalsOfMarket(symbol).price);

/** The end of an order, with its day if that is another one than the order's first. */
function endOf({ createdAt, goodTillDate }: Order): string | null {
  if (goodTillDate === null) return null;
  const [end, begin] = [dayAndClock(goodTillDate), dayAndClock(createdAt)];
  return text.until(end.slice(0, 5) === begin.slice(0, 5) ? clock(goodTillDate) : end);
}

const TYPE: Column<Order> = {
  title: text.type,
  isWide: true,
  cell: (order) => {
    const { type, postOnly, displayQuantity, timeInForce } = order;
    const tags = [
      postOnly && text.postOnly,
      displayQuantity !== null && text.shows(displayQuantity),
      endOf(order) ?? (timeInForce !== "GTC" && timeInForce),
    ];
    return (
      <>
        {text.kinds[type]} <span class="sub inline">{tags.filter(Boolean).join(" · ")}</span>
      </>
    );
  },
};

/** The exits that its fills will bring. */
const EXITS: Column<Order> = {
  title: text.exits,
  isWide: true,
  cell: ({ symbol, takeProfit, stopLoss }) => {
    const exits = [
      takeProfit !== null && `${text.takeProfitShort} ${priceOf(symbol, takeProfit.triggerPrice)}`,
      stopLoss !== null && `${text.stopLossShort} ${priceOf(symbol, stopLoss.triggerPrice)}`,
    ];
    return exits.filter(Boolean).join(" · ") || text.noExit;
  },
};

const QUANTITY: Column<Order> = {
  title: text.filledOfSize,
  isNumber: true,
  cell: ({ filledQuantity, quantity, closePosition }) =>
    closePosition ? text.wholePosition : `${filledQuantity} / ${quantity}`,
};

const PRICE: Column<Order> = {
  title: text.price,
  isNumber: true,
  cell: (row) => (row.price === null ? text.atMarket : priceOf(row.symbol, row.price)),
};

const TRIGGER: Column<Order> = {
  title: text.trigger,
  isNumber: true,
  cell: ({ symbol, triggerPrice, triggerBy, callbackRate }) => (
    <>
      {priceOf(symbol, triggerPrice)}{" "}
      {triggerBy !== null && (
        <span class="sub">
          {text.triggerSources[triggerBy]}
          {callbackRate === null ? "" : ` ${Number(callbackRate) * 100}%`}
        </span>
      )}
    </>
  ),
};

const REDUCE_ONLY: Column<Order> = {
  title: text.reduceOnly,
  cell: ({ reduceOnly }) => (reduceOnly ? text.yes : text.no),
};

/** The account's own names for its orders. They are shown as text, whatever they contain. */
const CLIENT_ID: Column<Order> = {
  title: text.lists.clientId,
  cell: ({ clientOrderId }) => <span class="sub inline client-id">{clientOrderId ?? "–"}</span>,
};

const OPEN_COLUMNS: readonly Column<Order>[] = [
  ...[TIME, MARKET, SIDE, TYPE, PRICE, QUANTITY, TRIGGER, EXITS, REDUCE_ONLY],
  {
    title: text.actions,
    cell: (order) => <OrderActions order={order} />,
  },
];

const CLOSED_COLUMNS: readonly Column<Order>[] = [
  { title: text.time, cell: ({ updatedAt }) => dayAndClock(updatedAt) },
  ...[MARKET, SIDE, TYPE, PRICE],
  { title: text.averagePrice, isNumber: true, cell: ({ symbol, avgPrice }) => priceOf(symbol, avgPrice) },
  ...[QUANTITY, TRIGGER],
  { title: text.fee, isNumber: true, cell: ({ fee }) => exact(fee) },
  {
    title: text.status,
    cell: ({ status, reason }) => (
      <>
        {words(status)} <span class="sub inline">{reason === null ? "" : words(reason)}</span>
      </>
    ),
  },
  CLIENT_ID,
];

const keyOf = ({ orderId }: Order): string => orderId;

export function OpenOrders() {
  const rows = openOrders.value;
  return (
    <>
      <div class="list-tools">
        <CancelAfter />
        <ActionButton
          action="cancel-all-"
          label={text.cancelAll}
          isDisabled={rows.length === 0}
          onPress={() => void cancelAll()}
        />
      </div>
      <Table caption={text.openOrders} columns={OPEN_COLUMNS} rows={rows} keyOf={keyOf} empty={text.noOpenOrders} />
    </>
  );
}

export const ORDER_HISTORY: HistoryList<Order, ClosedStatus> = {
  id: "history",
  caption: text.orderHistory,
  columns: CLOSED_COLUMNS,
  empty: text.noOrderHistory,
  hasSymbols: true,
  kinds: ["FILLED", "CANCELED", "EXPIRED", "REJECTED"],
  keyOf,
  read: (client, query, status) => client.orderHistory({ ...query, ...(status !== null && { status: [status] }) }),
  news: () => messagesOf("orders"),
};
