import type { ReplicationConfig } from "../config/replication.ts";
import { StreamFault } from "./batch.ts";
import { UnknownOutcomeError } from "./stream.ts";

const TIMEOUT_MS = 3000;
/** A server that was down at the start is asked again at this interval. */
const LATER_MS = 2000;
/** So long does the end of a process wait for that, at most. */
const LOOK_MS = 100;

interface Varz {
  readonly server_name?: string;
  readonly jetstream?: { readonly config?: { readonly sync_always?: boolean } };
}

/**
 * Asks the servers whether they write to their disks before they confirm. By default they do that every two minutes, and a
 * power cut loses what they confirmed since (Jepsen, NATS 2.12.1, 2025-12-08). Throws StreamFault for one that does not.
 *
 * Returns the monitors that did not answer. Of several servers fewer than half may be down, since the stream works without
 * them: see requireSyncLater(). If more are down, it throws UnknownOutcomeError.
 */
export async function requireSync({ monitors, isUnsafe }: ReplicationConfig): Promise<string[]> {
  if (isUnsafe) return [];
  if (monitors.length === 0)
    throw new StreamFault(
      "nothing shows that the NATS servers write to their disks before they answer: set replicateMonitors to their monitoring URLs (http_port), or start with --replicate-unsafe on",
    );
  const checks = await Promise.all(monitors.map(silenceOf));
  const silences = checks.filter((silence) => silence !== null);
  if (silences[0] !== undefined && 2 * silences.length >= monitors.length) throw silences[0];
  return monitors.filter((_monitor, i) => checks[i] !== null);
}

/**
 * Asks the servers that did not answer at the start until each of them has. Throws StreamFault for one that does not write to
 * its disk before it confirms. Resolves when all were asked, or when `isOver`.
 */
export async function requireSyncLater(
  monitors: readonly string[],
  { sleep, isOver }: { sleep: (ms: number) => Promise<void>; isOver: () => boolean },
): Promise<void> {
  for (const monitor of monitors)
    while (!isOver() && (await silenceOf(monitor)) !== null)
      for (let waitedMs = 0; waitedMs < LATER_MS && !isOver(); waitedMs += LOOK_MS) await sleep(LOOK_MS);
}

/** Null if the server writes to its disk before it confirms. Throws StreamFault if it does not. */
async function silenceOf(monitor: string): Promise<UnknownOutcomeError | null> {
  let varz: Varz;
  try {
    varz = await readVarz(monitor);
  } catch (error) {
    if (error instanceof UnknownOutcomeError) return error;
    throw error;
  }
  const { server_name, jetstream } = varz;
  if (server_name === undefined) throw new StreamFault(`${monitor} is no NATS server; check replicateMonitors`);
  if (jetstream?.config === undefined) throw new StreamFault(`the NATS server ${server_name} runs without JetStream`);
  if (jetstream.config.sync_always !== true)
    throw new StreamFault(
      `the NATS server ${server_name} answers before its disk has the data: set "sync_interval: always" in its jetstream block, or start with --replicate-unsafe on`,
    );
  return null;
}

async function readVarz(monitor: string): Promise<Varz> {
  try {
    const reply = await fetch(new URL("/varz", monitor), { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return (await reply.json()) as Varz;
  } catch (error) {
    const why = `cannot read ${monitor}/varz: ${reasonOf(error as Error)}; check replicateMonitors`;
    throw isSilence(error as Error) ? new UnknownOutcomeError(why, { cause: error }) : new StreamFault(why);
  }
}

/** fetch() hides the reason. */
const reasonOf = ({ message, cause }: Error): string =>
  cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || message : message;

const SILENCE = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EPIPE", "EAI_AGAIN", "ENOTFOUND"],
  ...["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT"],
]);
const SERVICE_UNAVAILABLE = 503;

/** Whether nobody answers: the server may be starting, or may have no leader yet. */
export function isSilence(error: Error): boolean {
  const { code, status } = error as Error & { code?: unknown; status?: unknown };
  // This account has none, and never will.
  if (error.name === "JetStreamNotEnabled") return false;
  if (isAwaitingPeers(error) || code === STREAM_OFFLINE) return true;
  // A stream that was just made, and whose leader does not listen yet.
  if (error.name === "NoResponders") return true;
  if (error.name === "TimeoutError" || SILENCE.has(String(code)) || status === SERVICE_UNAVAILABLE) return true;
  return error.cause instanceof Error && isSilence(error.cause);
}

/** All servers that keep the stream are down. */
const STREAM_OFFLINE = 10118;
const NO_PEERS = 10005;

/**
 * Whether too few servers are up for a new stream, or the leader among them has not heard of the others yet. The same code with
 * another ending, for example "insufficient storage", stands for what will not pass.
 */
export function isAwaitingPeers(error: Error): boolean {
  return (error as Error & { code?: unknown }).code === NO_PEERS && /placement(, peer offline)?$/.test(error.message);
}
