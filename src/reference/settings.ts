import { environmentName, SETTING_NAMES, type SettingName, schemaOf } from "../config/settings.ts";
import { inEnvironment } from "../config/sources.ts";
import { code, page, table } from "./markdown.ts";

/** Every setting of `perpd start`: name, flag, environment variable, default. */
export function settingsPage(): string {
  return page(
    "Settings",
    "A flag wins over its environment variable. The variable wins over the configuration file (`--config FILE`, JSON by setting name). The file wins over the default. [Settings](../operating/settings.md) explains how to choose them.",
    table(["setting", "flag", "environment", "default", "meaning"], SETTING_NAMES.map(rowOf)),
  );
}

function rowOf(name: SettingName): string[] {
  const schema = schemaOf(name);
  const flag = name === "bots" ? "--no-bots" : schema.flag === undefined ? "" : `--${schema.flag} ${schema.argument}`;
  const usual = schema.fileOnly ? "" : JSON.stringify(schema.default);
  return [
    code(name),
    flag === "" ? "" : code(flag),
    inEnvironment(name) ? code(environmentName(name)) : "(file only)",
    usual === "" ? "" : code(usual),
    schema.description,
  ];
}
