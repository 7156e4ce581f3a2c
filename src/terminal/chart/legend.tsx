import { instrument } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { decimalsOf } from "../text/decimal.ts";
import { fixed, percent, short } from "../text/format.ts";
import { candles, describedIndex, type Plot, paneTops, plots } from "./chart-state.ts";

/** The figures of the candle below the crosshair, otherwise of the newest one, at the top of each pane. */
export function Legends() {
  return (
    <>
      {paneTops.value.map((top, pane) => (
        <div class="legend num" style={{ top: `${top + 4}px` }} key={pane}>
          {pane === 0 && <CandleFigures />}
          {plots.value
            .filter((plot) => plot.pane === pane)
            .map((plot) => (
              <PlotFigures plot={plot} key={plot.id} />
            ))}
        </div>
      ))}
    </>
  );
}

function CandleFigures() {
  const candle = candles.value.all[describedIndex.value];
  if (candle === undefined) return null;
  const decimals = decimalsOf(instrument.value?.tickSize ?? "0.1");
  const change = Number(candle.open) === 0 ? 0 : Number(candle.close) / Number(candle.open) - 1;
  const tone = change < 0 ? "down" : "up";
  return (
    <p>
      {(["open", "high", "low", "close"] as const).map((name) => (
        <span key={name}>
          <span class="muted">{text.ohlc[name]}</span> <span class={tone}>{fixed(Number(candle[name]), decimals)}</span>
        </span>
      ))}
      <span class={tone}>{percent(change)}</span>
      <span>
        <span class="muted">{text.volume}</span> {short(candle.volume)}
      </span>
    </p>
  );
}

function PlotFigures({ plot }: { plot: Plot }) {
  void [candles.value, plots.value];
  const values = plot.valuesAt(describedIndex.value);
  return (
    <p>
      <span class="muted">{plot.title}</span>
      {plot.lines.map(({ title, color }, index) => {
        const value = values[index] ?? null;
        return (
          <span key={title}>
            {title !== "" && <span class="muted">{title} </span>}
            <span style={{ color: `var(--${color})` }}>{value === null ? "–" : plot.format(value)}</span>
          </span>
        );
      })}
    </p>
  );
}
