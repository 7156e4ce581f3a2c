import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { test } from "node:test";
import { BaseError, ExchangeError, errors } from "ccxt";
import { errorClass } from "../../src/ccxt/errors.ts";
import { perpd } from "../../src/ccxt/index.ts";
import { ERRORS, type ErrorCode, SOCKET_ERRORS } from "../../src/wire/error-codes.ts";

test("every error code maps to a ccxt exception, and only INTERNAL maps to the bare ExchangeError", () => {
  for (const [code, { status }] of Object.entries(ERRORS)) {
    const found = errorClass(code, status);
    assert.ok(new found("") instanceof BaseError, code);
    assert.ok(found.name in errors, code);
    if (status < 500) assert.notEqual(found, ExchangeError, code);
    assert.equal(errorClass(code, 0), found, `${code} over the WebSocket`);
  }
  for (const code of Object.keys(SOCKET_ERRORS)) assert.notEqual(errorClass(code, 0), ExchangeError, code);
});

test("an unknown error code maps by its HTTP status", () => {
  assert.equal(errorClass("NEW_REASON", 422).name, "InvalidOrder");
  assert.equal(errorClass("NEW_REASON", 0), ExchangeError);
});

test("errors that programs handle differently have different exception classes", () => {
  const cases: [ErrorCode, string][] = [
    ["INSUFFICIENT_MARGIN", "InsufficientFunds"],
    ["INSUFFICIENT_BALANCE", "InsufficientFunds"],
    ["PRICE_OUT_OF_BAND", "InvalidOrder"],
    ["QUANTITY_NOT_ON_STEP", "InvalidOrder"],
    ["POST_ONLY_WOULD_TRADE", "OrderImmediatelyFillable"],
    ["ORDER_NOT_FOUND", "OrderNotFound"],
    ["CLIENT_ORDER_ID_REUSED", "DuplicateOrderId"],
    ["UNKNOWN_SYMBOL", "BadSymbol"],
    ["UNKNOWN_FIELD", "BadRequest"],
    ["SYMBOL_HALTED", "MarketClosed"],
    ["INVALID_KEY_OR_SIGNATURE", "AuthenticationError"],
    ["TIMESTAMP_OUT_OF_WINDOW", "InvalidNonce"],
    ["PERMISSION_DENIED", "PermissionDenied"],
    ["RATE_LIMITED", "RateLimitExceeded"],
    ["OVERLOADED", "ExchangeNotAvailable"],
    // Not known whether it was done: a program may retry these with a clientOrderId only.
    ["TIMEOUT", "RequestTimeout"],
    ["SIGNATURE_REPLAYED", "RequestTimeout"],
  ];
  for (const [code, name] of cases) assert.equal(errorClass(code, ERRORS[code].status).name, name, code);
});

test("a response that is not from the exchange is a ccxt exception, whatever its status", async (t) => {
  let status = 200;
  const proxy = createServer((_, response) => response.writeHead(status).end("<html>sign in first</html>"));
  t.after(() => proxy.close());
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const { port } = proxy.address() as AddressInfo;
  const exchange = new perpd({ apiKey: "K", secret: "S", hostname: `127.0.0.1:${port}` });
  await assert.rejects(exchange.fetchTicker("BTC/USDC:USDC"), { name: "BadResponse", message: /sign in first/ });
  // ccxt has no exception for these.
  for (status of [413, 431, 505, 507])
    await assert.rejects(exchange.cancelAllOrdersAfter(1000), { name: "BadResponse" }, `${status}`);
  status = 502;
  await assert.rejects(exchange.fetchTicker("BTC/USDC:USDC"), { name: "ExchangeNotAvailable" });
});

test("fetchStatus reports an error while the exchange cannot take orders", async (t) => {
  let status = "OK";
  const server = createServer((_, response) => response.end(JSON.stringify({ status, serverTime: 1 })));
  t.after(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const exchange = new perpd({ hostname: `127.0.0.1:${(server.address() as AddressInfo).port}` });
  assert.equal((await exchange.fetchStatus()).status, "ok");
  for (status of ["STALLED", "REBUILDING", "UNRESPONSIVE", "STORAGE_FULL"])
    assert.equal((await exchange.fetchStatus()).status, "error", status);
});

test("a request signs timestamp, method, path with query, and body", () => {
  const exchange = new perpd({ apiKey: "K", secret: "S", hostname: "example.com:1" });
  const read = exchange.sign("orders/{id}", "private", "GET", { id: "client:a.b", x: "1 2" });
  assert.equal(read.url, "http://example.com:1/v1/orders/client:a.b?x=1%202");
  const odd = exchange.sign("positions/{symbol}", "private", "GET", { symbol: "a/b?c#d %" });
  assert.equal(odd.url, "http://example.com:1/v1/positions/a%2Fb%3Fc%23d%20%25");
  const write = exchange.sign("positions/{symbol}/leverage", "private", "POST", { symbol: "BTC-PERP", leverage: 5 });
  assert.equal(write.body, '{"leverage":5}');
  assert.equal(write.headers["X-Api-Key"], "K");
  assert.match(write.headers["X-Signature"], /^[0-9a-f]{64}$/);
  const again = exchange.sign("positions/{symbol}/leverage", "private", "POST", { symbol: "BTC-PERP", leverage: 5 });
  assert.notEqual(again.headers["X-Signature"], write.headers["X-Signature"]);
  assert.deepEqual(exchange.sign("time").headers, {});
  const session = new perpd({ token: "T" });
  assert.deepEqual(session.sign("orders", "private").headers, { Authorization: "Bearer T" });
  assert.throws(() => new perpd().sign("orders", "private"), { name: "AuthenticationError" });
});

test("a truncated response is a ccxt exception, and a slow body times out", async (t) => {
  const part = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"data":';
  const answers: [name: string, answer: (socket: Socket) => void][] = [
    ["NetworkError", (socket) => socket.end(part)],
    ["NetworkError", (socket) => socket.write(part, () => setImmediate(() => socket.resetAndDestroy()))],
    ["NetworkError", (socket) => socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"d')],
    [
      "NetworkError",
      (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"),
    ],
    ["NetworkError", (socket) => socket.end("220 a mail server\r\n\r\n")],
    ["RequestTimeout", (socket) => socket.write(part)],
    ["RequestTimeout", () => {}],
  ];
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket.on("error", () => {}));
    socket.once("data", () => answers[sockets.length - 1]?.[1](socket));
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const hostname = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const exchange = new perpd({ apiKey: "K", secret: "S", hostname });
  for (const [name] of answers) {
    // Only what never comes may take too long.
    exchange.timeout = name === "RequestTimeout" ? 300 : 60_000;
    await assert.rejects(exchange.cancelAllOrdersAfter(1000), { name });
  }
  // Nothing goes on behind them, which would keep the program.
  for (const socket of sockets) if (!socket.closed) await once(socket, "close");
});
