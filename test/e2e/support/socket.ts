import { once } from "node:events";
import type { Socket } from "node:net";
import type WebSocket from "ws";
import type { ChannelMessage, ChannelRequest } from "../../../src/client/types.ts";
import { DocumentedWebSocket } from "./documents/documented-messages.ts";

/** Any message of the server. */
export interface SocketMessage {
  op?: string;
  id?: string | number | null;
  code?: string;
  message?: string;
  field?: string;
  retryable?: boolean;
  serverTime?: number;
  channels?: ChannelRequest[];
  accountId?: string;
  permissions?: string[];
  expiresAt?: number | null;
  channel?: ChannelMessage["channel"];
  type?: "SNAPSHOT" | "DELTA" | "UPDATE" | "HEARTBEAT";
  symbol?: string;
  depth?: number;
  updateMs?: number;
  sequence?: number;
  prevSequence?: number | null;
}

const DEADLINE_MS = 60_000;

/** A WebSocket client that stores every message. Fails the test on messages that asyncapi.json does not allow. */
export class SocketClient {
  readonly socket: WebSocket;
  /** All that has come, in order. */
  readonly messages: SocketMessage[] = [];
  /** How the connection ended. */
  readonly closed: Promise<{ code: number; reason: string }>;
  isClosed = false;
  private readonly listeners = new Set<() => void>();
  private nextId = 1;

  private constructor(url: string) {
    this.socket = new DocumentedWebSocket(url);
    this.socket.on("error", () => {});
    this.socket.on("message", (bytes) => {
      this.messages.push(JSON.parse(String(bytes)) as SocketMessage);
      for (const listener of [...this.listeners]) listener();
    });
    this.closed = new Promise((resolve) => {
      this.socket.on("close", (code, reason) => {
        this.isClosed = true;
        resolve({ code, reason: String(reason) });
        for (const listener of [...this.listeners]) listener();
      });
    });
  }

  static async open(url: string): Promise<SocketClient> {
    const client = new SocketClient(url);
    await once(client.socket, "open");
    return client;
  }

  /** Opens a socket and authenticates it with a session's token. */
  static async openAs(url: string, token: string | undefined): Promise<SocketClient> {
    const client = await SocketClient.open(url);
    const reply = await client.request("auth", { token });
    if (reply.op !== "authenticated") throw new Error(`not authenticated: ${JSON.stringify(reply)}`);
    return client;
  }

  send(message: object | string | Buffer): void {
    this.socket.send(typeof message === "string" || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** Sends them in one write, so that the exchange reads all of them at once. */
  sendAtOnce(messages: readonly object[]): void {
    const { _socket: line } = this.socket as unknown as { _socket: Socket };
    line.cork();
    for (const message of messages) this.send(message);
    line.uncork();
  }

  /** Sends a message with a new id; resolves with the reply, which may be an error. */
  request(op: string, fields: object = {}): Promise<SocketMessage> {
    const id = this.nextId++;
    this.send({ op, id, ...fields });
    return this.find(`the reply to ${op}`, (message) => message.op !== undefined && message.id === id);
  }

  async subscribe(...channels: ChannelRequest[]): Promise<void> {
    const reply = await this.request("subscribe", { channels });
    if (reply.op !== "subscribed") throw new Error(`not subscribed: ${JSON.stringify(reply)}`);
  }

  /** The messages of a channel so far, without heartbeats. */
  ofChannel<C extends ChannelMessage["channel"]>(channel: C): Extract<ChannelMessage, { channel: C }>[] {
    const found = this.messages.filter((message) => message.channel === channel && message.type !== "HEARTBEAT");
    return found as unknown as Extract<ChannelMessage, { channel: C }>[];
  }

  /** Resolves with the first message from index `from` on that matches, when it has come. */
  find(what: string, is: (message: SocketMessage) => boolean, from = 0): Promise<SocketMessage> {
    let seen = from;
    return new Promise((resolve, reject) => {
      const finish = (act: () => void) => {
        clearTimeout(timer);
        this.listeners.delete(look);
        act();
      };
      const look = () => {
        for (; seen < this.messages.length; seen++) {
          const message = this.messages[seen] as SocketMessage;
          if (is(message)) return finish(() => resolve(message));
        }
        if (this.isClosed) finish(() => reject(new Error(`the socket was closed before ${what}`)));
      };
      const timer = setTimeout(() => finish(() => reject(new Error(`timed out waiting for ${what}`))), DEADLINE_MS);
      this.listeners.add(look);
      look();
    });
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}
