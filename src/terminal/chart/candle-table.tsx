import { useEffect, useState } from "preact/hooks";
import type { Kline } from "../../client/types.ts";
import { instrument, priceDecimals } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { fixed, percent, short, tone } from "../text/format.ts";
import { isDaily } from "./candles.ts";
import { candles, plots, shownInterval } from "./chart-state.ts";
import { fillsIn } from "./own-fills.ts";
import { candleTime } from "./times.ts";

/** The chart as a table, newest candle first, for the keyboard and for screen readers. */

/** One page. */
const ROWS = 100;
/** Cells that change more often cannot be read. */
const REDRAW_MS = 1_000;

interface Column {
  readonly title: string;
  cell(candle: Kline, index: number): string;
  readonly toneOf?: (candle: Kline) => string;
}

function columns(): Column[] {
  const interval = shownInterval.value ?? "1m";
  const price = (value: string): string => fixed(Number(value), priceDecimals.value);
  const change = ({ open, close }: Kline): number => (Number(open) === 0 ? 0 : Number(close) / Number(open) - 1);
  return [
    { title: text.time, cell: ({ openTime }) => candleTime(openTime, isDaily(interval), interval === "1s") },
    { title: text.candle.open, cell: ({ open }) => price(open) },
    { title: text.candle.high, cell: ({ high }) => price(high) },
    { title: text.candle.low, cell: ({ low }) => price(low) },
    { title: text.candle.close, cell: ({ close }) => price(close) },
    { title: text.candle.change, cell: (candle) => percent(change(candle)), toneOf: (candle) => tone(change(candle)) },
    { title: text.candle.volume(instrument.value?.baseAsset ?? ""), cell: ({ volume }) => short(volume) },
    ...plots.value.flatMap((plot) =>
      plot.lines.map(({ title }, line) => ({
        title: `${plot.title} ${title}`.trim(),
        cell(_candle: Kline, index: number) {
          const value = plot.valuesAt(index)[line] ?? null;
          return value === null ? "–" : plot.format(value);
        },
      })),
    ),
    {
      title: text.indicators.showsFills,
      cell: (candle) =>
        fillsIn(candle)
          .map(({ side, quantity, price: at }) => text.fillAt(side, quantity, price(at)))
          .join(", "),
    },
  ];
}

export function CandleTable() {
  const [page, setPage] = useState(0);
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((count) => count + 1), REDRAW_MS);
    return () => clearInterval(timer);
  }, []);
  const { all, loadOlder } = candles.peek();
  const end = all.length - page * ROWS;
  const start = Math.max(0, end - ROWS);
  const rows = all.slice(start, Math.max(0, end)).reverse();
  const shown = columns();
  const goOlder = async (): Promise<void> => {
    if (start < ROWS) await loadOlder();
    if (candles.peek().all.length > (page + 1) * ROWS) setPage(page + 1);
  };
  return (
    <div class="candle-table">
      <section class="table-body" tabIndex={0} aria-label={text.candle.table}>
        <table>
          <caption class="hidden">{text.candle.caption(shownInterval.value ?? "")}</caption>
          <thead>
            <tr>
              {shown.map(({ title }, column) => (
                <th scope="col" class={column === 0 ? "" : "right"} key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((candle, row) => (
              <tr key={candle.openTime}>
                {shown.map(({ title, cell, toneOf }, column) => (
                  <td data-title={title} class={column === 0 ? "" : `num right ${toneOf?.(candle) ?? ""}`} key={title}>
                    {cell(candle, start + rows.length - 1 - row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <nav class="pages" aria-label={text.candle.pages}>
        <button type="button" class="mini" disabled={page === 0} onClick={() => setPage(page - 1)}>
          {text.candle.newer}
        </button>
        <button type="button" class="mini" onClick={() => void goOlder()}>
          {text.candle.older}
        </button>
      </nav>
    </div>
  );
}
