import { alignColumns } from "./columns.ts";
import { environmentName, SETTING_NAMES, type SettingName, schemaOf } from "./settings.ts";
import { inEnvironment } from "./sources.ts";

/** The text of `perpd --help`, made from the settings. */
export function helpText(): string {
  const flags = SETTING_NAMES.filter((name) => schemaOf(name).flag !== undefined);
  const others = SETTING_NAMES.filter((name) => schemaOf(name).flag === undefined);
  const rows = [
    ["--config FILE", "PERPD_CONFIG", "JSON file of settings by name"],
    ...flags.map((name) => [flagText(name), environmentName(name), helpLine(name)]),
  ];
  const more = others.map((name) => [
    name,
    inEnvironment(name) ? environmentName(name) : "(file only)",
    helpLine(name),
  ]);
  return `perpd: a perpetual-contract exchange in one process

usage: perpd start [flags]
       perpd verify DIR [flags]            check the data folder DIR, which no exchange may be running on
       perpd backup DIR TARGET [flags]     copy DIR, running or not, into the new folder TARGET
       perpd restore BACKUP DIR [flags]    check a backup and copy it into the new folder DIR
       perpd help
       perpd version

verify and restore read the instruments from the same settings as start. Exit code 0: done, or sound; 1: failed, or
damaged; 2: refused, nothing was done.

A flag wins over its environment variable, that over the configuration file, that over the default.

Flags:
${alignColumns(rows, "  ")}

Settings of the configuration file and the environment:
${alignColumns(more, "  ")}
`;
}

function flagText(name: SettingName): string {
  if (name === "bots") return "--no-bots";
  const { flag, argument } = schemaOf(name);
  return `--${flag} ${argument}`;
}

function helpLine(name: SettingName): string {
  const schema = schemaOf(name);
  if (name === "bots") return "leave the market to the user (PERPD_BOTS=off, or PERPD_NO_BOTS=on)";
  if (schema.fileOnly || schema.default === "") return schema.description;
  const shown = schema.type === "boolean" ? (schema.default ? "on" : "off") : schema.default;
  return `${schema.description} (default ${shown})`;
}
