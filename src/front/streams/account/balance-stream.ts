import type { Engine } from "../../../actor/engine/engine.ts";
import { type AccountMargin, noMargin } from "../../../core/accounts/contribution.ts";
import type { TimeMs } from "../../../core/base/units.ts";
import { readFigures } from "../../exchange/balance-reader.ts";
import { balanceJson } from "../../json/json-writers.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

const FIGURES = [
  "equity",
  "unrealized",
  "gains",
  "reserved",
  "initial",
  "positionInitial",
  "maintenance",
  "additional",
] as const;

/** An account's whole balance, published when one of its figures has changed. */
export class BalanceStream extends Stream {
  private readonly engine: Engine;
  private readonly accountId: number;
  private readonly now: () => TimeMs;
  private readonly shown = noMargin();
  private text = "";
  private isStale = false;
  /** Number of the last read of the figures, and of the last read whose result was published. */
  private reads = 0;
  private shownRead = 0;

  constructor(topic: string, accountId: number, engine: Engine, publish: Publish, now: () => TimeMs) {
    super(topic, '"channel":"balance"', engine.releasedSequence(), publish);
    this.engine = engine;
    this.accountId = accountId;
    this.now = now;
  }

  override subscribe(subscriber: Subscriber): void {
    this.awaitSnapshot(subscriber);
    this.markStale();
    this.flush();
  }

  /** A figure may have changed. */
  markStale(): void {
    this.isStale = true;
  }

  /** Reads again, because a mark may take long to reach all positions (core/settlement/mark-settlement.ts). */
  override heartbeat(): void {
    this.markStale();
    this.flush();
    super.heartbeat();
  }

  override flush(): void {
    if (!this.isStale) return;
    const read = ++this.reads;
    this.isStale = !readFigures(this.engine, this.accountId, (figures, sequence) => {
      // A read that did not wait may overtake earlier ones.
      if (read < this.shownRead) return;
      this.shownRead = read;
      this.publishFigures(figures, Math.max(this.sequence, sequence));
    });
  }

  private publishFigures(figures: Readonly<AccountMargin>, sequence: number): void {
    if (this.isEmpty) return;
    const hasChanged = this.copyFigures(figures);
    if (hasChanged || this.text === "") {
      this.text = balanceJson(figures, sequence, this.now());
      this.publishUpdate("UPDATE", sequence, `"data":${this.text}`);
    }
    this.sendAwaitedSnapshots(`"data":${this.text}`);
  }

  /** Copies the figures and returns whether one has changed, so that only changed balances are printed. */
  private copyFigures(figures: Readonly<AccountMargin>): boolean {
    const { shown } = this;
    const hasChanged = FIGURES.some((name) => figures[name] !== shown[name]);
    if (hasChanged) Object.assign(shown, figures);
    return hasChanged;
  }
}
