import { type Logger, pino } from "pino";
import type { Config } from "./config.ts";
import { Output } from "./output.ts";
import { exitProcess } from "./store/files/process-exit.ts";

/** At its end the process waits so long for a reader of its last lines. */
const LAST_LINES_MS = 250;

/** Everything that the process writes, and its end. */
export interface ProcessLog {
  readonly log: Logger;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Resolves when everything is written, or after a short wait. */
  flush(): Promise<void>;
  /** Ends the process, after a short wait if somebody may still read the last lines. Only the first call counts. */
  end(code: number): void;
}

/** Logs go to standard error; standard output is for the operator's terminal. Neither ever stops the exchange. */
export function openProcessLog({ logLevel }: Pick<Config, "logLevel">): ProcessLog {
  const [stdout, stderr] = [new Output(1), new Output(2)];
  const log = pino({ level: logLevel }, stderr);
  stderr.onDropped = (droppedLines) =>
    log.error({ droppedLines }, "log lines were dropped, because the log was not read");
  const flush = async (): Promise<void> => {
    await Promise.all([stdout.flush(LAST_LINES_MS), stderr.flush(LAST_LINES_MS)]);
  };
  let isEnding = false;
  const end = (code: number): void => {
    if (isEnding) return;
    isEnding = true;
    if (stdout.isEmpty && stderr.isEmpty) exitProcess(code);
    void flush().then(() => exitProcess(code));
  };
  // Node itself would write these to standard error, and block.
  process.removeAllListeners("warning");
  process.on("warning", (err) => log.warn({ err }, err.message));
  process.on("uncaughtException", (err) => {
    log.fatal({ err }, `${err.message}; start again to recover`);
    end(1);
  });
  // Threads write through these streams. Without a listener a failed write would end the process.
  for (const output of [process.stdout, process.stderr]) output.on("error", () => {});
  return { log, stdout, stderr, flush, end };
}
