import type { LeaseEntry, LeaseStore } from "./stream.ts";

/** Renews the leader's entry. One call at a time: a renewal on its way could otherwise undo a release. */
export class LeaseKeeper {
  private readonly store: LeaseStore;
  private readonly entry: LeaseEntry;
  private readonly sequence: () => number;
  private revision = 0;
  /** The revision that take() replaced; 0 = there was no entry. */
  replaced = 0;

  /** `sequence`: the last one that was answered. */
  constructor(store: LeaseStore, entry: LeaseEntry, sequence: () => number) {
    this.store = store;
    this.entry = entry;
    this.sequence = sequence;
  }

  /** After the claim: replaces the entry of the leader before. Returns false if a later leader has replaced it. */
  async take(): Promise<boolean> {
    for (;;) {
      const found = await this.store.read();
      if (found !== null && found.entry.epoch > this.entry.epoch) return false;
      const revision = await this.store.update({ ...this.entry, sequence: this.sequence() }, found?.revision ?? 0);
      if (revision === null) continue;
      this.replaced = found?.revision ?? 0;
      this.revision = revision;
      return true;
    }
  }

  /** Returns false if another node has taken the lease. Rejects if the outcome is unknown. */
  async renew(): Promise<boolean> {
    return this.write(this.entry);
  }

  /** Tells the standbys that they need not wait. */
  async release(): Promise<boolean> {
    return this.write({ ...this.entry, isReleased: true });
  }

  private async write(entry: LeaseEntry): Promise<boolean> {
    for (;;) {
      const revision = await this.store.update({ ...entry, sequence: this.sequence() }, this.revision);
      if (revision !== null) {
        this.revision = revision;
        return true;
      }
      // Perhaps the answer to an earlier update was lost. That one does not count: standbys have seen it a while ago.
      const there = await this.store.read();
      if (there !== null && isOfRival(there.entry, this.entry)) return false;
      // Without an entry nobody has taken it: somebody has deleted it. One of an earlier leader counts for nothing.
      this.revision = there?.revision ?? 0;
    }
  }
}

const isOfRival = (there: LeaseEntry, mine: LeaseEntry): boolean =>
  there.epoch > mine.epoch || (there.epoch === mine.epoch && there.node !== mine.node);
