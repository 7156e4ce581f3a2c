#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { commandHelp, commandsHelp } from "./cli/help.ts";
import { COMMANDS, findCommand, runCommand } from "./cli/main.ts";
import { Stopper } from "./stopper.ts";
import { exitProcess } from "./store/files/process-exit.ts";
import { boundYoungGeneration } from "./tune-v8.ts";

const version = (
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }
).version;

const [name, ...args] = process.argv.slice(2);
const command = findCommand(name);
const explained = name === "help" ? findCommand(args[0]) : undefined;

if (command !== undefined) process.exitCode = await runCommand(command, args, process.env);
else if (explained !== undefined) console.log(commandHelp(explained));
else await operate();

/** Runs an operator's command. Each command loads only the modules that it needs. */
async function operate(): Promise<void> {
  boundYoungGeneration();
  const { ConfigError, loadConfig } = await import("./config.ts");
  try {
    const invocation = loadConfig(process.argv.slice(2), process.env);
    if (invocation.kind === "help") console.log(`${invocation.text}\n${commandsHelp(COMMANDS)}`);
    else if (invocation.kind === "version") console.log(version);
    else if (invocation.kind === "start" && invocation.config.role === "gateway") {
      const stopper = new Stopper();
      const { serveGateway } = await import("./serve-gateway.ts");
      await serveGateway(invocation.config, invocation.warnings, stopper);
    } else if (invocation.kind === "start") {
      const stopper = new Stopper();
      const { serve } = await import("./serve.ts");
      await serve(invocation.config, invocation.warnings, version, stopper);
    } else {
      const commands = await import("./operate/commands.ts");
      process.exitCode = await commands.operate(invocation);
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    console.error(error instanceof ConfigError ? error.message : `perpd cannot start: ${error.message}`);
    exitProcess(error instanceof ConfigError ? 2 : 1);
  }
}
