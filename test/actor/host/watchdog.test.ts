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
  /** The numbers of the looks, of so many, at which the thread is found to hang. */
  const hangs = (looks: number, before: (look: number) => void = () => {}, mayStand = false): number[] =>
    Array.from({ length: looks }, (_, i) => i + 1).filter((look) => {
      before(look);
      return watchdog.check(mayStand);
    });
  return { commands, out, hangs };
}

test("a thread hangs that takes none of its commands for fifteen looks", () => {
  const { commands, hangs } = start();
  assert.deepEqual(hangs(30), [], "it has none");
  commands.write();
  assert.deepEqual(hangs(16), [15, 16]);
  commands.read();
  assert.deepEqual(hangs(30), []);
  // More that comes is no sign of life.
  assert.deepEqual(
    hangs(15, () => commands.write()),
    [15],
  );
});

test("one that takes a command now and then does not, however many are left", () => {
  const { commands, hangs } = start();
  for (let i = 0; i < 100; i++) commands.write();
  const takes = (look: number): void => {
    if (look % 15 === 0) commands.read();
  };
  assert.deepEqual(hangs(150, takes), []);
});

test("nor one that was told to stand still, or that waits for the journal to take what it did", () => {
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
