import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { answered, falseIfOther, REQUEST_TIMEOUT_MS } from "./nats-answers.ts";
import type { LeaseEntry, LeaseStore } from "./stream.ts";

const LEASE_KEY = "leader";

/** The leader's lease: a key in a bucket of its own. */
export class NatsLease implements LeaseStore {
  private kv: KV;
  private readonly open: () => Promise<KV>;
  private readonly what: string;

  /** Makes the bucket if it is missing. One that is there stays as it is: see `copies`. */
  static async open(
    connection: NatsConnection,
    { stream, replicas }: { readonly stream: string; readonly replicas: number },
  ): Promise<NatsLease> {
    const open = (): Promise<KV> =>
      new Kvm(connection).create(`${stream}-lease`, { history: 1, replicas, timeout: REQUEST_TIMEOUT_MS });
    return new NatsLease(await open(), open, bucketOf(stream));
  }

  private constructor(kv: KV, open: () => Promise<KV>, bucket: string) {
    this.kv = kv;
    this.open = open;
    this.what = `the lease ${bucket}`;
  }

  /** How many servers keep the bucket. */
  async copies(): Promise<number> {
    return (await this.kv.status()).replicas;
  }

  /** Removes the entry, if there is one. */
  async clear(): Promise<void> {
    if ((await this.kv.get(LEASE_KEY)) !== null) await this.kv.delete(LEASE_KEY);
  }

  async read(): Promise<{ entry: LeaseEntry; revision: number } | null> {
    const found = await answered(this.what, this.orOpen(this.kv.get(LEASE_KEY)));
    return found === null || found.operation !== "PUT"
      ? null
      : { entry: readEntry(found.string()), revision: found.revision };
  }

  async update(entry: LeaseEntry, revision: number): Promise<number | null> {
    const value = JSON.stringify(entry);
    const { kv, what } = this;
    try {
      return await this.orOpen(revision === 0 ? kv.create(LEASE_KEY, value) : kv.update(LEASE_KEY, value, revision));
    } catch (error) {
      return falseIfOther(what, error) || null;
    }
  }

  /** If nobody answers for the bucket it may have been lost. Without it nobody could lead until somebody starts again. */
  private async orOpen<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      const { name, message } = error as Error;
      if (name === "JetStreamNotEnabled" || message.includes("no responders"))
        this.kv = await this.open().catch(() => this.kv);
      throw error;
    }
  }
}

/** The name of the stream behind the bucket. */
export const bucketOf = (stream: string): string => `KV_${stream}-lease`;

/** The entry of nobody for one that perpd did not write: a leader replaces it. */
function readEntry(text: string): LeaseEntry {
  try {
    const entry = JSON.parse(text) as LeaseEntry;
    const { node, epoch, url, instruments, isReleased } = entry;
    const areTexts = [node, url, instruments].every((each) => typeof each === "string");
    if (areTexts && Number.isSafeInteger(epoch) && typeof isReleased === "boolean") return entry;
  } catch {
    // The same as one of another form.
  }
  return NOBODY;
}

const NOBODY: LeaseEntry = { node: "", epoch: 0, url: "", instruments: "", isReleased: false };
