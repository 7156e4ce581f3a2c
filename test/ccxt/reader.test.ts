import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as transaction } from "node:timers/promises";
import { Reader, type ReadPosition } from "../../src/ccxt/reader.ts";

/** A stream of numbers from 1 on, and a reader of it: of a state it finds the latest number, of events the new ones. */
function open(isOfState: boolean) {
  let last = 0;
  let wake: () => void = () => {};
  let fail: (error: Error) => void = () => {};
  const reader = new Reader<number[]>({ method: "watch", requests: [] }, isOfState);
  const find = (place: ReadPosition): number[] | undefined => {
    const seen = place.get("") ?? 0;
    if (seen === last) return undefined;
    place.set("", last);
    return isOfState ? [last] : Array.from({ length: last - seen }, (_, i) => seen + 1 + i);
  };
  const follow = () =>
    new Promise<void>((resolve, reject) => {
      [wake, fail] = [resolve, reject];
    });
  return {
    watch: () => reader.read(find, follow),
    end: () => reader.end(new Error("ended")),
    async happen(): Promise<void> {
      last++;
      wake();
      await transaction();
    },
    async lose(): Promise<void> {
      fail(new Error("lost"));
      await transaction();
    },
  };
}

const isSettled = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => true), transaction().then(() => false)]);

test("one loop is told of each event once, also of what came between its calls", async () => {
  const { watch, happen } = open(false);
  const first = watch();
  await happen();
  assert.deepEqual(await first, [1]);
  await happen();
  await happen();
  assert.deepEqual(await watch(), [2, 3]);
  const next = watch();
  assert.equal(await isSettled(next), false);
  await happen();
  assert.deepEqual(await next, [4]);
});

for (const isOfState of [true, false])
  test(`those that wait together are told the same of ${isOfState ? "a state" : "events"}`, async () => {
    const { watch, happen } = open(isOfState);
    for (let i = 1; i <= 3; i++) {
      const waiting = [watch(), watch(), watch()];
      await happen();
      assert.deepEqual(await Promise.all(waiting), [[i], [i], [i]]);
    }
  });

test("of two loops neither is left behind of a state, whichever calls first", async () => {
  for (const isSlowFirst of [true, false]) {
    const { watch, happen } = open(true);
    let [fast, slow] = [watch(), watch()];
    await happen();
    await Promise.all([fast, slow]);
    // The slow one is still busy with the first change.
    fast = watch();
    await happen();
    assert.deepEqual(await fast, [2]);
    if (isSlowFirst) [slow, fast] = [watch(), watch()];
    else [fast, slow] = [watch(), watch()];
    assert.deepEqual(await slow, [2]);
    // And then both wait.
    assert.deepEqual(await fast, [2]);
    [fast, slow] = [watch(), watch()];
    assert.equal(await isSettled(Promise.race([fast, slow])), false);
    await happen();
    assert.deepEqual([await fast, await slow], [[3], [3]]);
  }
});

test("no event is told twice to a loop that gives up waiting and calls again", async () => {
  const { watch, happen } = open(false);
  const told: number[] = [];
  for (let i = 1; i <= 20; i++) {
    watch();
    const last = watch();
    await happen();
    told.push(...(await last));
    if (i % 3 !== 0) continue;
    await happen();
    told.push(...(await watch()));
  }
  assert.deepEqual(
    told,
    told.map((_, i) => i + 1),
  );
});

test("a loop that gives up waiting for a state is told again no more than a few times", async () => {
  const { watch, happen } = open(true);
  const waiting = Array.from({ length: 1000 }, watch);
  await happen();
  await Promise.all(waiting);
  const next = watch();
  await happen();
  await next;
  let times = 0;
  for (let last = watch(); times < 100; times++) {
    if (!(await isSettled(last))) last = watch();
    if (!(await isSettled(last))) break;
    last = watch();
  }
  assert.ok(times < 20, String(times));
});

test("what came before a connection was lost, or while it was, is told behind it", async () => {
  for (const isOfState of [true, false]) {
    const { watch, happen, lose } = open(isOfState);
    const first = watch();
    await happen();
    await first;
    const waiting = [watch(), watch()];
    const refused = Promise.all(waiting.map((each) => assert.rejects(each, { message: "lost" })));
    await lose();
    await refused;
    const next = watch();
    assert.equal(await isSettled(next), false, "nothing is new");
    await happen();
    assert.deepEqual(await next, [2]);
  }
});

test("whoever waits when it ends is told so", async () => {
  const { watch, end, happen } = open(true);
  const waiting = [watch(), watch()];
  const refused = Promise.all(waiting.map((each) => assert.rejects(each, { message: "ended" })));
  end();
  await refused;
  await happen();
});
