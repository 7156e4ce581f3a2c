import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, get } from "node:http";
import { connect } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { WebSocket } from "ws";
import { ApiError } from "../../../src/front/common/errors.ts";
import type { Call } from "../../../src/front/http/call.ts";
import { Origins } from "../../../src/front/http/origins.ts";
import { listen, type Server } from "../../../src/front/http/server.ts";
import type { Socket } from "../../../src/front/http/sockets.ts";
import { until } from "../../e2e/support/wait.ts";
import { HeldTimers } from "../../held-timers.ts";
import { bodyOf, sendAndWait, sendAstray, sendInPackets, sendRaw, statusOf } from "../support/raw.ts";

const CRLF = "\r\n";
const request = (head: string[], body = ""): string => `${head.join(CRLF)}${CRLF}${CRLF}${body}`;
const CHUNKED = ["POST /a HTTP/1.1", "Host: h", "Transfer-Encoding: chunked"];
const chunk = (text: string): string => `${text.length.toString(16)}${CRLF}${text}${CRLF}`;
const LAST = `0${CRLF}${CRLF}`;

/** Three of them fit into the cork buffer. */
const PAGE = JSON.stringify("p".repeat(5000));
const DOCUMENT = Buffer.alloc(1 << 19, "d");
/** More than any kernel buffers. */
const SLOW_DOCUMENT = "s".repeat(1 << 24);
/** How long a server that closes goes on to read. */
const GOODBYE_MS = 300;

let server: Server;
/** Every request that reached the application. */
const handled: string[] = [];
const logged: string[] = [];
const sockets: Socket[] = [];

function answer(call: Call): void {
  handled.push(`${call.method} ${call.path}`);
  switch (call.path) {
    case "/throws":
      throw new Error("a bug");
    case "/silent":
      return;
    case "/late":
      setTimeout(() => call.reply(200, "{}"), 20);
      return;
    case "/twice":
      call.reply(200, '{"first":true}');
      call.reply(200, '{"second":true}');
      return;
    case "/too-often":
      throw new ApiError("RATE_LIMITED", { details: { retryAfterMs: 1 } });
    case "/page":
      call.reply(200, PAGE);
      return;
    case "/slowly":
      call.reply(200, SLOW_DOCUMENT);
      return;
    case "/document":
      call.reply(200, DOCUMENT);
      return;
    default:
      call.reply(200, JSON.stringify({ body: call.body, query: call.query, from: call.remoteAddress() }));
  }
}

before(async () => {
  server = await listen({
    host: "127.0.0.1",
    port: 0,
    socketPath: "/ws",
    onCall: answer,
    sockets: {
      admit: () => {},
      open: (socket) => void sockets.push(socket),
      message: (socket, bytes) => {
        const text = String(Buffer.from(bytes));
        if (text === "throw") throw new Error("a bug");
        if (text === "subscribe") socket.subscribe("news");
        socket.send(`echo ${text}`);
      },
      control: () => {},
      drain: () => {},
      close: () => {},
    },
    log: { error: (_fields, message) => void logged.push(message) },
    origins: new Origins(["https://app.example.com"]),
  });
});
beforeEach(() => {
  handled.length = 0;
  logged.length = 0;
});
after(() => server.close());

test("a request is copied completely, and each answer has its own id", async () => {
  const first = await sendRaw(
    server.port,
    request(["POST /a?b=1&c=%20 HTTP/1.1", "Host: h", "Content-Length: 8"], "h\xc3\xa9llo\xc2\xa0"),
  );
  assert.deepEqual(bodyOf(first), { body: "h\u00e9llo\u00a0", query: "b=1&c=%20", from: "127.0.0.1" });
  const second = await sendRaw(server.port, request(["GET /a HTTP/1.1", "Host: h"]));
  const idOf = (text: string) => /X-Request-Id: (\S+)/.exec(text)?.[1];
  assert.match(idOf(first.text) ?? "", /^[0-9a-z-]{4,40}$/);
  assert.notEqual(idOf(first.text), idOf(second.text));
});

test("a body that arrives in pieces is assembled", async () => {
  const body = `{"text":"${"x".repeat(60_000)}"}`;
  const text = request(["POST /a HTTP/1.1", "Host: h", `Content-Length: ${body.length}`], body);
  const raw = await sendRaw(server.port, text.slice(0, 100), text.slice(100, 40_000), text.slice(40_000));
  assert.equal(bodyOf(raw)?.body, body);
});

