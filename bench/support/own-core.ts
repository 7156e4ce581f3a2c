import { execFileSync, spawnSync } from "node:child_process";
import { availableParallelism, setPriority } from "node:os";

const CAN_PIN = hasTool("taskset");
/** Of the machine. A process that is pinned has fewer. */
const CORES = availableParallelism();
const CAN_IDLE = hasTool("chrt");

function hasTool(name: string): boolean {
  return process.platform === "linux" && spawnSync(name, ["--version"]).error === undefined;
}

/**
 * Gives one process a core of its own, and this one with the given others another core: the load stands for other machines.
 * Processes that this one starts afterwards stay with it. Returns what ends it. Where that cannot be done nothing changes.
 */
export function giveOwnCore(pid: number, others: readonly number[]): () => void {
  if (!CAN_PIN || CORES < 2) {
    console.error("taskset or a second core is missing: the exchange shares its core with the load");
    return () => {};
  }
  const load = [process.pid, ...others];
  const pin = (cores: string, pids: readonly number[]): void => {
    for (const each of pids) execFileSync("taskset", ["-a", "-c", "-p", cores, String(each)], { stdio: "ignore" });
  };
  pin("0", [pid]);
  pin("1", load);
  return () => pin(`0-${CORES - 1}`, [pid, ...load]);
}

/** From now on this process runs only while no other one wants its core. A low priority alone would still delay others. */
export function yieldToAll(): void {
  setPriority(19);
  if (CAN_IDLE) execFileSync("chrt", ["-a", "-i", "-p", "0", String(process.pid)], { stdio: "ignore" });
}
