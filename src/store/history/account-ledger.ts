import { must } from "../../assert.ts";
import { EXEC_LIQUIDATION, idToInstrumentId, type LedgerEntryType } from "../../core/base/enums.ts";
import type { Quanta, TimeMs } from "../../core/base/units.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import type { TransferKind } from "../../core/protocol/payloads.ts";
import type { Database } from "../database/database.ts";
import type { FillRecord } from "../database/history-schema.ts";
import { isWithin, type Page, type PageQuery, parseCursor, printCursor } from "../database/pages.ts";
import { CURSOR_NUMBERS, type SeriesTable } from "../database/series.ts";

/** A change of an account's money. Fields that its type does not have are 0. */
export interface LedgerEntry {
  readonly type: LedgerEntryType;
  readonly instrumentId: number;
  /** Signed: negative if the account has less afterwards. */
  readonly amountQuanta: Quanta;
  readonly tradeId: number;
  readonly orderId: number;
  readonly side: number;
  readonly transferId: number;
  readonly fundingTime: TimeMs;
  readonly time: TimeMs;
  readonly sequence: number;
}

export interface LedgerQuery extends PageQuery {
  type?: LedgerEntryType | undefined;
  instrumentId?: number | undefined;
}

/** The entries of one row of a series, in the order of the query. A fill has two. */
interface RowEntries {
  readonly entries: readonly LedgerEntry[];
  readonly sequence: number;
  /** The cursor of a page that begins with this row. */
  readonly cursor: readonly number[];
}

const NOTHING = { instrumentId: 0, tradeId: 0, orderId: 0, side: 0, transferId: 0, fundingTime: 0 };
const NO_PAGE: Page<RowEntries> = { data: [], nextCursor: null };
/** Before the oldest row of a series. */
const AT_OLDEST: readonly number[] = Array(CURSOR_NUMBERS).fill(0);

/**
 * The changes of an account's money, newest first unless `sort` says otherwise, merged from the series that hold them. The sum of all amounts is the
 * account's wallet balance: deposits less withdrawals, plus the results of trades, fees and funding. Margin that is set aside
 * for an isolated position stays within the account and has no entry. Throws BadCursorError.
 *
 * A cursor holds the position in each series, and how many entries of the first row were already shown.
 */
export function readAccountLedger(database: Database, accountId: number, query: LedgerQuery): Page<LedgerEntry> {
  const { limit, cursor } = query;
  const isAscending = query.sort === "ASC";
  const sources = sourcesOf(database, accountId);
  const resume = cursor === undefined ? undefined : parseCursor(cursor, sources.length * CURSOR_NUMBERS + 1);
  const starts = sources.map((_, i) => resume?.slice(i * CURSOR_NUMBERS, (i + 1) * CURSOR_NUMBERS));
  const pages = sources.map((source, i) => {
    const at = starts[i];
    return source({ ...query, cursor: at && !(isAscending && isOldest(at)) ? printCursor(at) : undefined });
  });
  const heads = pages.map(() => 0);
  const data: LedgerEntry[] = [];
  let shown = resume?.at(-1) ?? 0;
  while (data.length < limit) {
    const source = nextOf(pages, heads, isAscending);
    if (source === null) break;
    const head = heads[source];
    const { entries } = must(pages[source]?.data[head], "the next row");
    const taken = entries.slice(shown, shown + limit - data.length);
    data.push(...taken);
    shown += taken.length;
    if (shown < entries.length) break;
    shown = 0;
    heads[source] = head + 1;
  }
  const positions = pages.map(({ data, nextCursor }, i) => {
    const next = data[heads[i]];
    if (next !== undefined) return next.cursor;
    if (nextCursor !== null) return parseCursor(nextCursor, CURSOR_NUMBERS);
    if (!isAscending) return AT_OLDEST;
    // Newer rows may be added to it before the next page is read.
    const last = data.at(-1);
    return last === undefined ? (starts[i] ?? AT_OLDEST) : [...last.cursor.slice(0, -1), (last.cursor.at(-1) ?? 0) + 1];
  });
  const isAtEnd = pages.every(({ data, nextCursor }, i) => data[heads[i]] === undefined && nextCursor === null);
  return { data, nextCursor: isAtEnd ? null : printCursor([...positions.flat(), shown]) };
}

