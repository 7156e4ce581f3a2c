import type { Engine } from "../../../actor/engine/engine.ts";
import { idToInstrumentId } from "../../../core/base/enums.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import type { Transfer, TransferKind } from "../../../core/protocol/payloads.ts";
import type { Page } from "../../../store/database/pages.ts";
import type { History } from "../../../store/history/history.ts";
import type { MarketData } from "../../exchange/market.ts";
import type { Transfers } from "../../exchange/transfers.ts";
import { closedPositionJson } from "../../json/closed-position-json.ts";
import { fillJson } from "../../json/json-writers.ts";
import { fundingPaymentJson } from "../../json/risk-json.ts";
import { waitForReadSlot } from "../../routing/paging.ts";
import type { ClosedQuery, ClosedRow } from "./position-history-stream.ts";
import { type RecentQuery, SNAPSHOT_ROWS } from "./recent-stream.ts";

/** When too many requests wait for the history, a stream retries after this. */
const HISTORY_RETRY_MS = 250;

/** Bounds the search for rows of one symbol. A page reads some thousand rows of all symbols. */
const MAX_PAGES = 40;

export type AccountHistorySource = Pick<History, "closedPositionsOf" | "fillsOf" | "fundingOf" | "transfersOf">;

/** The rows of an account for the snapshot of a stream: the last hundred in the history, oldest first. */
export class AccountHistory {
  private readonly engine: Engine;
  private readonly market: MarketData;
  private readonly transfers: Pick<Transfers, "pendingWithdrawal">;
  private readonly history: AccountHistorySource;

  constructor(
    engine: Engine,
    market: MarketData,
    transfers: Pick<Transfers, "pendingWithdrawal">,
    history: AccountHistorySource,
  ) {
    this.engine = engine;
    this.market = market;
    this.transfers = transfers;
    this.history = history;
  }

  /** `instrument` null: all of them. */
  async fillsOf(accountId: number, instrument: Instrument | null, wanted: RecentQuery): Promise<string[]> {
    const instrumentId = instrument?.id;
    const fills = await this.readNewest(wanted, (query) => this.history.fillsOf(accountId, { ...query, instrumentId }));
    return fills.map((fill) => fillJson(this.instrument(idToInstrumentId(fill.tradeId)), fill));
  }

  /** `instrument` null: all of them. */
  async fundingOf(accountId: number, instrument: Instrument | null, wanted: RecentQuery): Promise<string[]> {
    const instrumentId = instrument?.id;
    const found = await this.readNewest(wanted, (query) =>
      this.history.fundingOf(accountId, { ...query, instrumentId }),
    );
    return found.map((entry) => fundingPaymentJson(this.instrument(entry.payment.instrumentId), entry));
  }

  /** `instrument` null: all of them. */
  async closedPositionsOf(accountId: number, instrument: Instrument | null, wanted: RecentQuery): Promise<string[]> {
    const instrumentId = instrument?.id;
    const found = await this.readNewest(wanted, (query) =>
      this.history.closedPositionsOf(accountId, { ...query, instrumentId }),
    );
    return found.map((position) => closedPositionJson(this.instrument(position.instrumentId), position));
  }

  /** All that were closed since `wanted.afterSequence`, oldest first. `instrument` null: of all symbols. */
  async closedPositionsSince(
    accountId: number,
    instrument: Instrument | null,
    wanted: ClosedQuery,
  ): Promise<ClosedRow[]> {
    const { afterSequence, throughSequence, startTime, isCanceled } = wanted;
    const rows: ClosedRow[] = [];
    let cursor: string | undefined;
    await this.historyCaughtUp();
    do {
      await waitForReadSlot();
      if (isCanceled()) return [];
      const query = { throughSequence, startTime, limit: SNAPSHOT_ROWS, cursor, instrumentId: instrument?.id };
      const page = this.history.closedPositionsOf(accountId, query);
      for (const position of page.data)
        if (position.sequence > afterSequence)
          rows.push([position.sequence, closedPositionJson(this.instrument(position.instrumentId), position)]);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return rows.reverse();
  }

  /** Deposits, then withdrawals, in the state of the last released transaction. The history may be ahead of it. */
  async transfersOf(accountId: number, wanted: RecentQuery): Promise<Transfer[]> {
    const read = (kind: TransferKind): Promise<Transfer[]> =>
      this.readNewest(wanted, (query) => this.history.transfersOf(accountId, kind, query));
    const found = [...(await read("DEPOSIT")), ...(await read("WITHDRAWAL"))];
    return found.map((transfer) => this.transfers.pendingWithdrawal(transfer.transferId) ?? transfer);
  }

  private instrument(id: number): Instrument {
    return this.market.symbol(id).instrument;
  }

  /** Reads page by page, since rows of other symbols may come first. Other requests run between two pages. */
  private async readNewest<Row>(
    { throughSequence, isCanceled }: RecentQuery,
    read: (query: Query) => Page<Row>,
  ): Promise<Row[]> {
    const rows: Row[] = [];
    let cursor: string | undefined;
    await this.historyCaughtUp();
    for (let pages = 0; pages < MAX_PAGES && rows.length < SNAPSHOT_ROWS; pages++) {
      await waitForReadSlot();
      if (isCanceled()) break;
      const page = read({ throughSequence, limit: SNAPSHOT_ROWS - rows.length, cursor });
      rows.push(...page.data);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    return rows.reverse();
  }

  /** Resolves when the history holds everything released up to the call. */
  private async historyCaughtUp(): Promise<void> {
    while (!(await this.engine.historyCaughtUp()))
      await new Promise((resolve) => setTimeout(resolve, HISTORY_RETRY_MS));
  }
}

interface Query {
  throughSequence: number;
  limit: number;
  cursor: string | undefined;
}
