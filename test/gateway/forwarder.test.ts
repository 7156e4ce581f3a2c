import assert from "node:assert/strict";
import { test } from "node:test";
import { Forwarder } from "../../src/gateway/forwarder.ts";
import {
  NotSentError,
  sendUpstream,
  type UpstreamAnswer,
  type UpstreamRequest,
} from "../../src/gateway/upstream-request.ts";
import { Upstreams } from "../../src/gateway/upstreams.ts";
import { fakeCall } from "../front/support/fake-call.ts";

type Behaviour = (request: UpstreamRequest) => Promise<UpstreamAnswer>;

const answer = (status: number, body: object, headers: Record<string, string> = {}): UpstreamAnswer => ({
  ...{ status, headers, body: Buffer.from(JSON.stringify(body)) },
});
const notSent: Behaviour = () => Promise.reject(new NotSentError("refused"));
const lost: Behaviour = () => Promise.reject(new Error("reset"));
const notLeader: Behaviour = () => Promise.resolve(answer(503, { code: "NOT_LEADER" }));

/** Processes of an exchange: their epochs (0 = it does not lead), and what they do with a call. */
class Processes {
  readonly epochs: Record<string, number>;
  readonly behaviour: Record<string, Behaviour>;
  readonly calls: { url: string; request: UpstreamRequest }[] = [];
  readonly upstreams: Upstreams;
  readonly forwarder: Forwarder;

  constructor(epochs: Record<string, number>, behaviour: Record<string, Behaviour>) {
    this.epochs = epochs;
    this.behaviour = behaviour;
    const send = async (url: string, request: UpstreamRequest): Promise<UpstreamAnswer> => {
      if (request.target === "/v1/replication") {
        const epoch = this.epochs[url] ?? 0;
        if (epoch < 0) throw new NotSentError("refused");
        return answer(200, { role: epoch > 0 ? "LEADER" : "STANDBY", epoch });
      }
      this.calls.push({ url, request });
      return (this.behaviour[url] as Behaviour)(request);
    };
    this.upstreams = new Upstreams(Object.keys(epochs), send);
    this.forwarder = new Forwarder({ upstreams: this.upstreams, send, log: { error: () => {} } });
  }

  async forward(method: string, target: string, more: Parameters<typeof fakeCall>[2] = {}, origin = false) {
    const { call, response } = fakeCall(method, target, more);
    call.isForeign = origin;
    try {
      this.forwarder.forward(call);
    } catch (thrown) {
      call.fail(thrown, { error: () => {} });
    }
    while (!call.done) await new Promise((resolve) => setImmediate(resolve));
    return response;
  }
}

const A = "http://a:1";
const B = "https://b:2";

test("a call goes to the process that leads, as it came, and the answer back", async () => {
  const processes = new Processes({ [A]: 0, [B]: 3 }, { [B]: async () => answer(201, { orderId: "1" }, HEADERS) });
  const credentials = { apiKey: "key", timestamp: "1", signature: "s", recvWindow: "9" };
  const response = await processes.forward("POST", "/v1/orders?a=%20b", { ...credentials, body: '{"x": 1}' });
  const [{ url, request }] = processes.calls;
  assert.equal(url, B);
  assert.deepEqual([request.method, request.target, String(request.body)], ["POST", "/v1/orders?a=%20b", '{"x": 1}']);
  assert.deepEqual(request.headers, {
    ...{ "X-Api-Key": "key", "X-Timestamp": "1", "X-Signature": "s", "X-Recv-Window": "9" },
    ...{ "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http" },
  });
  assert.deepEqual([response.status, response.json], [201, { orderId: "1" }]);
  assert.equal(response.headers["x-request-id"], "leaders-7");
  assert.equal(response.headers["ratelimit-remaining"], "5");
  assert.equal(response.headers["set-cookie"], undefined);
});
const HEADERS = { "x-request-id": "leaders-7", "ratelimit-remaining": "5", "set-cookie": "a=b" };

test("what was not done is asked of the next leader; what may have been done is never sent again", async () => {
  for (const [method, first, calls, status, code] of [
    ["POST", notSent, 2, 200, undefined],
    ["POST", notLeader, 2, 200, undefined],
    ["GET", lost, 2, 200, undefined],
    ["POST", lost, 1, 503, "TIMEOUT"],
    ["DELETE", lost, 1, 503, "TIMEOUT"],
    ["PATCH", lost, 1, 503, "TIMEOUT"],
  ] as const) {
    const processes: Processes = new Processes(
      { [A]: 1, [B]: 0 },
      {
        [A]: (request) => {
          Object.assign(processes.epochs, { [A]: 0, [B]: 2 });
          return first(request);
        },
        [B]: async () => answer(200, {}),
      },
    );
    const response = await processes.forward(method, "/v1/orders/1");
    assert.deepEqual([processes.calls.length, response.status, response.json.code], [calls, status, code], method);
    assert.equal(processes.forwarder.inFlight, 0);
  }
});

