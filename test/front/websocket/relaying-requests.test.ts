import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../../../src/sandbox/random.ts";
import { takeSeed } from "../../core/support/seed.ts";
import type { ScriptedClient } from "../support/scripted-client.ts";
import { book, limited, nextTurn, open, subscribe, unsubscribe } from "../support/scripted-exchange.ts";
import { ScriptedRelay } from "../support/scripted-relay.ts";

/** A gateway in a process of its own: what it passes on to the leader must not be overtaken by what it does itself. */

const TRADES = { channel: "trades", symbol: "BTC-PERP" };
const ORDERS = { channel: "orders" };
const AUTH = { op: "auth", id: "auth", token: "alice" };

async function openGateway(limits: ReturnType<typeof limited> = null) {
  const leader = await open();
  const relay = new ScriptedRelay(leader);
  const gateway = await open({}, undefined, limits, {}, [], relay);
  return { leader, relay, gateway };
}

/** A client that has authenticated. */
async function authenticated(...options: Parameters<typeof openGateway>) {
  const { leader, relay, gateway } = await openGateway(...options);
  const client = gateway.connect();
  client.say(AUTH);
  relay.deliver();
  client.take();
  return { leader, relay, gateway, client };
}

/** The answers since the last call. */
const answers = (client: ScriptedClient): unknown[][] =>
  client
    .take()
    .filter(({ op }) => op !== undefined)
    .map(({ op, id, code, channels }) => [id, code ?? op, ...(channels ?? []).map(nameOf).toSorted()]);

const nameOf = ({ channel, symbol = "" }: { channel: string; symbol?: string }): string =>
  `${channel} ${symbol}`.trim();

test("a request with public channels only does not overtake an earlier one that waits for the leader", async () => {
  const { relay, client } = await authenticated();
  client.say({ ...subscribe(ORDERS, TRADES), id: 1 });
  relay.deliver();
  client.say({ ...unsubscribe(ORDERS, TRADES), id: 2 });
  client.say({ ...subscribe(TRADES), id: 3 });
  client.say({ ...subscribe(ORDERS, book()), id: 4 });
  client.say({ ...unsubscribe(book()), id: 5 });
  client.say({ op: "ping", id: 6 });
  relay.deliver();
  await nextTurn();
  assert.deepEqual(answers(client), [
    [1, "subscribed", "orders", "trades BTC-PERP"],
    [6, "pong"],
    [2, "unsubscribed", "orders", "trades BTC-PERP"],
    [3, "subscribed", "trades BTC-PERP"],
    [4, "subscribed", "orderbook BTC-PERP", "orders"],
    [5, "unsubscribed", "orderbook BTC-PERP"],
  ]);
  assert.deepEqual([...client.topics], ["trades/1/0"]);
});

test("a refused request lets the next one go on, and a refusal has its place, too", async () => {
  const { relay, client } = await authenticated();
  client.say({ op: "auth", id: 1, token: "bob" });
  client.say({ ...subscribe(TRADES), id: 2 });
  client.say({ ...subscribe(...Array.from({ length: 5 }, () => ORDERS), TRADES), id: 3 });
  client.say({ ...subscribe(book({ symbol: "ETH-PERP" })), id: 4 });
  assert.deepEqual(answers(client), []);
  relay.deliver();
  assert.deepEqual(answers(client), [
    [1, "ALREADY_AUTHENTICATED"],
    [2, "subscribed", "trades BTC-PERP"],
    [3, "subscribed", "orders", "trades BTC-PERP"],
    [4, "subscribed", "orderbook ETH-PERP"],
  ]);
});

test("of a client that has gone nothing is done any more", async () => {
  const { relay, client } = await authenticated();
  client.say(subscribe(ORDERS, TRADES));
  client.say(subscribe(TRADES));
  client.hangUp();
  relay.deliver();
  await nextTurn();
  assert.deepEqual([client.take(), client.topics.size], [[], 0]);
});

test("a client cannot make many requests wait: they are refused, and the others keep their order", async () => {
  const { relay, client } = await authenticated();
  client.say({ ...subscribe(ORDERS), id: "first" });
  const accepted: unknown[] = [];
  let refused = 0;
  for (let i = 0; i < 10_000; i++) {
    client.say({ ...(i % 2 === 0 ? subscribe : unsubscribe)(TRADES), id: i });
    if (answers(client).length === 0) accepted.push(i);
    else refused++;
  }
  assert.ok(accepted.length > 200 && accepted.length < 2000, `${accepted.length} wait`);
  assert.equal(accepted.length + refused, 10_000);
  relay.deliver();
  assert.deepEqual(
    answers(client).map(([id]) => id),
    ["first", ...accepted],
  );
});

