import type { ComponentChildren } from "preact";

/** A table whose head stays in view. */

export interface Column<Row> {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  cell(row: Row): ComponentChildren;
}

export function Table<Row>(props: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  empty: string;
}) {
  const { caption, columns, rows, keyOf, empty } = props;
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <table>
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
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, isNumber, cell }) => (
              <td data-title={title} class={isNumber === true ? "num right" : ""}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
