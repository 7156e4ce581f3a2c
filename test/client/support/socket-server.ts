import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket as ServerSocket, WebSocketServer } from "ws";
import type { ChannelRequest } from "../../../src/client/types.ts";

export interface Request {
  op: string;
  id: number;
  channels?: ChannelRequest[];
  signature?: string;
}

/** An HTTP answer in the place of an open WebSocket. */
export interface HandshakeRefusal {
  status: number;
  text?: string;
  headers?: Record<string, string>;
}

/** A server of WebSockets that notes requests and answers them as the test says. */
export class SocketServer {
  readonly server: WebSocketServer;
  requests: Request[] = [];
  sockets: ServerSocket[] = [];
  /** Null: with nothing. */
  answer: (request: Request) => object | null = accept;
  refusal: HandshakeRefusal | null = null;
  refused = 0;
  private readonly waiters: (() => void)[] = [];

  private constructor() {
    this.server = new WebSocketServer({
      port: 0,
      host: "127.0.0.1",
      verifyClient: (_request, callback) => {
        if (this.refusal === null) return callback(true);
        this.refused++;
        callback(false, this.refusal.status, this.refusal.text, this.refusal.headers);
      },
    });
    this.server.on("connection", (socket) => {
      this.sockets.push(socket);
      socket.on("message", (data) => {
        const request = JSON.parse(String(data)) as Request;
        this.requests.push(request);
        const reply = this.answer(request);
        if (reply !== null) socket.send(JSON.stringify(reply));
        for (const wake of this.waiters.splice(0)) wake();
      });
    });
  }

  static async open(): Promise<SocketServer> {
    const opened = new SocketServer();
    await once(opened.server, "listening");
    return opened;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  async requestCount(count: number): Promise<void> {
    while (this.requests.length < count) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  close(): void {
    for (const socket of this.server.clients) socket.terminate();
    this.server.close();
  }
}

/** The answer of an exchange that agrees. */
export const accept = ({ op, id, channels }: Request): object => ({
  op: op === "auth" ? "authenticated" : `${op}d`,
  id,
  ...(channels !== undefined && { channels: channels.map(completed) }),
});

/** As the exchange names it: with the defaults of what is left out. */
const completed = ({ resume: _, ...names }: ChannelRequest): object => ({ ...defaultsOf(names), ...names });

const defaultsOf = ({ channel }: ChannelRequest): object =>
  channel === "orderbook" ? { depth: 100, updateMs: 0 } : channel === "ticker" ? { updateMs: 1000 } : {};
