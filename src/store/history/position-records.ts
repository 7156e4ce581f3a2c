import { BUY, EXEC_ADL, EXEC_LIQUIDATION, EXEC_TRADE, SELL } from "../../core/base/enums.ts";
import { proportion, type Quanta, type QuantityLots, type TimeMs } from "../../core/base/units.ts";
import { type Event, type FundingPaid, PositionTransferred, Traded } from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import { ClosedPositionRecord, type PositionStateRecord } from "../database/history-schema.ts";

/** A row whose largest sum is a BigInt: a position that is never flat may turn over more than 2^53 quanta. */
export type PositionState = Omit<PositionStateRecord, "exitQuanta"> & { exitQuanta: bigint };

/** openedAt of a position that is older than these records. */
const NOT_KNOWN = 0;

/** One account's side of a trade, or of a position that went to another account outside the book. */
export interface PositionChange {
  readonly accountId: number;
  readonly tradeId: number;
  /** Signed. */
  readonly lots: QuantityLots;
  /** Signed, after the change. */
  readonly sizeLots: QuantityLots;
  /** The notional. Negative if the seller paid the buyer. */
  readonly quanta: Quanta;
  readonly feeQuanta: Quanta;
  /** Profit of the lots that it closed, before fees. */
  readonly realizedQuanta: Quanta;
  /** Of EXEC_TYPES: why lots of this account's position were closed, if any were. */
  readonly execType: number;
}

/** `quanta`: the notional. */
export const takerChange = (event: MessageOf<typeof Traded>, quanta: Quanta): PositionChange => ({
  accountId: event.takerAccountId,
  tradeId: event.tradeId,
  lots: event.takerSide === BUY ? event.quantityLots : -event.quantityLots,
  sizeLots: event.takerSizeLots,
  quanta,
  feeQuanta: event.takerFeeQuanta,
  realizedQuanta: event.takerRealizedQuanta,
  execType: event.execType,
});

/** A maker closes its position by an order of its own, even if the taker is liquidated. */
export const makerChange = (event: MessageOf<typeof Traded>, quanta: Quanta): PositionChange => ({
  accountId: event.makerAccountId,
  tradeId: event.tradeId,
  lots: event.takerSide === BUY ? -event.quantityLots : event.quantityLots,
  sizeLots: event.makerSizeLots,
  quanta,
  feeQuanta: event.makerFeeQuanta,
  realizedQuanta: event.makerRealizedQuanta,
  execType: EXEC_TRADE,
});

/** The side of the account that is liquidated. It may have been closed against the other side instead of by the fund. */
export const liquidatedChange = (event: MessageOf<typeof PositionTransferred>): PositionChange => ({
  accountId: event.accountId,
  tradeId: event.tradeId,
  lots: event.side === BUY ? event.quantityLots : -event.quantityLots,
  sizeLots: event.accountSizeLots,
  quanta: event.quanta,
  feeQuanta: 0,
  realizedQuanta: event.accountRealizedQuanta,
  execType: EXEC_LIQUIDATION,
});

/** The side of the account that was deleveraged for it. */
export const deleveragedChange = (event: MessageOf<typeof PositionTransferred>): PositionChange => ({
  accountId: event.counterpartyId,
  tradeId: event.tradeId,
  lots: event.side === BUY ? -event.quantityLots : event.quantityLots,
  sizeLots: event.counterpartySizeLots,
  quanta: event.quanta,
  feeQuanta: 0,
  realizedQuanta: event.counterpartyRealizedQuanta,
  execType: EXEC_ADL,
});

/** Whether the event closed a position of the account, or turned it around. */
export function closesPosition(event: Event, accountId: number): boolean {
  if (event.type === Traded.code) {
    const change = event.takerAccountId === accountId ? takerChange(event, 0) : makerChange(event, 0);
    return isClosing(change);
  }
  if (event.type !== PositionTransferred.code) return false;
  return isClosing(event.accountId === accountId ? liquidatedChange(event) : deleveragedChange(event));
}

