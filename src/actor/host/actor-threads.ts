import { must } from "../../assert.ts";
import type { Config } from "../../config.ts";
import { MarginTable } from "../../core/accounts/margin-table.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { allocateRing, type Doorbell, RingProducer } from "../../wire/ring.ts";
import type { EngineClient } from "../engine/engine-client.ts";
import { type Control, RUNNING } from "../threads/control.ts";
import type { ActorTask } from "../threads/thread-mains.ts";
import { Rebuild, type RebuildWorker } from "./rebuild.ts";
import { type Spawned, spawnThread, type Thread } from "./thread.ts";
import { Watchdog } from "./watchdog.ts";

/** A worker that dies more often than this within the time has a fault that comes back: the process ends. */
const MAX_REBUILDS = 5;
const WITHIN_MS = 60_000;
/**
 * What a dead worker had committed is journaled in less, or its place in the log stays empty; and a turn ends in less, or
 * its worker hangs and all others stand still in a recount: the process ends.
 */
const STALL_DEADLINE_MS = 30_000;
const WATCH_EVERY_MS = 1000;

/** An actor thread has died (`error`), or its actors are there again (null). */
export interface RebuildNote {
  /** What its actors are: symbols, "ledger". */
  readonly concerns: readonly string[];
  readonly error: Error | null;
}

export interface ActorThreadsOptions {
  readonly config: Config;
  readonly control: Control;
  readonly marginTable: MarginTable;
  readonly engine: EngineClient;
  readonly workers: readonly RebuildWorker[];
  readonly journalDoorbell: Doorbell;
  /** The rings from the journal to the front and to the store. */
  readonly front: SharedArrayBuffer;
  readonly store: SharedArrayBuffer;
  /** What the threads run: a name in workers/, or the address of a module. */
  readonly entry: string;
  /** How often it is looked whether a thread hangs. Default: every second. */
  readonly watchEveryMs?: number | undefined;
  onRebuild(note: RebuildNote): void;
  onFatal(error: Error): void;
}

/** The actor threads: starts them, and has each that dies rebuilt, unless that would not help. */
export class ActorThreads {
  private readonly parts: ActorThreadsOptions;
  private readonly sums: MarginTable;
  private readonly threads: Thread[] = [];
  private readonly watchdogs: Watchdog[] = [];
  /** When each worker's threads have died. */
  private readonly deaths: number[][];
  /** Null until all actors have recovered. */
  private rebuild: Rebuild | null = null;
  private isRebuilding = false;
  /** When no recount was under way, last. */
  private lastFree = 0;

  constructor(parts: ActorThreadsOptions) {
    this.parts = parts;
    this.sums = MarginTable.allocate(parts.config.maxAccounts, parts.workers.length);
    this.deaths = parts.workers.map(() => []);
  }

  /** Resolves when every actor has recovered. */
  async start(): Promise<void> {
    const { control, marginTable, engine, front, store, workers, onRebuild } = this.parts;
    const starting = workers.map(({ actorIds }, worker) => {
      const { commands, spawned } = this.spawn(worker, false);
      engine.addWorker(commands, actorIds);
      return spawned.ready();
    });
    await Promise.all(starting);
    if (this.threads.some(({ hasEnded }) => hasEnded)) throw new Error("an actor thread died while others recovered");
    const rebuild = new Rebuild({
      ...{ control, marginTable, sums: this.sums, engine, front, store, workers },
      start: (worker) => this.startReplacement(worker),
      onRebuilt: (worker) => onRebuild({ concerns: this.concernsOf(worker), error: null }),
    });
    this.rebuild = rebuild;
    setInterval(() => this.watch(rebuild), this.parts.watchEveryMs ?? WATCH_EVERY_MS).unref();
  }

  /** Ends threads that hang: they are rebuilt like those that throw. */
  private watch(rebuild: Rebuild): void {
    if (this.parts.control.phase !== RUNNING) return;
    for (const [worker, thread] of this.threads.entries()) {
      if (thread.hasEnded || !this.watchdogs[worker]?.check(!rebuild.isWorking(worker))) continue;
      // It is dead only when it can write no more.
      thread.hasEnded = true;
      void thread.pinned.terminate().then(() => this.died(worker, new Error("it hangs")));
    }
  }