test("a client that waits for 100 Continue gets it, and then its answer", async () => {
  const go = `HTTP/1.1 100 Continue${CRLF}${CRLF}`;
  const framings: [header: string, body: string][] = [
    ["Content-Length: 2", "{}"],
    ["Transfer-Encoding: chunked", chunk("{}") + LAST],
  ];
  for (const [asked, [header, body]] of framings.flatMap((framing) => [
    ["100-continue", framing] as const,
    ["100-Continue", framing] as const,
  ])) {
    const socket = connect(server.port, "127.0.0.1");
    let text = "";
    socket.on("data", (bytes) => (text += String(bytes)));
    socket.write(request(["POST /a HTTP/1.1", "Host: h", `Expect: ${asked}`, header]));
    await until("100 Continue", () => text.length >= go.length);
    assert.equal(text, go);
    assert.deepEqual(handled, []);
    socket.write(body);
    await until("the answer", () => handled.length > 0 && text.endsWith("}"));
    const answer = { text: text.slice(go.length), closed: false };
    assert.deepEqual([statusOf(answer), bodyOf(answer)?.body], [200, "{}"]);
    assert.match(answer.text, /^HTTP\/1\.1 200 OK\r\nContent-Type: application\/json\r\n/);
    socket.destroy();
    handled.length = 0;
  }
});

test("bytes above 0x7f at the ends of a header's value are trimmed, as docs/operating/limits.md says", async () => {
  for (const length of ["2\xa0", "\xa02", "2\x85\xff"]) {
    const raw = await sendRaw(server.port, request(["POST /a HTTP/1.1", "Host: h", `Content-Length: ${length}`], "{}"));
    assert.equal(bodyOf(raw)?.body, "{}");
  }
  const within = request(["POST /a HTTP/1.1", "Host: h", "Content-Length: 2\xa00"], "{}");
  assert.equal(statusOf(await sendAndWait(server.port, within)), 400);
});

