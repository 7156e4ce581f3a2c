import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

const HANDSHAKE =
  "GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/** Opens a raw connection and upgrades it to a WebSocket. It is paused: nothing is read until resume(). */
export function upgrade(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(HANDSHAKE);
  return new Promise((resolve, reject) => {
    socket.once("close", () => reject(new Error("closed during the handshake")));
    socket.once("data", (bytes) => {
      socket.pause();
      if (String(bytes).startsWith("HTTP/1.1 101")) resolve(socket);
      else reject(new Error(String(bytes)));
    });
  });
}

/** A masked frame; `head` is its first byte. */
export function frame(head: number, payload: Buffer): Buffer {
  const mask = randomBytes(4);
  const length =
    payload.length < 126
      ? Buffer.from([0x80 | payload.length])
      : Buffer.from([0x80 | 126, payload.length >> 8, payload.length & 255]);
  const masked = payload.map((byte, i) => byte ^ (mask[i % 4] as number));
  return Buffer.concat([Buffer.from([head]), length, mask, masked]);
}

/** A message as a text frame. */
export const textFrame = (message: object): Buffer => frame(0x81, Buffer.from(JSON.stringify(message)));

/** Resolves with the last 4 KiB when the server has closed the connection. */
export function readToEnd(socket: Socket): Promise<Buffer> {
  return new Promise((resolve) => {
    let last = Buffer.alloc(0);
    socket.on("data", (bytes: Buffer) => {
      last = Buffer.concat([last, bytes]).subarray(-4096);
    });
    if (socket.closed) resolve(last);
    else socket.once("close", () => resolve(last));
    socket.resume();
  });
}
