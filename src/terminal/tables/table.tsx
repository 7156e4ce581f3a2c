import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useWindow } from "./window.ts";

/** A table whose head stays in view. Of many rows only those in view are drawn. */

export interface Column<Row> {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  /** Too long for a half of a phone's width, where a row is a list of cells: it has a line of its own. */
  readonly isWide?: boolean;
  cell(row: Row): ComponentChildren;
}

/** The second click of a double click may meet the row that has moved up into the place of the first one. */
function ignoreSecondClick(event: MouseEvent): void {
  const isAction = event.target instanceof Element && event.target.closest(".row-actions") !== null;
  if (isAction && event.detail > 1) event.stopPropagation();
}

export function Table<Row>(props: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  empty: string;
  /** The lesser figure of a cell stands below the other one. */
  isStacked?: boolean;
}) {
  const { caption, columns, rows, keyOf, empty, isStacked = false } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const shown = useWindow(body, rows.length);
  const focused = useRef<HTMLElement | null>(null);
  // A row that goes takes the focus with it: its panel keeps the place in the page.
  useLayoutEffect(() => {
    if (focused.current === null || focused.current.isConnected) return;
    focused.current = null;
    if (document.activeElement === document.body) document.getElementById("tables-panel")?.focus();
  });
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const { first, end, rowHeightPx } = shown ?? { first: 0, end: rows.length, rowHeightPx: 0 };
  return (
    <table class={isStacked ? "stacked" : ""} {...(shown !== null && { "aria-rowcount": rows.length + 1 })}>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, isNumber }) => (
            <th scope="col" class={isNumber === true ? "right" : ""}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody
        ref={body}
        onClickCapture={ignoreSecondClick}
        onFocusIn={(event) => {
          focused.current = event.target as HTMLElement;
        }}
        onFocusOut={(event) => {
          if (event.relatedTarget !== null) focused.current = null;
        }}
      >
        {shown !== null && <Spacer key="above" columns={columns.length} heightPx={first * rowHeightPx} />}
        {rows.slice(first, end).map((row, index) => (
          <tr key={keyOf(row)} {...(shown !== null && { "aria-rowindex": first + index + 2 })}>
            {columns.map(({ title, isNumber, isWide, cell }) => (
              <td
                data-title={title}
                class={`${isNumber === true ? "num right" : ""} ${isWide === true ? "whole-line" : ""}`}
              >
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
        {shown !== null && <Spacer key="below" columns={columns.length} heightPx={(rows.length - end) * rowHeightPx} />}
      </tbody>
    </table>
  );
}

/** Stands for the rows that are not drawn. */
const Spacer = ({ columns, heightPx }: { columns: number; heightPx: number }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nobody can focus a row.
  <tr class="spacer" aria-hidden="true">
    <td colSpan={columns} style={{ height: `${heightPx}px` }} />
  </tr>
);