/** Requests that other HTTP parsers read differently: neither they nor a request hidden after them may reach the application. */
const HOSTILE: [name: string, bytes: string][] = [
  ["a chunked GET", request(["GET /a HTTP/1.1", "Host: h", "Transfer-Encoding: chunked"], "0\r\n\r\n")],
  ["another encoding", request(["POST /a HTTP/1.1", "Host: h", "Transfer-Encoding: gzip, chunked"], "0\r\n\r\n")],
  ["chunked in capitals", request(["POST /a HTTP/1.1", "Host: h", "Transfer-Encoding: Chunked"], "0\r\n\r\n")],
  [
    "chunked twice",
    request(["POST /a HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], "0\r\n\r\n"),
  ],
  [
    "chunked behind an empty encoding",
    request(["POST /a HTTP/1.1", "Host: h", "Transfer-Encoding:", "Transfer-Encoding: chunked"]),
  ],
  [
    "chunked with an empty Content-Length",
    request(["POST /a HTTP/1.1", "Host: h", "Content-Length:", "Transfer-Encoding: chunked"], "0\r\n\r\n"),
  ],
  [
    "Transfer-Encoding in disguise",
    request(["POST /a HTTP/1.1", "Host: h", "Transfer-Encoding: xchunked"], "0\r\n\r\n"),
  ],
  [
    "differing Content-Length",
    request(["POST /a HTTP/1.1", "Host: h", "Content-Length: 2", "Content-Length: 3"], "abc"),
  ],
  ["equal Content-Length", request(["POST /a HTTP/1.1", "Host: h", "Content-Length: 2", "Content-Length: 2"], "ab")],
  ["an empty Content-Length", request(["POST /a HTTP/1.1", "Host: h", "Content-Length: "])],
  ["two Authorizations", request(["GET /a HTTP/1.1", "Host: h", "Authorization: a", "Authorization: b"])],
  [
    "two Authorizations, the first empty",
    request(["GET /a HTTP/1.1", "Host: h", "Authorization:", "Authorization: b"]),
  ],
  ["two API keys, the first empty", request(["GET /a HTTP/1.1", "Host: h", "X-Api-Key:", "X-Api-Key: b"])],
  ["two signatures", request(["GET /a HTTP/1.1", "Host: h", "X-Signature: a", "X-Signature: b"])],
  ["an unknown method", request(["BREW /a HTTP/1.1", "Host: h"])],
  ["a method in lower case", request(["get /a HTTP/1.1", "Host: h"])],
  ["bytes beyond ASCII in the path", request(["GET /\xe9 HTTP/1.1", "Host: h"])],
  ["bytes beyond ASCII in the query", request(["GET /a?\xe9=1 HTTP/1.1", "Host: h"])],
  ["a fragment", request(["GET /a#b HTTP/1.1", "Host: h"])],
  [
    "the same at the WebSocket's door",
    request(["GET /ws HTTP/1.1", "Host: h", ...upgradeHeaders(), "X-Signature: a", "X-Signature: b"]),
  ],
];
for (const [name, bytes] of HOSTILE) {
  test(`refused and closed: ${name}`, async () => {
    const raw = await sendAndWait(server.port, bytes);
    assert.equal(statusOf(raw), 400);
    assert.equal(bodyOf(raw)?.code, "BAD_REQUEST");
    assert.equal(raw.closed, true);
    assert.deepEqual(handled, []);
  });
  test(`a request hidden behind it does not run: ${name}`, async () => {
    const raw = await sendAndWait(server.port, bytes + request(["GET /hidden HTTP/1.1", "Host: h"]));
    assert.equal(raw.closed, true);
    assert.deepEqual(handled, []);
  });
}

test("a chunked body is the same wherever its bytes are split, and its connection ends", async () => {
  const text = request(CHUNKED, chunk('{"a":"') + chunk("x".repeat(20)) + chunk('"}') + LAST);
  const headBytes = text.indexOf(CRLF) + CRLF.length;
  const positions = Array.from({ length: text.length - headBytes }, (_, i) => headBytes + i);
  const answers = await Promise.all([
    ...positions.map((at) => sendInPackets(server.port, [text.slice(0, at), text.slice(at)])),
    sendInPackets(server.port, [text.slice(0, headBytes), ...text.slice(headBytes)]),
    sendInPackets(server.port, [text.replace(LAST, `000${CRLF}${CRLF}`).replace("14\r", "0014\r")]),
  ]);
  for (const [i, raw] of answers.entries()) {
    assert.deepEqual(
      [statusOf(raw), bodyOf(raw)?.body],
      [200, `{"a":"${"x".repeat(20)}"}`],
      `split at ${positions[i]}`,
    );
    assert.match(raw.text, /\r\nConnection: close\r\n/);
  }
  assert.equal(handled.length, answers.length);
  const empty = await sendAndWait(server.port, request(CHUNKED, LAST));
  assert.deepEqual([statusOf(empty), bodyOf(empty)?.body], [200, ""]);
});

test("clients that send chunked bodies get their answers, long ones, too", async () => {
  const body = new ReadableStream({
    start(controller) {
      for (const piece of ["{", '"text":"', "y".repeat(60_000), '"}']) controller.enqueue(Buffer.from(piece));
      controller.close();
    },
  });
  const options = { method: "POST", body, duplex: "half" };
  const answer = await fetch(`http://127.0.0.1:${server.port}/a`, options as RequestInit);
  assert.equal(((await answer.json()) as { body: string }).body.length, 60_011);
  for (const [path, bytes] of [["/page", PAGE.length] as const, ["/document", DOCUMENT.length] as const]) {
    const raw = await sendAndWait(server.port, request(CHUNKED, LAST).replace("/a", path));
    assert.equal(raw.text.length - raw.text.indexOf(CRLF + CRLF) - 4, bytes);
  }
});

test("a chunked body has the limits of any other", async () => {
  const whole = chunk("z".repeat(1 << 15));
  const full = await sendAndWait(server.port, request(CHUNKED, whole + whole + LAST));
  assert.equal((bodyOf(full)?.body as string | undefined)?.length, 1 << 16);
  handled.length = 0;
  for (const body of [whole + whole + chunk("z") + LAST, whole.repeat(3)]) {
    const raw = await sendAndWait(server.port, request(CHUNKED, body));
    assert.deepEqual([statusOf(raw), bodyOf(raw)?.code, raw.closed], [413, "BODY_TOO_LARGE", true]);
  }
  const pieces = await sendAndWait(server.port, request(CHUNKED, chunk("z").repeat(1025) + LAST));
  assert.deepEqual([statusOf(pieces), bodyOf(pieces)?.code], [400, "BAD_REQUEST"]);
  const text = await sendAndWait(server.port, request(CHUNKED, chunk("\xff\xfe") + LAST));
  assert.equal(bodyOf(text)?.code, "BAD_ENCODING");
  assert.deepEqual(handled, []);
});

/** A parser that is not strict takes them for other bodies than a strict one, or sees the next request at another place. */
const HOSTILE_CHUNKS: [name: string, body: string][] = [
  ["an extension", "5;a=b\r\nhello\r\n0\r\n\r\n"],
  ["an extension behind a space", "5 ;a\r\nhello\r\n0\r\n\r\n"],
  ["an extension of the last chunk", "5\r\nhello\r\n0;a=b\r\n\r\n"],
  ["trailers", "5\r\nhello\r\n0\r\nX-A: b\r\n\r\n"],
  ["a trailer like a request", "5\r\nhello\r\n0\r\nxxGET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"],
  ["a trailer of one letter like a request", "5\r\nhello\r\n0\r\na: /hidden HTTP/1.1\r\nHost: h\r\n\r\n"],
  ["a space before the size", " 5\r\nhello\r\n0\r\n\r\n"],
  ["a sign", "+5\r\nhello\r\n0\r\n\r\n"],
  ["0x", "0x5\r\nhello\r\n0\r\n\r\n"],
  ["no size", "\r\nhello\r\n0\r\n\r\n"],
  ["a size beyond hex", "g\r\nhello\r\n0\r\n\r\n"],
  ["a size of 64 bits", "ffffffffffffffff\r\nhello\r\n0\r\n\r\n"],
  ["a size that overflows to 0", "FFFFFF@0\r\n\r\n"],
  ["a bare LF behind the size", "5\nhello\r\n0\r\n\r\n"],
  ["a bare CR behind the size", "5\rhello\r\n0\r\n\r\n"],
  ["other bytes behind a chunk", "5\r\nhelloxx0\r\n\r\n"],
  ["a chunk longer than its size", "4\r\nhello\r\n0\r\n\r\n"],
  ["a chunk shorter than its size", "6\r\nhello\r\n0\r\n\r\n"],
  ["other bytes behind the last chunk", "5\r\nhello\r\n0\r\nxx"],
  ["a NUL in the size", "5\0\r\nhello\r\n0\r\n\r\n"],
  ["nothing wrong", "5\r\nhello\r\n0\r\n\r\n"],
];

test("nothing behind a chunked body runs, whether the body is strict or not", async () => {
  const hidden = request(["GET /hidden HTTP/1.1", "Host: h"]);
  await Promise.all(
    HOSTILE_CHUNKS.flatMap(([, body]) => [
      sendAstray(server.port, request(CHUNKED, body) + hidden),
      sendAstray(server.port, request(CHUNKED, body), hidden, hidden),
      ...Array.from(body, (_, at) =>
        sendInPackets(server.port, [request(CHUNKED, body.slice(0, at)), body.slice(at), hidden, hidden], 250),
      ),
    ]),
  );
  assert.deepEqual(
    handled.filter((each) => each !== "POST /a"),
    [],
  );
});

test("a refused HEAD request ends its connection, too: later requests do not run", async () => {
  const faults = [
    ["Content-Length: 0", "Content-Length: 5"],
    ["Transfer-Encoding: chunked"],
    ["Content-Length: 65537"],
  ];
  for (const fault of faults) {
    const raw = await sendAndWait(server.port, request(["HEAD /a HTTP/1.1", "Host: h", ...fault]));
    assert.match(raw.text, /^HTTP\/1\.1 4\d\d .*\r\nConnection: close\r\n.*\r\n\r\n$/s, fault.join());
    assert.equal(raw.closed, true);
  }
  assert.deepEqual(handled, []);
});

/** Refused by uWebSockets.js itself, with its own page. Only its builds for Node 22 and 24 refuse two Hosts. */
const REFUSED_BELOW: [name: string, status: number, bytes: string][] = [
  ["no Host", 400, request(["GET /a HTTP/1.1", "Accept: */*"])],
  ["a sign in Content-Length", 400, request(["POST /a HTTP/1.1", "Host: h", "Content-Length: +2"], "ab")],
  ["a list as Content-Length", 400, request(["POST /a HTTP/1.1", "Host: h", "Content-Length: 2, 2"], "ab")],
  [
    "both framings",
    400,
    request(["POST /a HTTP/1.1", "Host: h", "Content-Length: 4", "Transfer-Encoding: chunked"], "0\r\n\r\nG"),
  ],
  ["two Hosts", 400, request(["GET /a HTTP/1.1", "Host: h", "Host: h"])],
  ["two Hosts at the WebSocket's door", 400, request(["GET /ws HTTP/1.1", "Host: h", "Host: h", ...upgradeHeaders()])],
  ["bare LF", 505, "GET /a HTTP/1.1\nHost: h\n\n"],
  ["HTTP/1.0", 505, request(["GET /a HTTP/1.0", "Host: h"])],
  ["a whole URL as the target", 505, request(["GET http://h/a HTTP/1.1", "Host: h"])],
];
for (const [name, status, bytes] of REFUSED_BELOW) {
  test(`refused below the application: ${name}`, async () => {
    const raw = await sendAndWait(server.port, bytes);
    assert.deepEqual([statusOf(raw), raw.closed, handled], [status, true, []]);
  });
}

test("a first line in two packets is refused below the application; builds for Node 22 and 24 assemble it", async () => {
  const text = request(["GET /a HTTP/1.1", "Host: h", "Connection: close"]);
  const socket = connect(server.port, "127.0.0.1");
  socket.write(text.slice(0, 8));
  const closed = once(socket, "close");
  let answer = "";
  socket.on("data", (bytes) => (answer += bytes));
  // The connection may be closed by then.
  socket.on("error", () => {});
  // It must arrive before the answer to a later request.
  await sendRaw(server.port, request(["GET /b HTTP/1.1", "Host: h"]));
  socket.write(text.slice(8));
  await closed;
  const isPutTogether = answer.startsWith("HTTP/1.1 200");
  assert.deepEqual(handled, isPutTogether ? ["GET /b", "GET /a"] : ["GET /b"]);
  if (!isPutTogether) assert.match(answer, /^(HTTP\/1\.1 505 |$)/);
});

/** uWebSockets.js waits for more and closes after about 10 s. Nothing runs until then. */
const STUCK: [name: string, bytes: string][] = [
  ["no header at all", request(["GET /a HTTP/1.1"])],
  ["a folded header", request(["GET /a HTTP/1.1", "Host: h", "X: a", " b"])],
  ["a folded header that looks like one", request(["GET /a HTTP/1.1", "Host: h", "X: a", " Y: b"])],
  ["NUL in a header", request(["GET /a HTTP/1.1", "Host: h", "X: a\0b"])],
  ["a space before the colon", request(["POST /a HTTP/1.1", "Host: h", "Content-Length : 2"], "ab")],
  ["a bare CR", request(["GET /a HTTP/1.1", "Host: h", "X: a\rY: b"])],
  ["a bare LF between headers", "GET /a HTTP/1.1\r\nHost: h\nX: a\r\n\r\n"],
  ["120 headers", request(["GET /a HTTP/1.1", "Host: h", ...Array.from({ length: 120 }, (_, i) => `X${i}: y`)])],
];
for (const [name, bytes] of STUCK) {
  test(`never handled: ${name}`, async () => {
    const raw = await sendAstray(server.port, bytes, request(["GET /hidden HTTP/1.1", "Host: h"]));
    assert.notEqual(Math.floor(statusOf(raw) / 100), 2);
    assert.deepEqual(handled, []);
  });
}

test("the server lives after all of this", async () => {
  const raw = await sendRaw(server.port, request(["GET /a HTTP/1.1", "Host: h"]));
  assert.equal(statusOf(raw), 200);
});

test("a body over the limit is refused by its announced length, sent or not", async () => {
  const announced = await sendAndWait(
    server.port,
    request(["POST /a HTTP/1.1", "Host: h", "Content-Length: 10000000"]),
  );
  assert.deepEqual([statusOf(announced), bodyOf(announced)?.code, announced.closed], [413, "BODY_TOO_LARGE", true]);
  const sent = await fetch(`http://127.0.0.1:${server.port}/a`, { method: "POST", body: "x".repeat(200_000) });
  assert.equal(sent.status, 413);
  assert.deepEqual(handled, []);
});

test("bad UTF-8 in a body is refused", async () => {
  for (const bytes of ["\xff\xfe", "\xc0\xaf", "\xed\xa0\x80"]) {
    const raw = await sendRaw(
      server.port,
      request(["POST /a HTTP/1.1", "Host: h", `Content-Length: ${bytes.length}`], bytes),
    );
    assert.equal(bodyOf(raw)?.code, "BAD_ENCODING");
  }
  assert.deepEqual(handled, []);
});

test("an error thrown by a handler gives a 500 with a request id and a line in the log", async () => {
  const raw = await sendRaw(server.port, request(["GET /throws HTTP/1.1", "Host: h"]));
  assert.equal(statusOf(raw), 500);
  assert.equal(bodyOf(raw)?.code, "INTERNAL");
  assert.equal(typeof bodyOf(raw)?.requestId, "string");
  assert.deepEqual(logged, ["a request failed"]);
  assert.doesNotMatch(raw.text, /a bug/);
});

test("a refusal by a rate limit comes late, so that repeating the request at once is of no use", async () => {
  const sentAt = performance.now();
  const refused = [1, 2].map(() => sendRaw(server.port, request(["GET /too-often HTTP/1.1", "Host: h"])));
  // A client that gives up does no harm.
  const gone = connect(server.port, "127.0.0.1").on("error", () => {});
  gone.write(request(["GET /too-often HTTP/1.1", "Host: h"]));
  await until("all three wait", () => handled.length === 3);
  gone.destroy();
  for (const each of await Promise.all(refused)) {
    assert.equal(statusOf(each), 429);
    assert.match(each.text, /Retry-After: 1/);
  }
  // A busy machine makes it later, never earlier.
  assert.ok(performance.now() - sentAt > 95);
});

test("the second answer to a call is dropped", async () => {
  const raw = await sendRaw(server.port, request(["GET /twice HTTP/1.1", "Host: h"]));
  assert.deepEqual(bodyOf(raw), { first: true });
  assert.equal(raw.text.match(/HTTP\/1\.1/g)?.length, 1);
});

test("HEAD has the headers of GET and no body", async () => {
  const raw = await sendRaw(
    server.port,
    request(["HEAD /a HTTP/1.1", "Host: h"]),
    request(["GET /a HTTP/1.1", "Host: h"]),
  );
  const [head, get] = raw.text.split("HTTP/1.1 200 OK").slice(1);
  const lengthOf = (text = "") => /content-length: (\d+)/i.exec(text)?.[1];
  assert.equal(lengthOf(head), lengthOf(get));
  assert.match(head ?? "", /\r\n\r\n$/);
});

test("a client that asks to close the connection gets one Connection: close", async () => {
  for (const [target, status] of [
    ["GET /a", 200],
    ["GET /late", 200],
    ["GET /document", 200],
    ["HEAD /a", 200],
    ["TRACE /a", 400],
  ] as const) {
    const raw = await sendAndWait(server.port, request([`${target} HTTP/1.1`, "Host: h", "Connection: Close"]));
    assert.deepEqual([statusOf(raw), raw.closed], [status, true], target);
    const head = raw.text.slice(0, raw.text.indexOf(CRLF + CRLF));
    assert.deepEqual(head.match(/^connection:.*/gim), ["Connection: close"], target);
  }
  const kept = await sendRaw(server.port, request(["GET /a HTTP/1.1", "Host: h", "Connection: keep-alive"]));
  assert.equal(kept.closed, false);
  assert.doesNotMatch(kept.text, /^connection:/im);
});

test("a client that disconnects before its answer does no harm", async () => {
  const late = request(["GET /late HTTP/1.1", "Host: h"]);
  const raw = sendAndWait(server.port, late, request(["GET /a HTTP/1.1", "Host: h"]));
  // Two requests on one connection, the first without an answer: uWebSockets.js closes it.
  assert.deepEqual(await raw, { text: "", closed: true });
  const next = await sendRaw(server.port, request(["GET /a HTTP/1.1", "Host: h"]));
  assert.equal(statusOf(next), 200);
});

/** Sends requests in packets. Reads nothing before `untilBytes` were sent or the server has closed. */
async function askWithoutReading(path: string, perPacket: number, untilBytes: number): Promise<string> {
  const socket = connect(server.port, "127.0.0.1").pause();
  const packet = request([`GET ${path} HTTP/1.1`, "Host: h"]).repeat(perPacket);
  let open = true;
  socket.on("error", () => {});
  socket.on("close", () => (open = false));
  for (let sent = 0; open && sent < untilBytes; sent += packet.length) {
    socket.write(packet);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  let text = "";
  socket.on("data", (bytes) => (text += bytes.toString("latin1")));
  const ended = new Promise((resolve) => socket.once("close", resolve));
  if (open) socket.resume();
  const silent = new Promise((resolve) => setTimeout(resolve, 1000));
  if (open) await Promise.race([ended, silent]);
  socket.destroy();
  return text;
}

test("a client that sends requests and reads nothing is disconnected, and costs the memory of one answer", async () => {
  for (const perPacket of [1, 4, 5, 200]) {
    await askWithoutReading("/page", perPacket, 1 << 17);
    assert.equal(statusOf(await sendRaw(server.port, request(["GET /a HTTP/1.1", "Host: h"]))), 200);
  }
  const before = process.memoryUsage().rss;
  const text = await askWithoutReading("/document", 1000, 1);
  assert.ok(process.memoryUsage().rss - before < 100 << 20, "half a gigabyte of answers");
  assert.ok(text.length < 16 << 20);
});

test("immediate answers are complete: to requests in one packet, in order, and on many connections", async () => {
  const perPacket = 100;
  const packet = request(["GET /page HTTP/1.1", "Host: h"]).repeat(perPacket);
  const socket = connect(server.port, "127.0.0.1");
  const answers: string[] = [];
  let text = "";
  const closed = once(socket, "close");
  socket.on("data", (bytes) => {
    text += bytes.toString("latin1");
    for (let end = text.indexOf(PAGE); end >= 0; end = text.indexOf(PAGE)) {
      answers.push(text.slice(0, end));
      text = text.slice(end + PAGE.length);
      // Twice, because a client that reads may send the next request before it has the whole answer.
      if (answers.length === perPacket / 2) socket.write(packet);
      if (answers.length === 2 * perPacket) socket.end();
    }
  });
  socket.write(packet);
  await closed;
  assert.equal(text, "");
  assert.equal(answers.length, 2 * perPacket);
  const ids = answers.map((head) => {
    const found = /^HTTP\/1\.1 200 OK\r\n(?:[A-Za-z-]+: [^\r\n]+\r\n)+\r\n$/.test(head);
    assert.ok(found, head);
    return Number.parseInt(/X-Request-Id: \w+-(\w+)/.exec(head)?.[1] ?? "", 36);
  });
  assert.deepEqual(
    ids,
    ids.map((_, i) => (ids[0] as number) + i),
  );

  const ask = async (): Promise<string> => (await fetch(`http://127.0.0.1:${server.port}/page`)).text();
  const pages = await Promise.all(Array.from({ length: 100 }, ask));
  assert.ok(pages.every((page) => page === PAGE));
});

test("a body that a client reads slowly arrives completely", async () => {
  const socket = connect(server.port, "127.0.0.1").pause();
  socket.write(request(["GET /slowly HTTP/1.1", "Host: h", "Connection: close"]));
  let bytes = 0;
  const ended = new Promise((resolve) => socket.once("end", resolve));
  socket.on("data", (piece) => (bytes += piece.length));
  socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.resume();
  await ended;
  assert.ok(bytes > SLOW_DOCUMENT.length && bytes < SLOW_DOCUMENT.length + 1000, `${bytes} bytes`);
});

test("setting the machine's clock ahead ends no call", async (t) => {
  t.mock.timers.enable({ apis: ["Date", "setInterval"] });
  const calls: Call[] = [];
  const log = { error: assert.fail };
  const sockets = { admit() {}, open() {}, message() {}, control() {}, drain() {}, close() {} };
  const onCall = (call: Call): void => void calls.push(call);
  const other = await listen({ host: "127.0.0.1", port: 0, socketPath: "/ws", onCall, sockets, log });
  t.after(() => other.close());
  const answered = fetch(`http://127.0.0.1:${other.port}/`);
  const call = await until("the call", () => calls.at(0));
  t.mock.timers.setTime(3_600_000);
  t.mock.timers.tick(1000);
  call.reply(200, "{}");
  assert.equal((await answered).status, 200);
});

test("a call without an answer gets 503, and 408 while its body is on the way", async () => {
  const silent = fetch(`http://127.0.0.1:${server.port}/silent`);
  const stalled = sendAndWait(server.port, request(["POST /a HTTP/1.1", "Host: h", "Content-Length: 10"], "half"));
  const endless = sendAndWait(server.port, request(CHUNKED, `5;a=b${CRLF}half`));
  const answered = await silent;
  assert.equal(answered.status, 503);
  assert.equal(answered.headers.get("retry-after"), "1");
  assert.equal(((await answered.json()) as { code: string }).code, "TIMEOUT");
  for (const late of [await stalled, await endless])
    assert.deepEqual([statusOf(late), bodyOf(late)?.code, late.closed], [408, "REQUEST_TIMEOUT", true]);
});

function upgradeHeaders(): string[] {
  return [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
}

const connectSocket = (): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`);
    socket.once("open", () => resolve(socket));
    socket.once("error", reject);
  });
const nextMessage = (socket: WebSocket): Promise<string> =>
  new Promise((resolve) => socket.once("message", (data) => resolve(String(data))));
const closed = (socket: WebSocket): Promise<[number, string]> =>
  new Promise((resolve) => socket.once("close", (code, reason) => resolve([code, String(reason)])));

test("WebSocket: messages, topics, and a close frame for each fault", async () => {
  const socket = await connectSocket();
  const echoed = nextMessage(socket);
  socket.send("subscribe");
  assert.equal(await echoed, "echo subscribe");
  for (const text of ["hello", "h\u00e9llo", "hello \u2028\u{1f44b}"]) {
    const news = nextMessage(socket);
    server.publish("news", text);
    assert.equal(await news, text);
    const echo = nextMessage(socket);
    socket.send(text);
    assert.equal(await echo, `echo ${text}`);
  }
  const binary = closed(socket);
  socket.send(Buffer.from([1, 2]));
  assert.deepEqual(await binary, [1003, "TEXT_ONLY"]);

  const failing = await connectSocket();
  failing.send("throw");
  assert.deepEqual(await closed(failing), [1011, "INTERNAL"]);
  assert.deepEqual(logged, ["a WebSocket handler failed"]);

  const large = await connectSocket();
  large.send("x".repeat(70_000));
  assert.equal((await closed(large))[0], 1006);

  const gone = sockets.find((each) => each.closed);
  gone?.send("nobody hears this");
  gone?.close(1000, "");
  assert.equal(gone?.bufferedAmount, 0);
});

test("pages of allowed sites get answers that their browser lets them read; those of other sites are refused", async () => {
  const send = async (method: string, ...headers: string[]) => {
    handled.length = 0;
    const { text } = await sendRaw(
      server.port,
      request([`${method} /a HTTP/1.1`, "Host: h", "Connection: close", ...headers]),
    );
    const cors = [...text.matchAll(/^(?:Access-Control-)(\S+): (.*)\r$/gm)].map(([, name, value]) => [name, value]);
    return { status: statusOf({ text, closed: false }), handled: handled.length, text, cors: Object.fromEntries(cors) };
  };
  const program = await send("GET");
  assert.deepEqual([program.status, program.cors], [200, {}]);
  const page = await send("GET", "Origin: https://app.example.com");
  assert.deepEqual([page.status, page.cors["Allow-Origin"]], [200, "https://app.example.com"]);
  assert.match(page.text, /^Vary: Origin\r$/m);
  assert.match(page.cors["Expose-Headers"] ?? "", /X-Request-Id/);
  assert.equal(page.cors["Allow-Headers"], undefined);
  const preflight = await send("OPTIONS", "Origin: https://app.example.com", "Access-Control-Request-Method: DELETE");
  assert.match(preflight.cors["Allow-Methods"] ?? "", /DELETE/);
  assert.match(preflight.cors["Allow-Headers"] ?? "", /Authorization.*X-Signature/);
  for (const others of [
    ["Origin: https://evil.example"],
    ["Origin: null"],
    ["Origin: http://app.example.com"],
    ["Origin: https://app.example.com.evil.example"],
    ["Origin: https://app.example.com", "Origin: https://evil.example"],
    ["Origin: https://evil.example", "Origin: https://app.example.com"],
  ])
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const refused = await send(method, ...others);
      assert.deepEqual([refused.status, refused.handled, refused.cors], [403, 0, {}], String(others));
      assert.match(refused.text, /"ORIGIN_NOT_ALLOWED"/);
    }
});

test("a WebSocket opens for pages of allowed sites and for programs, and for no others", async () => {
  const upgrade = (...headers: string[]) =>
    sendAstray(
      server.port,
      request([
        ...["GET /ws HTTP/1.1", "Host: h", "Upgrade: websocket", "Connection: Upgrade"],
        ...["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", ...headers],
      ]),
    );
  assert.equal(statusOf(await upgrade()), 101);
  assert.equal(statusOf(await upgrade("Origin: https://app.example.com")), 101);
  const refused = await upgrade("Origin: https://evil.example");
  assert.deepEqual([statusOf(refused), bodyOf(refused)?.code], [403, "ORIGIN_NOT_ALLOWED"]);
});

test("a client that goes on while the server closes is told so, and its connection is not reset", async (t) => {
  const goodbye = new HeldTimers(t, GOODBYE_MS);
  const sockets = { admit() {}, open() {}, message() {}, control() {}, drain() {}, close() {} };
  const onCall = (call: Call): void => call.reply(200, "{}");
  const other = await listen({ host: "127.0.0.1", port: 0, socketPath: "/ws", onCall, sockets, log: { error() {} } });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (): Promise<[status: number | undefined, connection: string | undefined, isReused: boolean]> =>
    new Promise((resolve, reject) => {
      const outgoing = get({ host: "127.0.0.1", port: other.port, agent }, (incoming) => {
        const { statusCode, headers } = incoming;
        incoming.resume().once("end", () => resolve([statusCode, headers.connection, outgoing.reusedSocket]));
      });
      outgoing.once("error", reject);
    });
  assert.deepEqual(await ask(), [200, undefined, false]);
  const closing = other.close();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(await ask(), [503, "close", true]);
  assert.equal(goodbye.count, 1);
  goodbye.pass();
  await closing;
});

test("close() answers waiting calls, then closes every connection", async () => {
  const socket = await connectSocket();
  const goodbye = closed(socket);
  const late = fetch(`http://127.0.0.1:${server.port}/late`);
  // The request must arrive before close().
  while (!handled.includes("GET /late")) await new Promise((resolve) => setTimeout(resolve, 1));
  await server.close();
  assert.equal((await late).status, 200);
  assert.deepEqual(await goodbye, [1001, "GOING_AWAY"]);
  await assert.rejects(fetch(`http://127.0.0.1:${server.port}/a`));
});
