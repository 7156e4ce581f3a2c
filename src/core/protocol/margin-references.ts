import type { Quanta } from "../base/units.ts";

/** Per account and symbol. Bounds the memory that a client can take. */
export const MAX_MARGIN_REFERENCES = 100;

/** A client's reference, and the amount that was moved with it. */
export type MarginMove = [reference: string, amountQuanta: Quanta];

/** The latest references with which each account has moved margin. A repeated request moves nothing. */
export class MarginReferences {
  private readonly ofAccount = new Map<number, Map<string, Quanta>>();
  private readonly changed = new Set<number>();

  /** The amount that was moved with the reference. Undefined when it was not used, or is forgotten for newer ones. */
  amountOf(accountId: number, reference: string): Quanta | undefined {
    return this.ofAccount.get(accountId)?.get(reference);
  }

  add(accountId: number, reference: string, amountQuanta: Quanta): void {
    const moves = this.ofAccount.get(accountId) ?? new Map<string, Quanta>();
    this.ofAccount.set(accountId, moves.set(reference, amountQuanta));
    const [oldest] = moves.keys();
    if (oldest !== undefined && moves.size > MAX_MARGIN_REFERENCES) moves.delete(oldest);
    this.changed.add(accountId);
  }

  /** From a snapshot, oldest first. */
  load(accountId: number, moves: readonly MarginMove[]): void {
    this.ofAccount.set(accountId, new Map(moves));
  }

  /** Hands over all moves of each account that has changed, until these are `most` moves. Returns whether that was all. */
  takeChanges(take: (accountId: number, moves: MarginMove[]) => void, most: number): boolean {
    let left = most;
    for (const accountId of this.changed) {
      if (left <= 0) return false;
      const moves = [...(this.ofAccount.get(accountId) ?? [])];
      this.changed.delete(accountId);
      take(accountId, moves);
      left -= moves.length;
    }
    return true;
  }
}
