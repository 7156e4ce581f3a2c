import { connect, type Socket } from "node:net";
import type { FrameCounter } from "./frame-counter.ts";
import { SocketClient, textFrame } from "./socket-client.ts";

/**
 * Many WebSocket subscribers in one process, and one client whose orders cause the messages. It sends the next order
 * when the last one is answered. All use bare sockets, since a library would be the limit.
 */
export interface SubscribersTask {
  socketUrl: string;
  count: number;
  /** The subscribe message of each; "" = none. */
  subscription: string;
  /** Messages that each gets before the first order. */
  initialMessages: number;
  ordersUrl: string;
  headers: Record<string, string>;
  /** Order bodies, sent in turn. */
  orders: string[];
  /** Messages that each subscriber gets per order. */
  messagesPerOrder: number;
  /** The next order is sent when all have the messages of the last one. Default: when it is answered. */
  isInStep?: boolean;
}

/** The result of one measurement. */
export interface Delivered {
  orders: number;
  /** Messages to all subscribers together. */
  messages: number;
  /** Payload bytes. */
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
  }

  async measure(seconds: number): Promise<Delivered> {
    const texts = this.texts();
    const bytes = this.bytes();
    const from = performance.now();
    const { count, messagesPerOrder, isInStep = false } = this.task;
    const awaitMessagesOf = (orders: number) => this.received(texts / count + orders * messagesPerOrder);
    const orders = await this.trader.trade(seconds * 1e3, isInStep ? awaitMessagesOf : () => Promise.resolve());
    await awaitMessagesOf(orders);
    const took = (performance.now() - from) / 1e3;
    return { orders, messages: this.texts() - texts, bytes: this.bytes() - bytes, seconds: took };
  }

  private texts(): number {
    return this.counters.reduce((sum, { texts }) => sum + texts, 0);
  }

  private bytes(): number {
    return this.counters.reduce((sum, { payloadBytes }) => sum + payloadBytes, 0);
  }

  /** Resolves when the subscribers have received `each` messages per subscriber in total. */
  private async received(each: number): Promise<void> {
    const wanted = Math.floor(each * this.task.count);
    let lastMessageAt = performance.now();
    for (let last = -1; this.texts() < wanted; ) {
      if (this.texts() > last) lastMessageAt = performance.now();
      last = this.texts();
      if (performance.now() - lastMessageAt > SILENCE_MS)
        throw new Error(`${last} of ${wanted} messages were delivered`);
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

/** Sends one order after the other, on a connection for each measurement: servers close idle ones. */
class Trader {
  private readonly connect: () => Socket;
  private readonly requests: Buffer[];
  private sent = 0;
  private answer = "";
  private onAnswer: () => unknown = () => {};

  constructor({ ordersUrl, headers, orders }: SubscribersTask) {
    const { hostname, port, pathname } = new URL(ordersUrl);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${lines.join("")}`;
    this.requests = orders.map((body) => Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n${body}`));
    this.connect = () => connect({ host: hostname, port: Number(port), noDelay: true });
  }

  /** Resolves with the number of answered orders. Awaits `onAnswered`, which gets their number, after each. */
  trade(ms: number, onAnswered: (orders: number) => Promise<void>): Promise<number> {
    const until = performance.now() + ms;
    let answered = 0;
    const socket = this.connect().on("error", fail).setEncoding("latin1");
    socket.on("data", (text) => this.receive(String(text)));
    return new Promise((resolve) => {
      const send = (): void => {
        socket.write(this.requests[this.sent++ % this.requests.length]);
      };
      this.onAnswer = async () => {
        answered++;
        await onAnswered(answered);
        if (performance.now() < until) send();
        else {
          socket.destroy();
          resolve(answered);
        }
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
