import { styleText } from "node:util";

/** Exit codes. */
export const DONE = 0;
/** The exchange refused or could not be reached, or the result could not be printed. */
export const FAILED = 1;
/** Nothing was sent. */
export const MISUSED = 2;

type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

export interface Terminal {
  /** Writes a line of results to standard output. */
  print(line: string): void;
  /** Writes a line for the user to standard error. */
  printError(line: string): void;
  /** Adds colours where the output is a terminal. */
  paint: Paint;
  /** Aborted when the reader of a pipe has closed it. */
  closed: AbortSignal;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The process's standard output and error. Colours: on a terminal unless NO_COLOR is set; FORCE_COLOR overrides both. A
 * failed write, as on a full disk, ends the process: a command prints only after it has done its work.
 */
export function openTerminal(env: Environment): Terminal {
  const hasColours = env.FORCE_COLOR ? env.FORCE_COLOR !== "0" : process.stdout.isTTY && !env.NO_COLOR;
  const closed = new AbortController();
  for (const output of [process.stdout, process.stderr])
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") return closed.abort();
      process.stderr.write(`the output cannot be written: ${error.message}\n`);
      process.exit(FAILED);
    });
  return {
    print: (line) => process.stdout.write(`${line}\n`),
    printError: (line) => process.stderr.write(`${line}\n`),
    paint: (style, text) => (hasColours ? styleText(style, text) : text),
    closed: closed.signal,
  };
}

/** Paints gains green and losses red. */
export const signed = (paint: Paint, amount: string): string => paint(amount.startsWith("-") ? "red" : "green", amount);