function isClosing({ lots, sizeLots }: PositionChange): boolean {
  const lotsBefore = sizeLots - lots;
  return lotsBefore !== 0 && (sizeLots === 0 || sizeLots > 0 !== lotsBefore > 0);
}

/** Applies a change. Returns the record of the position that it closed, or null. A flip closes one and opens another. */
export function applyChange(
  state: PositionState,
  change: PositionChange,
  time: TimeMs,
  sequence: number,
): ClosedPositionRecord | null {
  const { lots, sizeLots, feeQuanta } = change;
  const lotsBefore = sizeLots - lots;
  if (lotsBefore === 0) open(state, 0, time);
  else if (state.sizeLots !== lotsBefore) open(state, lotsBefore, NOT_KNOWN);
  const isReducing = lotsBefore !== 0 && lotsBefore > 0 !== lots > 0;
  const closedLots = isReducing ? Math.min(Math.abs(lots), Math.abs(lotsBefore)) : 0;
  // Of a flip, the part that opened the next position belongs to that.
  const closingFee = closedLots === 0 ? 0 : proportion(feeQuanta, closedLots, Math.abs(lots));
  let closed: ClosedPositionRecord | null = null;
  if (closedLots > 0) {
    addExit(state, change, closedLots, closingFee);
    if (closedLots === Math.abs(lotsBefore)) {
      closed = closedRecord(state, change, time, sequence);
      open(state, 0, time);
    }
  }
  state.feeQuanta += feeQuanta - closingFee;
  grow(state, sizeLots);
  if (sizeLots === 0) open(state, 0, NOT_KNOWN);
  return closed;
}

/** Applies a payment of a position's funding. */
export function applyFunding(state: PositionState, { sizeLots, amountQuanta }: MessageOf<typeof FundingPaid>): void {
  if (state.sizeLots !== sizeLots) open(state, sizeLots, NOT_KNOWN);
  state.fundingQuanta += amountQuanta;
}

/** Begins the sums of another position. */
function open(state: PositionState, sizeLots: QuantityLots, openedAt: TimeMs): void {
  state.openedAt = openedAt;
  state.maxLots = 0;
  state.closedLots = 0;
  state.liquidatedLots = 0;
  state.deleveragedLots = 0;
  state.realizedQuanta = 0;
  state.feeQuanta = 0;
  state.liquidationFeeQuanta = 0;
  state.fundingQuanta = 0;
  state.exitQuanta = 0n;
  grow(state, sizeLots);
}

function grow(state: PositionState, sizeLots: QuantityLots): void {
  state.sizeLots = sizeLots;
  state.maxLots = Math.max(state.maxLots, Math.abs(sizeLots));
}

function addExit(state: PositionState, change: PositionChange, closedLots: QuantityLots, feeQuanta: Quanta): void {
  const { lots, quanta, realizedQuanta, execType } = change;
  state.closedLots += closedLots;
  // The same share as in Positions.realized().
  state.exitQuanta += BigInt(proportion(quanta, closedLots, Math.abs(lots)));
  state.realizedQuanta += realizedQuanta;
  if (execType === EXEC_ADL) state.deleveragedLots += closedLots;
  if (execType === EXEC_LIQUIDATION) {
    state.liquidatedLots += closedLots;
    state.liquidationFeeQuanta += feeQuanta;
  } else state.feeQuanta += feeQuanta;
}

const closedRecord = (
  { type: _, accountId: __, sizeLots, ...sums }: PositionState,
  { tradeId }: PositionChange,
  time: TimeMs,
  sequence: number,
): ClosedPositionRecord => ({
  type: ClosedPositionRecord.code,
  tradeId,
  side: sizeLots > 0 ? BUY : SELL,
  time,
  sequence,
  ...sums,
  exitQuanta: sums.exitQuanta.toString(),
});
