import { must } from "../../assert.ts";
import type { Config } from "../../config.ts";
import { LiquidationBids } from "../../core/accounts/liquidation-bids.ts";
import { MarginTable } from "../../core/accounts/margin-table.ts";
import { WeakAccounts } from "../../core/accounts/weak-accounts.ts";
import { LEDGER } from "../../core/base/enums.ts";
import type { SharedPastIds } from "../../store/database/past-client-ids.ts";
import { allocateRing, type Doorbell, RingProducer } from "../../wire/ring.ts";
import type { EngineClient } from "../engine/engine-client.ts";
import type { ActorTask } from "../threads/actor-main.ts";
import { type Control, RUNNING } from "../threads/control.ts";
import { Rebuild, type RebuildWorker } from "./rebuild.ts";
import { type Spawned, spawnThread, type Thread } from "./thread.ts";
import { Watchdog } from "./watchdog.ts";

/** If a worker dies more often than this within REBUILD_WINDOW_MS, rebuilding does not help: the process ends. */
const MAX_REBUILDS = 5;
const REBUILD_WINDOW_MS = 60_000;
/**
 * The process ends if a rebuild makes no progress for this long. Either the dead worker's transactions do not get
 * through the journal, or a worker does not end its transaction while all others wait for it in a recount.
 */
const STALL_DEADLINE_MS = 30_000;
const WATCH_EVERY_MS = 1000;

/** An actor thread has died (`error`), or its actors have been rebuilt (null). */
export interface RebuildNote {
  /** Its actors: symbols, or "ledger". */
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
  /** The module that the threads run: a name in workers/ or a URL. */
  readonly entry: string;
  readonly pastIds: SharedPastIds;
  /** How often threads are checked for a hang, in ms. Default: every second. */
  readonly watchEveryMs?: number | undefined;
  onRebuild(note: RebuildNote): void;
  onFatal(error: Error): void;
}

/** Starts the actor threads, ends those that hang, and has dead ones rebuilt. */
export class ActorThreads {
  private readonly options: ActorThreadsOptions;
  private readonly sums: MarginTable;
  private readonly liquidationBids: SharedArrayBuffer;
  private readonly weakAccounts: SharedArrayBuffer;
  private readonly threads: Thread[] = [];
  private readonly watchdogs: Watchdog[] = [];
  /** By worker: when its threads died, in ms. */
  private readonly deaths: number[][];
  /** Null until all actors have recovered. */
  private rebuild: Rebuild | null = null;
  private isRebuilding = false;
  /** The last time, in ms, when no recount was in progress. */
  private noRecountAt = 0;

  constructor(options: ActorThreadsOptions) {
    this.options = options;
    const { maxAccounts, instruments } = options.config;
    this.sums = MarginTable.allocate(maxAccounts, options.workers.length);
    this.liquidationBids = LiquidationBids.allocate(maxAccounts, instruments.length);
    this.weakAccounts = WeakAccounts.allocate(options.workers.length);
    this.deaths = options.workers.map(() => []);
  }

  /** Resolves when every actor has recovered. */
  async start(): Promise<void> {
    const { control, marginTable, engine, front, store, workers, onRebuild } = this.options;
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
    setInterval(() => this.watch(rebuild), this.options.watchEveryMs ?? WATCH_EVERY_MS).unref();
  }

  /** Ends threads that hang. They are rebuilt like those that throw. */
  private watch(rebuild: Rebuild): void {
    const { control, engine } = this.options;
    if (control.phase !== RUNNING) return;
    for (const [worker, thread] of this.threads.entries()) {
      if (thread.hasEnded) continue;
      const watchdog = must(this.watchdogs[worker], "watchdog");
      const hangs = watchdog.check(!rebuild.isWorking(worker));
      engine.setUnresponsive(worker, watchdog.isUnresponsive);
      if (!hangs) continue;
      // It counts as dead only when it can write no more.
      thread.hasEnded = true;
      void thread.pinned.terminate().then(() => this.died(worker, new Error("it hangs")));
    }
  }

  /** The threads that have not died. */
  get living(): readonly Thread[] {
    return this.threads.filter(({ hasEnded }) => !hasEnded);
  }

