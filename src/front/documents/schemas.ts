import type { TSchema } from "../../packages/typebox.ts";
import * as account from "../../wire/schema/account.ts";
import * as auth from "../../wire/schema/auth.ts";
import * as batch from "../../wire/schema/batch.ts";
import * as market from "../../wire/schema/market.ts";
import * as messages from "../../wire/schema/messages.ts";
import * as orderSize from "../../wire/schema/order-size.ts";
import * as orders from "../../wire/schema/orders.ts";
import * as risk from "../../wire/schema/risk.ts";
import * as system from "../../wire/schema/system.ts";

export type Json = Record<string, unknown>;

/** An object schema that one of these modules exports has the export's name in the documents. Others are inlined. */
const MODULES: readonly object[] = [account, auth, batch, market, messages, orderSize, orders, risk, system];

const NAMES = new Map<unknown, string>();
for (const module of MODULES)
  for (const [name, schema] of Object.entries(module)) if (isNamed(schema)) NAMES.set(schema, name);

function isNamed(value: unknown): boolean {
  return typeof value === "object" && value !== null && "properties" in value;
}

/** Clients must not send unknown fields. The exchange may add fields to its messages. */
export type Sender = "CLIENT" | "EXCHANGE";

/** Prints the schemas of one document and collects the named ones. */
export class SchemaPrinter {
  private readonly named = new Map<string, { schema: Json; speaker: Sender }>();

  /** `{ $ref }` for a schema with a name, else the schema. */
  print(schema: TSchema, speaker: Sender): Json {
    const name = NAMES.get(schema);
    if (name === undefined) return this.printed(schema, speaker) as Json;
    const known = this.named.get(name);
    if (known === undefined) this.named.set(name, { schema: this.printed(schema, speaker) as Json, speaker });
    else if (known.speaker !== speaker) throw new Error(`${name} is sent by clients and by the exchange: split it`);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** A schema that allows any of these. */
  printAny(schemas: readonly TSchema[], speaker: Sender): Json {
    const [first = {}, ...others] = schemas.map((schema) => this.print(schema, speaker));
    return others.length === 0 ? first : { anyOf: [first, ...others] };
  }

  /** The schemas that print() has named. */
  components(): Json {
    const named = [...this.named].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(named.map(([name, { schema }]) => [name, schema]));
  }

  private printed(value: unknown, speaker: Sender): unknown {
    if (Array.isArray(value)) return value.map((each) => this.inner(each, speaker));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(
      ([key, each]) => !(speaker === "EXCHANGE" && key === "additionalProperties" && each === false),
    );
    const printed = Object.fromEntries(entries.map(([key, each]) => [key, this.inner(each, speaker)]));
    if (isTextEnum(value)) return { type: "string", ...printed };
    return printed;
  }

  private inner(value: unknown, speaker: Sender): unknown {
    return NAMES.has(value) ? this.print(value as TSchema, speaker) : this.printed(value, speaker);
  }
}

/** TypeBox gives an enum no type, but tools expect one. */
function isTextEnum(schema: object): boolean {
  const { enum: values } = schema as { enum?: unknown };
  return Array.isArray(values) && values.every((value) => typeof value === "string");
}

export const describe = (schema: TSchema): string => (schema as { description?: string }).description ?? "";

interface SchemaKeywords {
  const?: unknown;
  default?: unknown;
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
