import { SIDES } from "../../core/base/enums.ts";
import { printQuanta } from "../../core/base/units.ts";
import type { SolvencyFigures } from "../../core/protocol/payloads.ts";
import type { LedgerEntry } from "../../store/history/account-ledger.ts";
import type { Equity } from "../../store/history/equity-history.ts";

/** An entry as JSON text. `symbol`: null for an entry that belongs to no symbol. */
export function ledgerEntryJson(symbol: string | null, entry: LedgerEntry): string {
  const { type, amountQuanta, tradeId, orderId, transferId, fundingTime, time, sequence } = entry;
  return (
    `{"entryId":"${entryId(symbol, entry)}","type":"${type}","asset":"USDC","amount":"${printQuanta(amountQuanta)}",` +
    `"symbol":${symbol === null ? "null" : `"${symbol}"`},"tradeId":${idJson(tradeId)},"orderId":${idJson(orderId)},` +
    `"transferId":${idJson(transferId)},"fundingTime":${fundingTime || null},"time":${time},"sequence":${sequence}}`
  );
}

/** The equity of an account at a time, as JSON text. */
export function equityJson({ time, walletQuanta, unrealizedQuanta, depositedQuanta }: Equity): string {
  const equityQuanta = walletQuanta + unrealizedQuanta;
  return (
    `{"time":${time},"equity":"${printQuanta(equityQuanta)}","walletBalance":"${printQuanta(walletQuanta)}",` +
    `"unrealizedPnl":"${printQuanta(unrealizedQuanta)}","netDeposits":"${printQuanta(depositedQuanta)}",` +
    `"pnl":"${printQuanta(equityQuanta - depositedQuanta)}"}`
  );
}

/** An account that trades with itself has two fills of one trade, so the id contains the side. */
function entryId(
  symbol: string | null,
  { type, tradeId, side, transferId, fundingTime, sequence }: LedgerEntry,
): string {
  switch (type) {
    case "DEPOSIT":
    case "WITHDRAWAL":
      return `transfer-${transferId}`;
    case "REALIZED_PNL":
      return `pnl-${tradeId}-${SIDES[side]}`;
    case "FEE":
    case "LIQUIDATION_FEE":
      return `fee-${tradeId}-${SIDES[side]}`;
    case "FUNDING":
      return `funding-${symbol}-${fundingTime}`;
    case "DEFICIT_COVERED":
      return `deficit-${sequence}`;
  }
}

/** The figures as health and audit show them. */
export const printSolvency = ({ fundEquityQuanta, fundNotionalQuanta, deficitQuanta }: SolvencyFigures) => ({
  fundEquity: printQuanta(fundEquityQuanta),
  fundNotional: printQuanta(fundNotionalQuanta),
  deficit: printQuanta(deficitQuanta),
});

const idJson = (id: number): string => (id === 0 ? "null" : `"${id}"`);
