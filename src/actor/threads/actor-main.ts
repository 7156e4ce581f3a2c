import { LiquidationBids } from "../../core/accounts/liquidation-bids.ts";
import { MarginTable } from "../../core/accounts/margin-table.ts";
import { WeakAccounts } from "../../core/accounts/weak-accounts.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { LedgerActor, type LedgerSettings } from "../../core/ledger/ledger.ts";
import type { Actor } from "../../core/protocol/actor.ts";
import { compileInstrument, type InstrumentConfig } from "../../core/protocol/instrument.ts";
import { SymbolActor, type SymbolSettings } from "../../core/symbol.ts";
import { openDatabase } from "../../store/database/database.ts";
import { PastIdReader, type SharedPastIds } from "../../store/database/past-client-ids.ts";
import { Snapshots } from "../../store/database/snapshots.ts";
import { logOf } from "../../store/files/data-folder.ts";
import { DISK } from "../../store/files/files.ts";
import { Doorbell, RingConsumer, RingProducer } from "../../wire/ring.ts";
import { ActorWorker } from "./actor-worker.ts";
import { Control } from "./control.ts";
import { Follower } from "./follower.ts";
import { Recovery } from "./recovery.ts";
import { SnapshotSchedule } from "./snapshot-schedule.ts";
import type { ThreadTask } from "./thread-task.ts";

export interface ActorTask extends ThreadTask {
  /** The worker's number, from 0, and how many there are. */
  worker: number;
  workers: number;
  dataDir: string;
  commands: SharedArrayBuffer;
  out: SharedArrayBuffer;
  journalDoorbell: SharedArrayBuffer;
  marginTable: SharedArrayBuffer;
  liquidationBids: SharedArrayBuffer;
  weakAccounts: SharedArrayBuffer;
  /** As large as the margin table: see recount.ts. */
  sums: SharedArrayBuffer;
  /** It replaces a thread that has died, while the others go on: see rebuild.ts. */
  isReplacement: boolean;
  actorIds: number[];
  instruments: InstrumentConfig[];
  ledger: LedgerSettings;
  symbols: SymbolSettings;
  pastIds: SharedPastIds;
  snapshotIntervalMs: number;
}

/** Tests pass `wrap` to replace actors. */
export async function runActors(task: ActorTask, wrap: (actor: Actor) => Actor = (actor) => actor): Promise<void> {
  const control = new Control(task.control);
  const { worker: stripe, workers: stripeCount } = task;
  const shared = new MarginTable(task.marginTable, stripeCount, stripe);
  const marginTable = task.isReplacement ? MarginTable.allocate(shared.maxAccounts, stripeCount, stripe) : shared;
  const symbols = task.instruments.map(({ symbol }) => symbol);
  marginTable.bids = new LiquidationBids(task.liquidationBids, symbols);
  marginTable.weakAccounts = new WeakAccounts(task.weakAccounts, stripeCount, stripe);
  const database = openDatabase(task.dataDir, { readOnly: true });
  const stored = new Snapshots(database);
  const pastIds = new PastIdReader(database, task.pastIds);
  const actors = task.actorIds.map((actorId): Actor => {
    if (actorId === LEDGER) return wrap(new LedgerActor(task.ledger, marginTable, stored.readerOf(LEDGER)));
    const config = task.instruments.find((instrument) => instrument.id === actorId);
    if (config === undefined) throw new Error(`no instrument has the id ${actorId}`);
    return wrap(new SymbolActor(compileInstrument(config), marginTable, task.symbols, pastIds.of(actorId)));
  });
  const recovery = new Recovery(actors, stored, logOf(task.dataDir), control, DISK, task.pastIds);
  recovery.catchUp();
  const doorbell = new Doorbell(task.doorbell);
  const common = {
    worker: task.worker,
    ...{ actors, marginTable, control, doorbell },
    commands: new RingConsumer(task.commands),
    out: new RingProducer(task.out, new Doorbell(task.journalDoorbell)),
    snapshotIntervalMs: task.snapshotIntervalMs,
    clock: Date.now,
    monotonic: () => performance.now(),
  };
  const snapshots = new SnapshotSchedule(common);
  let leads = true;
  if (control.isFollowing) {
    const follower = new Follower({ ...common, recovery, snapshots });
    task.port.postMessage("ready");
    leads = await follower.run();
  }
  if (leads) {
    const worker = new ActorWorker({
      ...{ ...common, snapshots, notBefore: recovery.finish() },
      sums: new MarginTable(task.sums, stripeCount, stripe),
      ...(task.isReplacement ? { joinTable: task.marginTable } : {}),
    });
    task.port.postMessage("ready");
    await worker.run();
  }
  void database.close();
  task.port.close();
}
