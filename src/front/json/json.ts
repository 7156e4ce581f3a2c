import { ApiError } from "../common/errors.ts";

const MAX_DEPTH = 16;
/** 200 subscriptions with all optional fields have about 1000 values. The bound limits the time that checks take. */
const MAX_VALUES = 1500;

/** Parses JSON of a client. Throws BAD_JSON on deep nesting or too many values, DUPLICATE_FIELD on a field that occurs twice. */
export function parseJson(text: string): unknown {
  if (text === "") throw new ApiError("BAD_JSON", { message: "The text is empty. Send a JSON object." });
  const members = countMembers(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError("BAD_JSON");
  }
  // JSON.parse keeps only the last of two fields with one name, so the text has more members than the value.
  if (countFields(value) !== members) throw duplicateField(text);
  return value;
}

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;

/** Number of `name: value` members: in valid JSON, the colons outside strings. */
function countMembers(text: string): number {
  let members = 0;
  let commas = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(text, i);
        break;
      case COLON:
        members++;
        break;
      case COMMA:
        if (++commas >= MAX_VALUES)
          throw new ApiError("BAD_JSON", {
            message: `The JSON has more than ${MAX_VALUES} values. Send less in one request.`,
          });
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > MAX_DEPTH)
          throw new ApiError("BAD_JSON", { message: `The JSON is nested deeper than ${MAX_DEPTH} levels.` });
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
    }
  }
  return members;
}

/** Index of the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

function countFields(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let fields = 0;
  if (Array.isArray(value)) {
    for (const item of value) fields += countFields(item);
    return fields;
  }
  for (const name in value) fields += 1 + countFields((value as Record<string, unknown>)[name]);
  return fields;
}

/** The error for the first field that occurs twice in one object. Slow: it only runs after countMembers() found one. */
function duplicateField(text: string): ApiError {
  const open: Set<string>[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === "{" || char === "[") open.push(new Set());
    else if (char === "}" || char === "]") open.pop();
    else if (char === '"') {
      const end = endOfString(text, i);
      const isName = /^\s*:/.test(text.slice(end + 1));
      const names = open[open.length - 1];
      if (isName && names !== undefined) {
        const name = JSON.parse(text.slice(i, end + 1)) as string;
        if (names.has(name)) return new ApiError("DUPLICATE_FIELD", { field: name });
        names.add(name);
      }
      i = end;
    }
  }
  return new ApiError("DUPLICATE_FIELD");
}
