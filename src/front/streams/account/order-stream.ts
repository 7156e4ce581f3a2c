import type { Instrument } from "../../../core/protocol/instrument.ts";
import { TimeSlicer } from "../../common/time-slicer.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";
import type { AccountOrders, OrderListener } from "./account-orders.ts";

/** To print and send so much takes some milliseconds; an account's open orders may be more than that. */
const SNAPSHOT_BYTES_PER_ITERATION = 1 << 20;
const snapshotSlicer = new TimeSlicer<OrderStream>(SNAPSHOT_BYTES_PER_ITERATION, (stream) => {
  snapshotSlicer.spend(stream.sendNextSnapshot());
});

/** An account's orders: the open ones in a snapshot, then each that a turn changed, also those that it closed. */
export class OrderStream extends Stream implements OrderListener {
  private readonly orders: AccountOrders;
  private readonly instrument: Instrument | null;
  private isStarted = false;
  private pending: { sequence: number; data: string }[] = [];
  /** What a new member is sent, once somebody has asked for it: when many come at once, all get the same. */
  private snapshot: Buffer | null = null;

  /** `instrument` null = all of them. */
  constructor(topic: string, head: string, instrument: Instrument | null, orders: AccountOrders, publish: Publish) {
    super(topic, head, 0, publish);
    this.orders = orders;
    this.instrument = instrument;
  }

  covers(instrument: Instrument): boolean {
    return this.instrument === null || this.instrument === instrument;
  }

  /** The orders are known through this sequence. */
  start(sequence: number): void {
    this.sequence = sequence;
    this.isStarted = true;
    this.sendSnapshotsInSlices();
  }

  override subscribe(member: Subscriber): void {
    this.awaitSnapshot(member);
    if (this.isStarted) this.sendSnapshotsInSlices();
  }

  /** A turn has changed these orders. */
  add(sequence: number, orders: readonly string[]): void {
    this.pending.push({ sequence, data: orders.join(",") });
    this.snapshot = null;
  }

  override flush(): void {
    // It may be long, and those who came at once have it.
    if (this.awaitingSnapshot.size === 0) this.snapshot = null;
    if (!this.isStarted) this.orders.requestUnknown();
    else this.publishPending();
  }

  private publishPending(): void {
    const { pending } = this;
    this.pending = [];
    for (const { sequence, data } of pending) this.publishUpdate("UPDATE", sequence, `"data":[${data}]`);
  }

  /** One of those who wait for the snapshot gets it. Returns how many bytes it was. */
  sendNextSnapshot(): number {
    const [member] = this.awaitingSnapshot;
    if (member === undefined) return 0;
    this.publishPending();
    this.snapshot ??= Buffer.from(this.snapshotText(`"data":[${this.orders.openOrders(this.instrument).join(",")}]`));
    this.awaitingSnapshot.delete(member);
    this.sendPrintedSnapshot(member, this.snapshot);
    if (this.awaitingSnapshot.size > 0) snapshotSlicer.add(this);
    return this.snapshot.length;
  }

  /** However many have come at once: what else the turn has to do does not wait for all of them. */
  private sendSnapshotsInSlices(): void {
    this.publishPending();
    if (this.awaitingSnapshot.size === 0) return;
    snapshotSlicer.add(this);
    snapshotSlicer.run();
  }
}
