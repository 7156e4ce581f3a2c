import {
  Compile,
  type Static,
  type TLocalizedValidationError,
  type TObject,
  type TSchema,
  type Validator,
} from "../../packages/typebox.ts";
import { DECIMAL_FORMAT } from "../../wire/schema/scalars.ts";
import { ApiError, type ErrorDetails } from "../common/errors.ts";

/** Programs poll with the same few queries. This many valid ones are cached, up to the length below. */
const MAX_CACHED_QUERIES = 100;
const MAX_CACHED_LENGTH = 100;

/**
 * Checks bodies and queries against a schema; a check takes about 0.1 µs. The schema is compiled at its first use, in one
 * to six milliseconds. To compile all 130 of them would be a tenth of a start.
 */
export class Input<S extends TObject> {
  private readonly schema: S;
  private validator: Validator | null = null;
  private readonly lists: readonly MixedList[];
  private readonly cached = new Map<string, Static<S>>();

  constructor(schema: S) {
    this.schema = schema;
    this.lists = mixedListsOf(schema);
  }

  /** Returns the value with its type. A field that is null counts as left out. Throws an ApiError that names the first wrong field. */
  check(given: unknown): Static<S> {
    this.validator ??= Compile(this.schema) as unknown as Validator;
    if (this.validator.Check(given)) return given as Static<S>;
    const value = withoutNulls(this.schema, given);
    if (this.validator.Check(value)) return value as Static<S>;
    for (const list of this.lists) checkMixedList(list, value);
    throw describe(this.schema, value, this.validator.Errors(value)[1]);
  }

  /** `query`: the text after "?", not decoded. The result is cached, so it must not be changed. */
  readQuery(query: string): Static<S> {
    const known = this.cached.get(query);
    if (known !== undefined) return known;
    const value = this.check(parseQuery(query, this.schema));
    Object.freeze(value);
    if (query.length > MAX_CACHED_LENGTH) return value;
    if (this.cached.size === MAX_CACHED_QUERIES) this.cached.clear();
    this.cached.set(query, value);
    return value;
  }
}

/** A list with rows of several kinds. The field `tag` of a row names its kind. */
interface MixedList {
  readonly field: string;
  readonly tag: string;
  readonly kinds: ReadonlyMap<unknown, Input<TObject>>;
}

function mixedListsOf(schema: TObject): MixedList[] {
  return Object.entries(schema.properties).flatMap(([field, property]) => {
    const { anyOf = [] } = ((property as Nested).items ?? {}) as { anyOf?: TObject[] };
    const constantOf = (kind: TObject, name: string): unknown => (kind.properties[name] as { const?: unknown }).const;
    const tag = Object.keys(anyOf[0]?.properties ?? {}).find((name) => constantOf(anyOf[0], name) !== undefined);
    if (tag === undefined) return [];
    return [{ field, tag, kinds: new Map(anyOf.map((kind) => [constantOf(kind, tag), new Input(kind)])) }];
  });
}

/** Refuses the first row that does not fit its kind. The schema of the list only knows that no kind fits. */
function checkMixedList({ field, tag, kinds }: MixedList, value: unknown): void {
  const rows = valueAt(value, `/${field}`);
  if (!Array.isArray(rows)) return;
  for (const [index, row] of rows.entries()) {
    const at = `${field}.${index}`;
    if (typeof row !== "object" || row === null || Array.isArray(row))
      throw new ApiError("BAD_TYPE", { field: at, message: `${at} must be of type object.` });
    if (!Object.hasOwn(row, tag)) throw new ApiError("MISSING_FIELD", { field: `${at}.${tag}` });
    const kind = kinds.get(row[tag]);
    if (kind === undefined) {
      const allowed = [...kinds.keys()] as string[];
      const message = `${at}.${tag} must be one of ${allowed.join(", ")}.`;
      throw new ApiError("BAD_VALUE", { field: `${at}.${tag}`, message, details: { allowed } });
    }
    try {
      kind.check(row);
    } catch (thrown) {
      throw thrown instanceof ApiError ? thrown.within(at) : thrown;
    }
  }
}

/** A copy without the known fields that are null: programs write them for what they do not set. */
function withoutNulls(schema: Nested, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutNulls(kindOf(schema.items ?? {}, each), each));
  if (typeof value !== "object" || value === null) return value;
  const { properties = {} } = schema;
  const isKnown = (name: string): boolean => Object.hasOwn(properties, name);
  const entries = Object.entries(value).filter(([name, each]) => each !== null || !isKnown(name));
  return Object.fromEntries(
    entries.map(([name, each]) => [name, isKnown(name) ? withoutNulls(properties[name] ?? {}, each) : each]),
  );
}

/** Of a union, the schema whose constants the value has. */
function kindOf(schema: Nested, value: unknown): Nested {
  const fits = ({ properties = {} }: Nested): boolean =>
    Object.entries(properties).every(([name, { const: constant }]: [string, Nested]) =>
      constant === undefined ? true : constant === (value as Record<string, unknown> | null)?.[name],
    );
  return schema.anyOf?.find(fits) ?? schema;
}

