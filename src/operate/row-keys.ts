import { idToInstrumentId, idToSerial } from "../core/base/enums.ts";
import { referenceKey } from "../core/ledger/transfer-book.ts";
import type { Fields, Message, MessageOf, MessageSchema } from "../core/protocol/message-schema.ts";
import {
  AccountRow,
  ClientIdRow,
  KeyRow,
  LedgerRow,
  MarginReferencesRow,
  OrderRow,
  PositionRow,
  SessionRow,
  SettledTransferRow,
  SymbolRow,
  TransferRow,
} from "../core/protocol/snapshot-schema.ts";
import {
  CandleRecord,
  ClientIdHashRecord,
  ClientIdRecord,
  ClosedPositionRecord,
  FillRecord,
  OpenInterestRecord,
  OperatorActRecord,
  OrderLocationRecord,
  OrderRecord,
  PositionStateRecord,
  TradeRecord,
  TransferRecord,
} from "../store/database/history-schema.ts";
import type { Key } from "../store/database/table.ts";

interface Rule {
  /** The index of the key's element, from the end. */
  readonly at: -1 | -2;
  readonly expected: (row: never) => number | string;
}

/**
 * By message code: how a key follows from its row. A row under a wrong key is not found when it is read, and stays when it is
 * removed. Values of version 1 have a checksum that does not cover the key.
 */
const RULES = new Map<number, Rule>();

function rule<C extends number, F extends Fields>(
  row: MessageSchema<C, F>,
  at: -1 | -2,
  expected: (row: MessageOf<MessageSchema<C, F>>) => number | string,
): void {
  RULES.set(row.code, { at, expected });
}

rule(SymbolRow, -1, () => 0);
rule(OrderRow, -1, ({ orderId }) => idToSerial(orderId, idToInstrumentId(orderId)));
rule(PositionRow, -1, ({ accountId }) => accountId);
rule(ClientIdRow, -1, ({ orderId }) => orderId);
rule(MarginReferencesRow, -1, ({ accountId }) => accountId);
rule(LedgerRow, -1, () => 0);
rule(AccountRow, -1, ({ accountId }) => accountId);
rule(SessionRow, -1, ({ tokenHash }) => tokenHash);
rule(KeyRow, -1, ({ apiKey }) => apiKey);
rule(TransferRow, -1, ({ transfer }) => transfer.transferId);
rule(SettledTransferRow, -1, ({ transfer }) => referenceKey(transfer));
rule(OrderRecord, -1, ({ orderId }) => orderId);
rule(ClientIdRecord, -1, ({ clientOrderId }) => clientOrderId);
rule(ClientIdHashRecord, -1, ({ orderId }) => orderId);
rule(OrderLocationRecord, -1, ({ orderId }) => orderId);
rule(TransferRecord, -1, ({ transfer }) => transfer.transferId);
rule(CandleRecord, -1, ({ openTime }) => openTime);
rule(OpenInterestRecord, -1, ({ openTime }) => openTime);
rule(PositionStateRecord, -1, ({ accountId }) => accountId);
// The key of a series: [list, clock, sequence, part] of the chunk's first row.
rule(FillRecord, -2, ({ sequence }) => sequence);
rule(TradeRecord, -2, ({ sequence }) => sequence);
rule(ClosedPositionRecord, -2, ({ sequence }) => sequence);
rule(OperatorActRecord, -2, ({ sequence }) => sequence);
/** The rule for an order in a series. */
const LISTED_ORDER: Rule = { at: -2, expected: ({ sequence }: OrderRecord) => sequence };
const SERIES_KEY_LENGTH = 4;

/** Returns false if the row cannot have been written under this key. */
export function keyFits(key: Key, row: Message): boolean {
  const parts = Array.isArray(key) ? key : [key];
  const isListedOrder = row.type === OrderRecord.code && parts.length === SERIES_KEY_LENGTH;
  const known = isListedOrder ? LISTED_ORDER : RULES.get(row.type);
  if (known === undefined) return true;
  return parts.at(known.at) === known.expected(row as never);
}
