import { existsSync } from "node:fs";
import { AT_ACTOR_ID, AT_KIND, AT_LOG_BYTES, KIND_TRANSACTION } from "../../wire/record.ts";
import { openDatabase } from "../database/database.ts";
import { probeDatabase } from "../database/database-probe.ts";
import { logOf } from "../files/data-folder.ts";
import { isInitialised } from "../files/genesis.ts";
import { scanSegment } from "../log/log-scan.ts";
import { listSegments, SEGMENT_HEADER_BYTES } from "../log/log-segment.ts";

/**
 * The ids of all actors that have a snapshot or a transaction in the folder. Reads the whole log. Changes nothing. Nobody may
 * write to the folder meanwhile.
 */
export async function actorsWithState(dir: string): Promise<Set<number>> {
  const actorIds = new Set<number>();
  if (isInitialised(dir)) await addOfDatabase(dir, actorIds);
  const logDir = logOf(dir);
  if (existsSync(logDir)) for (const first of listSegments(logDir)) addOfSegment(logDir, first, actorIds);
  return actorIds;
}

async function addOfDatabase(dir: string, actorIds: Set<number>): Promise<void> {
  probeDatabase(dir);
  const database = openDatabase(dir, { readOnly: true });
  try {
    database.snapshotHeads.each({}, (actorId) => actorIds.add(actorId as number));
  } finally {
    await database.close();
  }
}

function addOfSegment(logDir: string, firstSequence: number, actorIds: Set<number>): void {
  const { view, endOffset } = scanSegment(logDir, firstSequence);
  for (let offset = SEGMENT_HEADER_BYTES; offset < endOffset; offset += view.getUint32(offset + AT_LOG_BYTES, true))
    if (view.getUint8(offset + AT_KIND) === KIND_TRANSACTION) actorIds.add(view.getUint16(offset + AT_ACTOR_ID, true));
}
