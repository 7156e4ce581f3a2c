import { BareSocket, textFrame } from "./bare-socket.ts";

/** Requests over and over on WebSockets of a process of its own, so many under way on each. */
export interface SocketTradersTask {
  url: string;
  connections: number;
  inFlight: number;
  /** What each says first and is answered before it begins; "" = nothing. */
  greeting: string;
  request: string;
}

/** What one measurement says. */
export interface Traded {
  answers: number;
  /** Of their payloads. */
  bytes: number;
  seconds: number;
}

process.once("message", async (task: SocketTradersTask) => {
  const traders: SocketTrader[] = [];
  for (let i = 0; i < task.connections; i++) traders.push(await SocketTrader.open(task));
  process.on("message", async (seconds: number) => {
    const from = performance.now();
    const each = await Promise.all(traders.map((trader) => trader.trade(seconds * 1e3)));
    const took = (performance.now() - from) / 1e3;
    const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
    const answers = sum(each.map(({ answers }) => answers));
    process.send?.({ answers, bytes: sum(each.map(({ bytes }) => bytes)), seconds: took } satisfies Traded);
  });
  process.send?.("ready");
});

/** One connection. Whatever answers have come in together, as many requests go out together. */
class SocketTrader {
  private readonly socket: BareSocket;
  /** The first n requests of it are the first n × frameBytes bytes. */
  private readonly frames: Buffer;
  private readonly frameBytes: number;
  private readonly inFlight: number;

  static async open({ url, greeting, request, inFlight }: SocketTradersTask): Promise<SocketTrader> {
    const socket = await BareSocket.open(url);
    if (greeting !== "") {
      socket.send(textFrame(greeting));
      await new Promise<void>((resolve) => {
        socket.onFrames = () => {
          if (socket.counter.texts > 0) resolve();
        };
      });
    }
    return new SocketTrader(socket, textFrame(request), inFlight);
  }

  private constructor(socket: BareSocket, frame: Buffer, inFlight: number) {
    this.socket = socket;
    this.frames = Buffer.concat(new Array(inFlight).fill(frame));
    this.frameBytes = frame.length;
    this.inFlight = inFlight;
  }

  /** Resolves when the time is over and everything has been answered. */
  trade(ms: number): Promise<{ answers: number; bytes: number }> {
    const { counter } = this.socket;
    const until = performance.now() + ms;
    const before = { texts: counter.texts, bytes: counter.payloadBytes };
    let sent = 0;
    return new Promise((resolve) => {
      const send = (count: number): void => {
        this.socket.send(this.frames.subarray(0, count * this.frameBytes));
        sent += count;
      };
      this.socket.onFrames = () => {
        const answers = counter.texts - before.texts;
        const free = this.inFlight - (sent - answers);
        if (performance.now() < until) {
          if (free > 0) send(free);
        } else if (answers === sent) resolve({ answers, bytes: counter.payloadBytes - before.bytes });
      };
      send(this.inFlight);
    });
  }
}
