import type { Released, Road } from "../actor/road.ts";
import { ClientIdsPage, OrderPlaced, OrderWaits, type ClientIds as Page, ReadClientIds } from "../core/messages.ts";
import type { MessageOf } from "../core/shape.ts";
import type { TimeMs } from "../core/units.ts";
import { ask, replyOf } from "./ask.ts";

const RETENTION_MS = 24 * 60 * 60 * 1000;
const FIRST_CAPACITY = 1024;

/**
 * Which symbol a client order id was used on. An id stands for one order of its account, whatever the symbol; each
 * symbol remembers its own ids exactly and durably, and this keeps one id from being used on two. Entries are 17 bytes
 * in flat tables, since a load test leaves millions of them in a day: a hash of 53 bits stands for account and id.
 */
export class ClientOrderIds {
  private hashes = new Float64Array(FIRST_CAPACITY);
  private times = new Float64Array(FIRST_CAPACITY);
  private owners = new Uint8Array(FIRST_CAPACITY);
  private count = 0;
  private now: TimeMs = 0;

  private constructor(road: Road) {
    road.onReleased((turn) => this.fold(turn));
  }

  /** Resolves when every symbol has told its ids. */
  static async open(road: Road): Promise<ClientOrderIds> {
    const ids = new ClientOrderIds(road);
    for (const { id } of road.instruments) {
      for (let from: number | null = 0; from !== null; ) {
        const command = { type: ReadClientIds.code, from } as const;
        const page: Page = await ask(road, id, command, (turn) => {
          return replyOf<MessageOf<typeof ClientIdsPage>>(turn, ClientIdsPage.code).page;
        });
        for (const [accountId, clientOrderId, time] of page.ids) ids.keep(accountId, clientOrderId, id, time);
        from = page.next;
      }
    }
    return ids;
  }

  /**
   * The instrument on which the account has used this id within the last 24 hours, or 0. An order on its way counts
   * once keep() was called for it.
   */
  ownerOf(accountId: number, clientOrderId: string): number {
    const at = this.place(hashOf(accountId, clientOrderId));
    return this.hashes[at] !== 0 && this.times[at] >= this.now - RETENTION_MS ? this.owners[at] : 0;
  }

  keep(accountId: number, clientOrderId: string, instrumentId: number, time: TimeMs): void {
    this.now = Math.max(this.now, time);
    if (this.count * 2 >= this.hashes.length) this.rebuild();
    const hash = hashOf(accountId, clientOrderId);
    const at = this.place(hash);
    if (this.hashes[at] === 0) this.count++;
    this.hashes[at] = hash;
    this.times[at] = time;
    this.owners[at] = instrumentId;
  }

  /** The order was refused: its id was not used after all. */
  drop(accountId: number, clientOrderId: string): void {
    // An expired entry is one that may be overwritten: nothing has to move.
    const at = this.place(hashOf(accountId, clientOrderId));
    this.times[at] = 0;
  }

  private fold(turn: Released): void {
    for (let i = 0; i < turn.eventCount; i++) {
      const event = turn.messages[i] as MessageOf<typeof OrderPlaced> | MessageOf<typeof OrderWaits>;
      if ((event.type === OrderPlaced.code || event.type === OrderWaits.code) && event.clientOrderId !== "")
        this.keep(event.accountId, event.clientOrderId, turn.actorId, turn.time);
    }
  }

  /** Where the hash stands, or the free place where it would. */
  private place(hash: number): number {
    const mask = this.hashes.length - 1;
    let at = Math.imul(hash, 0x9e3779b1) & mask;
    while (this.hashes[at] !== 0 && this.hashes[at] !== hash) at = (at + 1) & mask;
    return at;
  }

  /** Half full: leaves out what is past its time, and grows if that was not enough. */
  private rebuild(): void {
    const { hashes, times, owners } = this;
    const before = this.now - RETENTION_MS;
    let live = 0;
    for (let at = 0; at < hashes.length; at++) if (hashes[at] !== 0 && times[at] >= before) live++;
    const capacity = live * 4 > hashes.length ? hashes.length * 2 : hashes.length;
    this.hashes = new Float64Array(capacity);
    this.times = new Float64Array(capacity);
    this.owners = new Uint8Array(capacity);
    this.count = live;
    for (let at = 0; at < hashes.length; at++) {
      if (hashes[at] === 0 || times[at] < before) continue;
      const to = this.place(hashes[at]);
      this.hashes[to] = hashes[at];
      this.times[to] = times[at];
      this.owners[to] = owners[at];
    }
  }
}

/** Two FNV-1a hashes of 32 and 21 bits: 53 bits, never 0. Among ten million ids, one false match in 10^9 look-ups. */
function hashOf(accountId: number, clientOrderId: string): number {
  let a = 0x811c9dc5 ^ accountId;
  let b = 0x01234567 ^ Math.imul(accountId, 0x85ebca6b);
  for (let i = 0; i < clientOrderId.length; i++) {
    const char = clientOrderId.charCodeAt(i);
    a = Math.imul(a ^ char, 0x01000193);
    b = Math.imul(b ^ char, 0x5bd1e995) + (b >>> 15);
  }
  return (a >>> 0) * 2 ** 21 + (b >>> 11) + 1;
}
