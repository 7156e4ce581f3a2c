import { type ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openLog } from "../../../src/store/log/log.ts";
import { Random } from "../../e2e/support/random.ts";
import { Operator, openTrader } from "../../e2e/support/trader.ts";
import { startSmall } from "../../operate/support.ts";
import type { FuzzStage } from "../stage.ts";
import { damage } from "./damage.ts";
import type { Opened } from "./opener.ts";

const OPENER = fileURLToPath(new URL("./opener.js", import.meta.url));
const ORDERS = 600;
/** LMDB may loop for ever on damaged pages; the probe of a real start has a timeout as well. */
const OPENING_DEADLINE_MS = 20_000;

/** Damages log and database: each damage must be detected or harmless. */
export const corruption: FuzzStage = {
  name: "corruption",
  runs: 10_000,
  async run(seed, runs, say) {
    const root = fs.mkdtempSync(join(fs.existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "perpd-corruption-"));
    const opener = new Opener();
    try {
      const sound = join(root, "sound");
      await makeFolder(sound);
      const expected = await opener.open(copyOf(sound, root));
      if (typeof expected === "string" || expected.refused !== null) throw new Error("the folder is not sound");
      const counts = { refused: 0, died: 0, inHistory: 0, harmless: 0 };
      for (let run = 0; run < runs; run++) {
        const dir = copyOf(sound, root);
        // Each input has its own seed, so that it can be repeated alone. The folder differs each time, though.
        const what = damage(dir, new Random(seed + run));
        const kind = judge(await opener.open(dir), expected);
        if (kind in counts) counts[kind as keyof typeof counts]++;
        else {
          const kept = join(tmpdir(), `perpd-damaged-${seed + run}`);
          fs.cpSync(sound, `${kept}-before`, { recursive: true });
          fs.cpSync(dir, kept, { recursive: true });
          throw new Error(`SEED=${seed + run} RUNS=1: ${what}: ${kind}; the folder is kept: ${kept}`);
        }
      }
      say(`${JSON.stringify(counts)}: 0 silent, 0 fresh starts`);
    } finally {
      opener.close();
      fs.rmSync(root, { recursive: true });
    }
  },
};

/** The effect of a damage; a description when it is a fault. */
function judge(opened: Opened | string, expected: Opened): string {
  if (typeof opened === "string") return "died";
  if (opened.refused !== null) return "refused";
  if (opened.lastSequence !== expected.lastSequence)
    return `the log ends with ${opened.lastSequence} and not with ${expected.lastSequence}`;
  if (opened.state !== expected.state) return `the state is ${opened.state} and not ${expected.state}`;
  if (opened.unreadable !== null) return "inHistory";
  const tables = Object.keys(expected.history).filter((name) => opened.history[name] !== expected.history[name]);
  return tables.length === 0 ? "harmless" : `${tables.join(", ")}: other rows, and every value seems sound`;
}

/**
 * Makes the folder of an exchange that was killed while idle: all of its log is durable, and part of it is in no
 * snapshot.
 */
async function makeFolder(dir: string): Promise<void> {
  fs.mkdirSync(dir);
  const server = await startSmall(dir, { PERPD_SNAPSHOT_INTERVAL_MS: "1500", PERPD_KEEP_SEGMENTS: "on" });
  try {
    const operator = new Operator(server);
    await operator.setIndex("BTC-PERP", "65000");
    const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
    for (let done = 0; done < ORDERS; done += 50) {
      const some = Array.from({ length: 50 }, (_, i) => String(64_000 + ((done + i) % 400) * (i % 2 === 0 ? -1 : 0.5)));
      await Promise.all(some.map((price, i) => (i % 2 === 0 ? alice.buy("0.001", price) : bob.sell("0.001", price))));
    }
    // A reply from the history proves that the index is complete.
    await alice.get("/account/trades");
  } finally {
    await server.kill();
    await server.dispose();
  }
  // Removes the lock of the killed process, since cpSync() copies no sockets.
  for (const name of fs.readdirSync(dir)) if (name.endsWith(".sock")) fs.rmSync(join(dir, name));
  // As an idle journal does: from now on a bad record is damage, not a torn tail.
  const log = openLog(join(dir, "log"), { segmentBytes: 65_536, protectedThrough: 0 });
  log.appendWatermark(Date.now());
  log.sync();
  log.close();
}

function copyOf(sound: string, root: string): string {
  const dir = join(root, "trial");
  fs.rmSync(dir, { recursive: true, force: true });
  fs.cpSync(sound, dir, { recursive: true });
  return dir;
}

/** The process that opens folders, restarted after a crash. */
class Opener {
  private child: ChildProcess | null = null;
  private lines: Interface | null = null;

  /** How the process ended, when the folder crashed it. */
  async open(dir: string): Promise<Opened | string> {
    if (this.child === null) this.start();
    const child = this.child as ChildProcess;
    const lines = this.lines as Interface;
    let timer: NodeJS.Timeout | undefined;
    const ended = new Promise<string>((resolve) => {
      child.once("exit", (code, signal) => resolve(`ended with ${signal ?? code}`));
      timer = setTimeout(() => child.kill("SIGKILL"), OPENING_DEADLINE_MS);
    });
    const said = new Promise<Opened>((resolve) => {
      lines.once("line", (line) => resolve(JSON.parse(line) as Opened));
    });
    child.stdin?.write(`${dir}\n`);
    const outcome = await Promise.race([said, ended]);
    clearTimeout(timer);
    child.removeAllListeners("exit");
    if (typeof outcome === "string") this.child = null;
    return outcome;
  }

  close(): void {
    this.child?.kill("SIGKILL");
    this.child = null;
  }

  private start(): void {
    const child = spawn(process.execPath, [OPENER], { stdio: ["pipe", "pipe", "ignore"] });
    // A crashed process accepts no more lines.
    child.stdin.on("error", () => {});
    this.lines = createInterface({ input: child.stdout });
    this.child = child;
  }
}
