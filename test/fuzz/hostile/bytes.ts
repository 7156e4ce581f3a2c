import assert from "node:assert/strict";
import { connect } from "node:net";
import { Random } from "../../e2e/support/random.ts";
import { sendAstray } from "../../front/support/raw.ts";
import type { FuzzStage } from "../stage.ts";
import { AttackedExchange } from "./attacked-exchange.ts";
import { mutateText } from "./hostile-input.ts";

const CLOSE_DEADLINE_MS = 30_000;
/** Every so many requests the client waits for the response instead of disconnecting after the last byte. */
const LISTENS_EVERY = 40;
const ORDER = JSON.stringify({ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.001" });

const INSERTS = [
  ...["\r\n", "\r", "\n", "\0", " ", "\t", ":", "\r\n\r\n", "%", "\xff", "\x80", "\x7f", "Host: y\r\n", "Host:\r\n"],
  ...["Content-Length: 3\r\n", "Content-Length: 0\r\n", "content-length: -1\r\n", "Content-Length: 99999999999\r\n"],
  ...["Transfer-Encoding: chunked\r\n", "transfer-encoding: xchunked\r\n", "Transfer-Encoding : chunked\r\n"],
  ...["5\r\nhello\r\n", "0\r\n\r\n", "\r\n folded: x", "Expect: 100-continue\r\n", "Connection: close\r\n"],
  ...["Upgrade: websocket\r\n", "GET / HTTP/1.1\r\n", "HTTP/1.0", "HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ...["X".repeat(300), `${"a: b\r\n".repeat(120)}`, `X-Long: ${"y".repeat(9000)}\r\n`],
];

function templates(authorization: string): string[] {
  const head = `Host: x\r\nAuthorization: ${authorization}\r\n`;
  return [
    `POST /v1/orders HTTP/1.1\r\n${head}Content-Length: ${ORDER.length}\r\n\r\n${ORDER}`,
    `POST /v1/orders HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n${ORDER.length.toString(16)}\r\n${ORDER}\r\n0\r\n\r\n`,
    `GET /v1/orders/history?symbol=BTC-PERP&limit=5 HTTP/1.1\r\n${head}\r\n`,
    `DELETE /v1/orders HTTP/1.1\r\n${head}\r\n`,
    `GET /v1/ws HTTP/1.1\r\n${head}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  ];
}

/** Requests with bytes changed, removed and inserted; sometimes two in one, or only noise. */
function* requests(random: Random, count: number, authorization: string): Generator<string> {
  const known = templates(authorization);
  for (let i = 0; i < count; i++) {
    const roll = random.next();
    if (roll < 0.05) yield noise(random);
    else if (roll < 0.1) yield mutateText(random, random.pick(known), INSERTS) + random.pick(known);
    else yield mutateText(random, random.pick(known), INSERTS);
  }
}

const noise = (random: Random): string =>
  Array.from({ length: random.between(1, 600) }, () => String.fromCharCode(random.between(0, 255))).join("");

/** Sends everything and ends the connection. Resolves with the response when the server closes. */
function sendAndHangUp(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1");
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the server does not close the connection after ${JSON.stringify(text)}`));
    }, CLOSE_DEADLINE_MS);
    socket.setEncoding("latin1").on("data", (chunk) => {
      answer += chunk;
    });
    // The server may close before everything is sent.
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(answer);
    });
    socket.end(Buffer.from(text, "latin1"));
  });
}

function checkStatuses(text: string, answer: string): void {
  // 505 comes from the parser of uWebSockets.js for a line that does not end in HTTP/1.1: nothing was executed.
  for (const [, status] of answer.matchAll(/HTTP\/1\.1 (\d+)/g))
    assert.ok(Number(status) < 500 || status === "505" || status === "503", `${JSON.stringify(text)}: ${answer}`);
}

/** Malformed bytes, from clients with and without permission to trade. */
export const BYTES: FuzzStage = {
  name: "bytes",
  runs: 20_000,
  run: (seed, runs, say) =>
    AttackedExchange.run(say, async (victim) => {
      const { port } = victim.server;
      let sent = 0;
      const send = async (text: string) => {
        const listens = sent++ % LISTENS_EVERY === 0;
        checkStatuses(text, listens ? (await sendAstray(port, text)).text : await sendAndHangUp(port, text));
      };
      const random = new Random(seed);
      const half = Math.ceil(runs / 2);
      const refused = async (text: string) => send(text).then(() => false);
      await victim.leavesUntouched(() => victim.sendAll(requests(random, half, "Bearer no"), refused).then(() => {}));
      const token = `Bearer ${victim.target.alice.token}`;
      // Their outcome is unknown, since the client does not wait.
      await victim.sendAll(requests(random, runs - half, token), async (text) => send(text).then(() => true));
    }),
};
