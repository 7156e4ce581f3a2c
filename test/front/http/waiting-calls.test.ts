import assert from "node:assert/strict";
import { test } from "node:test";
import { Call } from "../../../src/front/http/call.ts";
import { WaitingCalls } from "../../../src/front/http/waiting-calls.ts";
import { FakeResponse } from "../support/fake-call.ts";

test("at most so many expired calls are answered at a time, oldest first, and no others", () => {
  const waiting = new WaitingCalls<Call>();
  const calls = Array.from({ length: 5 }, () => new Call(new FakeResponse(), "GET", "/", ""));
  for (const call of calls) waiting.add(call);
  const answered: Call[] = [];
  const answer = (call: Call): void => {
    answered.push(call);
    call.reply(503, "");
  };
  const later = performance.now() + 1000;
  waiting.expire(0, 3, answer);
  assert.deepEqual(answered, []);
  waiting.expire(later, 3, answer);
  assert.deepEqual(answered, calls.slice(0, 3));
  waiting.expire(later, 3, answer);
  assert.deepEqual(answered, calls);
  assert.ok(waiting.isEmpty);
});
