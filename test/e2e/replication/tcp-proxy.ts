import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A network between a process and a server on this machine, which can be cut. */
export class TcpProxy {
  port = 0;
  private isCut = false;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  constructor(targetPort: number) {
    this.server = createServer((client) => {
      const target = connect(targetPort, "127.0.0.1");
      for (const socket of [client, target]) {
        this.sockets.add(socket);
        socket.on("error", () => socket.destroy());
        socket.on("close", () => this.sockets.delete(socket));
      }
      client.on("close", () => target.destroy());
      target.on("close", () => client.destroy());
      this.join(client, target);
      this.join(target, client);
    });
  }

  /** Default: any free port. */
  async open(port = 0): Promise<void> {
    await once(this.server.listen(port, "127.0.0.1"), "listening");
    this.port = (this.server.address() as AddressInfo).port;
  }

  /** From now on everything disappears in the network. Nobody is told. */
  cut(): void {
    this.isCut = true;
  }

  /** New connections work again. The old ones have lost bytes: they are reset. */
  heal(): void {
    this.isCut = false;
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private join(from: Socket, to: Socket): void {
    from.on("data", (bytes) => {
      if (!this.isCut) to.write(bytes);
    });
  }
}
