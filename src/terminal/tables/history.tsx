import { useEffect, useState } from "preact/hooks";
import { refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import type { ReadPage } from "./download.ts";
import { type Column, Table } from "./table.tsx";

const PAGE = 100;

/** A list that is read page by page when a person looks at it. */
export function History<Row extends object>(props: {
  caption: string;
  columns: readonly Column<Row>[];
  read: ReadPage<Row>;
  keyOf: (row: Row) => string;
  empty: string;
}) {
  const { caption, columns, read, keyOf, empty } = props;
  const [rows, setRows] = useState<readonly Row[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [isLoading, setLoading] = useState(true);
  const load = async (from: string | null): Promise<void> => {
    setLoading(true);
    try {
      const { data, nextCursor } = await read({ limit: PAGE, ...(from !== null && { cursor: from }) });
      setRows((before) => (from === null ? data : [...before, ...data]));
      setCursor(nextCursor);
      setFault(null);
    } catch (error) {
      setFault(refusalText(error));
    }
    setLoading(false);
  };
  useEffect(() => void load(null), []);
  return (
    <>
      <Table
        caption={caption}
        columns={columns}
        rows={rows}
        keyOf={keyOf}
        empty={fault ?? (isLoading ? text.loading : empty)}
      />
      {cursor !== null && (
        <p class="more">
          <button type="button" class="mini" disabled={isLoading} onClick={() => void load(cursor)}>
            {text.older}
          </button>
        </p>
      )}
    </>
  );
}