const isOldest = (position: readonly number[]): boolean => position.every((number) => number === 0);

/** The index of the page with the next row. Null if there is none, or if a page must be read further to know. */
function nextOf(pages: readonly Page<RowEntries>[], heads: readonly number[], isAscending: boolean): number | null {
  let found: number | null = null;
  let sequence = 0;
  for (const [i, { data, nextCursor }] of pages.entries()) {
    const next = data[heads[i]];
    if (next === undefined && nextCursor !== null) return null;
    if (next === undefined) continue;
    // Of two rows of a transaction, that of the later source is newer.
    if (found !== null && (isAscending ? next.sequence >= sequence : next.sequence < sequence)) continue;
    found = i;
    sequence = next.sequence;
  }
  return found;
}

type Source = (query: LedgerQuery) => Page<RowEntries>;

/** In the order within a transaction: funding is paid before a trade, and a deficit is covered after trades. */
const sourcesOf = (database: Database, accountId: number): Source[] => [
  transferSource(database, accountId, "DEPOSIT"),
  transferSource(database, accountId, "WITHDRAWAL"),
  sourceOf(database.fundingPayments, accountId, ["FUNDING"], ({ type: _, sizeLots: _size, ...payment }) => [
    { ...NOTHING, type: "FUNDING", ...payment },
  ]),
  sourceOf(database.fills, accountId, ["REALIZED_PNL", "FEE", "LIQUIDATION_FEE"], entriesOfFill),
  sourceOf(database.deficits, accountId, ["DEFICIT_COVERED"], ({ type: _, ...deficit }) => [
    { ...NOTHING, type: "DEFICIT_COVERED", ...deficit },
  ]),
];

function transferSource(database: Database, accountId: number, type: TransferKind): Source {
  const table = type === "DEPOSIT" ? database.deposits : database.withdrawals;
  const read = sourceOf(table, accountId, [type], ({ id: transferId }, nearSequence) => {
    const { transfer, sequence } = database.transfers.require(transferId);
    const amountQuanta = type === "DEPOSIT" ? transfer.amountQuanta : -transfer.amountQuanta;
    const { createdAt: time } = transfer;
    return [{ ...NOTHING, type, amountQuanta, transferId, time, sequence: sequence || nearSequence }];
  });
  return (query) => (query.instrumentId === undefined ? read(query) : NO_PAGE);
}

function entriesOfFill(fill: FillRecord): LedgerEntry[] {
  const { tradeId, orderId, side, time, sequence } = fill;
  const isForced = fill.execType === EXEC_LIQUIDATION && fill.maker === 0;
  const common = { ...NOTHING, instrumentId: idToInstrumentId(tradeId), tradeId, orderId, side, time, sequence };
  return [
    { ...common, type: isForced ? "LIQUIDATION_FEE" : "FEE", amountQuanta: -fill.feeQuanta },
    { ...common, type: "REALIZED_PNL", amountQuanta: fill.realizedQuanta },
  ];
}

/** `nearSequence` is the sequence of the first row in the same chunk. */
function sourceOf<Row extends Message>(
  table: SeriesTable<Row>,
  accountId: number,
  types: readonly LedgerEntryType[],
  entriesOf: (row: Row, nearSequence: number) => LedgerEntry[],
): Source {
  return (query) => {
    const { type, instrumentId } = query;
    if (type !== undefined && !types.includes(type)) return NO_PAGE;
    const isShown = (entry: LedgerEntry): boolean =>
      (type === undefined || entry.type === type) &&
      (instrumentId === undefined || entry.instrumentId === instrumentId) &&
      entry.amountQuanta !== 0 &&
      isWithin(entry.time, query);
    return table.read(accountId, query, (row, position, index) => {
      const entries = entriesOf(row, position[1]).filter(isShown);
      if (query.sort === "ASC") entries.reverse();
      const [first] = entries;
      return first === undefined ? null : { entries, sequence: first.sequence, cursor: [...position, index] };
    });
  };
}
