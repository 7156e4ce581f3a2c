/** The data was written by a newer version of the program. It is not damaged: that version can read it. */
export class NewerVersionError extends Error {
  override name = "NewerVersionError";

  constructor(what: string) {
    super(`${what}: this was written by a newer version of perpd. Use that version.`);
  }
}
