/** The sizes of the panels on a wide screen. Pure: no page, no storage. */

/** In CSS pixels, as a person has chosen them; 0 = the default for the size of the window. */
export const DEFAULT_SIZES = { bookWidth: 0, formWidth: 0, tablesHeight: 0, tapeHeight: 0 };
export type SizeName = keyof typeof DEFAULT_SIZES;

/** A size with its limits, in CSS pixels. */
export interface PanelSize {
  readonly px: number;
  readonly least: number;
  readonly most: number;
}

/** Header, status line and the gaps between the rows. */
const BARS_PX = 85;
/** The least height of the chart, and of the order book above the trades. */
const CHART_PX = 300;
const BOOK_PX = 170;

/** The sizes in a window, within the limits that leave each panel its content. */
export function panelSizes(
  chosen: Readonly<Record<SizeName, number>>,
  window: { width: number; height: number },
): Readonly<Record<SizeName, PanelSize>> {
  const { width, height } = window;
  const tablesHeight = fit(chosen.tablesHeight || 0.28 * height, 110, height - BARS_PX - CHART_PX);
  const column = height - BARS_PX - tablesHeight.px;
  return {
    bookWidth: fit(chosen.bookWidth || 280, 230, 0.28 * width),
    formWidth: fit(chosen.formWidth || 304, 270, 0.3 * width),
    tablesHeight,
    tapeHeight: fit(chosen.tapeHeight || 0.375 * column, 100, column - BOOK_PX),
  };
}

function fit(wanted: number, least: number, limit: number): PanelSize {
  const most = Math.max(least, Math.floor(limit));
  return { px: Math.round(Math.min(Math.max(wanted, least), most)), least, most };
}
