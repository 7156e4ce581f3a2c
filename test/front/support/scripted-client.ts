import type { RawSocket } from "../../../src/front/http/sockets.ts";
import { Socket, type SocketHandlers } from "../../../src/front/http/sockets.ts";

// biome-ignore lint/suspicious/noExplicitAny: messages are looked into field by field
export type Received = any;

/** The server's side of WebSockets without a network: published texts reach the clients of this hub. */
export class Hub {
  readonly clients = new Set<ScriptedClient>();
  /** Every published text. */
  readonly published: { topic: string; text: string }[] = [];

  publish(topic: string, text: string): void {
    this.published.push({ topic, text });
    for (const client of this.clients) if (client.topics.has(topic)) client.receive(text);
  }
}

export class ScriptedClient implements RawSocket {
  readonly topics = new Set<string>();
  readonly socket: Socket;
  closedWith: { code: number; reason: string } | null = null;
  buffered = 0;
  /** Sent texts arrive only at read(). */
  isReading = true;
  private unread: string[] = [];
  private readonly hub: Hub;
  private readonly handlers: SocketHandlers;
  private received: Received[] = [];

  /** `isForeign`: a page of another site. */
  constructor(hub: Hub, handlers: SocketHandlers, isForeign = false) {
    this.hub = hub;
    this.handlers = handlers;
    this.socket = new Socket("127.0.0.1", isForeign);
    this.socket.attach(this);
    hub.clients.add(this);
    handlers.open(this.socket);
  }

  /** Sends a message to the exchange; an object is sent as JSON. */
  say(message: unknown): void {
    const text = typeof message === "string" ? message : JSON.stringify(message);
    this.handlers.message(this.socket, new TextEncoder().encode(text));
  }

  /** The messages since the last call. */
  take(): Received[] {
    const received = this.received;
    this.received = [];
    return received;
  }

  /** Sends a message and returns the immediate answers. */
  ask(message: unknown): Received[] {
    this.take();
    this.say(message);
    return this.take();
  }

  /** Reads everything unread, and everything that is sent because of that. */
  read(): void {
    while (this.unread.length > 0) {
      for (const text of this.unread.splice(0)) this.received.push(JSON.parse(text));
      this.buffered = 0;
      this.handlers.drain(this.socket);
    }
  }

  hangUp(): void {
    this.hub.clients.delete(this);
    this.socket.detach();
    this.handlers.close(this.socket);
  }

  receive(text: string): void {
    if (this.isReading) return void this.received.push(JSON.parse(text));
    this.unread.push(text);
    this.buffered += text.length;
  }

  // ---- RawSocket ----
  send(message: string | Uint8Array): number {
    this.receive(String(message));
    return 1;
  }
  cork(write: () => void): void {
    write();
  }
  ping(): number {
    return 1;
  }
  subscribe(topic: string): boolean {
    this.topics.add(topic);
    return true;
  }
  unsubscribe(topic: string): boolean {
    return this.topics.delete(topic);
  }
  end(code: number, reason: string): void {
    this.closedWith = { code, reason };
    this.hangUp();
  }
  close(): void {
    this.end(1006, "");
  }
  getBufferedAmount(): number {
    return this.buffered;
  }
}
