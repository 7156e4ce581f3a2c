import type { Audit, KlineList, Level, Order, OrderBook, Page, PublicTrade, Ticker } from "../../src/client/types.ts";
import { decimal, millionths, times } from "../e2e/support/decimal.ts";
import { OPERATOR_TOKEN } from "../e2e/support/server.ts";
import { type CrashLoad, checkingApi } from "./load.ts";
import { type AccountModel, SYMBOLS, type SymbolName } from "./model.ts";
import { AccountCheck } from "./verify-account.ts";

/**
 * Deposits of the server itself into a new data folder: 100,000 for the demo account, 1,000,000 for the insurance fund.
 */
const SEEDED = 100_000_000_000n + 1_000_000_000_000n;

/** Checks the whole exchange after a restart against everything before it. `since` 0: from the beginning. */
export async function verifyAll(load: CrashLoad, accounts: readonly AccountModel[], since: number): Promise<void> {
  load.isChecking = true;
  const checks = accounts.map((account) => new AccountCheck(load, account, since));
  await Promise.all(checks.map((check) => check.run()));
  const open = checks.flatMap((check) => check.openOrders);
  for (const symbol of SYMBOLS) {
    await checkBook(load, symbol, open);
    await checkTrades(load, symbol, accounts);
  }
  await checkAudit(load, accounts);
  await Promise.all(checks.map((check) => check.retry()));
  await checkAudit(load, accounts);
  load.isChecking = false;
}

async function checkAudit(load: CrashLoad, accounts: readonly AccountModel[]): Promise<void> {
  const { unbalanced } = load.findings;
  const audit = await checkingApi(load, OPERATOR_TOKEN).get<Audit>("/operator/audit");
  for (const fault of audit.faults) unbalanced.push(`audit: ${fault}`);
  if (!audit.balanced) unbalanced.push(`audit: not balanced: ${JSON.stringify(audit)}`);
  if (audit.money !== audit.depositsMinusWithdrawals)
    unbalanced.push(`audit: ${audit.money} of money, ${audit.depositsMinusWithdrawals} of deposits less withdrawals`);
  let due = SEEDED;
  for (const account of accounts)
    for (const { path, transfer } of account.transfers.values())
      if (transfer !== null) due += millionths(transfer.amount) * (path === "/account/deposit" ? 1n : -1n);
  if (millionths(audit.money) !== due)
    unbalanced.push(`audit: ${audit.money} of money, but transfers add up to ${decimal(due)}`);
}

/** The public book equals the sum of the accounts' open orders, with at most one slice of each iceberg. */
async function checkBook(load: CrashLoad, symbol: SymbolName, orders: readonly Order[]): Promise<void> {
  const book = await checkingApi(load).get<OrderBook>(`/market/orderbook?symbol=${symbol}&depth=1000`);
  for (const side of ["BUY", "SELL"] as const) {
    const levels = new Map<string, { least: bigint; most: bigint }>();
    for (const order of orders) {
      if (order.symbol !== symbol || order.side !== side || order.price === null) continue;
      const { least, most } = levels.get(order.price) ?? { least: 0n, most: 0n };
      const all = millionths(order.remainingQuantity);
      const slice = order.displayQuantity === null ? all : millionths(order.displayQuantity);
      const shown = slice < all ? slice : all;
      levels.set(order.price, { least: least + (order.displayQuantity === null ? shown : 1n), most: most + shown });
    }
    const sign = side === "BUY" ? -1 : 1;
    const due = [...levels].sort(([a], [b]) => sign * (Number(a) - Number(b))).slice(0, 1000);
    const shown = side === "BUY" ? book.bids : book.asks;
    const isDue = ([price, quantity]: Level, i: number): boolean => {
      const [at, { least, most }] = due[i] ?? ["", { least: 0n, most: 0n }];
      return price === at && millionths(quantity) >= least && millionths(quantity) <= most;
    };
    if (shown.length !== due.length || !shown.every(isDue))
      load.findings.unbalanced.push(`${symbol} ${side}: the book is not what the open orders add up to`);
  }
}

/** Every trade has two sides, and counts once in public trades, ticker and candles. */
async function checkTrades(load: CrashLoad, symbol: SymbolName, accounts: readonly AccountModel[]): Promise<void> {
  const { lost, invented, unbalanced } = load.findings;
  const api = checkingApi(load);
  const sides = new Map<string, string[]>();
  let volume = 0n;
  let turnover = 0n;
  for (const account of accounts)
    for (const fill of account.fills.values()) {
      if (fill.symbol !== symbol) continue;
      const trade = sides.get(fill.tradeId) ?? [];
      trade.push(`${fill.side} ${fill.price} ${fill.quantity}`);
      sides.set(fill.tradeId, trade);
      if (fill.side !== "BUY") continue;
      volume += millionths(fill.quantity);
      turnover += millionths(times(fill.price, fill.quantity));
    }
  for (const [tradeId, [one = "", other = "", ...more]] of sides) {
    const opposite = one.startsWith("BUY") ? one.replace("BUY", "SELL") : one.replace("SELL", "BUY");
    if (other !== opposite || more.length > 0) lost.push(`trade ${tradeId} has the sides ${[one, other, ...more]}`);
  }
  const { data: latest } = await api.get<Page<PublicTrade>>(`/market/trades?symbol=${symbol}&limit=1000`);
  const shown = new Set(latest.map((trade) => trade.tradeId));
  if (shown.size !== latest.length) invented.push(`${symbol}: a public trade stands twice`);
  if (shown.size !== Math.min(1000, sides.size)) lost.push(`${symbol}: ${shown.size} public trades of ${sides.size}`);
  for (const tradeId of shown) if (!sides.has(tradeId)) invented.push(`${symbol}: public trade ${tradeId}`);

  const ticker = await api.get<Ticker>(`/market/ticker?symbol=${symbol}`);
  if (ticker.volume24h !== decimal(volume) || ticker.turnover24h !== decimal(turnover))
    unbalanced.push(
      `${symbol}: the ticker has ${ticker.volume24h} for ${ticker.turnover24h}, not ${decimal(volume)} for ${decimal(turnover)}`,
    );
  for (const interval of ["1m", "1h", "1d"]) {
    const path = `/market/klines?symbol=${symbol}&interval=${interval}&limit=1000`;
    const { data } = await api.get<KlineList>(path);
    const inCandles = data.reduce((sum, candle) => sum + millionths(candle.volume), 0n);
    const trades = data.reduce((sum, candle) => sum + candle.trades, 0);
    if (inCandles !== volume || trades !== sides.size)
      unbalanced.push(
        `${symbol}: ${trades} trades of ${decimal(inCandles)} in ${interval} candles, not ${sides.size} of ${decimal(volume)}`,
      );
  }
}
