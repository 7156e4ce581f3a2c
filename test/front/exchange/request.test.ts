import assert from "node:assert/strict";
import { test } from "node:test";
import { Done, ReadOrders } from "../../../src/core/protocol/messages.ts";
import { ask, askEach, historyCaughtUp } from "../../../src/front/exchange/request.ts";
import { until } from "../../e2e/support/wait.ts";
import { make, ScriptedRoad } from "../support/scripted-engine.ts";

const BTC = 1;
const code = (thrown: unknown): string => (thrown as { code: string }).code;
const question = () => make(ReadOrders);

test("who asks an actor that cannot be asked is told why, and nothing was done", async () => {
  const road = new ScriptedRoad();
  const refusal = () => ask(road, BTC, question(), () => "answered").catch(code);
  road.full = true;
  assert.equal(await refusal(), "OVERLOADED");
  road.full = false;
  road.down = true;
  assert.equal(await refusal(), "UNAVAILABLE");
  assert.equal(road.asked.length, 0);
});

test("who waits for an actor whose thread dies is told that nothing was done", async () => {
  const road = new ScriptedRoad();
  const asked = ask(road, BTC, question(), () => "answered").catch(code);
  road.lose();
  assert.equal(await asked, "UNAVAILABLE");
});

test("who asks all of them waits for one that is being rebuilt, as long as anybody waits", async () => {
  const road = new ScriptedRoad();
  const answer = { done: false };
  const asked = askEach(road, answer, road.instruments, question, (_, { symbol }) => symbol);
  road.lose();
  road.down = true;
  road.answer(() => [make(Done)]);
  road.down = false;
  await until("the question again", () => road.asked.length === 1);
  road.answer(() => [make(Done)]);
  assert.deepEqual(await asked, ["BTC-PERP", "ETH-PERP"]);

  const left = askEach(road, answer, road.instruments, question, () => "").catch(code);
  answer.done = true;
  road.lose();
  assert.equal(await left, "UNAVAILABLE");
});

test("who reads the history while too many wait for it is told that the time is up", async () => {
  const road = new ScriptedRoad();
  await historyCaughtUp(road);
  road.crowded = true;
  await assert.rejects(historyCaughtUp(road), { code: "TIMEOUT" });
});
