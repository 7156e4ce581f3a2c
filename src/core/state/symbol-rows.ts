import {
  ACCOUNT,
  CASH,
  COST,
  FUNDING,
  FUNDING_TIME,
  ISOLATED_QUANTA,
  LEVERAGE,
  MARGIN_MODE,
  NONE,
  OPENED_AT,
  SEQUENCE,
  SIZE,
  UPDATED_AT,
} from "../base/columns.ts";
import { idToSerial } from "../base/enums.ts";
import type { TimeMs } from "../base/units.ts";
import type { SnapshotWriter } from "../protocol/actor.ts";
import { blank, type Message, type MessageOf } from "../protocol/message-schema.ts";
import {
  CancelSwitchRow,
  ClientIdRow,
  IndexRangeRow,
  MarginReferencesRow,
  OrderRow,
  OrderTermsRow,
  PositionRow,
  SymbolRow,
} from "../protocol/snapshot-schema.ts";
import { packAttributes } from "./orders.ts";
import type { SymbolState } from "./symbol-state.ts";

// Tables load in the order of their names. That matters once: terms come before their orders.
const CANCEL_SWITCHES = "cancelSwitches";
export const CLIENT_IDS = "clientIds";
const INDEX_RANGE = "indexRange";
const MARGIN_REFERENCES = "marginReferences";
const ORDER_TERMS = "orderTerms";
const ORDERS = "orders";
const POSITIONS = "positions";
const SYMBOL = "symbol";

const symbolRow = blank(SymbolRow);
const indexRangeRow = blank(IndexRangeRow);
const orderRow = blank(OrderRow);
const positionRow = blank(PositionRow);
const clientIdRow = blank(ClientIdRow);
const marginReferencesRow = blank(MarginReferencesRow);
const orderTermsRow = blank(OrderTermsRow);
const cancelSwitchRow = blank(CancelSwitchRow);

/** Numbers that a row holds under the name that they have in the state. */
const STATE_NUMBERS = [
  "nextOrderSerial",
  "nextTradeSerial",
  "indexTicks",
  "markTicks",
  "lastTicks",
  "basis1024",
  "priceTime",
  "haltMode",
  "haltReason",
  "haltUntil",
  "pendingIndexTicks",
  "pendingIndexCount",
  "lastTriggerPpm",
  "markBeforeTicks",
  "fundTakeovers",
] as const;
/** Numbers of the funding: their names in the row and in the state. */
const FUNDING_NUMBERS = [
  ["nextFundingTime", "nextTime"],
  ["premiumSum", "premiumSum"],
  ["premiumCount", "premiumCount"],
  ["fundingTime", "lastTime"],
  ["fundingRatePpb", "lastRatePpb"],
  ["fundingMarkTicks", "lastMarkTicks"],
  ["premiumPpb", "premiumPpb"],
  ["premiumMsSum", "premiumMsSum"],
  ["premiumMs", "premiumMs"],
] as const;

/** See Actor.snapshot. Orders are keyed by serial: they load in the order of their queue. */
export function snapshotSymbol(state: SymbolState, writer: SnapshotWriter, most = Number.POSITIVE_INFINITY): boolean {
  if (state.changed) putSymbol(state, writer);
  state.changed = false;
  state.terms.takeRemoved((serial) => writer.remove(ORDER_TERMS, serial));
  const areAllTaken =
    state.positions.takeChanges((at) => putPosition(state, at, writer), most) &&
    state.orders.takeChanges(
      (slot) => putOrder(state, slot, writer),
      (serial) => writer.remove(ORDERS, serial),
      most,
    ) &&
    state.clientIds.takeChanges(
      (id) => writer.put(CLIENT_IDS, id.orderId, Object.assign(clientIdRow, id)),
      (orderId) => writer.remove(CLIENT_IDS, orderId),
      most,
    ) &&
    state.marginReferences.takeChanges(
      (accountId, moves) =>
        writer.put(MARGIN_REFERENCES, accountId, Object.assign(marginReferencesRow, { accountId, moves })),
      most,
    );
  if (!areAllTaken) return false;
  state.cancelSwitches.takeChanges((accountId, cancelAt) => putCancelSwitch(accountId, cancelAt, writer));
  return true;
}

