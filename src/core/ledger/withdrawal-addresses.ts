import type { WithdrawalAddress } from "../protocol/payloads.ts";

/** Bounds the memory of an account that keeps adding. */
export const MAX_WITHDRAWAL_ADDRESSES = 50;

/** The address book of each account: where it may withdraw to. The case of an address does not matter. */
export class WithdrawalAddresses {
  private readonly books = new Map<number, Map<string, WithdrawalAddress>>();

  find(accountId: number, address: string): WithdrawalAddress | undefined {
    return this.books.get(accountId)?.get(address.toLowerCase());
  }

  countOf(accountId: number): number {
    return this.books.get(accountId)?.size ?? 0;
  }

  /** Oldest first. The order does not depend on that of the rows on disk. */
  of(accountId: number): WithdrawalAddress[] {
    const rows = [...(this.books.get(accountId)?.values() ?? [])];
    return rows.sort((a, b) => a.addedAt - b.addedAt || (a.address < b.address ? -1 : 1));
  }

  add(accountId: number, row: WithdrawalAddress): void {
    const book = this.books.get(accountId) ?? new Map<string, WithdrawalAddress>();
    this.books.set(accountId, book.set(row.address.toLowerCase(), row));
  }

  remove(accountId: number, address: string): void {
    const book = this.books.get(accountId);
    book?.delete(address.toLowerCase());
    if (book?.size === 0) this.books.delete(accountId);
  }

  /** For the audit: an account and one of its addresses on each line, sorted. */
  lines(): string[] {
    const accountIds = [...this.books.keys()].sort((a, b) => a - b);
    return accountIds.flatMap((accountId) =>
      this.of(accountId).map(
        ({ address, label, addedAt, usableAt }) => `${accountId} ${address} ${addedAt} ${usableAt} ${label}`,
      ),
    );
  }
}

/** The key of an address in the snapshot. */
export const addressKey = (accountId: number, address: string): string => `${accountId}/${address.toLowerCase()}`;
