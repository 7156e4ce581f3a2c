import type { Config } from "../config.ts";
import { Deposited, type Event, WithdrawalRequested } from "../core/protocol/events.ts";
import type { MessageOf } from "../core/protocol/message-schema.ts";
import type { ActorAudit } from "../core/protocol/payloads.ts";
import type { OrderView } from "../core/protocol/replies.ts";
import type { Database } from "../store/database/database.ts";
import { isOpen, type OrderRecord } from "../store/database/history-schema.ts";
import { readIndex } from "../store/history/history-fold.ts";
import { isTracked, positionStateKey } from "../store/history/position-fold.ts";
import { LogReader, type VisitRecord } from "../store/log/log-reader.ts";
import { instrumentNotConfigured } from "../store/registry/instrument-registry.ts";
import { eachMessage } from "../wire/codec.ts";
import { AT_ACTOR_ID, AT_SEQUENCE, RECORD_HEADER_BYTES } from "../wire/record.ts";
import { DamagedError } from "./errors.ts";
import { actorIdsOf, type RecoveredExchange } from "./recovered.ts";

/** The part of the log that the history index has not seen yet. */
interface Tail {
  /** The orders that it changes. */
  readonly orderIds: Set<number>;
  /** The accounts that it concerns. */
  readonly accountIds: Set<number>;
  /** Its deposits − withdrawals. */
  netQuanta: bigint;
}

interface HistoryAgreement {
  /** How many open orders of customers agree between the index and the actors. */
  openOrders: number;
  /** The same of their open positions. */
  positions: number;
  /** Orders that were not compared, because the tail changes them. */
  skipped: number;
}

/**
 * Compares the history index with the actors, which are both computed from the same log: the open orders, how far each is
 * filled, the open positions, and the sum of all deposits and withdrawals. Throws DamagedError if they differ.
 */
export function compareHistory(
  database: Database,
  exchange: RecoveredExchange,
  ledger: ActorAudit,
  tail: Tail,
): HistoryAgreement {
  const netQuanta = netOfTransfers(database) + tail.netQuanta;
  if (netQuanta !== BigInt(ledger.depositsMinusWithdrawalsQuanta ?? "0")) {
    const expected = `${ledger.depositsMinusWithdrawalsQuanta} quanta in the ledger`;
    throw new DamagedError(`history: deposits − withdrawals are ${netQuanta} quanta, but ${expected}`);
  }
  const known = new Map<number, OrderRecord>();
  database.orders.each({}, (_key, order) => {
    if (isOpen(order) && !tail.orderIds.has(order.orderId)) known.set(order.orderId, order);
  });
  const openOrders = known.size;
  for (const accountId of exchange.customers()) {
    for (const order of exchange.openOrdersOf(accountId)) {
      if (tail.orderIds.has(order.orderId)) continue;
      const record = known.get(order.orderId);
      if (record === undefined) throw new DamagedError(`history: order ${order.orderId} is open, but not in the index`);
      if (record.accountId !== accountId || !isSame(record, order))
        throw new DamagedError(`history: order ${order.orderId} differs between the index and its symbol`);
      known.delete(order.orderId);
    }
  }
  const [left] = known.keys();
  if (left !== undefined) throw new DamagedError(`history: order ${left} is open in the index, but not in its symbol`);
  const positions = comparePositions(database, exchange, tail);
  return { openOrders, positions, skipped: tail.orderIds.size };
}

/** Reads the log from `fromSequence` on. Throws ConfigError for a transaction of an actor that is not configured. */
export function readTail(
  logDir: string,
  fromSequence: number,
  lastSequence: number,
  indexedSequence: number,
  config: Config,
): Tail {
  const tail: Tail = { orderIds: new Set(), accountIds: new Set(), netQuanta: 0n };
  const actorIds = new Set(actorIdsOf(config));
  const reader = new LogReader(logDir, fromSequence);
  const visit: VisitRecord = (buffer, view, offset, logBytes) => {
    const actorId = view.getUint16(offset + AT_ACTOR_ID, true);
    const sequence = view.getFloat64(offset + AT_SEQUENCE, true);
    if (!actorIds.has(actorId)) throw instrumentNotConfigured(actorId);
    if (sequence <= indexedSequence) return;
    eachMessage(view, buffer, offset + RECORD_HEADER_BYTES, offset + logBytes, (event) =>
      addToTail(tail, event as Event),
    );
  };
  reader.read(lastSequence, visit);
  reader.close();
  return tail;
}

function addToTail(tail: Tail, event: Event): void {
  if (event.type === Deposited.code) tail.netQuanta += BigInt(event.amountQuanta);
  if (event.type === WithdrawalRequested.code) tail.netQuanta -= BigInt(event.amountQuanta);
  if ("accountId" in event) tail.accountIds.add(event.accountId);
  if ("counterpartyId" in event) tail.accountIds.add(event.counterpartyId);
  if ("takerAccountId" in event) tail.accountIds.add(event.takerAccountId).add(event.makerAccountId);
  if ("orderId" in event) tail.orderIds.add(event.orderId);
  if ("takerOrderId" in event) tail.orderIds.add(event.takerOrderId).add(event.makerOrderId);
}

/** The sums of positions, from which the records of closed ones follow, belong to the positions of the symbols. */
function comparePositions(database: Database, exchange: RecoveredExchange, tail: Tail): number {
  let positions = 0;
  for (const accountId of exchange.customers()) {
    // An index of an older version does not know the positions of accounts that are older than itself.
    if (tail.accountIds.has(accountId) || !isTracked(readIndex(database), accountId)) continue;
    for (const [instrumentId, { sizeLots, openedAt }] of exchange.positionsOf(accountId)) {
      const known = database.positionStates.get(positionStateKey(instrumentId, accountId));
      const isSame = (known?.sizeLots ?? 0) === sizeLots && (sizeLots === 0 || known?.openedAt === openedAt);
      if (!isSame)
        throw new DamagedError(
          `history: the position of account ${accountId} in instrument ${instrumentId} differs between the index and its symbol`,
        );
      if (sizeLots !== 0) positions++;
    }
  }
  return positions;
}

function netOfTransfers(database: Database): bigint {
  let netQuanta = 0n;
  database.transfers.each({}, (_key, { transfer }) => {
    netQuanta += BigInt(transfer.kind === "DEPOSIT" ? transfer.amountQuanta : -transfer.amountQuanta);
  });
  return netQuanta;
}

function isSame(record: OrderRecord, order: MessageOf<typeof OrderView>): boolean {
  return (
    record.remainingLots === order.remainingLots &&
    record.filledLots === order.filledLots &&
    record.filledQuanta === order.filledQuanta &&
    record.feeQuanta === order.feeQuanta
  );
}
