import assert from "node:assert/strict";
import { test } from "node:test";
import { LEDGER } from "../../../../src/core/base/enums.ts";
import { Deposited, PriceUpdated } from "../../../../src/core/protocol/events.ts";
import { make, type ScriptedEngine } from "../../support/scripted-engine.ts";
import { ALICE, alicesTrade, BOB, BTC, ETH, open, subscribe } from "../../support/scripted-exchange.ts";

const credit = (engine: ScriptedEngine, accountId: number, amount: number): void => {
  assert.ok(engine.marginTable.debit(accountId, -amount));
};

test("balance: a snapshot and every change, published when durable", async () => {
  const { engine, channels, hub, connect } = await open();
  credit(engine, ALICE, 5_000_000);
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  assert.deepEqual(
    client.ask(subscribe({ channel: "balance" })).map((message) => message.op),
    ["subscribed"],
  );
  engine.settle();
  const [snapshot] = client.take();
  const started = engine.sequence;
  assert.deepEqual(
    { ...snapshot, data: snapshot.data.equity },
    { channel: "balance", type: "SNAPSHOT", sequence: started, prevSequence: null, data: "5" },
  );
  const quietly = hub.published.length;

  credit(engine, ALICE, 2_000_000);
  const deposited = engine.transaction(LEDGER, make(Deposited, { accountId: ALICE, amountQuanta: 2_000_000 }));
  engine.drain();
  assert.deepEqual(client.take(), []);
  engine.settle();
  const [update] = client.take();
  assert.deepEqual([update.type, update.prevSequence, update.sequence], ["UPDATE", started, deposited]);
  assert.deepEqual([update.data.equity, update.data.sequence], ["7", deposited]);

  engine.transaction(BTC, make(PriceUpdated, { markTicks: 5 }));
  engine.transaction(BTC, alicesTrade());
  engine.transaction(LEDGER, make(Deposited, { accountId: BOB }));
  engine.drain();
  engine.settle();
  assert.deepEqual(client.take(), [], "no figure has moved");
  channels.tick();
  assert.equal(engine.settle(), 1, "once more, for the price");
  channels.tick();
  assert.equal(engine.settle(), 0, "nothing more to wait for");
  assert.equal(hub.published.length, quietly + 1);

  credit(engine, ALICE, 1);
  const priced = engine.transaction(BTC, make(PriceUpdated, { markTicks: 6 }));
  engine.drain();
  engine.settle();
  const [moved] = client.take();
  assert.deepEqual([moved.prevSequence, moved.sequence, moved.data.equity], [deposited, priced, "7.000001"]);
});

test("balance: a later subscriber starts at the current state; nothing is read for one that has unsubscribed", async () => {
  const { engine, connect } = await open();
  const early = connect();
  early.say({ op: "auth", token: "alice" });
  early.say(subscribe({ channel: "balance" }));
  engine.settle();
  const sequence = early.take().at(-1).sequence;
  engine.transaction(ETH, make(PriceUpdated, { markTicks: 5 }));
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  late.say(subscribe({ channel: "balance" }));
  late.take();
  const gone = connect();
  gone.say({ op: "auth", token: "alice" });
  gone.say(subscribe({ channel: "balance" }));
  gone.take();
  gone.hangUp();
  engine.settle();
  assert.equal(late.take()[0].sequence, sequence);
  assert.deepEqual(gone.take(), []);
  assert.deepEqual(early.take(), []);
});

test("balance: a mark that reaches the account after its transaction is published in the end", async () => {
  const { engine, channels, connect } = await open();
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "balance" }));
  engine.settle();
  const equities = (): string[] => client.take().flatMap(({ data }) => data?.equity ?? []);
  assert.deepEqual(equities(), ["0"]);
  engine.transaction(BTC, make(PriceUpdated, { markTicks: 5 }));
  engine.drain();
  engine.settle();
  credit(engine, ALICE, 1_000_000);
  assert.deepEqual(equities(), []);
  channels.tick();
  engine.settle();
  assert.deepEqual(equities(), ["1"]);
  credit(engine, ALICE, 1_000_000);
  engine.time += 5000;
  channels.tick();
  engine.settle();
  assert.deepEqual(equities(), ["2"]);
});

test("balance: when too many wait for durability, a stream retries", async () => {
  const { engine, channels, connect } = await open();
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  engine.crowded = true;
  client.ask(subscribe({ channel: "balance" }));
  assert.equal(engine.settle(), 0);
  engine.crowded = false;
  channels.tick();
  engine.settle();
  assert.deepEqual(
    client.take().map(({ type }) => type),
    ["SNAPSHOT"],
  );
});

test("balance: the result of a read that a later one has overtaken is dropped", async () => {
  const { engine, connect } = await open();
  credit(engine, ALICE, 5_000_000);
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.ask(subscribe({ channel: "balance" }));
  engine.settle();
  client.take();
  const deposit = (): void => {
    credit(engine, ALICE, 1_000_000);
    engine.transaction(LEDGER, make(Deposited, { accountId: ALICE, amountQuanta: 1_000_000 }));
    engine.drain();
  };
  deposit();
  const { whenAllDurable } = engine;
  engine.whenAllDurable = (then) => {
    then();
    return true;
  };
  deposit();
  engine.whenAllDurable = whenAllDurable;
  assert.equal(engine.settle(), 1, "the first look has waited");
  assert.deepEqual(
    client.take().map((message) => message.data.equity),
    ["7"],
  );
});
