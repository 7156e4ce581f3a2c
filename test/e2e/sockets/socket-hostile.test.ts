import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { frame, upgrade } from "../support/raw-socket.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
/** Watches during everything that happens to the others. */
let witness: SocketClient;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  alice = await openTrader(server);
  witness = await SocketClient.open(server.wsUrl);
});

after(async () => {
  assert.equal((await witness.request("ping")).op, "pong", "the witness has heard everything");
  await operator.soundAudit();
  await server.dispose();
});

test("invalid messages get an error, and the socket stays open", async () => {
  const client = await SocketClient.open(server.wsUrl);
  const refuse = async (text: string, code: string, field?: string) => {
    const from = client.messages.length;
    client.send(text);
    const reply = await client.find(`the error to ${text.slice(0, 80)}`, (message) => message.op === "error", from);
    assert.equal(reply.code, code, text.slice(0, 200));
    assert.equal(reply.field, field, text.slice(0, 200));
    assert.equal(typeof reply.message, "string");
    assert.equal(typeof reply.retryable, "boolean");
  };
  await refuse("", "BAD_JSON");
  await refuse("{", "BAD_JSON");
  await refuse("hello", "BAD_JSON");
  await refuse('{"op":"ping"} {}', "BAD_JSON");
  await refuse("[".repeat(50_000), "BAD_JSON");
  await refuse("null", "BAD_TYPE");
  await refuse("[]", "BAD_TYPE");
  await refuse("1", "BAD_TYPE");
  await refuse("{}", "MISSING_FIELD", "op");
  await refuse('{"op":null}', "UNKNOWN_OP", "op");
  await refuse('{"op":"dance"}', "UNKNOWN_OP", "op");
  await refuse('{"op":"__proto__"}', "UNKNOWN_OP", "op");
  await refuse('{"op":"ping","op":"ping"}', "DUPLICATE_FIELD", "op");
  await refuse('{"op":"ping","x":1}', "UNKNOWN_FIELD", "x");
  await refuse('{"op":"ping","__proto__":{"x":1}}', "UNKNOWN_FIELD", "__proto__");
  await refuse('{"op":"ping","id":{}}', "BAD_VALUE", "id");
  await refuse(`{"op":"ping","id":"${"x".repeat(65)}"}`, "BAD_VALUE", "id");
  await refuse('{"op":"ping","id":1.5}', "BAD_VALUE", "id");
  await refuse('{"op":"auth"}', "MISSING_FIELD", "token");
  await refuse('{"op":"auth","token":1}', "BAD_TYPE", "token");
  await refuse('{"op":"auth","apiKey":"x","timestamp":"1","signature":"x"}', "BAD_TYPE", "timestamp");
  await refuse('{"op":"auth","apiKey":"x","timestamp":1}', "MISSING_FIELD", "signature");
  await refuse('{"op":"subscribe"}', "MISSING_FIELD", "channels");
  await refuse('{"op":"subscribe","channels":[]}', "BAD_VALUE", "channels");
  await refuse('{"op":"subscribe","channels":{}}', "BAD_TYPE", "channels");
  await refuse('{"op":"subscribe","channels":["trades"]}', "BAD_TYPE", "channels.0");
  const channel = (fields: object) => JSON.stringify({ op: "subscribe", channels: [fields] });
  await refuse(channel({}), "MISSING_FIELD", "channels.0.channel");
  await refuse(channel({ channel: "secrets" }), "UNKNOWN_CHANNEL", "channels.0.channel");
  await refuse(channel({ channel: "constructor" }), "UNKNOWN_CHANNEL", "channels.0.channel");
  await refuse(channel({ channel: "ticker" }), "MISSING_FIELD", "channels.0.symbol");
  await refuse(channel({ channel: "ticker", symbol: "DOGE-PERP" }), "UNKNOWN_SYMBOL", "channels.0.symbol");
  await refuse(channel({ channel: "ticker", symbol: 1 }), "BAD_TYPE", "channels.0.symbol");
  const book = { channel: "orderbook", symbol: "BTC-PERP" };
  await refuse(channel({ ...book, depth: 3 }), "BAD_VALUE", "channels.0.depth");
  await refuse(channel({ ...book, depth: "5" }), "BAD_VALUE", "channels.0.depth");
  await refuse(channel({ ...book, updateMs: -1 }), "BAD_VALUE", "channels.0.updateMs");
  await refuse(channel({ ...book, resume: "x" }), "BAD_TYPE", "channels.0.resume");
  await refuse(channel({ ...book, account: 1 }), "UNKNOWN_FIELD", "channels.0.account");
  const many = Array.from({ length: 201 }, () => book);
  await refuse(JSON.stringify({ op: "subscribe", channels: many }), "BAD_VALUE", "channels");

  assert.equal((await client.request("ping")).op, "pong");
  assert.equal(client.messages.filter((message) => message.channel !== undefined).length, 0);
  await client.close();
});

