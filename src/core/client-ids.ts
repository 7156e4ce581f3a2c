/** What a client order id stands for. */
export interface ClientId {
  readonly accountId: number;
  readonly clientOrderId: string;
  readonly orderId: number;
  readonly bodyHash: number;
  readonly time: number;
  persisted: boolean;
}

/**
 * Client order ids that were used: a request that comes again finds its first order instead of a second one. Kept for
 * `retentionMs` at least, and as long as the order is open.
 */
export class ClientIds {
  private readonly byAccount = new Map<number, Map<string, ClientId>>();
  /** In order of time, from `oldest` on. */
  private queue: ClientId[] = [];
  private oldest = 0;
  private fresh: ClientId[] = [];
  private expired: number[] = [];
  private readonly retentionMs: number;

  constructor(retentionMs: number) {
    this.retentionMs = retentionMs;
  }

  find(accountId: number, clientOrderId: string): ClientId | undefined {
    return this.byAccount.get(accountId)?.get(clientOrderId);
  }

  add(accountId: number, clientOrderId: string, orderId: number, bodyHash: number, time: number): void {
    const entry = this.keep({ accountId, clientOrderId, orderId, bodyHash, time, persisted: false });
    this.fresh.push(entry);
  }

  /** An entry from a snapshot; entries come in order of their order ids, which is that of time. */
  load(accountId: number, clientOrderId: string, orderId: number, bodyHash: number, time: number): void {
    this.keep({ accountId, clientOrderId, orderId, bodyHash, time, persisted: true });
  }

  /** What is remembered, oldest first, from the n-th entry on. */
  page(from: number, count: number): readonly ClientId[] {
    return this.queue.slice(this.oldest + from, this.oldest + from + count);
  }

  /** Forgets what is past its time and whose order is closed; bounded work per call. */
  expire(now: number, isOpen: (orderId: number) => boolean): void {
    const before = now - this.retentionMs;
    for (let steps = 0; steps < 1000 && this.oldest < this.queue.length; steps++) {
      const entry = this.queue[this.oldest];
      if (entry === undefined || entry.time >= before) break;
      this.oldest++;
      if (isOpen(entry.orderId)) {
        this.queue.push(entry);
        break; // an open order of that age: look again at the next tick
      }
      const ofAccount = this.byAccount.get(entry.accountId);
      ofAccount?.delete(entry.clientOrderId);
      if (ofAccount?.size === 0) this.byAccount.delete(entry.accountId);
      if (entry.persisted) this.expired.push(entry.orderId);
    }
    if (this.oldest > 65_536) {
      this.queue = this.queue.slice(this.oldest);
      this.oldest = 0;
    }
  }

  takeChanges(added: (entry: ClientId) => void, removed: (orderId: number) => void): void {
    for (const entry of this.fresh) {
      // What has come and gone between two snapshots need not be written.
      if (this.find(entry.accountId, entry.clientOrderId) !== entry) continue;
      entry.persisted = true;
      added(entry);
    }
    for (const orderId of this.expired) removed(orderId);
    this.fresh = [];
    this.expired = [];
  }

  private keep(entry: ClientId): ClientId {
    let ofAccount = this.byAccount.get(entry.accountId);
    if (ofAccount === undefined) {
      ofAccount = new Map();
      this.byAccount.set(entry.accountId, ofAccount);
    }
    ofAccount.set(entry.clientOrderId, entry);
    this.queue.push(entry);
    return entry;
  }
}
