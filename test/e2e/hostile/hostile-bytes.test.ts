import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ERRORS } from "../../../src/wire/error-codes.ts";
import { type RawAnswer, sendAstray, sendInPackets, sendRaw } from "../../front/support/raw.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { leavesUntouched, openTarget, type Target } from "../support/untouched.ts";

let server: TestServer;
let target: Target;
let chunkedOrder: string;

before(async () => {
  server = await startServer();
  target = await openTarget(server);
  chunkedOrder = request("Host: x", "Transfer-Encoding: chunked").replace(
    ORDER,
    `${ORDER.length.toString(16)}\r\n${ORDER}\r\n0\r\n\r\n`,
  );
});

after(() => server.dispose());

const ORDER = JSON.stringify({ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.01" });
const LENGTH = `Content-Length: ${ORDER.length}`;

/** An order of alice's that would be taken, if only the lines between were right. */
function request(...lines: string[]): string {
  return ["POST /v1/orders HTTP/1.1", ...lines, `Authorization: Bearer ${target.alice.token}`, "", ORDER].join("\r\n");
}

/**
 * Allowed: silence, a closed connection or a 4xx; never an executed request. 505 comes from uWebSockets.js for a line
 * that does not end in HTTP/1.1, such as the rest of a body with a wrong length.
 */
function checkRefused(what: string, answer: RawAnswer): void {
  for (const [, status] of answer.text.matchAll(/HTTP\/1\.1 (\d+)/g))
    assert.match(status ?? "", /^(4\d\d|505)$/, `${what}: ${answer.text}`);
  for (const [, code] of answer.text.matchAll(/"code":"([^"]*)"/g))
    assert.ok(Object.hasOwn(ERRORS, code ?? ""), `${what}: ${code}`);
}

test("the unchanged template request places an order", async () => {
  const answer = await sendRaw(server.port, request("Host: x", LENGTH));
  assert.match(answer.text, /^HTTP\/1\.1 201 /);
  const { data } = await target.alice.openOrders("?limit=1");
  await target.alice.cancel(data[0]?.orderId ?? "");
});

test("malformed requests are refused and not executed", () =>
  leavesUntouched(target, async () => {
    const hostile: Record<string, string> = {
      "Content-Length twice": request("Host: x", LENGTH, LENGTH),
      "two lengths": request("Host: x", LENGTH, "Content-Length: 5"),
      "two lengths, smaller first": request("Host: x", "Content-Length: 5", LENGTH),
      "a list of lengths": request("Host: x", `${LENGTH}, ${ORDER.length}`),
      "length with a sign": request("Host: x", LENGTH.replace(": ", ": +")),
      "negative length": request("Host: x", "Content-Length: -1"),
      "length in hex": request("Host: x", `Content-Length: 0x${ORDER.length.toString(16)}`),
      "length with a fraction": request("Host: x", `${LENGTH}.0`),
      "huge length": request("Host: x", "Content-Length: 99999999999999999999"),
      "no length": request("Host: x"),
      "chunked, without an end": chunkedOrder.slice(0, -5),
      "chunked, with an extension": chunkedOrder.replace("\r\n{", ";a=b\r\n{"),
      "chunked, with a trailer": chunkedOrder.replace(/\r\n$/, "X-A: b\r\n\r\n"),
      "chunked, with a request behind it": chunkedOrder + chunkedOrder,
      "chunked in capitals": chunkedOrder.replace(": chunked", ": CHUNKED"),
      "chunked twice": chunkedOrder.replace(": chunked", ": chunked\r\nTransfer-Encoding: chunked"),
      "chunked and length": request("Host: x", LENGTH, "Transfer-Encoding: chunked"),
      "length and chunked": request("Host: x", "Transfer-Encoding: chunked", LENGTH),
      xchunked: request("Host: x", LENGTH, "Transfer-Encoding: xchunked"),
      identity: request("Host: x", LENGTH, "Transfer-Encoding: identity"),
      "empty encoding": request("Host: x", LENGTH, "Transfer-Encoding: "),
      "hidden encoding": request("Host: x", LENGTH, "Transfer-Encoding : chunked"),
      "gzip, chunked": request("Host: x", LENGTH, "Transfer-Encoding: gzip, chunked"),
      "no Host": request(LENGTH),
      "two Hosts": request("Host: x", "Host: y", LENGTH),
      "folded header": request("Host: x", LENGTH, "X-Folded: a", " b: c"),
      "folded Host": request("Host: x", " y", LENGTH),
      "NUL in a header": request("Host: x", LENGTH, "X-Nul: a\0b"),
      "NUL in the path": request("Host: x", LENGTH).replace("/v1/orders", "/v1/orders\0"),
      "bare CR": request("Host: x", LENGTH, "X-Cr: a\rb"),
      "LF only": request("Host: x", LENGTH).replaceAll("\r\n", "\n"),
      "space before the colon": request("Host : x", LENGTH),
      "space in a header's name": request("Host: x", "X Y: z", LENGTH),
      "no header's name": request("Host: x", ": z", LENGTH),
      "header without a colon": request("Host: x", "nonsense", LENGTH),
      "credentials twice": request("Host: x", LENGTH, "Authorization: Bearer x"),
      "no version": request("Host: x", LENGTH).replace(" HTTP/1.1", ""),
      "HTTP/9.9": request("Host: x", LENGTH).replace("HTTP/1.1", "HTTP/9.9"),
      "lower-case method": request("Host: x", LENGTH).replace("POST", "post"),
      "unknown method": request("Host: x", LENGTH).replace("POST", "BREW"),
      "absolute path": request("Host: x", LENGTH).replace("/v1/orders", "http://x/v1/orders"),
      "path with a space": request("Host: x", LENGTH).replace("/v1/orders", "/v1/or ders"),
      "path that is not ASCII": request("Host: x", LENGTH).replace("/v1/orders", "/v1/\xe9"),
      fragment: request("Host: x", LENGTH).replace("/v1/orders", "/v1/orders#x"),
      "200 headers": request("Host: x", LENGTH, ...Array.from({ length: 200 }, (_, i) => `X-${i}: y`)),
      "body cut off": request("Host: x", LENGTH).slice(0, -5),
      "a body too large": request("Host: x", "Content-Length: 65537"),
      "a length beyond its body": request("Host: x", `Content-Length: ${ORDER.length + 1}`),
      CONNECT: `CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n`,
      "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "HTTP/0.9": "GET /v1/time\r\n\r\n",
      TLS: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".padEnd(300, "\x7f"),
      "a line without an end": "x".repeat(10_000),
      "empty lines": "\r\n".repeat(100),
    };
    const answers = await Promise.all(Object.values(hostile).map((text) => sendAstray(server.port, text)));
    for (const [i, what] of Object.keys(hostile).entries()) checkRefused(what, answers[i] as RawAnswer);
  }));

test("a chunked order is the same order", async () => {
  for (const parts of [[chunkedOrder], chunkedOrder.split(/(?<=Host)/), chunkedOrder.split(/(?<=\r\n)/)]) {
    const answer = await sendInPackets(server.port, parts);
    assert.match(answer.text, /^HTTP\/1\.1 201 /);
    const { data } = await target.alice.openOrders("?limit=1");
    await target.alice.cancel(data[0]?.orderId ?? "");
  }
});

test("a refused request cannot smuggle a second one", () =>
  leavesUntouched(target, async () => {
    const hidden = request("Host: x", LENGTH);
    const covers: Record<string, string> = {
      "behind a chunked body": `POST /v1/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
      "behind two lengths": `POST /v1/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n${hidden}`,
      "inside a body": `POST /v1/orders HTTP/1.1\r\nHost: x\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
      "behind a bad header": `GET /v1/time HTTP/1.1\r\nHost: x\r\nX Y: z\r\n\r\n${hidden}`,
      "behind no Host": `GET /v1/time HTTP/1.1\r\n\r\n${hidden}`,
      "behind a body too large": `POST /v1/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n${hidden}`,
      "in the query": `GET /v1/time?x=%0d%0a${encodeURIComponent(hidden)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    };
    const answers = await Promise.all(Object.values(covers).map((text) => sendAstray(server.port, text)));
    for (const [i, what] of Object.keys(covers).entries()) checkRefused(what, answers[i] as RawAnswer);
  }));

test("a client that disconnects during its request has done nothing, or all of it once", async () => {
  const text = request("Host: x", LENGTH);
  await leavesUntouched(target, async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        sendAstray(server.port, text.slice(0, Math.floor(((text.length - 1) * i) / 40))),
      ),
    );
  });
  // Byte by byte it is the same request.
  const answer = await sendRaw(server.port, ...text.split(""));
  assert.match(answer.text, /^HTTP\/1\.1 201 /);
  const { data } = await target.alice.openOrders("?limit=1");
  await target.alice.cancel(data[0]?.orderId ?? "");
});

test("pipelined requests are answered in order or the connection ends, and each runs at most once", async () => {
  const order = (id: string) =>
    request("Host: x", LENGTH_WITH_ID).replace(ORDER, JSON.stringify({ ...JSON.parse(ORDER), clientOrderId: id }));
  const LENGTH_WITH_ID = `Content-Length: ${JSON.stringify({ ...JSON.parse(ORDER), clientOrderId: "p1" }).length}`;
  await sendRaw(server.port, order("p1") + order("p2") + order("p3"));
  for (const id of ["p1", "p2", "p3"]) {
    const { alice } = target;
    const body = { ...JSON.parse(ORDER), clientOrderId: id };
    const retry = await alice.request<{ orderId: string }>("POST", "/orders", body);
    assert.ok(retry.status === 200 || retry.status === 201, retry.text);
    const { data } = await alice.openOrders();
    assert.equal(data.filter((each) => each.clientOrderId === id).length, 1);
  }
});