  private startReplacement(worker: number): RingProducer {
    const { commands, spawned } = this.spawn(worker, true);
    const recovered = (): void => {
      if (!spawned.thread.hasEnded) this.rebuild?.recovered(worker);
    };
    // If it dies instead, died() is called.
    spawned.ready().then(recovered, () => {});
    return commands;
  }

  private spawn(worker: number, isReplacement: boolean): { commands: RingProducer; spawned: Spawned } {
    const { config, control, marginTable, journalDoorbell, workers, entry, pastIds } = this.options;
    const { actorIds, out, doorbell } = must(workers[worker], "worker");
    const commands = allocateRing(config.ringBytes);
    const task: Omit<ActorTask, "port" | "control" | "doorbell"> = {
      ...{ worker, commands, out, isReplacement },
      workers: workers.length,
      dataDir: config.data,
      journalDoorbell: journalDoorbell.buffer,
      marginTable: marginTable.buffer,
      sums: this.sums.buffer,
      liquidationBids: this.liquidationBids,
      weakAccounts: this.weakAccounts,
      actorIds: [...actorIds],
      instruments: [...config.instruments],
      ledger: {
        faucetCapQuanta: config.faucetCapQuanta,
        minDepositQuanta: config.minDepositQuanta,
        withdrawalDelayMs: config.withdrawalDelayMs,
        withdrawalAddressBook: config.withdrawalAddressBook,
        withdrawalAddressHoldMs: config.withdrawalAddressHoldMs,
      },
      symbols: { maxIndexAgeMs: config.maxIndexAgeMs },
      pastIds,
      snapshotIntervalMs: config.snapshotIntervalMs,
    };
    const spawned = spawnThread<ActorTask>(entry, control, doorbell, task, (error) => this.died(worker, error));
    this.threads[worker] = spawned.thread;
    this.watchdogs[worker] = new Watchdog(commands, out);
    return { commands: new RingProducer(commands, doorbell), spawned };
  }

  private died(worker: number, error: Error): void {
    const { rebuild } = this;
    // During a start or stop the caller that waits for the thread gets the error.
    if (rebuild === null || this.options.control.phase !== RUNNING) return;
    if (this.options.control.isFollowing)
      return this.options.onFatal(new Error(`an actor thread died: ${error.message}`, { cause: error }));
    const now = performance.now();
    const deaths = must(this.deaths[worker], "worker").filter((at) => now - at < REBUILD_WINDOW_MS);
    this.deaths[worker] = [...deaths, now];
    if (deaths.length >= MAX_REBUILDS)
      return this.options.onFatal(
        new Error(`an actor thread dies again and again: ${error.message}`, { cause: error }),
      );
    this.options.onRebuild({ concerns: this.concernsOf(worker), error });
    const { port, pinned } = must(this.threads[worker], "thread");
    port.close();
    pinned.close().catch(() => {});
    rebuild.died(worker);
    if (this.isRebuilding) return;
    this.isRebuilding = true;
    this.noRecountAt = now;
    this.continueRebuild(rebuild);
  }

  /** Repeats itself until every worker executes commands again. */
  private continueRebuild(rebuild: Rebuild): void {
    if (this.options.control.phase !== RUNNING) return;
    rebuild.step();
    const now = performance.now();
    if (!rebuild.isUrgent) this.noRecountAt = now;
    const since = now - STALL_DEADLINE_MS;
    if (this.noRecountAt < since)
      return this.options.onFatal(new Error("an actor thread does not end its transaction"));
    if (this.deaths.some((deaths, worker) => rebuild.isDraining(worker) && (deaths.at(-1) ?? since) < since))
      return this.options.onFatal(new Error("the transactions of a dead actor thread do not reach the log"));
    this.isRebuilding = !rebuild.isDone;
    if (rebuild.isUrgent) setImmediate(() => this.continueRebuild(rebuild));
    else if (this.isRebuilding) setTimeout(() => this.continueRebuild(rebuild), 1);
  }

  private concernsOf(worker: number): string[] {
    const { actorIds } = must(this.options.workers[worker], "worker");
    const symbols = this.options.engine.instruments.filter(({ id }) => actorIds.includes(id));
    return [...(actorIds.includes(LEDGER) ? ["ledger"] : []), ...symbols.map(({ symbol }) => symbol)];
  }
}
