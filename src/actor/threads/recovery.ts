import type { Actor } from "../../core/protocol/actor.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { NO_PAST_IDS, type PastIds } from "../../store/database/past-client-ids.ts";
import type { Snapshots } from "../../store/database/snapshots.ts";
import { DISK, type Files } from "../../store/files/files.ts";
import { LogReader } from "../../store/log/log-reader.ts";
import { eachMessage } from "../../wire/codec.ts";
import { AT_ACTOR_ID, AT_SEQUENCE, AT_TIME, RECORD_HEADER_BYTES } from "../../wire/record.ts";
import type { Control } from "./control.ts";

/** Progress is reported after this many records. */
const RECORDS_PER_STEP = 10_000;

/**
 * Recovers actors: loads their snapshots and applies the log's tail with the same `apply` that deciding transactions
 * use. Decides nothing again. Leaves `pastIds` on disk. Returns the time of the last transaction found, in ms: no later
 * transaction is earlier.
 */
export function recover(
  actors: readonly Actor[],
  snapshots: Snapshots,
  logDir: string,
  control: Control,
  files: Files = DISK,
  pastIds: PastIds = NO_PAST_IDS,
): number {
  const byId = new Map<number, { actor: Actor; through: number }>();
  const end = control.durable;
  let from = end;
  let lastTime = 0;
  for (const actor of actors) {
    const visit = (table: string, key: number | string, row: Message): void => actor.load(table, key, row);
    const through = snapshots.load(actor.actorId, visit, pastIds.through.get(actor.actorId));
    control.setStoredSnapshotOf(actor.actorId, through);
    lastTime = Math.max(lastTime, snapshots.timeOf(actor.actorId));
    byId.set(actor.actorId, { actor, through });
    from = Math.min(from, through);
  }
  if (from < end) {
    const reader = new LogReader(logDir, from + 1, files);
    const visit = (buffer: Buffer, view: DataView, offset: number, logBytes: number): void => {
      const entry = byId.get(view.getUint16(offset + AT_ACTOR_ID, true));
      const sequence = view.getFloat64(offset + AT_SEQUENCE, true);
      const time = view.getFloat64(offset + AT_TIME, true);
      lastTime = Math.max(lastTime, time);
      if (entry === undefined || sequence <= entry.through) return;
      eachMessage(view, buffer, offset + RECORD_HEADER_BYTES, offset + logBytes, (event) =>
        entry.actor.apply(event, time),
      );
      entry.actor.settle(sequence, time);
    };
    for (let read = -1; read !== 0; ) {
      read = reader.read(end, visit, RECORDS_PER_STEP);
      control.addRecovered(read);
    }
    reader.close();
  }
  for (const actor of actors) actor.restored();
  return lastTime;
}
