import type { Instrument } from "../../../core/protocol/instrument.ts";
import { TimeSlicer } from "../../common/time-slicer.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";
import type { AccountOrders, OrderListener } from "./account-orders.ts";

/** Printing and sending this much takes some milliseconds. An account's open orders may need more. */
const SNAPSHOT_BYTES_PER_ITERATION = 1 << 20;
const snapshotSlicer = new TimeSlicer<OrderStream>(SNAPSHOT_BYTES_PER_ITERATION, (stream) => {
  snapshotSlicer.spend(stream.sendNextSnapshot());
});

/** An account's orders: the open ones in the snapshot, then each one that a transaction has changed or closed. */
export class OrderStream extends Stream implements OrderListener {
  private readonly orders: AccountOrders;
  private readonly instrument: Instrument | null;
  private isStarted = false;
  private pending: { sequence: number; data: string }[] = [];
  /** The printed snapshot, shared by subscribers that come at once. Null until one is needed. */
  private snapshot: Buffer | null = null;

  /** `instrument` null: all of them. */
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

  override subscribe(subscriber: Subscriber): void {
    this.awaitSnapshot(subscriber);
    if (this.isStarted) this.sendSnapshotsInSlices();
  }

  /** A transaction has changed these orders. */
  add(sequence: number, orders: readonly string[]): void {
    this.pending.push({ sequence, data: orders.join(",") });
    this.snapshot = null;
  }

  override flush(): void {
    // The snapshot may be large, and the subscribers that came together have it.
    if (this.awaitingSnapshot.size === 0) this.snapshot = null;
    if (!this.isStarted) this.orders.requestUnknown();
    else this.publishPending();
  }

  private publishPending(): void {
    const { pending } = this;
    this.pending = [];
    for (const { sequence, data } of pending) this.publishUpdate("UPDATE", sequence, `"data":[${data}]`);
  }

  /** Sends the snapshot to one of those who wait for it. Returns its size in bytes. */
  sendNextSnapshot(): number {
    const [subscriber] = this.awaitingSnapshot;
    if (subscriber === undefined) return 0;
    this.publishPending();
    this.snapshot ??= Buffer.from(this.snapshotText(`"data":[${this.orders.openOrders(this.instrument).join(",")}]`));
    this.awaitingSnapshot.delete(subscriber);
    this.sendPrintedSnapshot(subscriber, this.snapshot);
    if (this.awaitingSnapshot.size > 0) snapshotSlicer.add(this);
    return this.snapshot.length;
  }

  /** Sends snapshots over several event-loop iterations, so that many subscribers do not block other work. */
  private sendSnapshotsInSlices(): void {
    this.publishPending();
    if (this.awaitingSnapshot.size === 0) return;
    snapshotSlicer.add(this);
    snapshotSlicer.run();
  }
}