function putSymbol(state: SymbolState, writer: SnapshotWriter): void {
  for (const name of STATE_NUMBERS) symbolRow[name] = state[name];
  for (const [name, of] of FUNDING_NUMBERS) symbolRow[name] = state.funding[of];
  symbolRow.fault = state.fault;
  symbolRow.indexStale = state.isIndexStale ? 1 : 0;
  symbolRow.fundHour = state.fundHour.hour;
  symbolRow.fundBaseQuanta = state.fundHour.baseQuanta;
  writer.put(SYMBOL, 0, symbolRow);
  writer.put(INDEX_RANGE, 0, Object.assign(indexRangeRow, state.indexRange.figures));
}

function putPosition({ positions }: SymbolState, at: number, writer: SnapshotWriter): void {
  const n = positions.numbers;
  positionRow.accountId = n[at + ACCOUNT];
  positionRow.sizeLots = n[at + SIZE];
  positionRow.cashQuanta = n[at + CASH];
  positionRow.costQuanta = n[at + COST];
  positionRow.leverage = n[at + LEVERAGE];
  positionRow.openedAt = n[at + OPENED_AT];
  positionRow.updatedAt = n[at + UPDATED_AT];
  positionRow.sequence = n[at + SEQUENCE];
  positionRow.fundingTime = n[at + FUNDING_TIME];
  positionRow.fundingQuanta = n[at + FUNDING];
  positionRow.marginMode = n[at + MARGIN_MODE];
  positionRow.isolatedQuanta = n[at + ISOLATED_QUANTA];
  writer.put(POSITIONS, positionRow.accountId, positionRow);
}

function putOrder(state: SymbolState, slot: number, writer: SnapshotWriter): void {
  const { orders } = state;
  orderRow.orderId = state.orderId(slot);
  orderRow.accountId = state.accountId(slot);
  orderRow.side = orders.side(slot);
  orderRow.orderType = orders.type(slot);
  orderRow.timeInForce = orders.timeInForce(slot);
  orderRow.flags = orders.flags(slot);
  orderRow.selfTradePrevention = orders.selfTradePrevention(slot);
  orderRow.priceTicks = orders.priceTicks(slot);
  orderRow.quantityLots = orders.quantityLots(slot);
  orderRow.remainingLots = orders.remainingLots(slot);
  orderRow.filledLots = orders.filledLots(slot);
  orderRow.filledQuanta = orders.filledQuanta(slot);
  orderRow.feeQuanta = orders.feeQuanta(slot);
  orderRow.marginPriceTicks = orders.marginPriceTicks(slot);
  orderRow.lossTicks = orders.lossTicks(slot);
  orderRow.createdAt = orders.createdAt(slot);
  orderRow.updatedAt = orders.updatedAt(slot);
  orderRow.sequence = orders.sequence(slot);
  orderRow.clientOrderId = orders.clientOrderId(slot);
  writer.put(ORDERS, orders.serial(slot), orderRow);
  if (orders.isExtended(slot)) putTerms(state, slot, writer);
}

function putTerms({ orders, terms }: SymbolState, slot: number, writer: SnapshotWriter): void {
  const of = terms.of(slot);
  orderTermsRow.waits = orders.isWaiting(slot) ? 1 : 0;
  Object.assign(orderTermsRow, of);
  const serial = orders.serial(slot);
  writer.put(ORDER_TERMS, serial, orderTermsRow);
  terms.markPersisted(serial);
}

function putCancelSwitch(accountId: number, cancelAt: TimeMs, writer: SnapshotWriter): void {
  if (cancelAt === 0) return writer.remove(CANCEL_SWITCHES, accountId);
  cancelSwitchRow.accountId = accountId;
  cancelSwitchRow.cancelAt = cancelAt;
  writer.put(CANCEL_SWITCHES, accountId, cancelSwitchRow);
}

