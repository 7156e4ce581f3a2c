import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { look } from "../state/settings.ts";
import { decimalsOf } from "../text/decimal.ts";
import { dayAndClock, fixed, short, timeZone } from "../text/format.ts";

/** A line chart over time, as large as its element. uPlot is loaded when the first one is shown. */

export interface Line {
  readonly name: string;
  /** A variable of the theme. */
  readonly color: string;
  readonly decimals: number;
  readonly unit: string;
}

export interface ChartData {
  /** Seconds since the epoch. */
  readonly times: readonly number[];
  /** One column for each line. */
  readonly values: readonly (readonly (number | null)[])[];
}

const show = (value: number | null | undefined, { decimals, unit }: Line): string =>
  value == null ? "–" : `${fixed(value, decimals)}${unit}`;

export function LineChart(props: {
  title: string;
  lines: readonly Line[];
  /** A value holds until the next one. */
  isStepped?: boolean;
  /** Its axis begins at 0. */
  isFromZero?: boolean;
  read: () => ChartData;
}) {
  const { title, lines, isStepped = false, isFromZero = false, read } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  /** The row under the pointer. Null: the newest one. */
  const row = useSignal<number | null>(null);
  // A new theme or zone draws it anew.
  const drawn = `${look.value} ${timeZone.value}`;
  useSignalEffect(() => {
    // Read in any case: this subscribes to the signals.
    const data = toPlot(read());
    plot.current?.setData(data);
  });
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    let isOpen = true;
    const resize = new ResizeObserver(() => plot.current?.setSize(sizeOf(element)));
    void import("uplot").then(({ default: UPlot }) => {
      if (!isOpen) return;
      const options = optionsOf(lines, isStepped, isFromZero, UPlot, (index) => {
        row.value = index;
      });
      plot.current = new UPlot({ ...options, ...sizeOf(element) }, toPlot(read()), element);
      resize.observe(element);
    });
    return () => {
      isOpen = false;
      resize.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [drawn]);
  const { times, values } = read();
  const shownAt = row.value === null ? undefined : times[row.value];
  const latest = lines.map((line, i) => show(values[i]?.at(row.value ?? -1), line));
  return (
    <figure class="series">
      <figcaption>
        {lines.map((line, i) => (
          <span>
            <i class="key" data-color={line.color} aria-hidden="true" />
            {line.name} <strong class="num">{latest[i]}</strong>
          </span>
        ))}
        {shownAt !== undefined && <span class="muted num">{dayAndClock(1000 * shownAt)}</span>}
      </figcaption>
      <div ref={host} class="plot" role="img" aria-label={`${title}: ${latest.join(", ")}`} />
    </figure>
  );
}

const sizeOf = (element: HTMLElement) => ({ width: element.clientWidth, height: element.clientHeight });

const toPlot = ({ times, values }: ChartData): uPlot.AlignedData => [times, ...values] as unknown as uPlot.AlignedData;

function optionsOf(
  lines: readonly Line[],
  isStepped: boolean,
  isFromZero: boolean,
  UPlot: typeof uPlot,
  onCursor: (index: number | null) => void,
): Omit<uPlot.Options, "width" | "height"> {
  const decimals = Math.max(...lines.map((line) => line.decimals));
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: color("muted"),
    font: `10px ${color("font")}`,
    grid: { stroke: color("grid"), width: 1 },
    ticks: { show: false },
  };
  const paths = isStepped ? UPlot.paths.stepped?.({ align: 1 }) : undefined;
  return {
    legend: { show: false },
    tzDate: (seconds) =>
      timeZone.value === "utc" ? UPlot.tzDate(new Date(1000 * seconds), "Etc/UTC") : new Date(1000 * seconds),
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { y: { range: (_plot, low, high) => rangeOf(low, high, isFromZero, decimals) } },
    axes: [
      {
        ...axis,
        size: 22,
        space: 70,
        values: (_plot, at, _axis, _space, step) => at.map((each) => timeLabel(each, step)),
      },
      {
        ...axis,
        size: (_plot, labels) => 16 + 6 * Math.max(4, ...(labels ?? []).map((label) => label.length)),
        space: 28,
        values: (_plot, at, _axis, _space, step) => at.map((each) => valueLabel(each, step)),
      },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        stroke: color(line.color),
        width: 1.5,
        points: { show: false },
        ...(paths !== undefined && { paths }),
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? null)] },
  };
}

/** Not from zero where changes would not be seen, as those of a balance. */
function rangeOf(low: number | null, high: number | null, isFromZero: boolean, decimals: number): [number, number] {
  if (low === null || high === null) return [0, 1];
  if (isFromZero) return [0, high > 0 ? 1.1 * high : 1];
  // A change of less than the last digit shown is none.
  const spread = high - low < 10 ** -decimals ? 0 : high - low;
  const margin = (spread || Math.abs(high) || 1) * 0.1;
  return [low - margin, high + margin];
}

/** As fine as the distance between two labels. */
const valueLabel = (value: number, step: number): string =>
  step >= 10_000 ? short(value) : fixed(value, decimalsOf(String(Number(step.toPrecision(6)))));

const DAY_SECONDS = 86_400;

function timeLabel(seconds: number, step: number): string {
  const [day = "", time = ""] = dayAndClock(1000 * seconds).split(" ");
  if (step >= DAY_SECONDS) return day;
  return time === "00:00:00" ? day : step < 60 ? time : time.slice(0, 5);
}
