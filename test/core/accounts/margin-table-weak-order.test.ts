import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTRIBUTION_FIELDS, type Contribution } from "../../../src/core/accounts/contribution.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { Random } from "../../e2e/support/random.ts";
import { takeSeed } from "../support/seed.ts";

/*
 * Two threads on a processor with weak memory ordering, like ARM64. Writes of a thread become visible in any order, and a
 * read may return any value since the thread last passed a fence. A single value never goes back in time.
 */

const ACCOUNT = 3;
const ACCOUNTS = 8;
const STRIPES = 2;
const NOTHING: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
const contribution = (changes: Partial<Contribution>): Contribution => ({ ...NOTHING, ...changes });

/** The values that have been visible at each index, in order, and since when. */
class WeakMemory {
  readonly buffer = MarginTable.allocate(ACCOUNTS, STRIPES).buffer;
  readonly random: Random;
  readonly threads: WeakMarginTable[] = [];
  time = 0;
  private readonly plain = new Float64Array(this.buffer, 0, ACCOUNTS * STRIPES * 17);
  private readonly history = new Map<number, { since: number; value: number }[]>();

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  of(index: number): { since: number; value: number }[] {
    const values = this.history.get(index) ?? [{ since: 0, value: 0 }];
    this.history.set(index, values);
    return values;
  }

  write(index: number, value: number): void {
    this.of(index).push({ since: ++this.time, value });
    this.plain[index] = value;
  }

  /** Some of the pending writes become visible. */
  tick(): void {
    for (const thread of this.threads) if (this.random.next() < 0.1) thread.showOne();
  }
}

class WeakMarginTable extends MarginTable {
  /** Called between two steps. */
  between = (): void => {};
  private readonly memory: WeakMemory;
  private readonly written: { index: number; value: number }[] = [];
  /** The latest version that this thread has read, by index. */
  private readonly seen = new Map<number, number>();
  private fencedAt = 0;

  constructor(memory: WeakMemory, stripe: number) {
    super(memory.buffer, STRIPES, stripe);
    this.memory = memory;
    memory.threads.push(this);
  }

  /** One pending write becomes visible; false when none is left. */
  showOne(): boolean {
    if (this.written.length === 0) return false;
    const { index } = this.memory.random.pick(this.written);
    const at = this.written.findIndex((write) => write.index === index);
    const [{ value }] = this.written.splice(at, 1);
    this.memory.write(index, value);
    return true;
  }

  protected override fence(accountId: number): void {
    this.between();
    while (this.showOne());
    this.fencedAt = this.memory.time;
    super.fence(accountId);
  }

  protected override load(index: number): number {
    this.between();
    this.memory.tick();
    const own = this.written.findLast((write) => write.index === index);
    if (own !== undefined) return own.value;
    const values = this.memory.of(index);
    let oldest = Math.max(
      0,
      values.findLastIndex(({ since }) => since <= this.fencedAt),
    );
    oldest = Math.max(oldest, this.seen.get(index) ?? 0);
    const at = this.memory.random.between(oldest, values.length - 1);
    this.seen.set(index, at);
    return values[at].value;
  }

  protected override addTo(index: number, delta: number): void {
    this.between();
    this.written.push({ index, value: this.load(index) + delta });
    this.between();
  }

  protected override saveBeforeImage(start: number): void {
    for (let index = start; index < start + CONTRIBUTION_FIELDS; index++)
      this.written.push({ index: ACCOUNTS * STRIPES * 8 + index, value: this.load(index) });
    this.between();
  }
}

type Task = readonly [WeakMarginTable, () => void];

/** Runs one of the two, and most often the other one in the middle of it. */
function runNested(memory: WeakMemory, one: Task, other: Task): void {
  const [[outer, run], [, runInside]] = memory.random.pick([
    [one, other],
    [other, one],
  ]);
  let isNested = false;
  outer.between = () => {
    if (isNested || memory.random.next() > 0.05) return;
    isNested = true;
    runInside();
  };
  run();
}

const seed = takeSeed("margin-table-weak-order.test");

