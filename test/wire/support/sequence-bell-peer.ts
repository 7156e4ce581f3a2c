import { parentPort, workerData } from "node:worker_threads";
import { SequenceBell } from "../../../src/wire/sequence-bell.ts";

/** One of two threads that count in turn. Each waits until the other one has counted as far. */
export interface BellPeerTask {
  /** One for each thread. */
  readonly counters: SharedArrayBuffer;
  readonly bells: readonly SharedArrayBuffer[];
  readonly index: 0 | 1;
  readonly rounds: number;
}

export interface BellPeerReport {
  /** Waits that blocked at first. */
  readonly waits: number;
  /** Waits that timed out. Each one is a ring that was lost. */
  readonly lost: number;
  /** Waits that ended before all was there. */
  readonly early: number;
}

const PER_ROUND = 3;
/** Far longer than a correct run takes. */
const WAIT_MS = 10_000;

const { index, rounds, ...shared } = workerData as BellPeerTask;
const counters = new Int32Array(shared.counters);
const bells = shared.bells.map((buffer) => new SequenceBell(buffer));
const [mine, theirs] = [index, 1 - index];
const report = { waits: 0, lost: 0, early: 0 };
for (let round = 1; round <= rounds; round++) {
  const through = round * PER_ROUND;
  for (let sequence = through - PER_ROUND + 1; sequence <= through; sequence++) {
    Atomics.store(counters, mine, sequence);
    bells[theirs].reached(sequence);
  }
  bells[mine].prepareWait(through);
  if (Atomics.load(counters, theirs) < through) {
    const fromMs = performance.now();
    bells[mine].wait(WAIT_MS);
    report.waits++;
    if (performance.now() - fromMs >= WAIT_MS) report.lost++;
    if (Atomics.load(counters, theirs) < through) report.early++;
  }
  bells[mine].cancelWait();
}
parentPort?.postMessage(report satisfies BellPeerReport);
