/** Lists as CSV files (RFC 4180). Pure. */

const NUMBER = /^-?[0-9]+(\.[0-9]+)?$/;

/** A spreadsheet runs a text that begins like a formula, so such a text gets an apostrophe in front. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Columns are the fields of the first row. Times in milliseconds stay as they are. */
export function toCsv(rows: readonly object[]): string {
  const fields = Object.keys(rows[0] ?? {});
  const lines = rows.map((row) => fields.map((field) => cell((row as Record<string, unknown>)[field])).join(","));
  return [fields.join(","), ...lines, ""].join("\r\n");
}
