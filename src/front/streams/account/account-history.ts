import type { Engine } from "../../../actor/engine/engine.ts";
import { idToInstrumentId } from "../../../core/base/enums.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import type { Transfer, TransferKind } from "../../../core/protocol/payloads.ts";
import type { Page } from "../../../store/database/pages.ts";
import type { History } from "../../../store/history/history.ts";
import type { MarketData } from "../../exchange/market.ts";
import type { Transfers } from "../../exchange/transfers.ts";
import { fillJson } from "../../json/json-writers.ts";
import { fundingPaymentJson } from "../../json/risk-json.ts";
import { waitForReadSlot } from "../../routing/paging.ts";
import { type RecentQuery, SNAPSHOT_ROWS } from "./recent-stream.ts";

/** When too many wait for the history, a stream that has to read it asks again after this. */
const HISTORY_RETRY_MS = 250;

/** A page looks at some thousand rows of all symbols: no more of them are searched for those of one. */
const MAX_PAGES = 40;

/** What is read of the history. */
export type AccountHistorySource = Pick<History, "fillsOf" | "fundingOf" | "transfersOf">;

/** What accounts have in the history when a stream of theirs begins: the last hundred rows, oldest first. */
export class AccountHistory {
  private readonly engine: Engine;
  private readonly market: MarketData;
  private readonly transfers: Transfers;
  private readonly history: AccountHistorySource;

  constructor(engine: Engine, market: MarketData, transfers: Transfers, history: AccountHistorySource) {
    this.engine = engine;
    this.market = market;
    this.transfers = transfers;
    this.history = history;
  }

  /** `instrument` null: of all. */
  async fillsOf(accountId: number, instrument: Instrument | null, wanted: RecentQuery): Promise<string[]> {
    const instrumentId = instrument?.id;
    const fills = await this.readNewest(wanted, (query) => this.history.fillsOf(accountId, { ...query, instrumentId }));
    return fills.map((fill) => fillJson(this.instrument(idToInstrumentId(fill.tradeId)), fill));
  }

  /** `instrument` null: of all. */
  async fundingOf(accountId: number, instrument: Instrument | null, wanted: RecentQuery): Promise<string[]> {
    const instrumentId = instrument?.id;
    const found = await this.readNewest(wanted, (query) =>
      this.history.fundingOf(accountId, { ...query, instrumentId }),
    );
    return found.map((entry) => fundingPaymentJson(this.instrument(entry.payment.instrumentId), entry));
  }

  /** Deposits, then withdrawals, as of the last turn that was released: the history may be ahead of that. */
  async transfersOf(accountId: number, wanted: RecentQuery): Promise<Transfer[]> {
    const read = (kind: TransferKind): Promise<Transfer[]> =>
      this.readNewest(wanted, (query) => this.history.transfersOf(accountId, kind, query));
    const found = [...(await read("DEPOSIT")), ...(await read("WITHDRAWAL"))];
    return found.map((transfer) => this.transfers.pendingWithdrawal(transfer.transferId) ?? transfer);
  }

  private instrument(id: number): Instrument {
    return this.market.symbol(id).instrument;
  }

  /** Page by page, as others' rows may stand before those of the symbol; between two pages others have their turn. */
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

  /** Resolves when the history holds what has been released. */
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
