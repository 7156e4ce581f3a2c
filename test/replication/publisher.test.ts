import assert from "node:assert/strict";
import { test } from "node:test";
import { Publisher } from "../../src/replication/publisher.ts";
import { batchOf, MemoryStream } from "./support.ts";

const publisherOf = (stream: MemoryStream, pauses: (() => void)[] = []) =>
  new Publisher({ stream, place: 1, pause: async () => pauses.shift()?.(), isOver: () => false, onSilence: () => {} });
const mine = (first: number) => batchOf(first, first, { node: "me", epoch: 2 });
const rival = (first: number) => batchOf(first, first, { node: "rival", epoch: 3 });

test("a message that has no answer is sent again, and counts once", async () => {
  for (const answer of ["ack lost", "never arrived"] as const) {
    const stream = new MemoryStream([batchOf(1, 1)]);
    stream.answers.push(answer);
    const publisher = publisherOf(stream);
    assert.equal(await publisher.publish(mine(2)), true, answer);
    assert.equal(await publisher.publish(mine(3)), true);
    assert.deepEqual([publisher.place, (await stream.bounds()).last, stream.appends], [3, 3, 3]);
  }
});

test("a rival's message in the place deposes, also when an own message comes late", async () => {
  const stream = new MemoryStream([batchOf(1, 1)]);
  const publisher = publisherOf(stream);
  stream.add(rival(2));
  assert.equal(await publisher.publish(mine(2)), false);
  assert.equal((await stream.bounds()).last, 2);

  const late = new MemoryStream([batchOf(1, 1)]);
  late.answers.push("never arrived", () => late.add(rival(2)));
  assert.equal(await publisherOf(late).publish(mine(2)), false);
  assert.equal((await late.get(2))?.node, "rival");
});

test("a message that was stored before a rival claimed counts", async () => {
  const stream = new MemoryStream([batchOf(1, 1)]);
  stream.answers.push("ack lost");
  assert.equal(await publisherOf(stream, [() => stream.add(rival(3))]).publish(mine(2)), true);
});

test("a process that stops sends nothing again", async () => {
  const stream = new MemoryStream([batchOf(1, 1)]);
  stream.answers.push("never arrived", "ack lost");
  let attempts = 0;
  const isOver = () => ++attempts === 1;
  const reasons: string[] = [];
  const onSilence = (reason: string) => void reasons.push(reason);
  const publisher = new Publisher({ stream, place: 1, pause: async () => {}, isOver, onSilence });
  assert.equal(await publisher.publish(mine(2)), null);
  assert.deepEqual([publisher.place, stream.appends, attempts], [1, 1, 1]);
  // A full stream answers nothing else.
  assert.deepEqual(reasons, ["timeout"]);
  // An answer that says so counts also then.
  assert.equal(await publisher.publish(mine(2)), true);
});

test("a replica that lags is asked again", async () => {
  const stream = new MemoryStream([batchOf(1, 1)]);
  stream.answers.push("ack lost");
  stream.readableThrough = 1;
  const catchUp = () => {
    stream.readableThrough = 2;
  };
  assert.equal(await publisherOf(stream, [() => {}, catchUp]).publish(mine(2)), true);
});

test("a stream that has lost confirmed messages ends the publisher", async () => {
  const stream = new MemoryStream([batchOf(1, 1)]);
  const publisher = publisherOf(stream);
  await publisher.publish(mine(2));
  stream.truncate(1);
  await assert.rejects(publisher.publish(mine(3)), /the stream ends with message 1, but it had confirmed message 2/);
});
