import type { Instrument } from "../../../core/protocol/instrument.ts";
import type { Publish } from "../base/stream.ts";
import type { AccountOrders, OrderListener } from "./account-orders.ts";
import { AppendOnlyStream } from "./append-only-stream.ts";
import type { LoadRecent } from "./recent-stream.ts";

/** An account's fills, published from the moment when the account's orders are known. */
export class FillStream extends AppendOnlyStream implements OrderListener {
  private readonly orders: AccountOrders;
  private isStarted = false;

  constructor(
    topic: string,
    head: string,
    instrument: Instrument | null,
    orders: AccountOrders,
    loadRecent: LoadRecent<string>,
    publish: Publish,
    onFailure: (thrown: unknown) => void,
  ) {
    super(topic, head, instrument, loadRecent, publish, onFailure);
    this.orders = orders;
  }

  override start(sequence: number): void {
    this.isStarted = true;
    super.start(sequence);
  }

  override flush(): void {
    if (this.isStarted) super.flush();
    else this.orders.requestUnknown();
  }
}
