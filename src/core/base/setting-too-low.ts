/** The data folder holds more than a setting allows. The folder is sound, and the message names the setting. */
export class SettingTooLowError extends Error {
  override name = "SettingTooLowError";
}
