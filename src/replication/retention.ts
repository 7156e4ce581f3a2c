import { AT_TIME, viewOf } from "../wire/record.ts";
import type { BatchStream } from "./stream.ts";

/**
 * Removes messages from the front of the stream. A message stays if it has a record from `neededFrom` on, or if it is not
 * older than `keepSinceMs`: a standby that was away since then can still read on.
 */
export async function purgeOld(stream: BatchStream, neededFrom: number, keepSinceMs: number): Promise<void> {
  const { first, last } = await stream.bounds();
  let low = first;
  // The last message always stays: it has the epoch.
  let high = last;
  while (low < high) {
    const middle = (low + high) >> 1;
    let batch = await stream.get(middle);
    // A later part of a batch has no header of a record; the first one decides.
    if (batch !== null && batch.part > 1) batch = await stream.get(middle - batch.part + 1);
    if (batch === null) return;
    const isOld = viewOf(batch.bytes).getFloat64(AT_TIME, true) < keepSinceMs;
    if (isOld && batch.last < neededFrom) low = middle + 1;
    else high = middle;
  }
  // A message of a deposed leader is out of order, and may have misled the search.
  const kept = await stream.get(low);
  if (low > first && kept !== null && kept.first <= neededFrom) await stream.purgeThrough(low - 1);
}
