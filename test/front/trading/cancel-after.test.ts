import assert from "node:assert/strict";
import { test } from "node:test";
import { CancelAfter } from "../../../src/core/protocol/commands.ts";
import { Done } from "../../../src/core/protocol/replies.ts";
import type { Principal } from "../../../src/front/exchange/credentials.ts";
import type { Answer } from "../../../src/front/http/answer.ts";
import { type Context, Symbols } from "../../../src/front/routing/context.ts";
import { setCancelAfter } from "../../../src/front/trading/change-orders.ts";
import { make, ScriptedEngine } from "../support/scripted-engine.ts";

const principal: Principal = { accountId: 17, permissions: ["TRADE"], credential: "", expiresAt: 0, record: null };

/** Far ahead of the clock, as after a start with a clock that was set back. */
const LOG_TIME = 4_000_000_000_000;

/** The answer, when each symbol executed the command this many milliseconds after LOG_TIME. */
async function arm(timeoutMs: number, takenAfterMs: readonly number[]): Promise<unknown> {
  const engine = new ScriptedEngine();
  const context = { engine, symbols: new Symbols(engine.instruments) } as unknown as Context;
  const replies: unknown[] = [];
  const unexpected = (thrown: unknown): never => assert.fail(String(thrown));
  const answer: Answer = {
    done: false,
    reply: (status, json) => void replies.push([status, JSON.parse(json)]),
    refuse: unexpected,
    fail: unexpected,
  };
  const setting = setCancelAfter(context, answer, principal, { timeoutMs });
  for (const ms of takenAfterMs) {
    engine.time = LOG_TIME + ms;
    engine.answer(({ command }) => {
      assert.deepEqual(command, make(CancelAfter, { accountId: principal.accountId, timeoutMs }));
      return [make(Done)];
    });
  }
  await setting;
  assert.equal(engine.asked.length, 0);
  return replies[0];
}

test("the timeout counts from the time of each symbol's transaction; the answer has the earliest end", async () => {
  assert.deepEqual(await arm(60_000, [7, 3]), [200, { timeoutMs: 60_000, cancelAt: LOG_TIME + 60_003 }]);
  assert.deepEqual(await arm(0, [7, 3]), [200, { timeoutMs: 0, cancelAt: null }]);
});
