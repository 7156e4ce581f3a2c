import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { FrameCounter } from "./frame-counter.ts";

/** Shared by all sockets: each read is processed before the next. */
const buffer = Buffer.allocUnsafe(64 * 1024);
const TEXT = 0x81;
const PONG = 0x8a;

/** A WebSocket client that counts messages and answers pings. A library would be too slow. */
export class SocketClient {
  readonly counter: FrameCounter;
  /** Called after each read. */
  onFrames: () => void = () => {};
  private readonly socket: Socket;
  private pings = 0;

  /** Resolves when the handshake is accepted. */
  static open(url: string, counter = new FrameCounter()): Promise<SocketClient> {
    return new Promise((resolve, reject) => {
      new SocketClient(url, counter, resolve, reject);
    });
  }

  private constructor(
    url: string,
    counter: FrameCounter,
    onOpen: (socket: SocketClient) => void,
    onError: (error: Error) => void,
  ) {
    this.counter = counter;
    const { hostname, port, pathname } = new URL(url);
    let opened = false;
    const callback = (length: number): boolean => {
      this.counter.feed(buffer, length);
      if (!opened) onOpen(this);
      opened = true;
      for (; this.pings < this.counter.pings; this.pings++) this.send(Buffer.from(maskedFrame(PONG, ""), "latin1"));
      this.onFrames();
      return true;
    };
    this.socket = connect({ host: hostname, port: Number(port), noDelay: true, onread: { buffer, callback } });
    this.socket.on("error", onError);
    this.socket.on("close", () => {
      throw new Error("a WebSocket was cut off");
    });
    this.socket.write(
      `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n\r\n`,
    );
  }

  send(frames: Buffer): void {
    this.socket.write(frames);
  }
}

/** ASCII. */
export const textFrame = (text: string): Buffer => Buffer.from(frameText(text), "latin1");

/** The frame's bytes as characters, for concatenation with others. */
export const frameText = (text: string): string => maskedFrame(TEXT, text);

/** Clients must mask frames; a mask of zeros changes nothing. */
function maskedFrame(first: number, text: string): string {
  const { length } = text;
  const head = length < 126 ? [first, 0x80 | length] : [first, 0x80 | 126, length >> 8, length & 255];
  return String.fromCharCode(...head, 0, 0, 0, 0) + text;
}
