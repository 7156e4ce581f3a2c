import type { TSchema } from "typebox";
import type { Random } from "../../e2e/support/random.ts";

interface Shape {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  examples?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  anyOf?: TSchema[];
  items?: TSchema;
  properties?: Record<string, TSchema>;
  required?: string[];
}

/** A value that the schema accepts, with about half of its optional fields. */
export function validValue(random: Random, schema: TSchema): unknown {
  const shape = schema as Shape;
  if (shape.const !== undefined) return shape.const;
  if (shape.enum !== undefined) return random.pick(shape.enum);
  if (shape.anyOf !== undefined) return validValue(random, random.pick(shape.anyOf));
  switch (shape.type) {
    case "object":
      return validObject(random, schema);
    case "array":
      return shape.items === undefined ? [] : [validValue(random, shape.items)];
    case "boolean":
      return random.next() < 0.5;
    case "integer":
      return (
        shape.examples?.[0] ?? shape.default ?? random.between(shape.minimum ?? 0, Math.min(shape.maximum ?? 9, 9))
      );
    default:
      return random.pick(shape.examples ?? ["x"]);
  }
}

export function validObject(random: Random, schema: TSchema): Record<string, unknown> {
  const { properties = {}, required = [] } = schema as Shape;
  const fields = Object.entries(properties).filter(([name]) => required.includes(name) || random.next() < 0.5);
  return Object.fromEntries(fields.map(([name, each]) => [name, validValue(random, each)]));
}
