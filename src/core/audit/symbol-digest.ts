import { createHash, type Hash } from "node:crypto";
import {
  ACCOUNT,
  CASH,
  COST,
  ISOLATED_QUANTA,
  LEVERAGE,
  MARGIN_MODE,
  NONE,
  OPEN_ORDERS,
  SIZE,
} from "../base/columns.ts";
import { BUY, SELL } from "../base/enums.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** A SHA-256 over everything that must be the same after a restart: numbers, book, other orders, switches, positions. */
export function digestSymbol(state: SymbolState): string {
  const hash = createHash("sha256");
  hash.update(`${state.nextOrderSerial} ${state.nextTradeSerial} ${state.indexTicks} ${state.markTicks} `);
  hash.update(`${state.lastTicks} ${state.basis1024} ${state.openInterestLots}\n`);
  hash.update(
    `${state.funding.nextTime} ${state.funding.premiumSum} ${state.funding.premiumCount} ${state.funding.lastTime} `,
  );
  hash.update(`${state.funding.lastRatePpb} ${state.funding.lastMarkTicks}\n`);
  hash.update(`${state.haltMode} ${state.haltReason} ${state.haltUntil} ${state.isIndexStale}\n`);
  // Without a jump the digest is the one of earlier versions.
  if (state.pendingIndexCount !== 0) hash.update(`${state.pendingIndexTicks} ${state.pendingIndexCount}\n`);
  // Numbers of later programs count only when they are set: old folders keep their digests.
  const { premiumPpb, premiumMsSum, premiumMs } = state.funding;
  if (premiumMs !== 0) hash.update(`premium ${premiumPpb} ${premiumMsSum} ${premiumMs}\n`);
  if (state.lastTriggerPpm !== 0) hash.update(`last trigger ${state.lastTriggerPpm}\n`);
  hashBook(state, hash);
  hashExtendedOrders(state, hash);
  for (const [accountId, cancelAt] of [...state.cancelSwitches.entries()].sort(([a], [b]) => a - b))
    hash.update(`${accountId} cancels at ${cancelAt}\n`);
  return hash.update(positionLines(state).join("\n")).digest("hex");
}

/** Resting orders in the order in which they trade. */
function hashBook(state: SymbolState, hash: Hash): void {
  const { orders } = state;
  for (const side of [BUY, SELL] as const) {
    const bitmap = state.book.side(side);
    for (let price = bitmap.best(); price >= 0; price = bitmap.next(price)) {
      for (let slot = state.book.first(price); slot !== NONE; slot = orders.next(slot)) {
        hash.update(`${state.orderId(slot)} ${state.accountId(slot)} ${side} ${price} ${orders.quantityLots(slot)} `);
        hash.update(`${orders.remainingLots(slot)} ${orders.filledLots(slot)} ${orders.filledQuanta(slot)} `);
        hash.update(
          `${orders.feeQuanta(slot)} ${orders.flags(slot)} ${orders.sequence(slot)} ${orders.createdAt(slot)} `,
        );
        hash.update(`${orders.marginPriceTicks(slot)} ${orders.lossTicks(slot)} ${orders.clientOrderId(slot)}\n`);
      }
    }
  }
}

/** Orders with terms of their own (conditional, iceberg, legs, good till date), by serial. */
function hashExtendedOrders(state: SymbolState, hash: Hash): void {
  const { orders } = state;
  const extended: number[] = [];
  orders.each((slot) => {
    if (orders.isExtended(slot)) extended.push(slot);
  });
  for (const slot of extended.sort((a, b) => orders.serial(a) - orders.serial(b))) {
    // A field of later programs counts only when it is set: old folders keep their digests.
    const { legs, maxSlippagePpm, ...terms } = state.terms.of(slot);
    if (maxSlippagePpm !== 0) hash.update(`${maxSlippagePpm} `);
    hash.update(`${state.orderId(slot)} ${state.accountId(slot)} ${orders.isWaiting(slot)} ${orders.type(slot)} `);
    hash.update(`${orders.priceTicks(slot)} ${orders.quantityLots(slot)} ${orders.flags(slot)} `);
    hash.update(`${Object.values(terms).join(" ")} ${JSON.stringify(legs)} ${orders.clientOrderId(slot)}\n`);
  }
}

/** A line for each position row that differs from a new row, sorted, since the order of rows is no state. */
function positionLines({ positions, instrument }: SymbolState): string[] {
  const n = positions.numbers;
  const rows: string[] = [];
  const { defaultLeverage } = instrument;
  positions.each((at) => {
    const parts = [n[at + SIZE], n[at + CASH], n[at + COST], n[at + LEVERAGE] - defaultLeverage, n[at + OPEN_ORDERS]];
    parts.push(n[at + MARGIN_MODE], n[at + ISOLATED_QUANTA]);
    if (parts.some((part) => part !== 0)) rows.push(`${n[at + ACCOUNT]} ${parts.join(" ")}`);
  });
  return rows.sort();
}
