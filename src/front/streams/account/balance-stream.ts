import type { Engine } from "../../../actor/engine/engine.ts";
import type { Contribution } from "../../../core/accounts/contribution.ts";
import type { TimeMs } from "../../../core/base/units.ts";
import { readFigures } from "../../exchange/balance-reader.ts";
import { balanceJson } from "../../json/json-writers.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

const FIGURES = ["equity", "unrealized", "initial", "positionInitial", "maintenance"] as const;

/** An account's balance: whole in a snapshot, and whole again whenever one of its figures has moved. */
export class BalanceStream extends Stream {
  private readonly engine: Engine;
  private readonly accountId: number;
  private readonly now: () => TimeMs;
  private readonly shown: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
  private text = "";
  private stale = false;
  /** Looks at the figures, and the last of them that was shown. */
  private reads = 0;
  private shownRead = 0;

  constructor(topic: string, accountId: number, engine: Engine, publish: Publish, now: () => TimeMs) {
    super(topic, '"channel":"balance"', engine.releasedSequence(), publish);
    this.engine = engine;
    this.accountId = accountId;
    this.now = now;
  }

  override subscribe(member: Subscriber): void {
    this.awaitSnapshot(member);
    this.markStale();
    this.flush();
  }

  /** Something happened that may have moved a figure. */
  markStale(): void {
    this.stale = true;
  }

  /** However long a mark takes to reach all positions (core/mark-sweep.ts). */
  override heartbeat(): void {
    this.markStale();
    this.flush();
    super.heartbeat();
  }

  override flush(): void {
    if (!this.stale) return;
    const look = ++this.reads;
    this.stale = !readFigures(this.engine, this.accountId, (figures, sequence) => {
      // One that did not have to wait overtakes those that are let go on by and by.
      if (look < this.shownRead) return;
      this.shownRead = look;
      this.publishFigures(figures, Math.max(this.sequence, sequence));
    });
  }

  private publishFigures(figures: Readonly<Contribution>, sequence: number): void {
    if (this.isEmpty) return;
    const moved = this.copyFigures(figures);
    if (moved || this.text === "") {
      this.text = balanceJson(figures, sequence, this.now());
      this.publishUpdate("UPDATE", sequence, `"data":${this.text}`);
    }
    this.sendAwaitedSnapshots(`"data":${this.text}`);
  }

  /** True when one of them has moved: printing only for those accounts that a price touched. */
  private copyFigures(figures: Readonly<Contribution>): boolean {
    const { shown } = this;
    const moved = FIGURES.some((name) => figures[name] !== shown[name]);
    if (moved) Object.assign(shown, figures);
    return moved;
  }
}
