/** A later version of the program has written what is read. Nothing is wrong with it: that version reads it. */
export class NewerVersionError extends Error {
  override name = "NewerVersionError";

  constructor(what: string) {
    super(`${what}: a newer version has written this, use that one`);
  }
}
