import { REDUCE_ONLY } from "../../../../src/core/base/enums.ts";

/** The records of the reference model, and the outcome of a command. */

export interface ReferenceOrder {
  orderId: number;
  accountId: number;
  side: number;
  orderType: number;
  timeInForce: number;
  flags: number;
  selfTradePrevention: number;
  priceTicks: number;
  quantityLots: number;
  remainingLots: number;
  filledLots: number;
  filledQuanta: number;
  feeQuanta: number;
  marginPriceTicks: number;
  lossTicks: number;
  /** An iceberg's slice size, and the lots that the book still shows; 0 = it is no iceberg. */
  displayLots: number;
  shownLots: number;
  /** Of orders at one price the lowest trades first. Counts orders placed, requeued and refilled. */
  priority: number;
  clientOrderId: string;
  createdAt: number;
  updatedAt: number;
}

export interface ReferencePosition {
  sizeLots: number;
  cashQuanta: number;
  costQuanta: number;
  leverage: number;
  isIsolated: boolean;
  /** Isolated margin of an open position at its entry price. */
  walletQuanta: number;
}

export interface ReferenceTrade {
  takerOrderId: number;
  makerOrderId: number;
  priceTicks: number;
  quantityLots: number;
  takerFeeQuanta: number;
  makerFeeQuanta: number;
  takerRealizedQuanta: number;
  makerRealizedQuanta: number;
  takerSizeLots: number;
  makerSizeLots: number;
}

/** The outcome of a command, without the state after it. */
export interface Outcome {
  refusal: string;
  details: Record<string, number | string> | null;
  /** The order that the client sent, or the one named by a repeated client order id. */
  orderId: number;
  quantityLots: number;
  remainingLots: number;
  status: number;
  reason: number;
  filledLots: number;
  filledQuanta: number;
  feeQuanta: number;
  trades: ReferenceTrade[];
  /** Orders that ended early: id, status, reason. In order of their ids. */
  closed: [number, number, number][];
  /** Orders that shrank: id, lots, reason. In order of their ids. */
  reduced: [number, number, number][];
}

export const nothing = (): Outcome => ({
  refusal: "",
  details: null,
  orderId: 0,
  quantityLots: 0,
  remainingLots: 0,
  status: 0,
  reason: 0,
  filledLots: 0,
  filledQuanta: 0,
  feeQuanta: 0,
  trades: [],
  closed: [],
  reduced: [],
});

export type Details = Outcome["details"];
export const refusal = (code: string, details: Details = null): Outcome => ({ ...nothing(), refusal: code, details });

/** Lots (signed) that a position has just traded. */
export interface ReferenceFill {
  lots: number;
  quanta: number;
  feeQuanta: number;
  realizedQuanta: number;
}

export interface Contribution {
  equity: number;
  unrealized: number;
  initial: number;
  positionInitial: number;
  maintenance: number;
}

export const isReduceOnly = ({ flags }: { flags: number }): boolean => (flags & REDUCE_ONLY) !== 0;

export const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
