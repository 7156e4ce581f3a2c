import type { Road } from "../../actor/road.ts";
import type { Instrument } from "../../core/instrument.ts";
import { idToInstrumentId } from "../../core/words.ts";
import type { History } from "../../store/history.ts";
import type { Page } from "../../store/pages.ts";
import type { MarketData } from "../market.ts";
import { turnToRead } from "../paging.ts";
import { fillJson } from "../views.ts";
import { SNAPSHOT_ROWS } from "./recent-stream.ts";

/** When too many wait for the history, a stream that has to read it asks again after this. */
const HISTORY_AGAIN_MS = 250;

/** A page looks at some thousand rows of all symbols: no more of them are searched for those of one. */
const MAX_PAGES = 40;

/** Which of an account's rows, and for whom. */
export interface Wanted {
  readonly accountId: number;
  /** Null = of all symbols. */
  readonly instrument: Instrument | null;
  readonly throughSequence: number;
  /** Nobody waits for them any more. */
  isForgotten(): boolean;
}

/** What accounts have in the history when a stream of theirs begins: the last hundred rows, oldest first. */
export class AccountPast {
  private readonly road: Road;
  private readonly market: MarketData;
  private readonly history: Pick<History, "fillsOf">;

  constructor(road: Road, market: MarketData, history: Pick<History, "fillsOf">) {
    this.road = road;
    this.market = market;
    this.history = history;
  }

  async fills(wanted: Wanted): Promise<string[]> {
    const fills = await this.newest(wanted, (query) => this.history.fillsOf(wanted.accountId, query));
    return fills.map((fill) => fillJson(this.instrument(idToInstrumentId(fill.tradeId)), fill));
  }

  private instrument(id: number): Instrument {
    return this.market.symbol(id).instrument;
  }

  /** Page by page, as others' rows may stand before those of the symbol; between two pages others have their turn. */
  private async newest<Row>(
    { instrument, throughSequence, isForgotten }: Wanted,
    read: (query: Query) => Page<Row>,
  ): Promise<Row[]> {
    const rows: Row[] = [];
    const query = { throughSequence, instrumentId: instrument?.id };
    let cursor: string | undefined;
    await this.historyCaughtUp();
    for (let pages = 0; pages < MAX_PAGES && rows.length < SNAPSHOT_ROWS; pages++) {
      await turnToRead();
      if (isForgotten()) break;
      const page = read({ ...query, limit: SNAPSHOT_ROWS - rows.length, cursor });
      rows.push(...page.data);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    return rows.reverse();
  }

  /** Resolves when the history holds what has been released. */
  private async historyCaughtUp(): Promise<void> {
    while (!(await this.road.historyCaughtUp())) await new Promise((resolve) => setTimeout(resolve, HISTORY_AGAIN_MS));
  }
}

interface Query {
  instrumentId: number | undefined;
  throughSequence: number;
  limit: number;
  cursor: string | undefined;
}
