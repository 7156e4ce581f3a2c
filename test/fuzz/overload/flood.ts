import type { Socket } from "node:net";
import { build, type Histogram } from "hdr-histogram-js";
import { textFrame, upgrade } from "../../e2e/support/raw-socket.ts";

/**
 * Floods the exchange with orders over WebSockets, from a separate process. The first message is the task, each later
 * one a load phase.
 */
export interface FloodTask {
  port: number;
  token: string;
  connections: number;
  /** Parameters of every order. */
  params: object;
}

/**
 * `perSecond`: orders per second, sent without waiting for replies as far as the exchange reads them; null = full rate
 * with a window.
 */
export interface LoadPhase {
  seconds: number;
  perSecond: number | null;
}

/** Results of a phase. Every order was accepted, refused as OVERLOADED, or lost with its connection. */
export interface LoadReport {
  taken: number;
  overloaded: number;
  /** Orders without a reply: this process read too slowly, was dropped (SLOW_CONSUMER), and reconnected. */
  cutOff: number;
  seconds: number;
  /** Milliseconds from sending to reply. */
  takenMs: Percentiles;
  overloadedMs: Percentiles;
}

export interface Percentiles {
  p50: number;
  p99: number;
  max: number;
}

/** Window of each connection at full rate: large enough that latency does not limit the rate. */
const IN_FLIGHT = 256;
const ID_DIGITS = 12;
const MAX_UNSENT_BYTES = 65_536;
const OPCODE_TEXT = 0x81;
const OPCODE_PING = 0x89;
const OPCODE_CLOSE = 0x88;
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
/** Bytes of a reply that identify it. */
const HEAD_BYTES = 96;

/** Results of all connections in one phase. */
class Tally {
  taken = 0;
  overloaded = 0;
  cutOff = 0;
  private readonly takenTimes = newHistogram();
  private readonly overloadedTimes = newHistogram();

  add(answer: string, lateMs: number): void {
    const taken = answer.includes('"status":201');
    if (!taken && !answer.includes('"OVERLOADED"')) throw new Error(`neither accepted nor OVERLOADED: ${answer}`);
    (taken ? this.takenTimes : this.overloadedTimes).recordValue(Math.max(1, lateMs * 1e3));
    if (taken) this.taken++;
    else this.overloaded++;
  }

  report(seconds: number): LoadReport {
    const { taken, overloaded, cutOff, takenTimes, overloadedTimes } = this;
    return {
      taken,
      overloaded,
      cutOff,
      seconds,
      takenMs: percentiles(takenTimes),
      overloadedMs: percentiles(overloadedTimes),
    };
  }
}

/** In microseconds. */
const newHistogram = (): Histogram => build({ highestTrackableValue: 600e6, numberOfSignificantValueDigits: 3 });

const percentiles = (histogram: Histogram): Percentiles => ({
  p50: histogram.getValueAtPercentile(50) / 1e3,
  p99: histogram.getValueAtPercentile(99) / 1e3,
  max: histogram.maxValue / 1e3,
});

class Connection {
  private readonly task: FloodTask;
  /** Null while disconnected. */
  private socket: Socket | null = null;
  /** The frame's bytes before and after its id, as characters. The mask is zeros, which change nothing. */
  private readonly before: string;
  private readonly after: string;
  private rest: Buffer = Buffer.alloc(0);
  private onAnswer: (answer: string) => void = () => {};
  private onCut: () => void = () => {};
  private onBack: () => void = () => {};

  static async open(task: FloodTask): Promise<Connection> {
    const connection = new Connection(task);
    await connection.connect();
    return connection;
  }

  private constructor(task: FloodTask) {
    this.task = task;
    const text = JSON.stringify({ op: "order.place", id: "#", params: task.params });
    const length = text.length - 1 + ID_DIGITS;
    const [left = "", right = ""] = text.split("#");
    this.before = String.fromCharCode(OPCODE_TEXT, 0x80 | 126, length >> 8, length & 255, 0, 0, 0, 0) + left;
    this.after = right;
  }

