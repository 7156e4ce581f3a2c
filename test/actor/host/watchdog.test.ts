import assert from "node:assert/strict";
import { test } from "node:test";
import { Watchdog } from "../../../src/actor/host/watchdog.ts";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../../src/wire/ring.ts";

function ring() {
  const buffer = allocateRing(4096);
  const producer = new RingProducer(buffer, new Doorbell());
  const consumer = new RingConsumer(buffer);
  return {
    buffer,
    write(): void {
      assert.ok(producer.reserve(8) >= 0);
      producer.commit(8);
    },
    read(): void {
      assert.ok(consumer.peek() >= 0);
      consumer.next();
      consumer.release();
    },
  };
}

function start() {
  const [commands, out] = [ring(), ring()];
  const watchdog = new Watchdog(commands.buffer, out.buffer);
  /** Runs this many checks. Returns the numbers of those that find the thread hanging. */
  const hangs = (checks: number, before: (check: number) => void = () => {}, isPaused = false): number[] =>
    Array.from({ length: checks }, (_, i) => i + 1).filter((check) => {
      before(check);
      return watchdog.check(isPaused);
    });
  return { commands, out, hangs, watchdog };
}

test("a thread that takes no command for fifteen checks hangs", () => {
  const { commands, hangs } = start();
  assert.deepEqual(hangs(30), [], "it has no command");
  commands.write();
  assert.deepEqual(hangs(16), [15, 16]);
  commands.read();
  assert.deepEqual(hangs(30), []);
  // New commands are no sign of life.
  assert.deepEqual(
    hangs(15, () => commands.write()),
    [15],
  );
});

test("a thread that takes no command for three checks is unresponsive until it takes one", () => {
  const { commands, hangs, watchdog } = start();
  commands.write();
  hangs(2);
  assert.ok(!watchdog.isUnresponsive);
  hangs(1);
  assert.ok(watchdog.isUnresponsive);
  commands.read();
  hangs(1);
  assert.ok(!watchdog.isUnresponsive);
});

test("a thread that takes a command now and then does not hang, however many are left", () => {
  const { commands, hangs } = start();
  for (let i = 0; i < 100; i++) commands.write();
  const takes = (check: number): void => {
    if (check % 15 === 0) commands.read();
  };
  assert.deepEqual(hangs(150, takes), []);
});

test("a thread that is paused, or that waits for the journal, does not hang", () => {
  const { commands, out, hangs } = start();
  commands.write();
  assert.deepEqual(hangs(14), []);
  assert.deepEqual(
    hangs(30, () => {}, true),
    [],
  );
  assert.deepEqual(hangs(14), []);
  out.write();
  assert.deepEqual(hangs(30), []);
  out.read();
  assert.deepEqual(hangs(15), [15]);
});