test("waiting requests that pay for themselves do not close the connection", async () => {
  const { relay, gateway, client } = await authenticated(limited({ requestRate: 1000 }));
  client.say(subscribe(ORDERS));
  for (let i = 0; i < 100; i++) client.say({ ...subscribe(TRADES), id: i });
  relay.deliver();
  assert.equal(answers(client).length, 101);
  gateway.engine.time += 1000;
  for (let i = 0; i < 51; i++) client.say({ op: "ping" });
  assert.equal(client.closedWith?.code, 1008);
});

test("requests with private channels only do not count as messages, at a gateway as at the leader", async () => {
  const limits = () => limited({ requestRate: 10_000, rateBurst: 1000, accountRate: 1000 });
  const direct = (await open({}, undefined, limits())).connect();
  direct.say(AUTH);
  direct.take();
  const { relay, gateway, client } = await authenticated(limits());
  for (const each of [direct, client])
    for (let id = 0; id < 60; id++) each.say({ ...(id % 2 === 0 ? subscribe : unsubscribe)(ORDERS), id });
  relay.deliver();
  assert.equal(answers(client).length, 60);
  assert.equal(answers(direct).length, 60);
  assert.deepEqual([client.closedWith, direct.closedWith], [null, null]);
  // Each leaves room for the same number of messages.
  for (const each of [direct, client]) for (let i = 0; i < 60; i++) each.say({ op: "ping" });
  const [ofGateway, ofLeader] = [answers(client).length, answers(direct).length];
  assert.equal(ofGateway, ofLeader);
  assert.deepEqual([client.closedWith?.code, direct.closedWith?.code], [1008, 1008]);

  // Without an account the address pays, and the answer is the same.
  const strangers = [(await open({}, undefined, limits())).connect(), gateway.connect()];
  for (const each of strangers) {
    for (let id = 0; id < 60; id++) each.say({ ...subscribe(ORDERS), id });
    assert.deepEqual(
      answers(each),
      Array.from({ length: 60 }, (_, id) => [id, "UNAUTHENTICATED"]),
    );
    assert.equal(each.closedWith, null);
  }
});

test("an unsubscription that cannot be paid is refused before the leader gets its part", async () => {
  const { relay, client } = await authenticated(limited());
  client.say({ ...subscribe(ORDERS, TRADES), id: 1 });
  relay.deliver();
  for (let id = 2; id < 9; id++) {
    client.say({ ...unsubscribe(ORDERS, TRADES), id });
    relay.deliver();
  }
  const codes = answers(client).map(([, code]) => code);
  assert.deepEqual([codes[0], codes.at(-1)], ["subscribed", "RATE_LIMITED"]);
});

const seed = takeSeed("relaying-requests.test");
const CHANNELS = [ORDERS, { channel: "balance" }, TRADES, { channel: "trades", symbol: "ETH-PERP" }, book()];

test("a gateway answers random requests as the leader does, and has the same subscriptions", async () => {
  for (let run = 0; run < 50; run++) {
    const random = new Random(seed, `relay ${run}`);
    const { leader, relay, gateway } = await openGateway();
    const [direct, client] = [leader.connect(), gateway.connect()];
    const tokens = ["alice", "alice", "bob", "nobody"];
    for (let id = 0; id < 20; id++) {
      const channels = CHANNELS.filter(() => random.chance(0.4));
      const request = random.chance(0.2)
        ? { op: "auth", id, token: random.pick(tokens) }
        : { ...(random.chance(0.5) ? subscribe : unsubscribe)(...channels), id };
      for (const each of [direct, client]) each.say(request);
      if (random.chance(0.4)) relay.deliver(1);
    }
    relay.deliver();
    await nextTurn();
    // The gateway checks what is wrong with a request before the request waits.
    const accepted = (each: ScriptedClient): unknown[][] => answers(each).filter(([, code]) => code !== "BAD_VALUE");
    assert.deepEqual(accepted(client), accepted(direct), `SEED=${seed}, run ${run}`);
    const topics = [...direct.topics].filter((topic) => !/^(orders|balance)/.test(topic));
    assert.deepEqual([...client.topics].toSorted(), topics.toSorted(), `SEED=${seed}, run ${run}`);
  }
});
