import { ApiError } from "../common/errors.ts";

const MAX_DEPTH = 16;
/** 200 subscriptions with all that they may say are a thousand. What is found wrong with very many would take its time. */
const MAX_VALUES = 1500;

/** JSON.parse for text from outside: no deep nesting, not very many values, no field twice (JSON.parse would let the last one win). */
export function parseJson(text: string): unknown {
  if (text === "") throw new ApiError("BAD_JSON", { message: "There is nothing here; a JSON object is expected." });
  const members = countMembers(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError("BAD_JSON");
  }
  // A repeated field is a member of the text that the value has lost.
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

/** How many `name: value` the text holds: in valid JSON, its colons outside of strings. */
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
        if (++commas >= MAX_VALUES) throw new ApiError("BAD_JSON", { message: `More than ${MAX_VALUES} values.` });
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > MAX_DEPTH) throw new ApiError("BAD_JSON", { message: `Nested deeper than ${MAX_DEPTH} levels.` });
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
    }
  }
  return members;
}

/** Where the string that begins at `start` has its closing quote. */
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

/** Names the first field that stands twice in one object. Off the fast path: only for the error. */
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
