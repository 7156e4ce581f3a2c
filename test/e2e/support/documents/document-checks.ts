import assert from "node:assert/strict";
import { Compile, type Validator } from "../../../../src/packages/typebox.ts";

export type Json = Record<string, unknown>;

/**
 * Closes a document's schemas for tests: objects may have no undescribed fields, so that undocumented ones are found.
 */
export function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, closed(each)]));
  const { type, properties, additionalProperties } = copy as { type?: unknown; properties?: object } & Json;
  const isOpen = type === "object" && properties !== undefined && additionalProperties === undefined;
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}

/** Compiles the schemas of a document on first use. */
export class Checker {
  private readonly components: Json;
  private readonly compiled = new Map<object, Validator>();

  /** `components`: the closed schemas that others refer to. */
  constructor(components: Json) {
    this.components = components;
  }

  /** Fails unless the schema allows the value. */
  check(schema: Json, value: unknown, what: string): void {
    const validator = this.validatorOf(schema);
    if (validator.Check(value)) return;
    const [, errors] = validator.Errors(value);
    const faults = errors.map(({ instancePath, message, params }) => `${instancePath} ${message} ${show(params)}`);
    assert.fail(`${what} is not as documented: ${faults.join("; ")}\n${show(value)}`);
  }

  allows(schema: Json, value: unknown): boolean {
    return this.validatorOf(schema).Check(value);
  }

  private validatorOf(schema: Json): Validator {
    let validator = this.compiled.get(schema);
    if (validator === undefined) {
      validator = Compile({ ...schema, components: this.components });
      this.compiled.set(schema, validator);
    }
    return validator;
  }
}

const show = (value: unknown): string => JSON.stringify(value).slice(0, 2000);
