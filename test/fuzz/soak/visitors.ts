import { connect, type Socket } from "node:net";
import WebSocket from "ws";
import { textFrame, upgrade } from "../../e2e/support/raw-socket.ts";
import type { TestServer } from "../../e2e/support/server.ts";
import { pause } from "../../e2e/support/wait.ts";
import { MARKETS, type Traffic } from "./traffic.ts";

/** WebSocket clients that come and go, clients that do not read, and connections that send nothing. */

const READERS = 12;
const SLOW_READERS = 2;
const IDLE = 2;
const CONNECT_AGAIN_MS = 250;
const PUBLIC_CHANNELS = [
  { channel: "orderbook", depth: 1000 },
  { channel: "orderbook", depth: 5, updateMs: 100 },
  { channel: "trades" },
  { channel: "liquidations" },
  { channel: "ticker" },
  { channel: "klines", interval: "1m" },
];
const PRIVATE_CHANNELS = ["orders", "fills", "positions", "positions-history", "balance", "transfers", "funding"];

export class Visitors {
  private readonly server: TestServer;
  private readonly traffic: Traffic;
  private isOver = false;
  private loops: Promise<unknown>[] = [];
  private readonly sockets = new Set<{ destroy(): void }>();

  constructor(server: TestServer, traffic: Traffic) {
    this.server = server;
    this.traffic = traffic;
  }

  start(): void {
    const repeat = (visit: () => Promise<void>): Promise<void> => this.repeat(visit);
    this.loops = [
      ...Array.from({ length: READERS }, () => repeat(() => this.read())),
      ...Array.from({ length: SLOW_READERS }, () => repeat(() => this.readNothing())),
      ...Array.from({ length: IDLE }, () => repeat(() => this.sendNothing())),
    ];
  }

  /** Resolves when all connections have ended. */
  async stop(): Promise<void> {
    this.isOver = true;
    for (const socket of this.sockets) socket.destroy();
    await Promise.all(this.loops);
  }

  private async repeat(visit: () => Promise<void>): Promise<void> {
    while (!this.isOver) {
      // Refused and lost connections are counted by the visit.
      if (!this.traffic.isInterrupted) await visit().catch(() => this.traffic.count("socket lost"));
      await pause(CONNECT_AGAIN_MS);
    }
  }

  /** Subscribes, trades, resyncs, unsubscribes and leaves. */
  private async read(): Promise<void> {
    const { random, accounts } = this.traffic;
    const { trader } = random.pick(accounts);
    const socket = new WebSocket(this.server.wsUrl);
    const handle = { destroy: () => socket.terminate() };
    this.sockets.add(handle);
    const ended = new Promise<void>((resolve) => socket.on("close", resolve)).then(() => this.sockets.delete(handle));
    socket.on("error", () => this.traffic.count("socket lost"));
    socket.on("message", (bytes: Buffer) => this.traffic.count(`message ${kindOf(bytes)}`));
    await new Promise((resolve) => socket.once("open", resolve).once("close", resolve));
    const say = (op: string, fields: object): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ op, id: 1, ...fields }));
    };
    const { symbol } = random.pick(MARKETS);
    const channels: object[] = PUBLIC_CHANNELS.filter(() => random.next() < 0.5).map((each) => ({ ...each, symbol }));
    if (random.next() < 0.5) {
      say("auth", { token: trader.token, cancelOnDisconnect: random.next() < 0.1 });
      channels.push(...PRIVATE_CHANNELS.map((channel) => ({ channel })));
    }
    say("subscribe", { channels });
    for (let turns = random.between(1, 20); turns > 0 && !this.isOver; turns--) {
      const order = { ...this.traffic.newOrder(), clientOrderId: this.traffic.nextClientId() };
      say("order.place", { params: order });
      await Promise.race([pause(random.between(100, 2000)), ended]);
      say("order.cancel", { params: { clientOrderId: order.clientOrderId } });
      if (random.next() < 0.1) say("subscribe", { channels });
      if (random.next() < 0.1) say("nonsense", {});
    }
    if (random.next() < 0.5) say("unsubscribe", { channels });
    if (random.next() < 0.5) socket.close();
    else socket.terminate();
    await ended;
  }

  /** Asks for books until the server drops it. */
  private async readNothing(): Promise<void> {
    const socket = await upgrade(this.server.port);
    const channels = MARKETS.map(({ symbol }) => ({ channel: "orderbook", symbol, depth: 1000 }));
    const frame = textFrame({ op: "subscribe", channels });
    await this.hold(socket, () => socket.write(frame));
  }

  /** Opens a connection, sends half a request and waits for the server to close it. */
  private async sendNothing(): Promise<void> {
    const socket = connect(this.server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.resume();
    socket.write("POST /v1/orders HTTP/1.1\r\nHo");
    await this.hold(socket, () => {});
  }

  private async hold(socket: Socket, act: () => void): Promise<void> {
    this.sockets.add(socket);
    const timer = setInterval(act, 100);
    const ended = new Promise((resolve) => socket.once("close", resolve));
    await Promise.race([ended, pause(20_000)]);
    clearInterval(timer);
    socket.destroy();
    this.sockets.delete(socket);
  }
}

/** The op of a reply, or the channel of a message. */
const kindOf = (bytes: Buffer): string =>
  /"(?:op|channel)":"([\w.-]+)"/.exec(bytes.toString("latin1", 0, 100))?.[1] ?? "unknown";