  /** Those that have not died. */
  get living(): readonly Thread[] {
    return this.threads.filter(({ hasEnded }) => !hasEnded);
  }

  private startReplacement(worker: number): RingProducer {
    const { commands, spawned } = this.spawn(worker, true);
    const recovered = (): void => {
      if (!spawned.thread.hasEnded) this.rebuild?.recovered(worker);
    };
    // One that dies instead is heard of by died().
    spawned.ready().then(recovered, () => {});
    return commands;
  }

  private spawn(worker: number, isReplacement: boolean): { commands: RingProducer; spawned: Spawned } {
    const { config, control, marginTable, journalDoorbell, workers, entry } = this.parts;
    const { actorIds, out, doorbell } = must(workers[worker], "worker");
    const commands = allocateRing(config.ringBytes);
    const task: Omit<ActorTask, "port" | "control" | "doorbell"> = {
      ...{ worker, commands, out, isReplacement },
      workers: workers.length,
      dataDir: config.data,
      journalDoorbell: journalDoorbell.buffer,
      marginTable: marginTable.buffer,
      sums: this.sums.buffer,
      actorIds: [...actorIds],
      instruments: [...config.instruments],
      ledger: { faucetCapQuanta: config.faucetCapQuanta, withdrawalDelayMs: config.withdrawalDelayMs },
      symbols: { maxIndexAgeMs: config.maxIndexAgeMs },
      snapshotIntervalMs: config.snapshotIntervalMs,
    };
    const spawned = spawnThread<ActorTask>(entry, control, doorbell, task, (error) => this.died(worker, error));
    this.threads[worker] = spawned.thread;
    this.watchdogs[worker] = new Watchdog(commands, out);
    return { commands: new RingProducer(commands, doorbell), spawned };
  }

  private died(worker: number, error: Error): void {
    const { rebuild } = this;
    // While all start, or stop, whoever waits for the thread hears of it.
    if (rebuild === null || this.parts.control.phase !== RUNNING) return;
    const now = performance.now();
    const deaths = must(this.deaths[worker], "worker").filter((at) => now - at < WITHIN_MS);
    this.deaths[worker] = [...deaths, now];
    if (deaths.length >= MAX_REBUILDS)
      return this.parts.onFatal(new Error(`an actor thread dies again and again: ${error.message}`, { cause: error }));
    this.parts.onRebuild({ concerns: this.concernsOf(worker), error });
    const { port, pinned } = must(this.threads[worker], "thread");
    port.close();
    pinned.close().catch(() => {});
    rebuild.died(worker);
    if (this.isRebuilding) return;
    this.isRebuilding = true;
    this.lastFree = now;
    this.continueRebuild(rebuild);
  }

  /** Until every worker works again. */
  private continueRebuild(rebuild: Rebuild): void {
    if (this.parts.control.phase !== RUNNING) return;
    rebuild.step();
    const now = performance.now();
    if (!rebuild.isUrgent) this.lastFree = now;
    const since = now - STALL_DEADLINE_MS;
    if (this.lastFree < since) return this.parts.onFatal(new Error("an actor thread never ends its turn"));
    if (this.deaths.some((deaths, worker) => rebuild.isDraining(worker) && (deaths.at(-1) ?? since) < since))
      return this.parts.onFatal(new Error("what a dead actor thread had committed does not come through"));
    this.isRebuilding = !rebuild.isDone;
    if (rebuild.isUrgent) setImmediate(() => this.continueRebuild(rebuild));
    else if (this.isRebuilding) setTimeout(() => this.continueRebuild(rebuild), 1);
  }

  private concernsOf(worker: number): string[] {
    const { actorIds } = must(this.parts.workers[worker], "worker");
    const symbols = this.parts.engine.instruments.filter(({ id }) => actorIds.includes(id));
    return [...(actorIds.includes(LEDGER) ? ["ledger"] : []), ...symbols.map(({ symbol }) => symbol)];
  }
}
