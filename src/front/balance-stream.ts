import type { Road } from "../actor/road.ts";
import type { TimeMs } from "../core/units.ts";
import { type Member, type Publish, Stream } from "./stream.ts";
import { balanceJson } from "./views.ts";

/** An account's balance: whole in a snapshot, and whole again whenever one of its figures has moved. */
export class BalanceStream extends Stream {
  private readonly road: Road;
  private readonly accountId: number;
  private readonly now: () => TimeMs;
  private readonly joining = new Set<Member>();
  private readonly figures = new Float64Array(5);
  private text = "";
  private stale = false;

  constructor(topic: string, accountId: number, road: Road, publish: Publish, now: () => TimeMs) {
    super(topic, '"channel":"balance"', road.releasedSequence(), publish);
    this.road = road;
    this.accountId = accountId;
    this.now = now;
  }

  override join(member: Member): void {
    this.members.add(member);
    this.joining.add(member);
    this.touch();
    this.flush();
  }

  override leave(member: Member): boolean {
    this.joining.delete(member);
    return super.leave(member);
  }

  /** Something happened that may have moved a figure. */
  touch(): void {
    this.stale = true;
  }

  override flush(): void {
    if (!this.stale) return;
    this.stale = false;
    this.road.afterEverything(() => this.show());
  }

  private show(): void {
    if (this.isEmpty) return;
    const moved = this.readFigures();
    if (moved || this.text === "") {
      const sequence = Math.max(this.sequence, this.road.releasedSequence());
      this.text = balanceJson(this.road.cells, this.accountId, sequence, this.now());
      this.update("UPDATE", sequence, `"data":${this.text}`);
    }
    for (const member of this.joining) this.admit(member, `"data":${this.text}`);
    this.joining.clear();
  }

  /** True when one of them has moved: five loads, and printing only for those accounts that a price touched. */
  private readFigures(): boolean {
    const { cells } = this.road;
    const { figures, accountId } = this;
    let moved = false;
    const read = (index: number, value: number): void => {
      if (figures[index] === value) return;
      figures[index] = value;
      moved = true;
    };
    read(0, cells.equity(accountId));
    read(1, cells.unrealized(accountId));
    read(2, cells.initial(accountId));
    read(3, cells.positionInitial(accountId));
    read(4, cells.maintenance(accountId));
    return moved;
  }
}
