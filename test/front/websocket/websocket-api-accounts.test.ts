import assert from "node:assert/strict";
import { test } from "node:test";
import { LEDGER } from "../../../src/core/base/enums.ts";
import { KeyRevoked, SessionClosed } from "../../../src/core/protocol/events.ts";
import { ApiError } from "../../../src/front/common/errors.ts";
import { make, START } from "../support/scripted-engine.ts";
import { ALICE, nextTurn, open, subscribe } from "../support/scripted-exchange.ts";

test("a socket authenticates with a token or a key", async () => {
  const { connect } = await open();
  assert.deepEqual(connect().ask({ op: "auth", id: 3, token: "alice" }), [
    {
      op: "authenticated",
      id: 3,
      accountId: "17",
      permissions: ["READ"],
      expiresAt: null,
      cancelOnDisconnect: false,
    },
  ]);
  const [brief] = connect().ask({ op: "auth", token: "alice-brief" });
  assert.equal(brief.expiresAt, START + 1000);
  const signed = { op: "auth", apiKey: "key", timestamp: START, signature: "good" };
  assert.equal(connect().ask(signed)[0].op, "authenticated");
  assert.equal(connect().ask({ ...signed, signature: "bad" })[0].code, "INVALID_KEY_OR_SIGNATURE");
  assert.equal(connect().ask({ op: "auth", token: "mallory" })[0].code, "INVALID_TOKEN");
});

test("a socket that a page of another site has opened follows public streams, and never authenticates", async () => {
  const { connect } = await open();
  const client = connect(true);
  assert.equal(client.ask({ op: "auth", token: "alice" })[0].code, "ORIGIN_NOT_ALLOWED");
  assert.equal(client.ask({ op: "subscribe", channels: [{ channel: "balance" }] })[0].code, "UNAUTHENTICATED");
  assert.equal(
    client.ask({ op: "subscribe", channels: [{ channel: "trades", symbol: "BTC-PERP" }] })[0].op,
    "subscribed",
  );
});

test("a socket keeps its account", async () => {
  const { connect } = await open();
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  assert.equal(client.ask({ op: "auth", token: "alice-brief" })[0].op, "authenticated");
  assert.equal(client.ask({ op: "auth", token: "bob" })[0].code, "ALREADY_AUTHENTICATED");
  assert.equal(client.ask({ op: "auth", token: "mallory" })[0].code, "INVALID_TOKEN");
});

test("private channels need a credential that may read", async () => {
  const { connect } = await open();
  for (const channel of ["positions", "balance", "orders", "fills"]) {
    const client = connect();
    assert.equal(client.ask(subscribe({ channel }))[0].code, "UNAUTHENTICATED");
    client.say({ op: "auth", token: "alice-blind" });
    assert.equal(client.ask(subscribe({ channel }))[0].code, "PERMISSION_DENIED");
    client.say({ op: "auth", token: "alice" });
    assert.equal(client.ask(subscribe({ channel }))[0].op, "subscribed");
  }
});

test("an identity without READ cannot take over private channels", async () => {
  const { connect } = await open();
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "balance" }));
  const [refusal] = client.ask({ op: "auth", id: 1, token: "alice-blind" });
  assert.deepEqual([refusal.code, refusal.details], ["PERMISSION_DENIED", { required: "READ" }]);
  // Its identity is unchanged.
  assert.equal(client.ask(subscribe({ channel: "orders" }))[0].op, "subscribed");
  client.say({ op: "unsubscribe", channels: [{ channel: "balance" }, { channel: "orders" }] });
  client.say(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  assert.equal(client.ask({ op: "auth", token: "alice-blind" })[0].op, "authenticated");
});

test("the end of a credential closes its sockets, and no others", async () => {
  const { engine, channels, connect } = await open();
  const session = connect();
  session.say({ op: "auth", token: "alice" });
  const key = connect();
  key.say({ op: "auth", apiKey: "key", timestamp: START, signature: "good" });
  const brief = connect();
  brief.say({ op: "auth", token: "alice-brief" });
  const nobody = connect();

  engine.transaction(LEDGER, make(SessionClosed, { accountId: ALICE, tokenHash: "hash-of-alice" }));
  assert.deepEqual(session.closedWith, { code: 4401, reason: "SESSION_CLOSED" });
  assert.equal(key.closedWith, null);
  engine.transaction(LEDGER, make(KeyRevoked, { accountId: ALICE, apiKey: "key" }));
  assert.deepEqual(key.closedWith, { code: 4401, reason: "KEY_REVOKED" });
  engine.time += 999;
  channels.tick();
  assert.equal(brief.closedWith, null);
  engine.time += 1;
  channels.tick();
  assert.deepEqual(brief.closedWith, { code: 4401, reason: "CREDENTIAL_EXPIRED" });
  assert.equal(nobody.closedWith, null);
});

