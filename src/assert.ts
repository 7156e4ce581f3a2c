/** A broken promise of our own code: never of a client's input. The thread that sees one stops. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** The value, or an AssertionError that says what was missing. */
export function must<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new AssertionError(`missing: ${what}`);
  return value;
}

export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`);
}
