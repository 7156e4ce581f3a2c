import { type Config, ConfigError, type Invocation } from "../config.ts";
import { SettingTooLowError } from "../core/base/setting-too-low.ts";
import { makeLockFile } from "../store/database/database-lock.ts";
import { databaseOf } from "../store/files/data-folder.ts";
import { DataFolderInUseError, lockDataFolder } from "../store/files/lock.ts";
import { NewerVersionError } from "../wire/newer-version.ts";
import { copyExchange } from "./copy.ts";
import { isNotDone, RefusedError } from "./errors.ts";
import { requireExchange, requireNewFolder, withReadOnlyView } from "./folder.ts";
import { verifyFolder } from "./verify.ts";

/** Exit codes. FAILED: damage, or the system did not do its part. REFUSED: nothing was tried. */
const DONE = 0;
const FAILED = 1;
const REFUSED = 2;

const REFUSALS = [RefusedError, DataFolderInUseError, ConfigError, SettingTooLowError, NewerVersionError];

/** Of a folder that is in use. */
const HOW = "which `perpd backup` takes of a running exchange";

/** The commands of one who looks after a data folder. */
export type OperateInvocation = Extract<Invocation, { kind: "verify" | "backup" | "restore" }>;

/** Does what was asked, says on the console what came of it and why, and resolves with the exit code. */
export async function operate(invocation: OperateInvocation): Promise<number> {
  for (const output of [process.stdout, process.stderr]) output.on("error", ignoreUnheard);
  try {
    if (invocation.kind === "verify") await verify(invocation.config);
    else if (invocation.kind === "backup") await backup(invocation.config, invocation.target);
    else await restore(invocation.config, invocation.backup);
    return DONE;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (REFUSALS.some((refusal) => error instanceof refusal)) {
      console.error(error.message);
      return REFUSED;
    }
    // A disk that is full, or that cannot be read, says nothing about what is on it.
    console.error(isNotDone(error) ? `not done: ${error.message}` : `damaged: ${error.message}`);
    return FAILED;
  }
}

/** Whoever read what is said may have gone (`| head`): a copy is finished all the same. */
function ignoreUnheard(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

async function verify(config: Config): Promise<void> {
  requireExchange(config.data);
  await lockDataFolder(config.data, `verify a backup of it, ${HOW}`);
  await verifyFolder(config, console.log);
  console.log("sound");
}

async function backup({ data, segmentBytes }: Config, target: string): Promise<void> {
  requireExchange(data);
  requireNewFolder(data, target);
  // A writer that does not know of this reader would write over what is being copied.
  if (!makeLockFile(databaseOf(data)))
    await lockDataFolder(data, "let the backup write to database/lock.mdb, by which the database knows of it");
  const copy = await copyExchange({ from: data, to: target, environment: databaseOf(data), segmentBytes });
  console.log(`${target} holds exchange ${copy.exchangeId} through turn ${copy.throughSequence}`);
}

async function restore(config: Config, from: string): Promise<void> {
  const { data, segmentBytes } = config;
  requireExchange(from);
  requireNewFolder(from, data);
  await lockDataFolder(from, `restore a backup of it, ${HOW}`);
  await verifyFolder({ ...config, data: from }, console.log);
  const copy = await withReadOnlyView(from, databaseOf(from), (view) =>
    copyExchange({ from, to: data, environment: databaseOf(view), segmentBytes }),
  );
  console.log(`sound; ${data} holds exchange ${copy.exchangeId} through turn ${copy.throughSequence}`);
}
