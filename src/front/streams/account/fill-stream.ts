import type { AccountOrders, OrderListener } from "./account-orders.ts";
import { AppendOnlyStream, type RecentStreamOptions } from "./recent-stream.ts";

/** An account's fills, published from the moment when the account's orders are known. */
export class FillStream extends AppendOnlyStream implements OrderListener {
  private readonly orders: AccountOrders;
  private isStarted = false;

  constructor(options: RecentStreamOptions<string>, orders: AccountOrders) {
    super(options);
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