/** A query string as an object, with integers as numbers and booleans as such. Throws on repeated and unknown fields and malformed escapes. */
function parseQuery(query: string, schema: TObject): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  if (query === "") return fields;
  for (const part of query.split("&")) {
    const equals = part.indexOf("=");
    if (equals < 1)
      throw new ApiError("BAD_QUERY", {
        message: `The query must consist of name=value pairs; "${part.slice(0, 64)}" is none.`,
      });
    const name = decodePercent(part.slice(0, equals), "query");
    if (!Object.hasOwn(schema.properties, name)) throw unknownField(name, schema);
    if (Object.hasOwn(fields, name)) throw new ApiError("DUPLICATE_FIELD", { field: name });
    const text = decodePercent(part.slice(equals + 1), "query");
    fields[name] = parseText(text, typeOf(schema.properties[name]), name);
  }
  return fields;
}

/** Ids and symbols need no percent escapes, but some clients send them. */
export function decodePercent(text: string, part: "path" | "query"): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiError("BAD_QUERY", { message: `A percent escape in the ${part} is malformed or not UTF-8.` });
  }
}

function parseText(text: string, type: unknown, field: string): unknown {
  if (type === "integer") return parseInteger(text, field);
  if (type === "array") return text.split(",");
  if (type !== "boolean") return text;
  if (text !== "true" && text !== "false")
    throw new ApiError("BAD_TYPE", { field, message: `${field} must be true or false.` });
  return text === "true";
}

function parseInteger(text: string, field: string): number {
  if (!/^-?(0|[1-9][0-9]{0,15})$/.test(text))
    throw new ApiError("BAD_TYPE", { field, message: `${field} must be an integer.` });
  return Number(text);
}

/** The ApiError for the first of the validator's errors. Unknown fields come before all others. */
function describe(schema: TSchema, value: unknown, errors: TLocalizedValidationError[]): ApiError {
  const unknown = errors.find((error) => error.keyword === "additionalProperties");
  if (unknown !== undefined && unknown.keyword === "additionalProperties")
    return unknownField(fieldName(unknown.instancePath, unknown.params.additionalProperties[0]), schema);
  const [error] = errors;
  if (error === undefined) return new ApiError("BAD_VALUE");
  const field = fieldName(error.instancePath);
  // Of many unknown fields the validator lists each one, and ends the list before the summary error.
  if (error.keyword === "boolean") return unknownField(field, schema);
  if (error.keyword === "required")
    return new ApiError("MISSING_FIELD", { field: fieldName(error.instancePath, error.params.requiredProperties[0]) });
  if (field === "") return new ApiError("BAD_TYPE", { message: "The body must be a JSON object." });
  return describeValue(field, schemaAt(schema, error.instancePath), valueAt(value, error.instancePath), error);
}

function describeValue(field: string, schema: TSchema, value: unknown, error: TLocalizedValidationError): ApiError {
  const { format, pattern = "", examples = [] } = schema as { format?: string; pattern?: string; examples?: string[] };
  if (format === DECIMAL_FORMAT) {
    if (typeof value !== "number") return new ApiError("BAD_NUMBER", { field });
    const message = `Decimals are strings: send ${field} in quotes, such as "${value}", so that no digit is lost.`;
    return new ApiError("BAD_NUMBER", { field, message });
  }
  switch (error.keyword) {
    case "type": {
      const { type } = error.params;
      return new ApiError("BAD_TYPE", { field, message: `${field} must be of type ${String(type)}.` });
    }
    case "enum": {
      const allowed = error.params.allowedValues as string[];
      return new ApiError("BAD_VALUE", {
        field,
        message: `${field} must be one of ${allowed.join(", ")}.`,
        details: { allowed },
      });
    }
    case "minimum":
    case "maximum":
    case "minItems":
    case "maxItems":
    case "minLength":
    case "maxLength":
      return new ApiError("BAD_VALUE", {
        field,
        message: `${field} ${error.message}.`,
        details: { [error.keyword]: Number(error.params.limit) } satisfies ErrorDetails,
      });
    case "pattern": {
      const message = `${field} has the wrong form. A valid example is "${examples[0]}".`;
      return new ApiError("BAD_VALUE", { field, message, details: { pattern } });
    }
    default:
      return new ApiError("BAD_VALUE", { field, message: `${field} ${error.message}.` });
  }
}

function unknownField(field: string, schema: TSchema): ApiError {
  const { properties } = schema as { properties?: object };
  const known = field.includes(".") || properties === undefined ? undefined : Object.keys(properties);
  // The name is a client's text, so only its beginning is repeated.
  const parts = { field: field.slice(0, 64) };
  return new ApiError("UNKNOWN_FIELD", known === undefined ? parts : { ...parts, details: { known } });
}

/** "/permissions/0" → "permissions.0" */
function fieldName(instancePath: string, last?: string): string {
  const names = pathOf(instancePath);
  if (last !== undefined) names.push(last);
  return names.join(".");
}

/** RFC 6901. */
const pathOf = (instancePath: string): string[] =>
  instancePath === ""
    ? []
    : instancePath
        .slice(1)
        .split("/")
        .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));

interface Nested {
  type?: unknown;
  const?: unknown;
  anyOf?: Nested[];
  properties?: Record<string, TSchema>;
  items?: TSchema;
}

const typeOf = (schema: TSchema | undefined): unknown => (schema as Nested | undefined)?.type;

function schemaAt(schema: TSchema, instancePath: string): TSchema {
  let at: TSchema | undefined = schema;
  for (const name of pathOf(instancePath)) {
    const { properties, items } = (at ?? {}) as Nested;
    at = properties?.[name] ?? items;
  }
  return at ?? {};
}

function valueAt(value: unknown, instancePath: string): unknown {
  let at = value;
  for (const name of pathOf(instancePath)) at = (at as Record<string, unknown> | null | undefined)?.[name];
  return at;
}
