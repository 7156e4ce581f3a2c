import assert from "node:assert/strict";
import { test } from "node:test";
import { ReadOrders } from "../../../src/core/protocol/commands.ts";
import { Done } from "../../../src/core/protocol/replies.ts";
import { historyCaughtUp, request, requestEach } from "../../../src/front/exchange/request.ts";
import { until } from "../../e2e/support/wait.ts";
import { make, ScriptedEngine } from "../support/scripted-engine.ts";

const BTC = 1;
const code = (thrown: unknown): string => (thrown as { code: string }).code;
const question = () => make(ReadOrders);

test("a request to an actor that takes no command gets the reason, and nothing was done", async () => {
  const engine = new ScriptedEngine();
  const refusal = () => request(engine, BTC, question(), () => "answered").catch(code);
  engine.full = true;
  assert.equal(await refusal(), "OVERLOADED");
  engine.full = false;
  engine.down = true;
  assert.equal(await refusal(), "UNAVAILABLE");
  assert.equal(engine.asked.length, 0);
});

test("a request to an actor whose thread dies is answered that nothing was done", async () => {
  const engine = new ScriptedEngine();
  const asked = request(engine, BTC, question(), () => "answered").catch(code);
  engine.lose();
  assert.equal(await asked, "UNAVAILABLE");
});

test("a request to all actors waits for one that is being rebuilt, as long as the client waits", async () => {
  const engine = new ScriptedEngine();
  const answer = { done: false };
  const asked = requestEach(engine, answer, engine.instruments, question, (_, { symbol }) => symbol);
  engine.lose();
  engine.down = true;
  engine.answer(() => [make(Done)]);
  engine.down = false;
  await until("the question again", () => engine.asked.length === 1);
  engine.answer(() => [make(Done)]);
  assert.deepEqual(await asked, ["BTC-PERP", "ETH-PERP"]);

  const left = requestEach(engine, answer, engine.instruments, question, () => "").catch(code);
  answer.done = true;
  engine.lose();
  assert.equal(await left, "UNAVAILABLE");
});

test("a read of the history gets TIMEOUT when too many wait for it", async () => {
  const engine = new ScriptedEngine();
  await historyCaughtUp(engine);
  engine.crowded = true;
  await assert.rejects(historyCaughtUp(engine), { code: "TIMEOUT" });
});
