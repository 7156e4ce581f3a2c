import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTRIBUTION_FIELDS, type Contribution, MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { Random } from "../../e2e/support/random.ts";
import { takeSeed } from "../support/seed.ts";

/*
 * Two threads on a processor that keeps as little order as ARM64 may: what a thread writes becomes visible in any order,
 * and what it reads may be as old as when it last passed a gate. Each cell by itself only goes forward.
 */

const ACCOUNT = 3;
const ACCOUNTS = 8;
const LANES = 2;
const NOTHING: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
const contribution = (changes: Partial<Contribution>): Contribution => ({ ...NOTHING, ...changes });

/** What has been visible in each cell, one value after the other, and since when. */
class WeakMemory {
  readonly buffer = MarginTable.allocate(ACCOUNTS, LANES).buffer;
  readonly random: Random;
  readonly threads: WeakMarginTable[] = [];
  time = 0;
  private readonly plain = new Float64Array(this.buffer, 0, ACCOUNTS * LANES * 16);
  private readonly history = new Map<number, { since: number; value: number }[]>();

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  of(cell: number): { since: number; value: number }[] {
    const values = this.history.get(cell) ?? [{ since: 0, value: 0 }];
    this.history.set(cell, values);
    return values;
  }

  write(cell: number, value: number): void {
    this.of(cell).push({ since: ++this.time, value });
    this.plain[cell] = value;
  }

  /** Some of what threads have written becomes visible. */
  tick(): void {
    for (const thread of this.threads) if (this.random.next() < 0.1) thread.showOne();
  }
}

class WeakMarginTable extends MarginTable {
  /** Called between two steps. */
  between = (): void => {};
  private readonly memory: WeakMemory;
  private readonly written: { cell: number; value: number }[] = [];
  /** How far this thread has seen each cell. */
  private readonly seen = new Map<number, number>();
  private gateAt = 0;

  constructor(memory: WeakMemory, lane: number) {
    super(memory.buffer, LANES, lane);
    this.memory = memory;
    memory.threads.push(this);
  }

  /** One of the cells that were written becomes visible; false when none is left. */
  showOne(): boolean {
    if (this.written.length === 0) return false;
    const { cell } = this.memory.random.pick(this.written);
    const at = this.written.findIndex((write) => write.cell === cell);
    const [{ value }] = this.written.splice(at, 1);
    this.memory.write(cell, value);
    return true;
  }

  protected override fence(accountId: number): void {
    this.between();
    while (this.showOne());
    this.gateAt = this.memory.time;
    super.fence(accountId);
  }

  protected override load(cell: number): number {
    this.between();
    this.memory.tick();
    const own = this.written.findLast((write) => write.cell === cell);
    if (own !== undefined) return own.value;
    const values = this.memory.of(cell);
    let oldest = Math.max(
      0,
      values.findLastIndex(({ since }) => since <= this.gateAt),
    );
    oldest = Math.max(oldest, this.seen.get(cell) ?? 0);
    const at = this.memory.random.between(oldest, values.length - 1);
    this.seen.set(cell, at);
    return values[at].value;
  }

  protected override addTo(cell: number, delta: number): void {
    this.between();
    this.written.push({ cell, value: this.load(cell) + delta });
    this.between();
  }

  protected override saveBefore(at: number): void {
    for (let cell = at; cell < at + CONTRIBUTION_FIELDS; cell++)
      this.written.push({ cell: ACCOUNTS * LANES * 8 + cell, value: this.load(cell) });
    this.between();
  }
}

const seed = takeSeed("cells-weak-order.test");

