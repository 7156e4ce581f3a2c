import type { Instrument } from "../../core/instrument.ts";
import type { AccountOrders, OrderListener } from "./account-orders.ts";
import { type Member, type Publish, Stream } from "./stream.ts";

const SNAPSHOT_FILLS = 100;

/** The account's last fills in the history through a sequence, at most `limit`, as JSON texts, oldest first. */
export type FillsBefore = (throughSequence: number, limit: number) => Promise<string[]>;

/** An account's fills, oldest first: the last hundred in a snapshot, then those of each turn. */
export class FillStream extends Stream implements OrderListener {
  private readonly orders: AccountOrders;
  private readonly instrument: Instrument | null;
  private readonly fillsBefore: FillsBefore;
  private readonly onFailure: (thrown: unknown) => void;
  private state: "UNKNOWN" | "READING" | "READY" = "UNKNOWN";
  /** The last hundred, once ready; until then those since the history was asked. */
  private recent: string[] = [];
  private pending: { sequence: number; data: string }[] = [];

  /** `instrument` null = all of them. */
  constructor(
    topic: string,
    head: string,
    instrument: Instrument | null,
    orders: AccountOrders,
    fillsBefore: FillsBefore,
    publish: Publish,
    onFailure: (thrown: unknown) => void,
  ) {
    super(topic, head, 0, publish);
    this.onFailure = onFailure;
    this.orders = orders;
    this.instrument = instrument;
    this.fillsBefore = fillsBefore;
  }

  shows(instrument: Instrument): boolean {
    return this.instrument === null || this.instrument === instrument;
  }

  /** From behind this sequence on, fills are added; those before are the history's. */
  start(sequence: number): void {
    this.sequence = sequence;
    this.state = "READING";
    const ready = (before: string[]): void => {
      this.recent = [...before, ...this.recent].slice(-SNAPSHOT_FILLS);
      this.state = "READY";
      this.admitRecent();
    };
    this.fillsBefore(sequence, SNAPSHOT_FILLS).then(ready).catch(this.onFailure);
  }

  override join(member: Member): void {
    this.enrol(member);
    if (this.state === "READY") this.admitRecent();
  }

  /** A turn has filled orders. */
  add(sequence: number, fills: readonly string[]): void {
    this.pending.push({ sequence, data: fills.join(",") });
    this.recent = [...this.recent, ...fills].slice(-SNAPSHOT_FILLS);
  }

  override flush(): void {
    if (this.state === "UNKNOWN") return this.orders.askUnknown();
    const { pending } = this;
    this.pending = [];
    for (const { sequence, data } of pending) this.update("UPDATE", sequence, `"data":[${data}]`);
  }

  private admitRecent(): void {
    this.flush();
    this.admitJoining(`"data":[${this.recent.join(",")}]`);
  }
}
