/** What was asked cannot be done here, and nothing was changed. */
export class RefusedError extends Error {
  override name = "RefusedError";
}

/** The folder does not hold what it must hold. */
export class DamagedError extends Error {
  override name = "DamagedError";
}
