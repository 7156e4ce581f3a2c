import type { TSchema } from "typebox";
import * as account from "../../wire/schema/account.ts";
import * as auth from "../../wire/schema/auth.ts";
import * as batch from "../../wire/schema/batch.ts";
import * as market from "../../wire/schema/market.ts";
import * as messages from "../../wire/schema/messages.ts";
import * as orders from "../../wire/schema/orders.ts";
import * as risk from "../../wire/schema/risk.ts";
import * as system from "../../wire/schema/system.ts";

export type Json = Record<string, unknown>;

/** Each object that one of these exports has a name in the documents: the export's. Others stand where they are used. */
const MODULES: readonly object[] = [account, auth, batch, market, messages, orders, risk, system];

const NAMES = new Map<unknown, string>();
for (const module of MODULES)
  for (const [name, schema] of Object.entries(module)) if (isNamed(schema)) NAMES.set(schema, name);

function isNamed(value: unknown): boolean {
  return typeof value === "object" && value !== null && "properties" in value;
}

/** Who says it: what a client sends holds no other fields; to what the exchange says, fields may be added. */
export type Sender = "CLIENT" | "EXCHANGE";

/** Prints the schemas of one document, and remembers those that it has referred to by name. */
export class SchemaPrinter {
  private readonly named = new Map<string, { schema: Json; speaker: Sender }>();

  /** `{ $ref }` for a schema with a name, else the schema. */
  print(schema: TSchema, speaker: Sender): Json {
    const name = NAMES.get(schema);
    if (name === undefined) return this.printed(schema, speaker) as Json;
    const known = this.named.get(name);
    if (known === undefined) this.named.set(name, { schema: this.printed(schema, speaker) as Json, speaker });
    else if (known.speaker !== speaker) throw new Error(`${name} is said by clients and by the exchange: split it`);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The schema of what is one of these: the only one as it is. */
  printAny(schemas: readonly TSchema[], speaker: Sender): Json {
    const [first = {}, ...others] = schemas.map((schema) => this.print(schema, speaker));
    return others.length === 0 ? first : { anyOf: [first, ...others] };
  }

  /** What `print` has referred to, by name. */
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

/** TypeBox leaves the type of an enum's values to its readers. */
function isTextEnum(schema: object): boolean {
  const { enum: values } = schema as { enum?: unknown };
  return Array.isArray(values) && values.every((value) => typeof value === "string");
}

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

/** A value that the schema allows, put together from the examples of its parts: all of them, or those it must have. */
export function exampleOf(schema: TSchema, parts: "ALL" | "REQUIRED" = "ALL"): unknown {
  const { const: constant, default: usual, enum: values, examples, anyOf, items, ...rest } = schema as SchemaKeywords;
  const given = [constant, examples?.[0], usual, values?.[0]].find((each) => each !== undefined);
  if (given !== undefined) return given;
  if (anyOf?.[0] !== undefined) return exampleOf(anyOf[0], parts);
  switch (rest.type) {
    case "object": {
      const shown = Object.entries(rest.properties ?? {}).filter(
        ([name]) => parts === "ALL" || rest.required?.includes(name) === true,
      );
      return Object.fromEntries(shown.map(([name, each]) => [name, exampleOf(each, parts)]));
    }
    case "array":
      return Array.from({ length: rest.minItems ?? 1 }, () => exampleOf(items ?? {}, parts));
    case "integer":
      return rest.minimum ?? 0;
    case "boolean":
      return false;
    case "string":
      return "...";
    default:
      return null;
  }
}
