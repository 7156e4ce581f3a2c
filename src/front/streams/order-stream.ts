import type { Instrument } from "../../core/protocol/instrument.ts";
import { TimeSlicer } from "../common/time-slicer.ts";
import type { AccountOrders, OrderListener } from "./account-orders.ts";
import { type Member, type Publish, Stream } from "./stream.ts";

/** To print and send so much takes some milliseconds; an account's open orders may be more than that. */
const SNAPSHOT_BYTES_PER_ITERATION = 1 << 20;
const admissions = new TimeSlicer<OrderStream>(SNAPSHOT_BYTES_PER_ITERATION, (stream) => {
  admissions.spend(stream.admitNext());
});

/** An account's orders: the open ones in a snapshot, then each that a turn changed, also those that it closed. */
export class OrderStream extends Stream implements OrderListener {
  private readonly orders: AccountOrders;
  private readonly instrument: Instrument | null;
  private started = false;
  private pending: { sequence: number; data: string }[] = [];
  /** What a new member is sent, once somebody has asked for it: when many come at once, all get the same. */
  private printed: Buffer | null = null;

  /** `instrument` null = all of them. */
  constructor(topic: string, head: string, instrument: Instrument | null, orders: AccountOrders, publish: Publish) {
    super(topic, head, 0, publish);
    this.orders = orders;
    this.instrument = instrument;
  }

  shows(instrument: Instrument): boolean {
    return this.instrument === null || this.instrument === instrument;
  }

  /** The orders are known through this sequence. */
  start(sequence: number): void {
    this.sequence = sequence;
    this.started = true;
    this.admitInShares();
  }

  override join(member: Member): void {
    this.enrol(member);
    if (this.started) this.admitInShares();
  }

  /** A turn has changed these orders. */
  add(sequence: number, orders: readonly string[]): void {
    this.pending.push({ sequence, data: orders.join(",") });
    this.printed = null;
  }

  override flush(): void {
    // It may be long, and those who came at once have it.
    if (this.joining.size === 0) this.printed = null;
    if (!this.started) this.orders.requestUnknown();
    else this.tell();
  }

  private tell(): void {
    const { pending } = this;
    this.pending = [];
    for (const { sequence, data } of pending) this.update("UPDATE", sequence, `"data":[${data}]`);
  }

  /** One of those who wait for the snapshot gets it. Returns how many bytes it was. */
  admitNext(): number {
    const [member] = this.joining;
    if (member === undefined) return 0;
    this.tell();
    this.printed ??= Buffer.from(this.snapshot(`"data":[${this.orders.openOrders(this.instrument).join(",")}]`));
    this.joining.delete(member);
    this.admitWith(member, this.printed);
    if (this.joining.size > 0) admissions.add(this);
    return this.printed.length;
  }

  /** However many have come at once: what else the turn has to do does not wait for all of them. */
  private admitInShares(): void {
    this.tell();
    if (this.joining.size === 0) return;
    admissions.add(this);
    admissions.run();
  }
}
