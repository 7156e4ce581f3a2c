import assert from "node:assert/strict";
import {
  EXEC_LIQUIDATION,
  EXEC_TRADE,
  idToInstrumentId,
  STATUS_CANCELED,
  STATUS_EXPIRED,
  STATUS_FILLED,
  STATUS_NEW,
  STATUS_REJECTED,
} from "../../../src/core/base/enums.ts";
import { hasCandles, INTERVALS, PRICE_TYPES } from "../../../src/core/market-data/candles.ts";
import type { TransferKind } from "../../../src/core/protocol/payloads.ts";
import { isOpen } from "../../../src/store/database/history-schema.ts";
import { type Page, type PageQuery, type Sort, tradeCursor } from "../../../src/store/database/pages.ts";
import type { History } from "../../../src/store/history/history.ts";
import { ACCOUNTS, type HistoryModel, INSTRUMENT_IDS } from "./history-model.ts";

/** All pages of a list, one after the other. They must be the same from both ends. */
export function allPages<Row>(limit: number, read: (query: PageQuery) => Page<Row>): Row[] {
  const rows = pagesOf(limit, "DESC", read);
  assert.deepEqual(pagesOf(limit, "ASC", read), rows.toReversed(), "oldest first");
  return rows;
}

/** From this end only. */
export function pagesOf<Row>(limit: number, sort: Sort, read: (query: PageQuery) => Page<Row>): Row[] {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = read({ limit, cursor, sort });
    assert.ok(page.data.length <= limit);
    rows.push(...page.data);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

/** Everything that the history answers is what the model holds. `random` chooses limits and windows. */
export function assertEqual(history: History, model: HistoryModel, random: () => number): void {
  const limit = (): number => 1 + Math.floor(random() * 30);
  for (const order of model.orders.values()) assert.deepEqual(history.orderById(order.orderId), order);
  for (const orderId of model.removed) assert.equal(history.orderById(orderId), undefined);
  for (const [key, orderId] of model.clientOrders) {
    const [accountId, clientOrderId] = key.split(" ") as [string, string];
    assert.equal(history.orderByClientId(Number(accountId), clientOrderId).order?.orderId, orderId);
  }
  const times = model.trades.map(({ time }) => time);
  const anyTime = (): number => times[Math.floor(random() * times.length)] ?? 0;
  const anyWindow = (): number[] => (random() < 0.5 ? [] : [anyTime(), anyTime()].sort((a, b) => a - b));
  for (const accountId of ACCOUNTS) {
    const [startTime, endTime] = anyWindow();
    const instrumentId = random() < 0.5 ? undefined : INSTRUMENT_IDS[Math.floor(random() * INSTRUMENT_IDS.length)];
    const isWithin = (time: number): boolean =>
      time >= (startTime ?? 0) && time <= (endTime ?? Number.MAX_SAFE_INTEGER);
    const isIn = (id: number, time: number): boolean =>
      (instrumentId === undefined || idToInstrumentId(id) === instrumentId) && isWithin(time);
    const filter = { instrumentId, startTime, endTime };

    const orders = model.closed.filter((o) => o.accountId === accountId && isIn(o.orderId, o.updatedAt));
    assert.deepEqual(
      allPages(limit(), (query) => history.ordersOf(accountId, { ...query, ...filter })),
      orders.toReversed(),
    );
    for (const statuses of [[STATUS_FILLED], [STATUS_CANCELED, STATUS_EXPIRED, STATUS_REJECTED], [STATUS_NEW]])
      assert.deepEqual(
        allPages(limit(), (query) => history.ordersOf(accountId, { ...query, ...filter, statuses })),
        orders.filter(({ status }) => statuses.includes(status)).toReversed(),
      );
    const fills = model.fills
      .filter((fill) => fill.accountId === accountId)
      .map(({ accountId: _accountId, ...fill }) => fill)
      .toReversed();
    for (const execType of [undefined, EXEC_TRADE, EXEC_LIQUIDATION])
      assert.deepEqual(
        allPages(limit(), (query) => history.fillsOf(accountId, { ...query, ...filter, execType })),
        fills.filter((fill) => isIn(fill.tradeId, fill.time) && fill.execType === (execType ?? fill.execType)),
      );
    for (const order of orders.slice(-5)) {
      assert.deepEqual(
        allPages(limit(), (query) => history.fillsOfOrder(order, query)),
        fills.filter((fill) => fill.orderId === order.orderId),
      );
    }
    for (const kind of ["DEPOSIT", "WITHDRAWAL"] satisfies TransferKind[]) {
      const transfers = [...model.transfers.values()].filter((t) => t.accountId === accountId && t.kind === kind);
      assert.deepEqual(
        allPages(limit(), (query) => history.transfersOf(accountId, kind, query)),
        transfers.toReversed(),
      );
      assert.deepEqual(
        allPages(limit(), (query) => history.transfersOf(accountId, kind, { ...query, startTime, endTime })),
        transfers.filter((t) => isWithin(t.createdAt)).toReversed(),
      );
    }
  }
  assert.ok(!model.closed.some(isOpen));

  for (const instrumentId of INSTRUMENT_IDS) {
    const trades = model.trades.filter(({ tradeId }) => idToInstrumentId(tradeId) === instrumentId).toReversed();
    const [startTime = 0, endTime = Number.MAX_SAFE_INTEGER] = anyWindow();
    assert.deepEqual(
      allPages(limit(), (query) => history.tradesOf(instrumentId, { ...query, startTime, endTime })),
      trades.filter(({ time }) => time >= startTime && time <= endTime),
    );
    const from = Math.floor(random() * trades.length);
    const first = trades[from];
    if (first !== undefined)
      assert.deepEqual(
        pagesOf(limit(), "DESC", ({ limit, cursor = tradeCursor(first) }) =>
          history.tradesOf(instrumentId, { limit, cursor }),
        ),
        trades.slice(from),
      );
    const kinds = PRICE_TYPES.flatMap((priceType) => INTERVALS.map((interval) => ({ priceType, interval })));
    for (const { priceType, interval } of kinds) {
      const series = { instrumentId, priceType, interval };
      const candles = hasCandles(priceType, interval) ? model.candles(series) : [];
      assert.deepEqual(history.candles(series, { limit: 1e6 }), candles);
      const from = candles[Math.floor(candles.length / 3)]?.openTime ?? 0;
      const to = candles[Math.floor((candles.length * 2) / 3)]?.openTime ?? 0;
      const within = candles.filter(({ openTime }) => openTime >= from && openTime <= to);
      const n = limit();
      assert.deepEqual(history.candles(series, { startTime: from, endTime: to, limit: n }), within.slice(0, n));
      const until = candles.filter(({ openTime }) => openTime <= to);
      assert.deepEqual(history.candles(series, { endTime: to, limit: n }), until.slice(-n));
    }
    const minutes = model.candles({ instrumentId, priceType: "LAST", interval: "1m" });
    const middle = minutes[Math.floor(minutes.length / 2)];
    if (middle === undefined) continue;
    assert.deepEqual(
      history.minuteCandles(instrumentId, middle.openTime + 59_999),
      minutes.filter(({ openTime }) => openTime >= middle.openTime),
    );
  }
}
