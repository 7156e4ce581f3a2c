import type { ChildProcess } from "node:child_process";
import { Control } from "../src/actor/threads/control.ts";
import { recover } from "../src/actor/threads/recovery.ts";
import { MarginTable } from "../src/core/accounts/margin-table.ts";
import { LedgerActor } from "../src/core/ledger/ledger.ts";
import { compileInstrument } from "../src/core/protocol/instrument.ts";
import { SymbolActor } from "../src/core/symbol.ts";
import { openDatabase } from "../src/store/database/database.ts";
import { Snapshots } from "../src/store/database/snapshots.ts";
import { logOf } from "../src/store/files/data-folder.ts";
import { perpdEngine } from "./support/engines/core-engine.ts";
import { benchConfig } from "./support/engines/exchange-engine.ts";
import { temporaryFolder } from "./support/folder.ts";
import { collectGarbage } from "./support/garbage.ts";
import { recordedStream } from "./support/orders/order-stream.ts";
import { endProcess, spawnScript, waitForLine } from "./support/processes.ts";
import { interleave, type Row, ratioRow } from "./support/report.ts";

/**
 * Replay against the core deciding the same transactions; and the time until all actors are back, from the log alone
 * and from a fresh snapshot. The log comes from an exchange that is killed before its first snapshot.
 */
export async function benchRecovery(rounds: number): Promise<Row[]> {
  const folder = temporaryFolder();
  try {
    const recorder = spawnScript("bench/support/engines/recorder.js", [folder.path, "record"]);
    const lastSequence = Number((await waitForLine(recorder, /recorded (\d+)/))[1]);
    await endProcess(recorder, "SIGKILL");
    const rows = [await compareReplay(folder.path, lastSequence, rounds)];
    const fromLog: number[] = [];
    for (let round = 0; round < rounds; round++) fromLog.push(await startUpMs(folder.path, "SIGKILL"));
    await startUpMs(folder.path, "SIGTERM"); // a regular stop, with a snapshot
    const fromSnapshot: number[] = [];
    for (let round = 0; round < rounds; round++) fromSnapshot.push(await startUpMs(folder.path, "SIGTERM"));
    const what = `recovery, all actors back after ${lastSequence} transactions`;
    rows.push(ratioRow(what, "ms", "with a fresh snapshot", fromLog, fromSnapshot));
    return rows;
  } finally {
    folder.remove();
  }
}

async function compareReplay(dataFolder: string, lastSequence: number, rounds: number): Promise<Row> {
  const stream = recordedStream();
  const decide = (): number => {
    collectGarbage();
    const engine = perpdEngine(stream);
    const from = performance.now();
    for (let i = 0; i < stream.length; i++) engine.run(i);
    return stream.length / ((performance.now() - from) / 1e3);
  };
  const replay = (): number => {
    collectGarbage();
    const seconds = replaySeconds(dataFolder, lastSequence);
    return lastSequence / seconds;
  };
  decide(); // warm-up
  replay();
  const [ours, theirs] = await interleave(rounds, replay, decide);
  return ratioRow("recovery, replay of the log", "transactions/s", "deciding them", ours, theirs);
}

/** Recovers as an actor thread does. */
function replaySeconds(dataFolder: string, lastSequence: number): number {
  const config = benchConfig(dataFolder);
  const control = new Control();
  control.startAt(lastSequence);
  const marginTable = MarginTable.allocate(config.maxAccounts);
  const { faucetCapQuanta, withdrawalDelayMs } = config;
  const symbols = config.instruments.map((instrument) => new SymbolActor(compileInstrument(instrument), marginTable));
  const actors = [new LedgerActor({ faucetCapQuanta, withdrawalDelayMs }, marginTable), ...symbols];
  const database = openDatabase(dataFolder, { readOnly: true });
  const from = performance.now();
  recover(actors, new Snapshots(database), logOf(dataFolder), control);
  const seconds = (performance.now() - from) / 1e3;
  database.close();
  return seconds;
}

/** Starts a new process on the folder and ends it. Resolves with the ms of its start without loading the program. */
async function startUpMs(dataFolder: string, signal: "SIGTERM" | "SIGKILL"): Promise<number> {
  const child: ChildProcess = spawnScript("bench/support/engines/recorder.js", [dataFolder, "start"]);
  const [, ms] = await waitForLine(child, /started in ([\d.]+)/);
  await endProcess(child, signal);
  return Number(ms);
}
