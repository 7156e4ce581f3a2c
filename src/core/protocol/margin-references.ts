import type { Quanta } from "../base/units.ts";

/** In one symbol: whoever sends more of them takes no more memory. */
export const MAX_MARGIN_REFERENCES = 100;

/** A reference and how much was moved under it. */
export type MarginMove = [reference: string, amountQuanta: Quanta];

/** Under which references each account has moved margin, its latest ones: a request that comes again moves nothing. */
export class MarginReferences {
  private readonly ofAccount = new Map<number, Map<string, Quanta>>();
  private readonly changed = new Set<number>();

  /** How much was moved under it; undefined when it was not used, or so long ago that others have taken its place. */
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

  /** From a snapshot; oldest first. */
  load(accountId: number, moves: readonly MarginMove[]): void {
    this.ofAccount.set(accountId, new Map(moves));
  }

  /**
   * Hands over all moves of each account that has moved margin since the last call, until that is `most` of them. Returns
   * whether that was all.
   */
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
