import { BUY, type CloseType, MARGIN_MODES } from "../../core/base/enums.ts";
import { printQuanta } from "../../core/base/units.ts";
import { type Instrument, printQuantity } from "../../core/protocol/instrument.ts";
import type { ClosedPositionRecord } from "../../store/database/history-schema.ts";
import { printPriceRatio } from "./json-writers.ts";

/** A closed position of the history as JSON text. */
export function closedPositionJson(instrument: Instrument, position: ClosedPositionRecord): string {
  const { closedLots, realizedQuanta, feeQuanta, liquidationFeeQuanta, fundingQuanta } = position;
  const isLong = position.side === BUY;
  const exitQuanta = BigInt(position.exitQuanta);
  const entryQuanta = exitQuanta - BigInt(isLong ? realizedQuanta : -realizedQuanta);
  const quantaPerTick = BigInt(closedLots) * BigInt(instrument.quantaPerTickLot);
  const price = (quanta: bigint) => printPriceRatio(instrument, quanta, quantaPerTick);
  const size = (lots: number) => printQuantity(instrument, lots);
  const netQuanta = realizedQuanta - feeQuanta - liquidationFeeQuanta + fundingQuanta;
  const marginMode = MARGIN_MODES[position.marginMode];
  return (
    `{"positionId":"${position.tradeId}","symbol":"${instrument.symbol}","side":"${isLong ? "LONG" : "SHORT"}",` +
    `"marginMode":${marginMode === undefined ? "null" : `"${marginMode}"`},"leverage":${position.leverage || "null"},` +
    `"maxSize":"${size(position.maxLots)}","closedSize":"${size(closedLots)}",` +
    `"liquidatedSize":"${size(position.liquidatedLots)}","deleveragedSize":"${size(position.deleveragedLots)}",` +
    `"closeType":"${closeTypeOf(position)}","entryPrice":"${price(entryQuanta)}","exitPrice":"${price(exitQuanta)}",` +
    `"realizedPnl":"${printQuanta(realizedQuanta)}","fee":"${printQuanta(feeQuanta)}",` +
    `"liquidationFee":"${printQuanta(liquidationFeeQuanta)}","funding":"${printQuanta(fundingQuanta)}",` +
    `"netPnl":"${printQuanta(netQuanta)}","openedAt":${position.openedAt || "null"},` +
    `"closedAt":${position.time},"sequence":${position.sequence}}`
  );
}

function closeTypeOf({ closedLots, liquidatedLots, deleveragedLots }: ClosedPositionRecord): CloseType {
  if (liquidatedLots === closedLots) return "LIQUIDATION";
  if (deleveragedLots === closedLots) return "ADL";
  return liquidatedLots + deleveragedLots === 0 ? "TRADE" : "MIXED";
}
