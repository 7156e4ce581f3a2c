import { styleText } from "node:util";
import { FAILED } from "./exit-codes.ts";

type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

/** Where a command writes to. */
export interface Terminal {
  /** A line of results. */
  print(line: string): void;
  /** A line for the person beside them. */
  printError(line: string): void;
  /** Colours, or nothing where they would be in the way. */
  paint: Paint;
  /** Aborted when nobody reads any longer: the other end of a pipe has gone. */
  closed: AbortSignal;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The process's own: coloured where a person looks at it, unless NO_COLOR is set; FORCE_COLOR says otherwise. Where nothing
 * more can be written, as on a full disk, it ends the process: a command prints when it has done the rest.
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

/** Gains green, losses red. */
export const signed = (paint: Paint, amount: string): string => paint(amount.startsWith("-") ? "red" : "green", amount);
