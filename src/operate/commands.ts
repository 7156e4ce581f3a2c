import { type Config, ConfigError, type Invocation } from "../config.ts";
import { SettingTooLowError } from "../core/base/setting-too-low.ts";
import { DEFAULT_MAP_BYTES } from "../store/database/database.ts";
import { makeLockFile } from "../store/database/database-lock.ts";
import { requireAddressSpace } from "../store/files/address-space.ts";
import { databaseOf } from "../store/files/data-folder.ts";
import { DataFolderInUseError, lockDataFolder } from "../store/files/lock.ts";
import { GROUP_AND_OTHERS } from "../store/files/permissions.ts";
import { NewerVersionError } from "../wire/newer-version.ts";
import { copyExchange } from "./copy.ts";
import { isNotDone, RefusedError } from "./errors.ts";
import { requireExchange, requireNewFolder, withReadOnlyView } from "./folder.ts";
import { verifyFolder } from "./verify.ts";

/** Exit codes. FAILED: damage, or an error of the system. REFUSED: nothing was tried. */
const DONE = 0;
const FAILED = 1;
const REFUSED = 2;

const REFUSALS = [RefusedError, DataFolderInUseError, ConfigError, SettingTooLowError, NewerVersionError];

/** Address space for the rest of a command. */
const OTHER_BYTES = 16 * 2 ** 30;

const BACKUP_HINT = "`perpd backup` can copy a running exchange";

/** The operator's commands on a data folder. */
type OperateInvocation = Extract<Invocation, { kind: "verify" | "backup" | "restore" }>;

/** Runs the command, prints the result or the reason of a failure, and resolves with the exit code. */
export async function operate(invocation: OperateInvocation): Promise<number> {
  requireAddressSpace(DEFAULT_MAP_BYTES + OTHER_BYTES);
  process.umask(GROUP_AND_OTHERS);
  for (const output of [process.stdout, process.stderr]) output.on("error", ignoreClosedPipe);
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
    // A disk that is full or unreadable says nothing about the data on it.
    console.error(isNotDone(error) ? `not done: ${error.message}` : `damaged: ${error.message}`);
    return FAILED;
  }
}

/** The reader of the output may have closed it (`| head`). A copy is finished all the same. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

async function verify(config: Config): Promise<void> {
  requireExchange(config.data);
  await lockDataFolder(config.data, `verify a backup of it (${BACKUP_HINT})`);
  await verifyFolder(config, console.log);
  console.log("sound");
}

async function backup({ data, segmentBytes }: Config, target: string): Promise<void> {
  requireExchange(data);
  requireNewFolder(data, target);
  // Without the lock file LMDB's writer would not know of this reader, and overwrite pages that are being copied.
  if (!makeLockFile(databaseOf(data)))
    await lockDataFolder(
      data,
      "give this user write permission on database/lock.mdb, which LMDB needs for a copy of a running database",
    );
  const copy = await copyExchange({ from: data, to: target, environment: databaseOf(data), segmentBytes });
  console.log(`${target} holds exchange ${copy.exchangeId} through transaction ${copy.throughSequence}`);
}

async function restore(config: Config, from: string): Promise<void> {
  const { data, segmentBytes } = config;
  requireExchange(from);
  requireNewFolder(from, data);
  await lockDataFolder(from, `restore a backup of it (${BACKUP_HINT})`);
  await verifyFolder({ ...config, data: from }, console.log);
  const copy = await withReadOnlyView(from, databaseOf(from), (view) =>
    copyExchange({ from, to: data, environment: databaseOf(view), segmentBytes }),
  );
  console.log(`sound; ${data} holds exchange ${copy.exchangeId} through transaction ${copy.throughSequence}`);
}
