import type { Instrument } from "../../core/instrument.ts";
import type { AccountOrders, OrderListener } from "./account-orders.ts";
import { RecentStream, type RowsBefore } from "./recent-stream.ts";
import type { Publish } from "./stream.ts";

/** An account's fills, as JSON texts. */
export class FillStream extends RecentStream<string> implements OrderListener {
  private readonly instrument: Instrument | null;
  private readonly orders: AccountOrders;
  private isStarted = false;

  /** `instrument` null = all of them. */
  constructor(
    topic: string,
    head: string,
    instrument: Instrument | null,
    orders: AccountOrders,
    fillsBefore: RowsBefore<string>,
    publish: Publish,
    onFailure: (thrown: unknown) => void,
  ) {
    super(topic, head, fillsBefore, publish, onFailure);
    this.instrument = instrument;
    this.orders = orders;
  }

  shows(instrument: Instrument): boolean {
    return this.instrument === null || this.instrument === instrument;
  }

  override start(sequence: number): void {
    this.isStarted = true;
    super.start(sequence);
  }

  override flush(): void {
    if (this.isStarted) super.flush();
    else this.orders.askUnknown();
  }

  protected override text(fill: string): string {
    return fill;
  }
}
