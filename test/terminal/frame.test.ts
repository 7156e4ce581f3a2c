import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

/** A screen whose frames come when the test says so, and its clock. */
const frames: (() => void)[] = [];
const timers = new Map<number, { readonly run: () => void; readonly atMs: number }>();
let nowMs = 1000;
let timerId = 0;
Object.assign(globalThis, {
  window: {
    setTimeout: (run: () => void, ms: number): number => {
      timers.set(++timerId, { run, atMs: nowMs + ms });
      return timerId;
    },
  },
  clearTimeout: (id: number) => timers.delete(id),
  requestAnimationFrame: (run: () => void) => frames.push(run),
});
performance.now = () => nowMs;

const { CANDLES_PACE_MS, forgetPaint, prepareNext, MARKET_PACE_MS, paintNext } = await import(
  "../../src/terminal/state/frame.ts"
);

/** Lets the time pass, then paints a frame if one was asked for. Returns whether one was. */
function frameAfter(ms: number): boolean {
  nowMs += ms;
  for (const [id, { run, atMs }] of [...timers]) if (atMs <= nowMs && timers.delete(id)) run();
  const asked = frames.splice(0);
  for (const run of asked) run();
  return asked.length > 0;
}

beforeEach(() => {
  while (frameAfter(1000));
});

test("a task runs once in the next frame, and one with a pace not before it", () => {
  const ran: string[] = [];
  const figure = (): void => void ran.push("figure");
  const price = (): void => void ran.push("price");
  for (let i = 0; i < 3; i++) {
    paintNext(figure);
    paintNext(price, MARKET_PACE_MS);
  }
  assert.deepEqual(ran, []);
  assert.ok(frameAfter(16));
  assert.deepEqual(ran.splice(0), ["figure", "price"]);
  paintNext(price, MARKET_PACE_MS);
  assert.ok(!frameAfter(MARKET_PACE_MS - 1));
  assert.ok(frameAfter(1));
  assert.deepEqual(ran, ["price"]);
});

test("a part that draws itself gets its data before the frame, so that its drawing and what follows from it share the frame", () => {
  const ran: string[] = [];
  const place = (): void => void ran.push("place");
  const draw = (): void => {
    ran.push("draw");
    paintNext(place);
  };
  const give = (): void => {
    ran.push("give");
    requestAnimationFrame(draw as never);
  };
  prepareNext(give, CANDLES_PACE_MS);
  assert.ok(frameAfter(16));
  assert.deepEqual(ran.splice(0), ["give", "draw", "place"]);
  prepareNext(give, CANDLES_PACE_MS);
  prepareNext(give, CANDLES_PACE_MS);
  assert.ok(!frameAfter(CANDLES_PACE_MS - 20));
  assert.ok(frameAfter(20));
  assert.deepEqual(ran, ["give", "draw", "place"]);
  assert.ok(!frameAfter(1000));
});

test("data that is due soon joins a frame that is painted anyway, and a frame does not lose what is due later", () => {
  const ran: string[] = [];
  const price = (): void => void ran.push("price");
  const give = (): void => void ran.push("give");
  prepareNext(give, CANDLES_PACE_MS);
  frameAfter(0);
  prepareNext(give, CANDLES_PACE_MS);
  frameAfter(CANDLES_PACE_MS - 40);
  paintNext(price, MARKET_PACE_MS);
  frameAfter(5);
  assert.deepEqual(ran, ["give", "price"]);
  paintNext(price, MARKET_PACE_MS);
  frameAfter(30);
  assert.deepEqual(ran, ["give", "price", "give", "price"]);
});

test("data that comes when the frame was asked for already waits for the next frame of market data", () => {
  const ran: string[] = [];
  const price = (): void => void ran.push("price");
  const give = (): void => void ran.push("give");
  paintNext(price, MARKET_PACE_MS);
  prepareNext(give, CANDLES_PACE_MS);
  frameAfter(16);
  assert.deepEqual(ran, ["price"]);
  assert.ok(!frameAfter(MARKET_PACE_MS - 1));
  assert.ok(frameAfter(1));
  assert.deepEqual(ran, ["price", "give"]);
});

test("a task that is forgotten does not run", () => {
  const never = (): never => assert.fail("it ran");
  paintNext(() => {});
  paintNext(never);
  forgetPaint(never);
  frameAfter(1000);
  prepareNext(never, CANDLES_PACE_MS);
  forgetPaint(never);
  frameAfter(1000);
});