export function loadSymbolRow(state: SymbolState, table: string, key: number | string, row: Message): void {
  switch (table) {
    case SYMBOL:
      loadSymbol(state, row as MessageOf<typeof SymbolRow>);
      break;
    case POSITIONS:
      loadPosition(state, row as MessageOf<typeof PositionRow>);
      break;
    case ORDERS:
      loadOrder(state, row as MessageOf<typeof OrderRow>);
      break;
    case ORDER_TERMS: {
      const { type: _, waits, ...terms } = row as MessageOf<typeof OrderTermsRow>;
      state.terms.load(Number(key), { ...terms, waits: waits === 1 });
      break;
    }
    case CLIENT_IDS:
      state.clientIds.load(row as MessageOf<typeof ClientIdRow>);
      break;
    case INDEX_RANGE:
      state.indexRange.load(row as MessageOf<typeof IndexRangeRow>);
      break;
    case MARGIN_REFERENCES: {
      const { accountId, moves } = row as MessageOf<typeof MarginReferencesRow>;
      state.marginReferences.load(accountId, moves);
      break;
    }
    case CANCEL_SWITCHES: {
      const { accountId, cancelAt } = row as MessageOf<typeof CancelSwitchRow>;
      state.cancelSwitches.load(accountId, cancelAt);
      break;
    }
    default:
      throw new Error(`a snapshot of ${state.instrument.symbol} holds an unknown table: ${table}`);
  }
}

function loadSymbol(state: SymbolState, row: MessageOf<typeof SymbolRow>): void {
  for (const name of STATE_NUMBERS) state[name] = row[name];
  for (const [name, of] of FUNDING_NUMBERS) state.funding[of] = row[name];
  state.fault = row.fault;
  state.isIndexStale = row.indexStale === 1;
  state.funding.sampledAt = row.priceTime;
  state.markTime = row.priceTime;
  state.fundHour.hour = row.fundHour;
  state.fundHour.baseQuanta = row.fundBaseQuanta;
}

function loadPosition(state: SymbolState, row: MessageOf<typeof PositionRow>): void {
  const { positions } = state;
  const at = positions.ensure(row.accountId);
  const n = positions.numbers;
  positions.load(at, row.sizeLots, row.cashQuanta, row.costQuanta);
  n[at + LEVERAGE] = row.leverage;
  n[at + OPENED_AT] = row.openedAt;
  n[at + UPDATED_AT] = row.updatedAt;
  n[at + SEQUENCE] = row.sequence;
  n[at + FUNDING_TIME] = row.fundingTime;
  n[at + FUNDING] = row.fundingQuanta;
  n[at + MARGIN_MODE] = row.marginMode;
  n[at + ISOLATED_QUANTA] = row.isolatedQuanta;
  state.openInterestLots += Math.max(0, row.sizeLots);
}

function loadOrder(state: SymbolState, row: MessageOf<typeof OrderRow>): void {
  const { orders } = state;
  const at = state.positions.ensure(row.accountId);
  const attributes = packAttributes(row.side, row.orderType, row.timeInForce, row.flags, row.selfTradePrevention);
  const serial = idToSerial(row.orderId, state.instrument.id);
  const slot = orders.add(serial, at, attributes, row.priceTicks, row.quantityLots, row.createdAt);
  orders.setFilled(slot, row.remainingLots, row.filledLots, row.filledQuanta, row.feeQuanta);
  orders.setClientOrderId(slot, row.clientOrderId);
  if (row.clientOrderId !== "") state.clientIds.loadOpen(row.orderId);
  const loaded = state.terms.takeLoaded(serial);
  if (loaded === undefined) rest(state, slot, row);
  else {
    const { waits, ...terms } = loaded;
    if (waits) state.open.wait(slot, terms);
    else {
      state.open.extend(slot, terms);
      rest(state, slot, row);
    }
  }
  orders.settle(slot, row.sequence, row.updatedAt);
  orders.markPersisted(slot);
}

/** Orders load by serial, and this moves each to its place in its queue. */
function rest(state: SymbolState, slot: number, row: MessageOf<typeof OrderRow>): void {
  const { orders, book } = state;
  state.open.rest(slot, row.marginPriceTicks, row.lossTicks);
  const place = state.open.queueSerial(slot);
  for (
    let ahead = orders.previous(slot);
    ahead !== NONE && state.open.queueSerial(ahead) > place;
    ahead = orders.previous(slot)
  )
    book.advance(slot);
}
