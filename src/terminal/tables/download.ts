import type { Page } from "../../client/types.ts";
import { toast } from "../state/toasts.ts";
import { refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { toCsv } from "./csv.ts";
import type { ReadPage } from "./listing.ts";

const PAGE = 1000;
const MOST_ROWS = 100_000;

/** Reads a whole list and saves it as a CSV file. */
export async function download(name: string, read: ReadPage<object>): Promise<void> {
  const rows: object[] = [];
  let cursor: string | null = null;
  try {
    do {
      const page: Page<object> = await read({ limit: PAGE, ...(cursor !== null && { cursor }) });
      rows.push(...page.data);
      cursor = page.nextCursor;
    } while (cursor !== null && rows.length < MOST_ROWS);
  } catch (error) {
    toast({ key: "csv", tone: "bad", title: text.noDownload, detail: refusalText(error) });
    return;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([toCsv(rows)], { type: "text/csv" }));
  link.download = `perpd-${name}-${new Date().toISOString().slice(0, 10)}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  toast({
    key: "csv",
    tone: "good",
    title: text.downloaded,
    detail: cursor === null ? text.rows(rows.length) : text.lists.firstRows(rows.length),
  });
}
