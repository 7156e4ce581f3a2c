import assert from "node:assert/strict";
import { test } from "node:test";
import type { AccountOrders } from "../../../../src/front/streams/account/account-orders.ts";
import { OrderStream } from "../../../../src/front/streams/account/order-stream.ts";
import type { Subscriber } from "../../../../src/front/streams/base/stream.ts";
import { nextTurn } from "../../support/scripted-exchange.ts";

class Listener implements Subscriber {
  readonly heard: string[] = [];
  send(text: string | Uint8Array): void {
    this.heard.push(Buffer.from(text as string).toString());
  }
  sendAll(): void {}
  noteLargeMessage(): void {}
  subscribe(): void {}
  unsubscribe(): void {}
  fail(): void {}
}

const openStream = (openOrders: () => string[], published: string[] = []): OrderStream =>
  new OrderStream(
    "orders/7/all",
    '"channel":"orders"',
    null,
    { openOrders } as unknown as AccountOrders,
    (_topic, text) => void published.push(text),
  );

const snapshot = (sequence: number, data: string): string =>
  `{"channel":"orders","type":"SNAPSHOT","sequence":${sequence},"prevSequence":null,"data":[${data}]}`;

test("the snapshot of orders is printed once for many subscribers, and anew for later ones", () => {
  let prints = 0;
  let open = ["1"];
  const openOrders = (): string[] => {
    prints++;
    return open;
  };
  const stream = openStream(openOrders);
  stream.start(10);
  const join = (): string => {
    const listener = new Listener();
    stream.subscribe(listener);
    return listener.heard.join();
  };

  for (let i = 0; i < 50; i++) assert.equal(join(), snapshot(10, "1"));
  assert.equal(prints, 1);

  open = ["1", "2"];
  stream.add(11, ["2"]);
  for (let i = 0; i < 50; i++) assert.equal(join(), snapshot(11, "1,2"));
  assert.equal(prints, 2);

  // A large text is not kept for subscribers that may never come.
  stream.flush();
  assert.equal(join(), snapshot(11, "1,2"));
  assert.equal(prints, 3);
});

test("large snapshots of orders are sent over several event-loop iterations, each in its current state", async () => {
  let prints = 0;
  let order = `"${"1".repeat(300_000)}"`;
  const published: string[] = [];
  const stream = openStream(() => {
    prints++;
    return [order];
  }, published);
  const listeners = Array.from({ length: 40 }, () => new Listener());
  const reached = (): number => listeners.filter(({ heard }) => heard.length > 0).length;
  for (const listener of listeners) stream.subscribe(listener);
  assert.equal(reached(), 0);

  // A megabyte, and a little more.
  await nextTurn();
  stream.start(10);
  assert.equal(reached(), 4);
  await nextTurn();
  assert.equal(reached(), 8);
  stream.flush();
  assert.deepEqual([prints, published], [1, []]);

  stream.unsubscribe(listeners[39]);
  order = `"${"2".repeat(300_000)}"`;
  stream.add(11, [order]);
  stream.flush();
  while (reached() < 39) {
    const before = reached();
    await nextTurn();
    assert.equal(reached() - before, Math.min(4, 39 - before));
  }
  assert.equal(prints, 2);
  assert.deepEqual(published, [
    `{"channel":"orders","type":"UPDATE","sequence":11,"prevSequence":10,"data":[${order}]}`,
  ]);
  const sequences = listeners.map(({ heard }) => heard.map((text) => JSON.parse(text).sequence).join());
  assert.deepEqual(sequences, [...Array(8).fill("10"), ...Array(31).fill("11"), ""]);
});