test("an expired credential cannot trade, even before its socket is closed", async () => {
  const { engine, connect, trades } = await open();
  const brief = connect();
  brief.say({ op: "auth", token: "alice-brief" });
  engine.time += 999;
  brief.say({ op: "order.cancelAll", id: 1, params: {} });
  assert.equal(trades.length, 1);
  engine.time += 1;
  brief.say({ op: "order.cancelAll", id: 2, params: {} });
  assert.deepEqual(brief.closedWith, { code: 4401, reason: "CREDENTIAL_EXPIRED" });
  assert.equal(trades.length, 1);
});

test("an expired session closes as CREDENTIAL_EXPIRED, also when the ledger ends it first", async () => {
  const { engine, connect } = await open();
  const brief = connect();
  brief.say({ op: "auth", token: "alice-brief" });
  engine.time += 1000;
  engine.transaction(LEDGER, make(SessionClosed, { accountId: ALICE, tokenHash: "hash-of-alice-brief" }));
  assert.deepEqual(brief.closedWith, { code: 4401, reason: "CREDENTIAL_EXPIRED" });
});

test("a client that does not read is closed with SLOW_CONSUMER", async () => {
  const { channels, connect } = await open();
  const slow = connect();
  const good = connect();
  slow.buffered = 600_000;
  good.buffered = 100_000;
  channels.tick();
  assert.deepEqual(slow.closedWith, { code: 1013, reason: "SLOW_CONSUMER" });
  assert.equal(good.closedWith, null);
});

test("trading: answers have the op and the id, and a closed socket gets none", async () => {
  const { trades, connect } = await open();
  const client = connect();
  client.say({ op: "auth", token: "alice-trader" });
  client.take();
  client.say({ op: "order.cancelAll", id: "a" });
  client.say({ op: "order.place", id: 2, params: { symbol: "BTC-PERP" } });
  assert.deepEqual(
    trades.map(({ op, params, accountId }) => [op, params, accountId]),
    [
      ["order.cancelAll", {}, ALICE],
      ["order.place", { symbol: "BTC-PERP" }, ALICE],
    ],
  );
  const [first, second] = trades;
  assert.ok(first !== undefined && second !== undefined);
  second.answer.reply(201, '{"orderId":"1"}');
  first.answer.refuse(new ApiError("OVERLOADED"));
  assert.deepEqual(client.take(), [], "what is answered in one go leaves in one packet");
  await Promise.resolve();
  const [placed, refused] = client.take();
  assert.deepEqual(placed, { op: "order.place", id: 2, status: 201, result: { orderId: "1" } });
  assert.deepEqual([refused.op, refused.id, refused.code, refused.retryable], ["error", "a", "OVERLOADED", true]);
  client.say({ op: "order.cancelAll" });
  assert.equal(trades[2]?.answer.done, false);
  client.hangUp();
  assert.equal(trades[2]?.answer.done, true);
  trades[2]?.answer.reply(200, "{}");
  await Promise.resolve();
  assert.equal(trades.length, 3, "nothing was asked for a disconnect");
});

test("trading: a stop waits for answers in flight and refuses new requests", async () => {
  const { trades, channels, connect } = await open();
  const client = connect();
  client.say({ op: "auth", token: "alice-trader" });
  client.say({ op: "order.place", id: 1, params: { symbol: "BTC-PERP" } });
  client.take();
  let hasStopped = false;
  const stopped = channels.stop().then(() => {
    hasStopped = true;
  });
  const [refused] = client.ask({ op: "order.place", id: 2, params: { symbol: "BTC-PERP" } });
  assert.deepEqual([refused.id, refused.code, refused.retryable], [2, "NOT_READY", true]);
  await nextTurn();
  assert.equal(hasStopped, false);
  trades[0]?.answer.reply(201, '{"orderId":"1"}');
  await stopped;
  assert.deepEqual(client.take(), [{ op: "order.place", id: 1, status: 201, result: { orderId: "1" } }]);
  assert.equal(trades.length, 1);
});

test("trading: cancelOnDisconnect cancels when the socket closes; the last auth decides", async () => {
  const { trades, connect } = await open();
  const client = connect();
  const [first] = client.ask({ op: "auth", token: "alice-trader", cancelOnDisconnect: true });
  assert.equal(first.cancelOnDisconnect, true);
  client.hangUp();
  assert.deepEqual(
    trades.map(({ op, params, accountId, answer }) => [op, params, accountId, answer.done]),
    [["order.cancelAll", {}, ALICE, false]],
  );
  const other = connect();
  other.say({ op: "auth", token: "alice-trader", cancelOnDisconnect: true });
  other.say({ op: "auth", token: "alice-trader" });
  other.hangUp();
  assert.equal(trades.length, 1);
});
