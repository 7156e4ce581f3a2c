import { connect, type Socket } from "node:net";
import type { FrameCounter } from "./frame-counter.ts";
import { SocketClient, textFrame } from "./socket-client.ts";

/**
 * Many WebSocket clients in one process, and the client whose orders make the news: it sends the next one when it has the
 * answer to the last. All of it on bare sockets, since a library would be the limit.
 */
export interface SubscribersTask {
  socketUrl: string;
  count: number;
  /** What each says when it is connected; "" = nothing. */
  subscription: string;
  /** How many messages each gets before there is news. */
  initialMessages: number;
  ordersUrl: string;
  headers: Record<string, string>;
  /** Sent in turns. */
  orders: string[];
  /** How many messages each subscriber gets for an order. */
  messagesPerOrder: number;
}

/** What one measurement says. */
export interface Delivered {
  orders: number;
  /** To all subscribers together, until all of them had everything. */
  messages: number;
  /** Of their payloads. */
  bytes: number;
  seconds: number;
}

const SILENCE_MS = 5000;

process.once("message", async (task: SubscribersTask) => {
  const subscribers = new Subscribers(task);
  await subscribers.connect();
  process.on("message", async (seconds: number) => process.send?.(await subscribers.measure(seconds)));
  process.send?.("ready");
});

class Subscribers {
  private readonly task: SubscribersTask;
  private readonly counters: FrameCounter[] = [];
  private readonly trader: Trader;

  constructor(task: SubscribersTask) {
    this.task = task;
    this.trader = new Trader(task);
  }

  async connect(): Promise<void> {
    for (let i = 0; i < this.task.count; i++) await this.open();
    await this.received(this.task.initialMessages);
    await this.trader.connected;
  }

  async measure(seconds: number): Promise<Delivered> {
    const texts = this.texts();
    const bytes = this.bytes();
    const from = performance.now();
    const orders = await this.trader.trade(seconds * 1e3);
    const each = texts / this.task.count + orders * this.task.messagesPerOrder;
    await this.received(each);
    const took = (performance.now() - from) / 1e3;
    return { orders, messages: this.texts() - texts, bytes: this.bytes() - bytes, seconds: took };
  }

  private texts(): number {
    return this.counters.reduce((sum, { texts }) => sum + texts, 0);
  }

  private bytes(): number {
    return this.counters.reduce((sum, { payloadBytes }) => sum + payloadBytes, 0);
  }

  /** Resolves when all subscribers together have got as many messages as if each had got so many. */
  private async received(each: number): Promise<void> {
    const wanted = Math.floor(each * this.task.count);
    let heardAt = performance.now();
    for (let last = -1; this.texts() < wanted; ) {
      if (this.texts() > last) heardAt = performance.now();
      last = this.texts();
      if (performance.now() - heardAt > SILENCE_MS) throw new Error(`${last} of ${wanted} messages were delivered`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  private async open(): Promise<void> {
    const { socketUrl, subscription } = this.task;
    const socket = await SocketClient.open(socketUrl);
    if (subscription !== "") socket.send(textFrame(subscription));
    this.counters.push(socket.counter);
  }
}

/** One connection that sends one order after the other. */
class Trader {
  readonly connected: Promise<void>;
  private readonly socket: Socket;
  private readonly requests: Buffer[];
  private sent = 0;
  private answer = "";
  private onAnswer: () => void = () => {};

  constructor({ ordersUrl, headers, orders }: SubscribersTask) {
    const { hostname, port, pathname } = new URL(ordersUrl);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${lines.join("")}`;
    this.requests = orders.map((body) => Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n${body}`));
    this.socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.connected = new Promise((resolve) => this.socket.once("connect", resolve));
    this.socket.on("error", fail).setEncoding("latin1");
    this.socket.on("data", (text) => this.receive(String(text)));
  }

  /** Resolves with how many orders were answered. */
  trade(ms: number): Promise<number> {
    const until = performance.now() + ms;
    let answered = 0;
    return new Promise((resolve) => {
      const send = (): void => {
        this.socket.write(this.requests[this.sent++ % this.requests.length]);
      };
      this.onAnswer = () => {
        answered++;
        if (performance.now() < until) send();
        else resolve(answered);
      };
      send();
    });
  }

  private receive(text: string): void {
    this.answer += text;
    const end = this.answer.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.answer)?.[1] ?? 0);
    if (this.answer.length < end + 4 + length) return;
    if (!this.answer.startsWith("HTTP/1.1 201")) return fail(new Error(`an order: ${this.answer}`));
    this.answer = "";
    this.onAnswer();
  }
}

function fail(error: Error): void {
  throw error;
}