test("a consistent read sees the account between two transactions of the other thread", () => {
  let [atRest, midway] = [0, 0];
  for (let run = 0; run < 1000; run++) {
    const memory = new WeakMemory(seed * 1000 + run);
    const writer = new WeakMarginTable(memory, 0);
    const observer = new WeakMarginTable(memory, 1);
    const contributed = new Float64Array(CONTRIBUTION_FIELDS);
    const transaction = (): void => {
      const maintenance = memory.random.between(1, 9);
      writer.begin();
      writer.setContribution(ACCOUNT, contributed, 0, contribution({ equity: 10 * maintenance, maintenance }));
      writer.commit();
    };
    const read = (): void => {
      if (observer.readConsistent(ACCOUNT)) atRest++;
      else midway++;
      const { equity, maintenance } = observer.consistent(ACCOUNT);
      assert.equal(equity, 10 * maintenance, `run ${run}`);
    };
    // One of the two is in the middle of its work when the other begins.
    let isNested = false;
    const nest = (work: () => void) => () => {
      if (isNested || memory.random.next() > 0.1) return;
      isNested = true;
      work();
      isNested = false;
    };
    writer.between = nest(read);
    observer.between = nest(transaction);
    for (let i = 0; i < 6; i++) {
      transaction();
      read();
    }
  }
  assert.ok(atRest > 1000 && midway > 1000, `${atRest} ${midway}`);
});

for (const [what, before, after, isLogged] of [
  ["a close with a loss", { equity: 100, initial: 90 }, { equity: 50, initial: 40 }, false],
  ["a price that falls", { equity: 100, initial: 90 }, { equity: 50, initial: 40 }, true],
  ["an unrealised gain", { equity: 10 }, { equity: 60, unrealized: 50 }, false],
  ["a price that rises", { equity: 10 }, { equity: 60, unrealized: 50 }, true],
] as const)
  test(`${what} on another thread frees nothing for a withdrawal`, () => {
    let asked = 0;
    for (let run = 0; run < 2000; run++) {
      const memory = new WeakMemory(seed * 1000 + run);
      const writer = new WeakMarginTable(memory, 0);
      const ledger = new WeakMarginTable(memory, 1);
      const contributed = new Float64Array(CONTRIBUTION_FIELDS);
      writer.setContribution(ACCOUNT, contributed, 0, contribution(before));
      writer.commit();
      while (writer.showOne());
      writer.between = () => {
        if (memory.random.next() > 0.4) return;
        asked++;
        assert.equal(ledger.debit(ACCOUNT, 11), false, `run ${run}`);
      };
      writer.begin();
      writer.setContribution(ACCOUNT, contributed, 0, contribution(after), isLogged);
      writer.commit();
    }
    assert.ok(asked > 1000);
  });

test("an order that opens and a withdrawal never count on the same additional margin", () => {
  const outcomes = new Map<string, number>();
  for (let run = 0; run < 3000; run++) {
    const memory = new WeakMemory(seed * 20_000 + run);
    const [opener, ledger] = [0, 1].map((stripe) => new WeakMarginTable(memory, stripe));
    const [opened, paid] = [0, 1].map(() => new Float64Array(CONTRIBUTION_FIELDS));
    ledger.setContribution(ACCOUNT, paid, 0, contribution({ equity: 100 }));
    ledger.commit();
    while (ledger.showOne());
    let [opens, withdraws] = [false, false];
    const open = (): void => {
      opener.begin();
      opener.addAdditional(ACCOUNT, 60);
      opens = opener.reserve(ACCOUNT, 10, opened, 0, 60);
      if (!opens) opener.addAdditional(ACCOUNT, -60);
      opener.commit();
    };
    const withdraw = (): void => {
      ledger.begin();
      withdraws = ledger.debit(ACCOUNT, 40);
      ledger.commit();
    };
    runNested(memory, [opener, open], [ledger, withdraw]);
    const outcome = `${opens ? "opens" : ""} ${withdraws ? "withdraws" : ""}`.trim();
    assert.notEqual(outcome, "opens withdraws", `run ${run}`);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  for (const outcome of ["opens", "withdraws"])
    assert.ok((outcomes.get(outcome) ?? 0) > 300, JSON.stringify([...outcomes]));
});

test("a close leaves the margin of another thread's order, however much of it is a position by then", () => {
  const outcomes = new Map<string, number>();
  for (let run = 0; run < 6000; run++) {
    const memory = new WeakMemory(seed * 10_000 + run);
    const [filler, closer] = [0, 1].map((stripe) => new WeakMarginTable(memory, stripe));
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
    runNested(memory, [filler, fill], [closer, close]);
    assert.ok(!fills || !closes, `run ${run}`);
    outcomes.set(`${fills} ${closes}`, (outcomes.get(`${fills} ${closes}`) ?? 0) + 1);
  }
  assert.ok(outcomes.has("true false") && outcomes.has("false true"), [...outcomes].join());
});
