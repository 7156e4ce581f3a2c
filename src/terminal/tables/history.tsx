import { effect, type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { PerpdClient } from "../../client/client.ts";
import type { Page } from "../../client/types.ts";
import { accountClient, forgetWithAccount } from "../state/account.ts";
import { exchangeNow } from "../state/clock.ts";
import { text } from "../text/catalogue.ts";
import { timeZone } from "../text/format.ts";
import { download } from "./download.ts";
import { type Filter, NO_FILTER, type TimeQuery, timesOf } from "./filter.ts";
import { FilterBar } from "./filter-bar.tsx";
import { Listing, type ReadPage } from "./listing.ts";
import { type Column, Table } from "./table.tsx";

export interface HistoryQuery extends TimeQuery {
  readonly limit: number;
  readonly cursor?: string;
  readonly symbol?: string;
}

/** A list of the past: the exchange filters it and sends it page by page, newest first. */
export interface HistoryList<Row extends object, Kind extends string = string> {
  /** Also in the name of the CSV file. */
  readonly id: string;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly empty: string;
  /** Undefined: its rows belong to no market. */
  readonly hasSymbols?: boolean;
  /** To choose from. */
  readonly kinds?: readonly Kind[];
  keyOf(row: Row): string;
  read(client: PerpdClient, query: HistoryQuery, kind: Kind | null): Promise<Page<Row>>;
  /** Reads signals. When one of them changes, there may be a new row. */
  news(): void;
}

const filters = new Map<string, Signal<Filter>>();

forgetWithAccount(() => {
  for (const filter of filters.values()) filter.value = NO_FILTER;
});

/** It stays while another table is shown. */
function filterOf(id: string): Signal<Filter> {
  const known = filters.get(id) ?? signal(NO_FILTER);
  filters.set(id, known);
  return known;
}

/** Null: the filter allows nothing. */
function readerOf<Row extends object>(
  { read }: HistoryList<Row>,
  client: PerpdClient,
  filter: Filter,
  zone: "local" | "utc",
): ReadPage<Row> | null {
  const { symbol, kind } = filter;
  if (timesOf(filter, zone, exchangeNow()) === null) return null;
  return (page) => {
    const query = { ...page, ...(symbol !== "" && { symbol }), ...timesOf(filter, zone, exchangeNow()) };
    return read(client, query, kind === "" ? null : kind);
  };
}

export function History<Row extends object>({ list }: { list: HistoryList<Row> }) {
  const { id, caption, columns, keyOf, empty } = list;
  const client = accountClient.value;
  const filter = filterOf(id);
  const chosen = filter.value;
  // Only a typed time is another moment in another zone. Of the other ranges the rows are just printed again.
  const zone = chosen.range === "custom" ? timeZone.value : "utc";
  const reader = useMemo(
    () => (client === null ? null : readerOf(list, client, chosen, zone)),
    [list, client, chosen, zone],
  );
  const listing = useMemo(() => (reader === null ? null : new Listing<Row>(reader, keyOf)), [reader]);
  useEffect(() => {
    if (listing === null) return;
    const stop = effect(() => {
      list.news();
      listing.newest();
    });
    return () => {
      stop();
      listing.close();
    };
  }, [listing]);
  const hasMore = listing !== null && listing.cursor.value !== null;
  const { hasSymbols = false, kinds = [] } = list;
  const isFiltered = chosen.symbol !== "" || chosen.kind !== "" || chosen.range !== "all";
  return (
    <>
      <div class="list-tools">
        <FilterBar
          id={id}
          filter={chosen}
          hasSymbols={hasSymbols}
          kinds={kinds}
          isBackwards={reader === null}
          onChange={(next) => {
            filter.value = next;
          }}
        />
        <button
          type="button"
          class="mini"
          disabled={reader === null}
          onClick={() => reader !== null && void download(id, reader)}
        >
          {text.csv}
        </button>
      </div>
      <Table
        caption={caption}
        columns={columns}
        rows={listing?.rows.value ?? []}
        keyOf={keyOf}
        empty={listing?.isLoading.value === true ? text.loading : isFiltered ? text.lists.noMatch : empty}
      />
      {listing !== null && (hasMore || listing.fault.value !== null) && (
        <p class="more">
          {listing.fault.value !== null && <span class="down">{listing.fault.value} </span>}
          <button
            type="button"
            class="mini"
            disabled={listing.isLoading.value}
            onClick={() => (hasMore ? listing.older() : listing.newest())}
          >
            {hasMore ? text.older : text.lists.again}
          </button>
        </p>
      )}
    </>
  );
}