test("when another process leads, no answer of the earlier one is waited for", async () => {
  for (const [method, status, code] of [
    ["GET", 200, undefined],
    ["POST", 503, "TIMEOUT"],
  ] as const) {
    const hang: Behaviour = ({ signal }) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
    const processes = new Processes({ [A]: 1, [B]: 0 }, { [A]: hang, [B]: async () => answer(200, {}) });
    processes.upstreams.onLeader = () => processes.forwarder.leaderChanged();
    const answered = processes.forward(method, "/v1/orders");
    while (processes.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    processes.epochs[B] = 2;
    processes.upstreams.noteEpoch(2);
    const response = await answered;
    assert.deepEqual([response.status, response.json.code], [status, code], method);
  }
});

test("an error of the leader is its answer, and is not asked of another process", async () => {
  const processes = new Processes({ [A]: 1, [B]: 0 }, { [A]: async () => answer(503, { code: "OVERLOADED" }) });
  const response = await processes.forward("POST", "/v1/orders");
  assert.deepEqual([response.status, response.json.code, processes.calls.length], [503, "OVERLOADED", 1]);
});

test("a header that cannot be sent is the client's fault: the leader is not left for it", async () => {
  const { upstreams } = new Processes({ [A]: 1 }, {});
  let sent = 0;
  const forwarder = new Forwarder({
    upstreams,
    send: (url, request) => {
      sent++;
      return sendUpstream(url, request);
    },
    log: { error: () => {} },
  });
  for (const method of ["GET", "POST"])
    for (const header of ["authorization", "apiKey", "signature", "acceptEncoding", "ifNoneMatch"])
      for (const value of ["\u2603", "a\x7f", "\u00e9"]) {
        await upstreams.find(performance.now() + 100);
        const { call, response } = fakeCall(method, "/v1/orders");
        Object.assign(call, { [header]: value });
        try {
          forwarder.forward(call);
        } catch (thrown) {
          call.fail(thrown, { error: () => {} });
        }
        while (!call.done) await new Promise((resolve) => setImmediate(resolve));
        assert.deepEqual([response.status, response.json.code, sent], [400, "BAD_REQUEST", 0], `${method} ${header}`);
        assert.deepEqual([upstreams.leader, forwarder.inFlight], [A, 0]);
      }
});

test("without a leader a call is refused, and nothing was sent", async () => {
  const processes = new Processes({ [A]: -1, [B]: 0 }, {});
  const { call, response } = fakeCall("POST", "/v1/orders");
  // It has waited nearly as long as it may.
  Object.assign(call, { arrivedAt: performance.now() - 3_950 });
  processes.forwarder.forward(call);
  while (!call.done) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([response.status, response.json.code, processes.calls.length], [503, "UNAVAILABLE", 0]);
});

test("a page of another site may read, without credentials", async () => {
  const processes = new Processes({ [A]: 1 }, { [A]: async () => answer(200, {}) });
  const codeOf = async (method: string, more = {}) => (await processes.forward(method, "/v1/x", more, true)).json.code;
  assert.equal(await codeOf("POST"), "ORIGIN_NOT_ALLOWED");
  assert.equal(await codeOf("GET", { authorization: "Bearer x" }), "ORIGIN_NOT_ALLOWED");
  assert.equal(await codeOf("GET", { apiKey: "x" }), "ORIGIN_NOT_ALLOWED");
  assert.equal(processes.calls.length, 0);
  assert.equal(await codeOf("GET"), undefined);
});

test("a leader of an earlier epoch than the stream's is no leader", async () => {
  const processes = new Processes({ [A]: 1, [B]: 0 }, {});
  const { upstreams } = processes;
  const soon = (): number => performance.now() + 10;
  let changes = 0;
  upstreams.onLeader = () => changes++;
  assert.equal(await upstreams.find(soon()), A);
  upstreams.noteEpoch(2);
  // The old one still says that it leads.
  assert.equal(await upstreams.find(soon()), null);
  processes.epochs[B] = 2;
  assert.equal(await upstreams.find(soon()), B);
  upstreams.noteEpoch(2);
  assert.equal(upstreams.leader, B);
  assert.deepEqual([changes, upstreams.epoch], [2, 2]);
});

test("a leader that nobody calls is asked whether it still leads, once at a time", async () => {
  const processes = new Processes({ [A]: 1, [B]: 0 }, {});
  const { upstreams } = processes;
  const soon = (): number => performance.now() + 10;
  await upstreams.check();
  assert.equal(upstreams.leader, null, "nothing to ask");
  assert.equal(await upstreams.find(soon()), A);
  await upstreams.check();
  assert.equal(upstreams.leader, A);
  // It does not answer, it follows, or it leads again after another one did.
  for (const epoch of [-1, 0, 2]) {
    processes.epochs[A] = epoch;
    await upstreams.check();
    assert.equal(upstreams.leader, null, `${epoch}`);
    processes.epochs[A] = 1;
    assert.equal(await upstreams.find(soon()), A);
  }
  let asked = 0;
  const leads = answer(200, { role: "LEADER", epoch: 1 });
  const slow = new Upstreams([A], async () => {
    if (asked++ > 0) await new Promise(setImmediate);
    return leads;
  });
  await slow.find(soon());
  await Promise.all([1, 2, 3].map(() => slow.check()));
  assert.deepEqual([asked, slow.leader], [2, A]);
});

test("a process that hangs does not keep the gateway from finding the leader", async () => {
  const never: Promise<UpstreamAnswer> = new Promise(() => {});
  const upstreams = new Upstreams([A, B], (url) =>
    url === A ? never : Promise.resolve(answer(200, { role: "LEADER", epoch: 4 })),
  );
  assert.equal(await upstreams.find(performance.now() + 10), B);
});
