import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy to a port of this machine that can be cut and restored. `port` is read for each connection. */
export class Line {
  private readonly sockets = new Set<Socket>();
  private readonly server;
  private isCut = false;

  constructor(port: () => number) {
    this.server = createServer((near) => {
      if (this.isCut) {
        near.destroy();
        return;
      }
      const far = connect(port(), "127.0.0.1");
      for (const socket of [near, far]) {
        this.sockets.add(socket);
        // Errors of cut connections do not matter.
        socket.on("error", () => {});
        socket.on("close", () => {
          this.sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
  }

  async open(): Promise<string> {
    await once(this.server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  close(): void {
    this.cut();
    this.server.close();
  }
}
