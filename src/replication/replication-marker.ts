import { join } from "node:path";
import type { ReplicationMode } from "../config/replication.ts";
import { readIfPresent, toJson, writeDurably } from "../store/files/small-files.ts";
import { StreamFault } from "./batch.ts";

/**
 * A small file in the data folder: its log was replicated. From then on the folder starts with its stream only, because
 * another process may have gone on. A backup does not hold it.
 */
interface Marker {
  readonly stream: string;
  readonly mode: ReplicationMode;
}

export const MARKER_FILE = "replication.json";

/** Null if the folder was never replicated. */
export function readMarker(dataDir: string): Marker | null {
  const text = readIfPresent(join(dataDir, MARKER_FILE));
  return text === null ? null : (JSON.parse(text) as Marker);
}

/** Durable when it returns. One that is there already needs no write: a full disk must not end a process that may lead. */
export function writeMarker(dataDir: string, { stream, mode }: Marker): void {
  const content = toJson({ stream, mode });
  if (readIfPresent(join(dataDir, MARKER_FILE)) !== content) writeDurably(dataDir, MARKER_FILE, content);
}

/** Throws if the folder was replicated, and is now to be started alone. */
export function refuseAlone(dataDir: string): void {
  const marker = readMarker(dataDir);
  if (marker === null) return;
  throw new StreamFault(
    `${dataDir} is replicated in the stream ${marker.stream}, and another process may have gone on from it; start it with --replicate, or remove ${MARKER_FILE} from it if it is the newest copy and shall be an exchange of its own`,
  );
}

/** Throws if the folder is replicated in another stream than `stream`: a leader of a second one would go on from an old state. */
export function refuseOtherStream(dataDir: string, stream: string): void {
  const marker = readMarker(dataDir);
  if (marker === null || marker.stream === stream) return;
  throw new StreamFault(
    `${dataDir} is replicated in the stream ${marker.stream}, but the setting replicateStream is ${stream}; set it to ${marker.stream}`,
  );
}
