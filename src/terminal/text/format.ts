import { signal } from "@preact/signals";

/** How figures are shown. Each function takes a decimal text of the API, or null for a value that is not known. */

const NONE = "–";

const grouped = new Map<number, Intl.NumberFormat>();

/** With a comma after each thousand and exactly `decimals` decimals. */
export function fixed(value: number, decimals: number): string {
  let format = grouped.get(decimals);
  if (format === undefined) {
    format = new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    grouped.set(decimals, format);
  }
  return minus(format.format(value));
}

/** The sign of numbers, as wide as a plus, in the place of a hyphen. */
const minus = (text: string): string => text.replace("-", "−");

export const price = (value: string | null | undefined, decimals: number): string =>
  value == null ? NONE : fixed(Number(value), decimals);

export const quantity = (value: string | null | undefined, decimals: number): string =>
  value == null ? NONE : fixed(Number(value), decimals);

export const usd = (value: string | number | null | undefined): string =>
  value == null ? NONE : fixed(Number(value), 2);

/** To the last digit of USDC, so that amounts below each other are aligned. */
export const exact = (value: string): string => fixed(Number(value), 6);

/** With a sign: "+1.20", "−3.00", "0.00". */
export function signed(value: string | number | null | undefined, decimals = 2): string {
  if (value == null) return NONE;
  const text = fixed(Math.abs(Number(value)), decimals);
  if (/^[0.,]*$/.test(text)) return text;
  return (Number(value) < 0 ? "−" : "+") + text;
}

/** A share: 0.0123 → "1.23%". */
export const percent = (share: string | number | null | undefined, decimals = 2): string =>
  share == null ? NONE : `${signed(100 * Number(share), decimals)}%`;

const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 });
/** 1234567 → "1.23M" */
export const short = (value: string | number | null | undefined): string =>
  value == null ? NONE : minus(compact.format(Number(value)));

const pad = (value: number): string => String(value).padStart(2, "0");

/** In which zone times are shown. */
export const timeZone = signal<"local" | "utc">("local");

/** A date whose UTC fields are those of the time in the zone that is shown. */
export function zoned(timeMs: number): Date {
  if (timeZone.value === "utc") return new Date(timeMs);
  return new Date(timeMs - 60_000 * new Date(timeMs).getTimezoneOffset());
}

export function clock(timeMs: number): string {
  const at = zoned(timeMs);
  return `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}:${pad(at.getUTCSeconds())}`;
}

/** "11-23 21:05:09" */
export function dayAndClock(timeMs: number): string {
  const at = zoned(timeMs);
  return `${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())} ${clock(timeMs)}`;
}

/** "01:02:03" */
export function countdown(leftMs: number): string {
  const seconds = Math.max(0, Math.floor(leftMs / 1000));
  return `${pad(Math.floor(seconds / 3600))}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}`;
}

/** "BTC-PERP" → "BTC" */
export const assetOf = (symbol: string): string => symbol.replace(/-PERP$/, "");

/** "GOOD_TILL" → "Good till" */
export const words = (constant: string): string => {
  const text = constant
    .replaceAll("_", " ")
    .toLowerCase()
    .replace(/\badl\b/, "ADL")
    .replace(/\bpnl\b/, "PnL");
  return text.charAt(0).toUpperCase() + text.slice(1);
};

export const tone = (value: string | number | null | undefined): "up" | "down" | "" =>
  value == null || Number(value) === 0 ? "" : Number(value) > 0 ? "up" : "down";
