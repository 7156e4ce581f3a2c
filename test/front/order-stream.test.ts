import assert from "node:assert/strict";
import { test } from "node:test";
import type { AccountOrders } from "../../src/front/account-orders.ts";
import { OrderStream } from "../../src/front/order-stream.ts";
import type { Member } from "../../src/front/stream.ts";

class Listener implements Member {
  readonly heard: string[] = [];
  send(text: string | Uint8Array): void {
    this.heard.push(Buffer.from(text as string).toString());
  }
  sendAll(): void {}
  expect(): void {}
  enter(): void {}
  exit(): void {}
  fail(): void {}
}

test("however many join at once, the orders are printed once, and for whoever joins later as they are then", () => {
  let prints = 0;
  let open = ["1"];
  const openOrders = (): string[] => {
    prints++;
    return open;
  };
  const stream = new OrderStream(
    "orders/7/all",
    '"channel":"orders"',
    null,
    { openOrders } as unknown as AccountOrders,
    () => {},
  );
  stream.start(10);
  const join = (): string => {
    const listener = new Listener();
    stream.join(listener);
    return listener.heard.join();
  };
  const snapshot = (sequence: number, data: string): string =>
    `{"channel":"orders","type":"SNAPSHOT","sequence":${sequence},"prevSequence":null,"data":[${data}]}`;

  for (let i = 0; i < 50; i++) assert.equal(join(), snapshot(10, "1"));
  assert.equal(prints, 1);

  open = ["1", "2"];
  stream.add(11, ["2"]);
  for (let i = 0; i < 50; i++) assert.equal(join(), snapshot(11, "1,2"));
  assert.equal(prints, 2);

  // Nothing of that length is kept for somebody who may never come.
  stream.flush();
  assert.equal(join(), snapshot(11, "1,2"));
  assert.equal(prints, 3);
});
