/** The data folder holds more than a setting allows. Nothing is wrong with the folder: the message names the setting. */
export class SettingTooLowError extends Error {
  override name = "SettingTooLowError";
}
