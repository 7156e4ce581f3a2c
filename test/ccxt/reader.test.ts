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

test("a loop gets each event once, including those between its calls", async () => {
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
  test(`callers that wait together get the same ${isOfState ? "state" : "events"}`, async () => {
    const { watch, happen } = open(isOfState);
    for (let i = 1; i <= 3; i++) {
      const waiting = [watch(), watch(), watch()];
      await happen();
      assert.deepEqual(await Promise.all(waiting), [[i], [i], [i]]);
    }
  });

test("two loops both get every state change, whichever calls first", async () => {
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

test("a loop that gives up waiting and calls again gets no event twice", async () => {
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

test("a loop that gives up waiting gets a state again at most a few times", async () => {
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

test("events from before and during a lost connection are delivered after it", async () => {
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

test("ending the reader rejects the pending call", async () => {
  const { watch, end, happen } = open(true);
  const waiting = [watch(), watch()];
  const refused = Promise.all(waiting.map((each) => assert.rejects(each, { message: "ended" })));
  end();
  await refused;
  await happen();
});
