/** A setting that cannot be used. The message names it and says what would be valid; secrets are not repeated. */
export class ConfigError extends Error {
  override name = "ConfigError";
}
