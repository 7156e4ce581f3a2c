import { createHash } from "node:crypto";
import { ConfigError } from "./error.ts";
import type { Settings } from "./settings.ts";
import { parsePublicUrl } from "./urls.ts";

/** Waits for the stream before a transaction counts, or not. The stream records it. */
export type ReplicationMode = Settings["replicateMode"];

/** How this process reaches the stream. Plain data that can be sent to a thread. */
export interface ReplicationConfig {
  /** URLs of NATS servers. */
  readonly servers: readonly string[];
  readonly mode: ReplicationMode;
  readonly stream: string;
  /** How many servers keep each message: 1, 3 or 5. */
  readonly replicas: number;
  /** "": none. */
  readonly credentialsFile: string;
  /** Null: no TLS. */
  readonly tls: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string } | null;
  /** Monitoring URLs of the servers. */
  readonly monitors: readonly string[];
  /** Servers that may lose what they have confirmed are taken, too. */
  readonly isUnsafe: boolean;
  /** Messages of the stream are kept for this long, at least. */
  readonly retentionMs: number;
  /** How long orders may wait for others of their message. */
  readonly lingerMs: number;
  /** Where clients reach this process when it leads. */
  readonly url: string;
  /** A hash of the instruments. A standby with others cannot read the log. */
  readonly instruments: string;
}

const HOUR_MS = 3_600_000;

const list = (text: string): string[] => (text === "" ? [] : text.split(","));

/** Null if the log is to be on this machine only. Throws ConfigError. */
export function replicationOf(settings: Settings): ReplicationConfig | null {
  const { replicate, replicateReplicas, replicateTlsCertFile, replicateTlsKeyFile, replicateTlsCaFile } = settings;
  if (replicate === "") return null;
  if (replicateReplicas % 2 === 0) throw new ConfigError(`replicateReplicas: ${replicateReplicas} is not 1, 3 or 5`);
  if ((replicateTlsCertFile === "") !== (replicateTlsKeyFile === ""))
    throw new ConfigError("replicateTlsCertFile, replicateTlsKeyFile: TLS needs the certificate and its private key");
  const servers = list(replicate);
  const isTls =
    replicateTlsCaFile !== "" || replicateTlsCertFile !== "" || servers.some((url) => url.startsWith("tls:"));
  return {
    servers,
    mode: settings.replicateMode,
    stream: settings.replicateStream,
    replicas: replicateReplicas,
    credentialsFile: settings.replicateCredentialsFile,
    tls: isTls ? tlsOf(replicateTlsCaFile, replicateTlsCertFile, replicateTlsKeyFile) : null,
    monitors: list(settings.replicateMonitors),
    isUnsafe: settings.replicateUnsafe,
    retentionMs: settings.replicateRetentionHours * HOUR_MS,
    lingerMs: settings.replicateLingerUs / 1e3,
    url: settings.publicUrl === "" ? ownUrl(settings) : parsePublicUrl(settings.publicUrl),
    instruments: createHash("sha256").update(JSON.stringify(settings.instruments)).digest("hex").slice(0, 16),
  };
}

const ownUrl = ({ host, port, tlsCertFile }: Settings): string =>
  `${tlsCertFile === "" ? "http" : "https"}://${host}:${port}`;

const tlsOf = (caFile: string, certFile: string, keyFile: string): NonNullable<ReplicationConfig["tls"]> => ({
  ...(caFile === "" ? {} : { caFile }),
  ...(certFile === "" ? {} : { certFile, keyFile }),
});
