import type { TSchema } from "../../packages/typebox.ts";
import * as account from "../../wire/schema/account.ts";
import * as auth from "../../wire/schema/auth.ts";
import * as batch from "../../wire/schema/batch.ts";
import * as channels from "../../wire/schema/channels.ts";
import * as market from "../../wire/schema/market.ts";
import * as messages from "../../wire/schema/messages.ts";
import * as orderSize from "../../wire/schema/order-size.ts";
import * as orders from "../../wire/schema/orders.ts";
import * as positionHistory from "../../wire/schema/position-history.ts";
import * as risk from "../../wire/schema/risk.ts";
import * as scalars from "../../wire/schema/scalars.ts";
import * as system from "../../wire/schema/system.ts";
import { TRADING_PARAMS } from "../../wire/schema/trading.ts";

export type Json = Record<string, unknown>;

/** A schema of an object, or of a set of texts, that one of these modules exports has the export's name in the documents. */
const MODULES: readonly object[] = [
  account,
  auth,
  batch,
  channels,
  market,
  messages,
  orderSize,
  orders,
  positionHistory,
  risk,
  scalars,
  system,
];

interface Declared {
  readonly name: string;
  readonly schema: TSchema;
}
const DECLARED = new Map<unknown, Declared>();
for (const module of MODULES) for (const [name, schema] of Object.entries(module)) declare(name, schema);
for (const [channel, schema] of Object.entries(channels.CHANNELS)) declare(`${pascal(channel)}Subscription`, schema);
for (const [channel, stream] of Object.entries(messages.STREAMS))
  for (const [kind, schema] of Object.entries(stream)) declare(pascal(`${channel}.${kind}`), schema);

for (const [op, schema] of Object.entries(TRADING_PARAMS)) declare(`${pascal(op)}Params`, schema);

function declare(name: string, schema: TSchema): void {
  const key = keyOf(schema);
  if (key !== undefined && !DECLARED.has(key)) DECLARED.set(key, { name, schema });
}

/** order.cancelAll → OrderCancelAll */
export function pascal(name: string): string {
  return name.replace(/(^|[.-])(\w)/g, (_match, _separator, letter: string) => letter.toUpperCase());
}

/**
 * The same for all uses of a schema: TypeBox copies a schema to make it optional, but not its properties. Sets of texts are the
 * same if their values are.
 */
function keyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if ("properties" in value) return value.properties;
  return isTextEnum(value) ? JSON.stringify((value as SchemaKeywords).enum) : undefined;
}

/** A use of a named schema repeats these where they differ. */
const KEYWORDS_OF_A_USE = ["description", "default"] as const;

/** Clients must not send unknown fields. The exchange may add fields to its messages. */
type Sender = "CLIENT" | "EXCHANGE";
/** The two write the discriminator of a union differently. */
type Dialect = "OPENAPI" | "ASYNCAPI";

/** Prints the schemas of one document and collects the named ones. */
export class SchemaPrinter {
  private readonly dialect: Dialect;
  private readonly named = new Map<string, { schema: Json; speaker: Sender }>();

  constructor(dialect: Dialect) {
    this.dialect = dialect;
  }

  /** `{ $ref }` for a schema with a name, else the schema. */
  print(schema: TSchema, speaker: Sender): Json {
    const declared = DECLARED.get(keyOf(schema));
    return declared === undefined
      ? (this.printed(schema, speaker) as Json)
      : this.refer(schema, speaker, declared.name, declared.schema);
  }

  /** As print(), for a schema that has no name of its own. */
  printAs(name: string, schema: TSchema, speaker: Sender): Json {
    return DECLARED.has(keyOf(schema)) ? this.print(schema, speaker) : this.refer(schema, speaker, name, schema);
  }

  /** A schema that allows any of these. */
  printAny(schemas: readonly TSchema[], speaker: Sender): Json {
    const [first = {}, ...others] = schemas.map((schema) => this.print(schema, speaker));
    return others.length === 0 ? first : { anyOf: [first, ...others] };
  }

  /** The schemas that have a name. */
  components(): Json {
    const named = [...this.named].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(named.map(([name, { schema }]) => [name, { title: name, ...schema }]));
  }

