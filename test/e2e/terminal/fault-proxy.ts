import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { WebSocket, WebSocketServer } from "ws";

/** One WebSocket of a page, and the one to the exchange that belongs to it. */
export interface Pair {
  /** From now on the page gets nothing more. */
  isMute: boolean;
  readonly page: WebSocket;
  readonly exchange: WebSocket;
}

/** Returns the message to pass on; null loses it. */
type Filter = (message: string, pair: Pair) => string | null;

const pass: Filter = (message) => message;

/**
 * Stands between browsers and the exchange, and does what networks do: loses or damages messages, ends connections, and
 * cannot be reached. Its address stays when the exchange starts again at another port.
 */
export class FaultProxy {
  /** Port of the exchange. */
  target = 0;
  toPage: Filter = pass;
  toExchange: Filter = pass;
  /** New connections are refused. */
  isDown = false;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.server = server;
  }

  static async open(): Promise<FaultProxy> {
    const server = createServer();
    const proxy = new FaultProxy(server);
    const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
    server.on("connection", (socket) => {
      if (proxy.isDown) socket.destroy();
      proxy.sockets.add(socket);
      socket.on("error", () => {}).on("close", () => proxy.sockets.delete(socket));
    });
    server.on("request", (incoming, outgoing) => {
      const { method, url: path, headers } = incoming;
      const onward = request({ host: "127.0.0.1", port: proxy.target, method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on("error", () => incoming.socket.destroy());
      incoming.pipe(onward);
    });
    server.on("upgrade", (incoming, socket, head) =>
      sockets.handleUpgrade(incoming, socket, head, (page) => proxy.join(page, incoming.headers)),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  /** As pages name it. */
  get authority(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.authority}/`;
  }

  private join(page: WebSocket, { host = "", origin = "" }: IncomingHttpHeaders): void {
    const options = { perMessageDeflate: false, headers: { host, origin } };
    const exchange = new WebSocket(`ws://127.0.0.1:${this.target}/v1/ws`, options);
    const pair: Pair = { isMute: false, page, exchange };
    const waiting: string[] = [];
    const send = (text: string): void => {
      const passed = this.toExchange(text, pair);
      if (passed !== null) exchange.send(passed);
    };
    page.on("message", (data) => {
      if (exchange.readyState === WebSocket.CONNECTING) waiting.push(String(data));
      else if (exchange.readyState === WebSocket.OPEN) send(String(data));
    });
    exchange.on("open", () => waiting.splice(0).forEach(send));
    exchange.on("message", (data) => {
      const passed = pair.isMute ? null : this.toPage(String(data), pair);
      if (passed !== null && page.readyState === WebSocket.OPEN) page.send(passed);
    });
    page.on("error", () => {}).on("close", () => exchange.terminate());
    exchange.on("error", () => page.terminate()).on("close", () => page.terminate());
  }

  /** Ends all connections, without a word. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Passes everything on again. */
  heal(): void {
    this.toPage = this.toExchange = pass;
    this.isDown = false;
  }

  close(): void {
    this.cut();
    this.server.close();
  }
}