  /** Resolves when orders may be sent. Reconnects by itself when it is dropped. */
  private async connect(): Promise<void> {
    const socket = await upgrade(this.task.port);
    this.rest = Buffer.alloc(0);
    const { onAnswer } = this;
    const authenticated = new Promise<string>((resolve) => {
      this.onAnswer = resolve;
    });
    socket.removeAllListeners("close");
    socket.on("data", (bytes: Buffer) => this.read(socket, bytes));
    socket.on("close", () => {
      this.socket = null;
      this.onCut();
      void this.connect().then(() => this.onBack());
    });
    socket.resume();
    socket.write(textFrame({ op: "auth", token: this.task.token }));
    const answer = await authenticated;
    if (!answer.includes('"authenticated"')) throw new Error(answer);
    this.onAnswer = onAnswer;
    this.socket = socket;
  }

  /** Runs one phase; ids are the numbers of its orders. Resolves when each order is answered or lost. */
  run({ seconds, perSecond }: LoadPhase, connections: number, tally: Tally): Promise<void> {
    const from = performance.now();
    const until = from + seconds * 1e3;
    const everyMs = perSecond === null ? 0 : (1e3 * connections) / perSecond;
    const total = perSecond === null ? Number.POSITIVE_INFINITY : Math.floor((seconds * perSecond) / connections);
    const sentAt: number[] = [];
    let answered = 0;
    return new Promise((resolve) => {
      const send = (count: number): void => {
        // Do not send more than the exchange reads: it would wait in this process.
        if (this.socket === null || count <= 0 || this.socket.writableLength > MAX_UNSENT_BYTES) return;
        const now = performance.now();
        let frames = "";
        for (let i = 0; i < count; i++) {
          frames += this.before + String(sentAt.length).padStart(ID_DIGITS, "0") + this.after;
          sentAt.push(now);
        }
        this.socket.write(frames, "latin1");
      };
      const isOver = (): boolean => sentAt.length >= total || performance.now() >= until;
      const timer = setInterval(() => {
        if (!isOver()) {
          if (perSecond !== null)
            send(Math.min(total, Math.ceil((performance.now() - from) / everyMs)) - sentAt.length);
        } else if (answered === sentAt.length) {
          clearInterval(timer);
          resolve();
        }
      }, 1);
      this.onAnswer = (answer) => {
        const id = /"id":"(\d+)"/.exec(answer);
        const at = sentAt[Number(id?.[1])];
        if (at === undefined) throw new Error(`a reply without a request: ${answer}`);
        tally.add(answer, performance.now() - at);
        answered++;
        if (perSecond === null && !isOver()) send(1);
      };
      this.onCut = () => {
        tally.cutOff += sentAt.length - answered;
        answered = sentAt.length;
      };
      this.onBack = () => {
        if (perSecond === null && !isOver()) send(IN_FLIGHT);
      };
      this.onBack();
    });
  }

  private read(socket: Socket, bytes: Buffer): void {
    const all = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
    let at = 0;
    while (all.length - at >= 4) {
      const opcode = all[at];
      const short = all[at + 1] as number;
      const head = short < 126 ? 2 : 4;
      const length = short < 126 ? short : all.readUInt16BE(at + 2);
      if (short === 127) throw new Error("an answer of more than 64 KiB");
      if (all.length - at < head + length) break;
      at += head;
      if (opcode === OPCODE_PING) socket.write(PONG);
      else if (opcode === OPCODE_CLOSE) socket.destroy();
      else if (opcode === OPCODE_TEXT) this.onAnswer(all.toString("latin1", at, at + Math.min(length, HEAD_BYTES)));
      else throw new Error(`a frame that begins with ${opcode}`);
      at += length;
    }
    this.rest = all.subarray(at);
  }
}

process.once("message", async (task: FloodTask) => {
  const connections: Connection[] = [];
  for (let i = 0; i < task.connections; i++) connections.push(await Connection.open(task));
  process.on("message", async (wave: LoadPhase) => {
    const tally = new Tally();
    const from = performance.now();
    await Promise.all(connections.map((connection) => connection.run(wave, connections.length, tally)));
    process.send?.(tally.report((performance.now() - from) / 1e3));
  });
  process.send?.("ready");
});
