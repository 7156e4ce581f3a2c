import "uplot/dist/uPlot.min.css";
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { settings } from "../state/settings.ts";
import { fixed, short } from "../text/format.ts";
import { texts } from "./texts.ts";

/** A line chart over time. uPlot is loaded when the first one is shown. */

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

const HEIGHT = 130;

const show = (value: number | null | undefined, { decimals, unit }: Line): string =>
  value == null ? texts.none : `${fixed(value, decimals)}${unit}`;

export function Chart(props: { title: string; lines: readonly Line[]; isStepped?: boolean; read: () => ChartData }) {
  const { title, lines, isStepped, read } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  /** The row under the pointer. Null: the newest one. */
  const row = useSignal<number | null>(null);
  const { theme } = settings.value;
  useSignalEffect(() => {
    // Read in any case: this subscribes to the signals.
    const data = toPlot(read());
    plot.current?.setData(data);
  });
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    let isOpen = true;
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    void import("uplot").then(({ default: UPlot }) => {
      if (!isOpen) return;
      const options = optionsOf(lines, element.clientWidth, isStepped === true, UPlot, (index) => {
        row.value = index;
      });
      plot.current = new UPlot(options, toPlot(read()), element);
      resize.observe(element);
    });
    return () => {
      isOpen = false;
      resize.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme]);
  const { values } = read();
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
      </figcaption>
      <div ref={host} class="plot" role="img" aria-label={`${title}: ${latest.join(", ")}`} />
    </figure>
  );
}

const toPlot = ({ times, values }: ChartData): uPlot.AlignedData => [times, ...values] as unknown as uPlot.AlignedData;

function optionsOf(
  lines: readonly Line[],
  width: number,
  isStepped: boolean,
  UPlot: typeof uPlot,
  onCursor: (index: number | null) => void,
): uPlot.Options {
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
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { y: { range: (_plot, low, high) => rangeOf(low, high, isStepped) } },
    axes: [
      { ...axis, size: 22, space: 70, values: (_plot, at) => at.map((each) => timeLabel(each)) },
      { ...axis, size: 52, space: 28, values: (_plot, at) => at.map((each) => short(each)) },
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

/** From zero, except for a balance: its changes would not be seen. */
function rangeOf(low: number | null, high: number | null, isBalance: boolean): [number, number] {
  if (low === null || high === null) return [0, 1];
  if (!isBalance) return [0, high > 0 ? 1.1 * high : 1];
  const margin = (high - low || Math.abs(high) || 1) * 0.1;
  return [low - margin, high + margin];
}

const timeLabel = (seconds: number): string => {
  const at = new Date(1000 * seconds);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
};
