import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { type WebSocket, WebSocketServer } from "ws";
import type { ApiError } from "../../src/front/common/errors.ts";
import { Socket } from "../../src/front/http/sockets.ts";
import { Connection } from "../../src/front/websocket/connection.ts";
import { LeaderRelay } from "../../src/gateway/leader-relay.ts";
import { Upstreams } from "../../src/gateway/upstreams.ts";

/** A process that may lead. It answers each message with `{"echo":MESSAGE}`. */
class FakeLeader {
  epoch: number;
  /** Handshakes are refused with this code; "" = they are not. */
  refusal = "";
  /** Handshakes wait for it. */
  held: Promise<void> = Promise.resolve();
  readonly received: string[] = [];
  readonly forwardedFor: unknown[] = [];
  readonly sockets: WebSocket[] = [];
  url = "";
  private readonly server: Server;

  constructor(epoch: number) {
    this.epoch = epoch;
    this.server = createServer((_request, response) =>
      response.end(JSON.stringify({ role: this.epoch > 0 ? "LEADER" : "STANDBY", epoch: this.epoch })),
    );
    const sockets = new WebSocketServer({ noServer: true });
    this.server.on("upgrade", async (request, stream, head) => {
      await this.held;
      if (this.refusal !== "") {
        const body = JSON.stringify({ code: this.refusal, message: "No.", retryable: true });
        stream.end(`HTTP/1.1 503 No\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        return;
      }
      this.forwardedFor.push(request.headers["x-forwarded-for"]);
      sockets.handleUpgrade(request, stream, head, (socket) => {
        this.sockets.push(socket);
        socket.on("message", (bytes) => {
          this.received.push(String(bytes));
          const { op, id } = JSON.parse(String(bytes));
          if (op === "refuse") socket.send(JSON.stringify({ op: "error", id, code: "PERMISSION_DENIED" }));
          else if (op === "subscribe")
            socket.send(JSON.stringify({ op: "subscribed", id, channels: [{ channel: "orders" }] }));
          else socket.send(`{"echo":${bytes}}`);
        });
      });
    });
  }

  async listen(t: TestContext): Promise<this> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    t.after(() => {
      for (const socket of this.sockets) socket.terminate();
      this.server.close();
      this.server.closeAllConnections();
    });
    return this;
  }
}

/** A client of the gateway. */
function client() {
  const texts: string[] = [];
  const closed: [number, string][] = [];
  const socket = new Socket("10.1.2.3");
  socket.attach({
    send: (message) => texts.push(Buffer.from(message as string).toString()),
    cork: (write) => write(),
    end: (code, reason) => {
      closed.push([code, reason]);
      socket.detach();
    },
    ...{ ping: () => 0, subscribe: () => true, unsubscribe: () => true, close() {}, getBufferedAmount: () => 0 },
  });
  return { connection: new Connection(socket, false), texts, closed };
}

const until = async (is: () => boolean): Promise<void> => {
  while (!is()) await new Promise((resolve) => setTimeout(resolve, 1));
};

function relayOf(t: TestContext, ...leaders: FakeLeader[]): { relay: LeaderRelay; upstreams: Upstreams } {
  const upstreams = new Upstreams(leaders.map(({ url }) => url));
  const relay = new LeaderRelay(upstreams);
  upstreams.onLeader = () => relay.leaderChanged();
  t.after(() => relay.stop());
  return { relay, upstreams };
}

const message = (op: string): Uint8Array => Buffer.from(JSON.stringify({ op }));

test("messages go to the leader in their order, also those from before the connection, and all that comes goes back", async (t) => {
  const leader = await new FakeLeader(1).listen(t);
  const { relay } = relayOf(t, await new FakeLeader(0).listen(t), leader);
  const { connection, texts } = client();
  assert.equal(relay.has(connection), false);
  for (let i = 0; i < 5; i++) relay.send(connection, null, message(`early-${i}`));
  assert.equal(relay.has(connection), true);
  await until(() => texts.length === 5);
  relay.send(connection, null, message("late"));
  await until(() => texts.length === 6);
  assert.deepEqual(leader.received, [0, 1, 2, 3, 4].map((i) => `{"op":"early-${i}"}`).concat('{"op":"late"}'));
  assert.deepEqual(
    texts,
    leader.received.map((text) => `{"echo":${text}}`),
  );
  assert.deepEqual(leader.forwardedFor, ["10.1.2.3"]);
});

test("the reply to the gateway's own request is for the gateway; its refusal is for the client", async (t) => {
  const { relay } = relayOf(t, await new FakeLeader(1).listen(t));
  const { connection, texts } = client();
  const replies: unknown[] = [];
  relay.request(connection, 7, { op: "subscribe" }, (reply) => replies.push(reply?.channels));
  relay.request(connection, "mine", { op: "refuse" }, (reply) => replies.push(reply));
  relay.send(connection, null, message("last"));
  await until(() => texts.length === 2);
  assert.deepEqual(replies, [[{ channel: "orders" }], null]);
  assert.deepEqual(JSON.parse(texts[0] as string), { op: "error", id: "mine", code: "PERMISSION_DENIED" });
  assert.match(texts[1] as string, /last/);
});

test("a client is closed with its connection to the leader, with the leader's code if there is one", async (t) => {
  const leader = await new FakeLeader(1).listen(t);
  const { relay } = relayOf(t, leader);
  for (const [end, expected] of [
    [(socket: WebSocket) => socket.terminate(), [1001, "GOING_AWAY"]],
    [(socket: WebSocket) => socket.close(4401, "SESSION_CLOSED"), [4401, "SESSION_CLOSED"]],
    [(socket: WebSocket) => socket.close(), [1001, "GOING_AWAY"]],
  ] as const) {
    const { connection, texts, closed } = client();
    relay.send(connection, null, message("auth"));
    await until(() => texts.length === 1);
    end(leader.sockets.at(-1) as WebSocket);
    await until(() => closed.length > 0);
    assert.deepEqual(closed, [expected]);
    assert.equal(relay.size, 0);
  }
});

test("when another process leads, the connections to the earlier leader end, even if it hangs", async (t) => {
  const [first, second] = [await new FakeLeader(1).listen(t), await new FakeLeader(0).listen(t)];
  const { relay, upstreams } = relayOf(t, first, second);
  const { connection, texts, closed } = client();
  relay.send(connection, null, message("auth"));
  await until(() => texts.length === 1);
  second.epoch = 2;
  upstreams.noteEpoch(2);
  await until(() => closed.length > 0);
  assert.deepEqual(closed, [[1001, "GOING_AWAY"]]);
  const again = client();
  relay.send(again.connection, null, message("auth"));
  await until(() => again.texts.length === 1);
  assert.equal(second.received.length, 1);
});

test("a connection that was opened to the earlier leader is not used when another one leads by then", async (t) => {
  const [first, second] = [await new FakeLeader(1).listen(t), await new FakeLeader(0).listen(t)];
  const { relay, upstreams } = relayOf(t, first, second);
  let release = (): void => {};
  first.held = new Promise((resolve) => {
    release = resolve;
  });
  const { connection, texts, closed } = client();
  await upstreams.find(performance.now() + 1000);
  relay.send(connection, null, message("auth"));
  second.epoch = 2;
  upstreams.noteEpoch(2);
  await until(() => upstreams.epoch === 2);
  release();
  await until(() => texts.length === 1);
  assert.deepEqual([first.received.length, second.received.length, closed.length], [0, 1, 0]);
});

test("a connection that cannot be made refuses what waits for it, and the client stays", async (t) => {
  const leader = await new FakeLeader(1).listen(t);
  const { relay } = relayOf(t, leader);
  const { connection, texts, closed } = client();
  leader.refusal = "TOO_MANY_SOCKETS";
  relay.send(connection, 4, message("auth"));
  relay.send(connection, "b", message("order.place"));
  const replies: unknown[] = [];
  relay.request(connection, 5, { op: "subscribe" }, (reply) => replies.push(reply));
  await until(() => texts.length === 3);
  const refusals = texts.map((text) => JSON.parse(text) as { id: unknown; code: string; message: string });
  assert.deepEqual(
    refusals.map(({ id, code, message }) => [id, code, message]),
    [4, "b", 5].map((id) => [id, "TOO_MANY_SOCKETS", "No."]),
  );
  assert.deepEqual([closed, relay.has(connection), leader.received, replies], [[], false, [], [null]]);
  // A refusal of a process that does not lead is no answer: it is asked again.
  leader.refusal = "NOT_LEADER";
  relay.send(connection, 5, message("auth"));
  setTimeout(() => {
    leader.refusal = "";
  }, 20);
  await until(() => texts.length === 4);
  assert.match(texts[3] as string, /echo/);
});

test("a client that sends more than can wait is refused, and nothing of that message is sent", async (t) => {
  const leader = await new FakeLeader(0).listen(t);
  const { relay } = relayOf(t, leader);
  const { connection } = client();
  const large = Buffer.from(JSON.stringify({ op: "x".repeat(60_000) }));
  const send = () => relay.send(connection, null, large);
  for (let i = 0; i < 4; i++) send();
  assert.throws(send, ({ code }: ApiError) => code === "OVERLOADED");
  relay.close(connection);
  assert.equal(relay.size, 0);
});
