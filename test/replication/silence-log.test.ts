import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type ReplicationPhase, SilenceLog } from "../../src/replication/silence-log.ts";

function open(t: TestContext, phase: () => ReplicationPhase) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  const lines: string[] = [];
  const log = {
    error: (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`),
    info: (message: string) => void lines.push(message),
  };
  const pass = (ms: number): void => {
    nowMs += ms;
    t.mock.timers.tick(ms);
  };
  const taken = (): string[] => lines.splice(0);
  return { silence: new SilenceLog({ log, phase }), pass, taken };
}

const BACK = "NATS JetStream answers again";

test("a silent stream is logged every five seconds with what that means, and once that it answers again", (t) => {
  let phase: ReplicationPhase = "following";
  const { silence, pass, taken } = open(t, () => phase);
  for (let i = 0; i < 12; i++) {
    silence.note("timeout");
    pass(1000);
  }
  const line = (meaning: string): string =>
    `NATS JetStream does not answer: ${meaning} until it does {"reason":"timeout"}`;
  assert.deepEqual(taken(), Array(3).fill(line("this process hears no leader and cannot take over")));
  pass(10_000);
  assert.deepEqual(taken(), [BACK]);
  phase = "leading";
  silence.note("timeout");
  pass(5000);
  assert.deepEqual(taken(), [line("nothing is acknowledged"), BACK]);
  // The next one is worth a word at once.
  silence.note("timeout");
  assert.equal(taken().length, 1);
});

test("a start whose attempts take long is not said to be answered before it goes on", (t) => {
  const { silence, pass, taken } = open(t, () => "starting");
  for (let i = 0; i < 3; i++) {
    silence.note("cannot connect");
    pass(11_000);
  }
  assert.deepEqual(
    taken(),
    Array(3).fill('NATS JetStream does not answer: this start waits until it does {"reason":"cannot connect"}'),
  );
  silence.end();
  silence.end();
  assert.deepEqual(taken(), [BACK]);
});
