import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { ClientIdHash } from "../../core/base/client-id-hash.ts";
import { HashFifo, NO_ROW } from "../../core/base/hash-fifo.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { ReadClientIds } from "../../core/protocol/commands.ts";
import { ConditionalOrderPlaced, OrderPlaced } from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { ClientIdList as Page } from "../../core/protocol/payloads.ts";
import { ClientIdsPage } from "../../core/protocol/replies.ts";
import { CLIENT_ID_RETENTION_MS } from "../../core/state/client-ids.ts";
import { replyOf, request } from "./request.ts";

/** As many as two symbols remember, 800 MB: beyond that the oldest go before their time. */
const MOST_IDS = 2 ** 24;
/** With each one that comes: so they go sooner than they come, and no order waits for many to go. */
const FORGET_AT_ONCE = 2;

// The numbers of a row.
/** A second hash: the two together have 64 bits. */
const CHECK = 0;
/** When it was used. Below 0 nobody has used it yet, and so many orders that may do so are on their way; 0: nor any order. */
const TIME = 1;
const INSTRUMENT = 2;
const WIDTH = 3;

/**
 * Which symbol a client order id was used on. An id stands for one order of its account, whatever the symbol; each
 * symbol remembers its own ids exactly and durably, and this keeps one id from being used on two. A load test leaves
 * millions of them in a day: two hashes stand for account and id.
 */
export class ClientOrderIds {
  /** In the order in which they were first used. */
  private readonly rows = new HashFifo(WIDTH);
  private readonly hashes = new ClientIdHash();
  private readonly checks = new ClientIdHash();
  private readonly most: number;
  private now: TimeMs = 0;

  private constructor(engine: Engine, most: number) {
    this.most = most;
    engine.onReleased((transaction) => this.fold(transaction));
  }

  /** Resolves when every symbol has told its ids. */
  static async open(engine: Engine, most = MOST_IDS): Promise<ClientOrderIds> {
    const ids = new ClientOrderIds(engine, most);
    for (const { id } of engine.instruments) {
      for (let from: number | null = 0; from !== null; ) {
        const command = { type: ReadClientIds.code, from } as const;
        const page: Page = await request(engine, id, command, (transaction) => {
          return replyOf<MessageOf<typeof ClientIdsPage>>(transaction, ClientIdsPage.code).page;
        });
        for (const [accountId, clientOrderId, time] of page.ids) ids.keep(accountId, clientOrderId, id, time);
        from = page.next;
      }
    }
    return ids;
  }

  /**
   * The instrument on which the account has used this id within the last 24 hours, or to which an order is on its way that
   * holds it; or 0.
   */
  ownerOf(accountId: number, clientOrderId: string): number {
    const row = this.find(accountId, clientOrderId);
    return row === NO_ROW || this.isPast(row) ? 0 : this.rows.get(row, INSTRUMENT);
  }

  /** An order has used it. At a start a symbol may tell of an earlier one, behind which another symbol has used it. */
  keep(accountId: number, clientOrderId: string, instrumentId: number, time: TimeMs): void {
    const row = this.rowOf(accountId, clientOrderId, time);
    if (time >= this.rows.get(row, TIME)) this.set(row, instrumentId, time);
  }

  /**
   * An order with this id sets out for the symbol, and no other symbol may have the id until release(). False, and nothing
   * to release: it was used before.
   */
  hold(accountId: number, clientOrderId: string, instrumentId: number, time: TimeMs): boolean {
    const row = this.rowOf(accountId, clientOrderId, time);
    const before = this.isPast(row) ? 0 : this.rows.get(row, TIME);
    if (before > 0) return false;
    this.set(row, instrumentId, before - 1);
    return true;
  }

  /** An order that held it is no longer on its way. Unless it was used, it is free once none of them is. */
  release(accountId: number, clientOrderId: string): void {
    const { rows } = this;
    const row = this.find(accountId, clientOrderId);
    if (row !== NO_ROW && rows.get(row, TIME) < 0) rows.set(row, TIME, rows.get(row, TIME) + 1);
  }

  private set(row: number, instrumentId: number, time: number): void {
    this.rows.set(row, TIME, time);
    this.rows.set(row, INSTRUMENT, instrumentId);
  }

  private rowOf(accountId: number, clientOrderId: string, now: TimeMs): number {
    const { rows } = this;
    this.now = Math.max(this.now, now);
    const known = this.find(accountId, clientOrderId);
    if (known !== NO_ROW) return known;
    this.forget();
    const row = rows.append(this.hashes.of(accountId, clientOrderId));
    rows.set(row, CHECK, this.checks.of(accountId, clientOrderId));
    return row;
  }

  private fold(transaction: ReleasedTransaction): void {
    for (let i = 0; i < transaction.eventCount; i++) {
      const event = transaction.messages[i] as MessageOf<typeof OrderPlaced> | MessageOf<typeof ConditionalOrderPlaced>;
      if ((event.type === OrderPlaced.code || event.type === ConditionalOrderPlaced.code) && event.clientOrderId !== "")
        this.keep(event.accountId, event.clientOrderId, transaction.actorId, transaction.time);
    }
  }

  private find(accountId: number, clientOrderId: string): number {
    const { rows } = this;
    let row = rows.find(this.hashes.of(accountId, clientOrderId));
    if (row === NO_ROW) return NO_ROW;
    const check = this.checks.of(accountId, clientOrderId);
    while (row !== NO_ROW && rows.get(row, CHECK) !== check) row = rows.findNext(row);
    return row;
  }

  private isPast(row: number): boolean {
    const time = this.rows.get(row, TIME);
    return time >= 0 && time < this.now - CLIENT_ID_RETENTION_MS;
  }

  /** What is past its time, from the oldest on. One that was used again keeps those behind it as long as itself. */
  private forget(): void {
    const { rows } = this;
    for (let i = 0; i < FORGET_AT_ONCE && rows.length > 0; i++) {
      if (rows.length < this.most && !this.isPast(rows.first)) return;
      rows.dropFirst();
    }
  }
}
