import type { Instrument } from "../../client/types.ts";
import { type Column, Table } from "../tables/table.tsx";
import { decimalsOf } from "../text/decimal.ts";
import { clock, price, quantity, words } from "../text/format.ts";
import { openAction } from "./actions.tsx";
import { health, instruments, tickers } from "./session.ts";
import { texts } from "./texts.ts";

/** The state of each symbol, and what an operator can do with it. */

function Status({ row }: { row: Instrument }) {
  const { status, statusReason, statusUntil, pendingIndexPrice } = row;
  const isTrading = status === "TRADING";
  return (
    <>
      <span class={isTrading ? "state up" : status === "HALTED" ? "state down" : "state warn"}>{words(status)}</span>
      {statusReason !== null && <span class="sub">{words(statusReason)}</span>}
      {statusUntil !== null && <span class="sub">{texts.until(clock(statusUntil))}</span>}
      {pendingIndexPrice !== null && <span class="sub warn">{texts.pending(pendingIndexPrice)}</span>}
    </>
  );
}

/** By the exchange's clock. */
function age({ indexTime }: Instrument): string {
  const now = health.value?.serverTime;
  if (indexTime === null || now === undefined) return texts.none;
  const seconds = Math.max(0, Math.round((now - indexTime) / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

const COLUMNS: readonly Column<Instrument>[] = [
  { title: texts.symbol, cell: ({ symbol }) => <strong>{symbol}</strong> },
  { title: texts.status, cell: (row) => <Status row={row} /> },
  {
    title: texts.index,
    isNumber: true,
    cell: ({ symbol, tickSize }) => price(tickers.value.get(symbol)?.indexPrice, decimalsOf(tickSize)),
  },
  { title: texts.indexAge, isNumber: true, cell: age },
  {
    title: texts.mark,
    isNumber: true,
    cell: ({ symbol, tickSize }) => price(tickers.value.get(symbol)?.markPrice, decimalsOf(tickSize)),
  },
  {
    title: texts.openInterest,
    isNumber: true,
    cell: ({ openInterest, stepSize, baseAsset }) => `${quantity(openInterest, decimalsOf(stepSize))} ${baseAsset}`,
  },
  {
    title: texts.actions,
    isNumber: true,
    cell: ({ symbol, status }) => (
      <span class="row-actions">
        <button
          type="button"
          class="mini"
          aria-label={texts.indexTitle(symbol)}
          onClick={() => openAction("INDEX", symbol)}
        >
          {texts.setIndex}
        </button>
        <button
          type="button"
          class="mini"
          aria-label={texts.haltTitle(symbol)}
          onClick={() => openAction("HALT", symbol)}
        >
          {texts.halt}
        </button>
        <button
          type="button"
          class="mini"
          aria-label={texts.resumeTitle(symbol)}
          disabled={status === "TRADING"}
          onClick={() => openAction("RESUME", symbol)}
        >
          {texts.resume}
        </button>
      </span>
    ),
  },
];

export function SymbolsPanel() {
  return (
    <section class="panel symbols" aria-label={texts.symbols}>
      <div class="panel-head">
        <h2>{texts.symbols}</h2>
      </div>
      <div class="table-body">
        <Table
          caption={texts.symbols}
          columns={COLUMNS}
          rows={instruments.value}
          keyOf={({ symbol }) => symbol}
          empty={texts.reading}
        />
      </div>
    </section>
  );
}