  private refer(schema: TSchema, speaker: Sender, name: string, declared: TSchema): Json {
    const known = this.named.get(name);
    if (known === undefined) this.named.set(name, { schema: this.printed(declared, speaker) as Json, speaker });
    else if (known.speaker !== speaker && !isTextEnum(schema))
      throw new Error(`${name} is sent by clients and by the exchange: split it`);
    const use: Json = { $ref: `#/components/schemas/${name}` };
    const [given, usual] = [schema as SchemaKeywords, declared as SchemaKeywords];
    for (const key of KEYWORDS_OF_A_USE)
      if (given[key] !== undefined && given[key] !== usual[key]) use[key] = given[key];
    return use;
  }

  private printed(value: unknown, speaker: Sender): unknown {
    if (Array.isArray(value)) return value.map((each) => this.inner(each, speaker));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(
      ([key, each]) => !isLeftOut(key, each) && !(speaker === "EXCHANGE" && isClosed(key, each)),
    );
    const printed = Object.fromEntries(entries.map(([key, each]) => [key, this.inner(each, speaker)]));
    if (isTextEnum(value)) return { type: "string", ...printed };
    return this.withDiscriminator(value, printed);
  }

  private inner(value: unknown, speaker: Sender): unknown {
    return DECLARED.has(keyOf(value)) ? this.print(value as TSchema, speaker) : this.printed(value, speaker);
  }

  /** Named objects of a union that differ in the constant of one property are told apart by it. */
  private withDiscriminator(schema: SchemaKeywords, printed: Json): Json {
    const members = schema.anyOf ?? [];
    const property = members.length < 2 ? undefined : constantsOf(members[0]).find((name) => tellsApart(name, members));
    if (property === undefined) return printed;
    const { anyOf, ...rest } = printed as { anyOf: { $ref?: string }[] };
    if (!anyOf.every(({ $ref }) => $ref !== undefined)) return printed;
    const mapping = Object.fromEntries(anyOf.map(({ $ref }, i) => [constantOf(property, members[i]), $ref]));
    const discriminator = this.dialect === "OPENAPI" ? { propertyName: property, mapping } : property;
    return { ...rest, oneOf: anyOf, discriminator };
  }
}

/** Tools complain about a format that they do not know. The pattern says the same. */
const isLeftOut = (key: string, value: unknown): boolean => key === "format" && value === scalars.DECIMAL_FORMAT;
const isClosed = (key: string, value: unknown): boolean => key === "additionalProperties" && value === false;

const constantOf = (property: string, member: SchemaKeywords = {}): unknown =>
  (member.properties?.[property] as SchemaKeywords | undefined)?.const;
const constantsOf = (member: SchemaKeywords = {}): string[] =>
  Object.keys(member.properties ?? {}).filter((property) => constantOf(property, member) !== undefined);

function tellsApart(property: string, members: readonly SchemaKeywords[]): boolean {
  const constants = members.map((member) => constantOf(property, member));
  return !constants.includes(undefined) && new Set(constants).size === members.length;
}

/** TypeBox gives an enum no type, but tools expect one. */
function isTextEnum(schema: object): boolean {
  const { enum: values } = schema as { enum?: unknown };
  return Array.isArray(values) && values.every((value) => typeof value === "string");
}

export const describe = (schema: SchemaKeywords): string => schema.description ?? "";

interface SchemaKeywords {
  const?: unknown;
  default?: unknown;
  description?: string;
  enum?: unknown[];
  examples?: unknown[];
  anyOf?: TSchema[];
  items?: TSchema;
  minItems?: number;
  minimum?: number;
  properties?: Record<string, TSchema>;
  required?: readonly string[];
  type?: string;
}

/** A value that the schema allows, built from the examples of all its fields, or of the required ones. */
export function exampleOf(schema: TSchema, parts: "ALL" | "REQUIRED" = "ALL"): unknown {
  const words: SchemaKeywords = schema;
  const example = [words.const, words.examples?.[0], words.default, words.enum?.[0]].find((each) => each !== undefined);
  if (example !== undefined) return example;
  if (words.anyOf?.[0] !== undefined) return exampleOf(words.anyOf[0], parts);
  switch (words.type) {
    case "object": {
      const shown = Object.entries(words.properties ?? {}).filter(
        ([name]) => parts === "ALL" || words.required?.includes(name) === true,
      );
      return Object.fromEntries(shown.map(([name, each]) => [name, exampleOf(each, parts)]));
    }
    case "array":
      return Array.from({ length: words.minItems ?? 1 }, () => exampleOf(words.items ?? {}, parts));
    case "integer":
      return words.minimum ?? 0;
    case "boolean":
      return false;
    case "string":
      return "...";
    default:
      return null;
  }
}
