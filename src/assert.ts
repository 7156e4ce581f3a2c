/** A fault in our own code, never in a client's input. The thread that throws one stops. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Returns the value. Throws AssertionError, which says that `what` is missing, for null and undefined. */
export function must<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new AssertionError(`missing: ${what}`);
  return value;
}

export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`);
}
