import { alignColumns } from "./columns.ts";
import { environmentName, SETTING_NAMES, type SettingName, schemaOf } from "./settings.ts";
import { inEnvironment } from "./sources.ts";

/** The text of `perpd --help`, made from the settings. */
export function helpText(): string {
  const flags = SETTING_NAMES.filter((name) => schemaOf(name).flag !== undefined);
  const others = SETTING_NAMES.filter((name) => schemaOf(name).flag === undefined);
  const rows = [
    ["--config FILE", "PERPD_CONFIG", "JSON file with settings by name"],
    ...flags.map((name) => [flagText(name), environmentName(name), helpLine(name)]),
  ];
  const more = others.map((name) => [
    name,
    inEnvironment(name) ? environmentName(name) : "(file only)",
    helpLine(name),
  ]);
  return `perpd: a perpetual-futures exchange in one process

usage: perpd start [flags]
       perpd standby [flags]               follow the leader of a replicated exchange, and take over when it dies
       perpd gateway [flags]               serve market data of a replicated exchange, and pass the rest on to its leader
       perpd verify DIR [flags]            check the data folder DIR; stop the exchange first
       perpd backup DIR TARGET [flags]     copy the data folder DIR to the new folder TARGET; the exchange may run
       perpd restore BACKUP DIR [flags]    check a backup and copy it to the new folder DIR
       perpd help
       perpd version

verify and restore need the same instrument settings as start. Exit codes: 0 = success, 1 = failure or damage,
2 = refused, nothing was changed.

A flag overrides its environment variable. The variable overrides the configuration file. The file overrides the default.

Flags:
${alignColumns(rows, "  ")}

Settings for the configuration file and the environment:
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
  if (name === "bots") return "run no bots in the sandbox (same as PERPD_BOTS=off or PERPD_NO_BOTS=on)";
  if (schema.fileOnly || schema.default === "") return schema.description;
  const shown = schema.type === "boolean" ? (schema.default ? "on" : "off") : schema.default;
  return `${schema.description} (default ${shown})`;
}
