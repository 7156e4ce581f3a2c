/** A setting cannot be used. The message names it and says what is valid. It shows no secret. */
export class ConfigError extends Error {
  override name = "ConfigError";
}