test("who observes an account sees it between two turns of the other thread", () => {
  let [whole, midway] = [0, 0];
  for (let run = 0; run < 1000; run++) {
    const memory = new WeakMemory(seed * 1000 + run);
    const writer = new WeakMarginTable(memory, 0);
    const observer = new WeakMarginTable(memory, 1);
    const given = new Float64Array(CONTRIBUTION_FIELDS);
    const transaction = (): void => {
      const maintenance = memory.random.between(1, 9);
      writer.begin();
      writer.setContribution(ACCOUNT, given, 0, contribution({ equity: 10 * maintenance, maintenance }));
      writer.commit();
    };
    const look = (): void => {
      if (observer.readConsistent(ACCOUNT)) whole++;
      else midway++;
      const { equity, maintenance } = observer.consistent(ACCOUNT);
      assert.equal(equity, 10 * maintenance, `run ${run}`);
    };
    // One of the two is in the middle of it when the other begins.
    let isNested = false;
    const nest = (work: () => void) => () => {
      if (isNested || memory.random.next() > 0.1) return;
      isNested = true;
      work();
      isNested = false;
    };
    writer.between = nest(look);
    observer.between = nest(transaction);
    for (let i = 0; i < 6; i++) {
      transaction();
      look();
    }
  }
  assert.ok(whole > 1000 && midway > 1000, `${whole} ${midway}`);
});

for (const [what, before, after, isLogged] of [
  ["a close with a loss", { equity: 100, initial: 90 }, { equity: 50, initial: 40 }, false],
  ["a price that falls", { equity: 100, initial: 90 }, { equity: 50, initial: 40 }, true],
  ["a gain that is not realised", { equity: 10 }, { equity: 60, unrealized: 50 }, false],
  ["a price that rises", { equity: 10 }, { equity: 60, unrealized: 50 }, true],
] as const)
  test(`${what} on another thread frees nothing for a withdrawal`, () => {
    let asked = 0;
    for (let run = 0; run < 2000; run++) {
      const memory = new WeakMemory(seed * 1000 + run);
      const writer = new WeakMarginTable(memory, 0);
      const ledger = new WeakMarginTable(memory, 1);
      const given = new Float64Array(CONTRIBUTION_FIELDS);
      writer.setContribution(ACCOUNT, given, 0, contribution(before));
      writer.commit();
      while (writer.showOne());
      writer.between = () => {
        if (memory.random.next() > 0.4) return;
        asked++;
        assert.equal(ledger.debit(ACCOUNT, 11), false, `run ${run}`);
      };
      writer.begin();
      writer.setContribution(ACCOUNT, given, 0, contribution(after), isLogged);
      writer.commit();
    }
    assert.ok(asked > 1000);
  });

test("a close leaves what another thread's order needs, whatever of it is a position by then", () => {
  const outcomes = new Map<string, number>();
  for (let run = 0; run < 6000; run++) {
    const memory = new WeakMemory(seed * 10_000 + run);
    const [filler, closer] = [0, 1].map((lane) => new WeakMarginTable(memory, lane));
    const [filled, closed] = [0, 1].map(() => new Float64Array(CONTRIBUTION_FIELDS));
    filler.setContribution(ACCOUNT, filled, 0, contribution({ initial: 70 }));
    closer.setContribution(ACCOUNT, closed, 0, contribution({ equity: 100 }));
    for (const thread of memory.threads) {
      thread.commit();
      while (thread.showOne());
    }
    let [fills, closes] = [false, false];
    const fill = (): void => {
      filler.begin();
      fills = filler.reserve(ACCOUNT, 0, filled, 0);
      if (fills)
        filler.setContribution(ACCOUNT, filled, 0, contribution({ initial: 70, positionInitial: 70, maintenance: 35 }));
      filler.commit();
    };
    const close = (): void => {
      closer.begin();
      closes = closer.spend(ACCOUNT, 80, closed, 0);
      closer.commit();
    };
    // One of the two is in the middle of it when the other begins.
    const [first, second] = memory.random.pick([
      [filler, closer],
      [closer, filler],
    ]);
    let isNested = false;
    first.between = () => {
      if (isNested || memory.random.next() > 0.05) return;
      isNested = true;
      if (second === closer) close();
      else fill();
    };
    if (first === filler) fill();
    else close();
    assert.ok(!fills || !closes, `run ${run}`);
    outcomes.set(`${fills} ${closes}`, (outcomes.get(`${fills} ${closes}`) ?? 0) + 1);
  }
  assert.ok(outcomes.has("true false") && outcomes.has("false true"), [...outcomes].join());
});
