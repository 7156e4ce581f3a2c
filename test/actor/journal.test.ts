import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Control, RUNNING, STOP_JOURNAL } from "../../src/actor/control.ts";
import { Journal } from "../../src/actor/journal.ts";
import { TurnWriter } from "../../src/actor/turn.ts";
import { AccountCells } from "../../src/core/cells.ts";
import { LeverageSet } from "../../src/core/messages.ts";
import { openLog } from "../../src/store/log.ts";
import { AT_SEQUENCE } from "../../src/wire/record.ts";
import { allocateRing, Bell, RingConsumer, RingProducer } from "../../src/wire/ring.ts";
import { make } from "../core/support/exchange.ts";

const RING_BYTES = 1 << 20;

/** The last actor thread ends its last turn, and then the journal is told to stop, just when it looks whether it is. */
class EndingControl extends Control {
  onLook = (): void => {};

  override get phase(): number {
    this.onLook();
    return super.phase;
  }
  override set phase(phase: number) {
    super.phase = phase;
  }
}

test("what an actor thread leaves behind at the very end is journaled and handed on", (t) => {
  const logDir = fs.mkdtempSync(join(tmpdir(), "perpd-journal-"));
  t.after(() => fs.rmSync(logDir, { recursive: true }));
  const control = new EndingControl();
  const [input, front] = [allocateRing(RING_BYTES), allocateRing(RING_BYTES)];
  const bell = new Bell();
  const journal = new Journal({
    log: openLog(logDir, { segmentBytes: 65_536, protectedThrough: 0 }),
    control,
    inputs: [new RingConsumer(input)],
    bell,
    front: new RingProducer(front, new Bell()),
    store: new RingProducer(allocateRing(RING_BYTES), new Bell()),
    clock: () => 1,
  });
  const turn = new TurnWriter(control, AccountCells.allocate(32), new RingProducer(input, bell), () => {});
  control.onLook = () => {
    control.onLook = () => {};
    turn.begin(1);
    turn.emit(make(LeverageSet, { accountId: 16, leverage: 2 }));
    turn.push(1, 0);
    assert.equal(control.phase, RUNNING);
    control.phase = STOP_JOURNAL;
  };
  journal.run();
  assert.equal(control.durable, 1);
  const released = new RingConsumer(front);
  assert.equal(released.view.getFloat64(released.peek() + AT_SEQUENCE, true), 1);
});