test("binary and oversized messages close the socket with the documented code", async () => {
  const response = await fetch(`${server.url}/asyncapi.json`);
  const { info } = (await response.json()) as { info: { description: string } };
  const documented = (code: number) => info.description.includes(`\n| ${code} |`);
  const binary = await SocketClient.open(server.wsUrl);
  binary.socket.send(Buffer.from('{"op":"ping"}'), { binary: true });
  assert.deepEqual(await binary.closed, { code: 1003, reason: "TEXT_ONLY" });
  const large = await SocketClient.open(server.wsUrl);
  large.send(`{"op":"ping","id":"${"x".repeat(70_000)}"}`);
  const { code } = await large.closed;
  // uWebSockets.js sends no close frame for what it does not read.
  assert.equal(code, 1006);
  assert.ok([1003, code].every(documented), "asyncapi.json has the codes");
});

test("frames that break the protocol close the socket", async () => {
  const hostile: Record<string, Buffer> = {
    "reserved bit": frame(0xc1, Buffer.from("{}")),
    "unknown opcode": frame(0x83, Buffer.from("{}")),
    "continuation of nothing": frame(0x80, Buffer.from("{}")),
    "bad UTF-8": frame(0x81, Buffer.from([0xc3, 0x28])),
    "long control frame": frame(0x89, Buffer.alloc(126)),
    "fragmented control frame": frame(0x09, Buffer.from("x")),
    "length of 2^63": Buffer.concat([Buffer.from([0x81, 0xff]), Buffer.alloc(8, 0xff), Buffer.alloc(4)]),
  };
  await Promise.all(
    Object.entries(hostile).map(async ([what, bytes]) => {
      const socket = await upgrade(server.port);
      socket.resume().write(bytes);
      await until(`the end of a socket that sent: ${what}`, () => socket.closed);
    }),
  );
});

test("unmasked frames, partial frames and noise affect no other client", async () => {
  const sent = [Buffer.from([0x81, 0x02, 0x7b, 0x7d]), frame(0x81, Buffer.from("{}")).subarray(0, 4)];
  for (let i = 0; i < 30; i++) sent.push(randomBytes(1 + i * 8));
  await Promise.all(
    sent.map(async (bytes) => {
      const socket = await upgrade(server.port);
      socket.resume().end(bytes);
      await until(`the end of a socket that sent ${bytes.toString("hex")}`, () => socket.closed);
    }),
  );
  assert.equal((await witness.request("ping")).op, "pong");
});

test("a frame without a mask is read as noise, as docs/operating/limits.md says", async () => {
  const socket = await upgrade(server.port);
  let answer = "";
  socket.resume().on("data", (bytes) => (answer += String(bytes)));
  // The first four bytes of the text are taken for the mask, and these four belong to the text.
  socket.write(Buffer.concat([Buffer.from([0x81, 20]), Buffer.from('{"op":"ping","id":1}abcd')]));
  await until("the error", () => answer.includes('"code":"BAD_JSON"'));
  socket.destroy();
});

test("a fragmented text is one message", async () => {
  const client = await SocketClient.open(server.wsUrl);
  client.socket.send('{"op":"pi', { fin: false });
  client.socket.send('ng","id":77}', { fin: true });
  const reply = await client.find("the pong", (message) => message.id === 77);
  assert.equal(reply.op, "pong");
  await client.close();
});

test("the socket's path without an upgrade, and upgrades on other paths, are refused", async () => {
  assert.equal((await alice.request("GET", "/ws")).status, 426);
  const { headers } = await fetch(server.wsUrl.replace("ws://", "http://"));
  // RFC 9110, 7.8: whoever sends Upgrade sends it as an option of Connection, too.
  assert.deepEqual([headers.get("upgrade"), headers.get("connection")], ["websocket", "Upgrade"]);
  await assert.rejects(SocketClient.open(server.wsUrl.replace("/v1/ws", "/v1/orders")));
});

test("a stopping server notifies every client, and ends", async () => {
  const ending = await startServer();
  const clients = await Promise.all(Array.from({ length: 10 }, () => SocketClient.open(ending.wsUrl)));
  try {
    const exit = await ending.stop();
    assert.deepEqual(exit, { code: 0, signal: null });
    for (const client of clients) assert.equal((await client.closed).code, 1001);
  } finally {
    await ending.dispose();
  }
});
