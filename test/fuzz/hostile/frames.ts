import assert from "node:assert/strict";
import { connect } from "node:net";
import { CHANNELS } from "../../../src/wire/schema/channels.ts";
import { TRADING_PARAMS } from "../../../src/wire/schema/trading.ts";
import { Random } from "../../e2e/support/random.ts";
import type { FuzzStage } from "../stage.ts";
import { AttackedExchange } from "./attacked-exchange.ts";
import { hostileBody, hostileValue } from "./hostile-input.ts";
import { validObject } from "./valid-input.ts";

const CLOSE_DEADLINE_MS = 30_000;
const FRAMES_PER_SOCKET = 20;
const HANDSHAKE =
  "GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/** A client's message, mostly invalid. */
function message(random: Random): string {
  const id = random.between(1, 1000);
  const roll = random.next();
  if (roll < 0.4) {
    const [op, schema] = random.pick(Object.entries(TRADING_PARAMS));
    return `{"op":"${op}","id":${id},"params":${hostileBody(random, validObject(random, schema))}}`;
  }
  const [channel, schema] = random.pick(Object.entries(CHANNELS));
  const asked = { channel, ...validObject(random, schema) };
  if (roll < 0.7) {
    const op = random.pick(["subscribe", "unsubscribe"]);
    return `{"op":"${op}","id":${id},"channels":[${hostileBody(random, asked)}]}`;
  }
  if (roll < 0.9) return hostileBody(random, { op: random.pick(["auth", "ping", "subscribe"]), id, channels: [asked] });
  return JSON.stringify({ op: "auth", id, token: hostileValue(random), timestamp: hostileValue(random) });
}

/** A frame of RFC 6455. A few are invalid: other opcodes, reserved bits, no mask, a wrong length. */
function frame(random: Random, text: string): Buffer {
  const payload = Buffer.from(text);
  const isWrong = random.next() < 0.03;
  const head = isWrong ? random.between(0, 255) : 0x81;
  const masked = isWrong && random.next() < 0.2 ? 0 : 0x80;
  const length = isWrong && random.next() < 0.5 ? random.between(0, 2 ** 20) : payload.length;
  const mask = Buffer.from([random.between(0, 255), random.between(0, 255), 7, 8]);
  const body = masked === 0 ? payload : Buffer.from(payload.map((byte, i) => byte ^ (mask[i % 4] as number)));
  return Buffer.concat([Buffer.from([head]), lengthBytes(masked, length), masked === 0 ? Buffer.alloc(0) : mask, body]);
}

function lengthBytes(masked: number, length: number): Buffer {
  if (length < 126) return Buffer.from([masked | length]);
  if (length < 65_536) return Buffer.from([masked | 126, length >> 8, length & 255]);
  const bytes = Buffer.alloc(9);
  bytes[0] = masked | 127;
  bytes.writeBigUInt64BE(BigInt(length), 1);
  return bytes;
}

/** Opens a socket, sends everything and ends the connection. Resolves with the response when the server closes. */
function sendFrames(port: number, frames: readonly Buffer[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1");
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the server does not close the connection after ${Buffer.concat([...frames]).toString("hex")}`));
    }, CLOSE_DEADLINE_MS);
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(answer);
    });
    socket.setEncoding("latin1").on("data", (chunk) => {
      if (answer === "") socket.end(Buffer.concat([...frames]));
      answer += chunk;
    });
    socket.write(HANDSHAKE);
  });
}

function* conversations(random: Random, count: number, auth: string | null): Generator<Buffer[]> {
  for (let i = 0; i < count; i += FRAMES_PER_SOCKET) {
    const frames = Array.from({ length: Math.min(FRAMES_PER_SOCKET, count - i) }, () => frame(random, message(random)));
    yield auth === null ? frames : [frame(new Random(1), auth), ...frames];
  }
}

/** WebSocket frames and messages, with and without authentication. */
export const FRAMES: FuzzStage = {
  name: "frames",
  runs: 20_000,
  run: (seed, runs, say) =>
    AttackedExchange.run(say, async (victim) => {
      const { port } = victim.server;
      const random = new Random(seed);
      const send = async (frames: Buffer[]) => {
        const answer = await sendFrames(port, frames);
        assert.match(answer, /^HTTP\/1\.1 101 /);
        assert.doesNotMatch(answer, /"code":"INTERNAL"/, Buffer.concat(frames).toString("hex"));
      };
      const half = Math.ceil(runs / 2);
      const strangers = conversations(random, half, null);
      await victim.leavesUntouched(() =>
        victim.sendAll(strangers, async (frames) => send(frames).then(() => false)).then(() => {}),
      );
      const auth = JSON.stringify({ op: "auth", token: victim.target.alice.token });
      await victim.sendAll(conversations(random, runs - half, auth), async (frames) => send(frames).then(() => true));
    }),
};
