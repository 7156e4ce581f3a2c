import type { Socket } from "node:net";
import { build, type Histogram } from "hdr-histogram-js";
import { textFrame, upgrade } from "../../e2e/support/raw-socket.ts";

/** Orders without end over WebSockets, from a process of its own. Its first message is the task, each later one a wave. */
export interface FloodTask {
  port: number;
  token: string;
  connections: number;
  /** The parameters of every order. */
  params: object;
}

/** So many orders a second whether or not they are answered, or (null) as many as are answered. */
export interface Wave {
  seconds: number;
  perSecond: number | null;
}

/** What became of a wave: every order is taken or refused as one too many. */
export interface WaveReport {
  taken: number;
  overloaded: number;
  seconds: number;
  /** From when the order was due, in milliseconds. */
  takenMs: Percentiles;
  overloadedMs: Percentiles;
}

export interface Percentiles {
  p50: number;
  p99: number;
  max: number;
}

/** Of each connection, while a wave goes as fast as it can: the rate that is found does not hang on the latency. */
const IN_FLIGHT = 256;
const ID_DIGITS = 12;
const OPCODE_TEXT = 0x81;
const OPCODE_PING = 0x89;
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
/** Enough of an answer to know what it is. */
const HEAD_BYTES = 96;

/** What all connections of one wave have found. */
class Tally {
  taken = 0;
  overloaded = 0;
  private readonly takenTimes = newHistogram();
  private readonly overloadedTimes = newHistogram();

  add(answer: string, lateMs: number): void {
    const taken = answer.includes('"status":201');
    if (!taken && !answer.includes('"OVERLOADED"')) throw new Error(`neither taken nor too many: ${answer}`);
    (taken ? this.takenTimes : this.overloadedTimes).recordValue(Math.max(1, lateMs * 1e3));
    if (taken) this.taken++;
    else this.overloaded++;
  }

  report(seconds: number): WaveReport {
    const { taken, overloaded, takenTimes, overloadedTimes } = this;
    return { taken, overloaded, seconds, takenMs: percentiles(takenTimes), overloadedMs: percentiles(overloadedTimes) };
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
  private readonly socket: Socket;
  /** A frame's bytes around its id, one character each. Masked with zeros, which change nothing. */
  private readonly before: string;
  private readonly after: string;
  private rest: Buffer = Buffer.alloc(0);
  private onAnswer: (answer: string) => void = () => {};

  static async open({ port, token, params }: FloodTask): Promise<Connection> {
    const connection = new Connection(await upgrade(port), params);
    const authenticated = new Promise<string>((resolve) => {
      connection.onAnswer = resolve;
    });
    connection.socket.write(textFrame({ op: "auth", token }));
    const answer = await authenticated;
    if (!answer.includes('"authenticated"')) throw new Error(answer);
    return connection;
  }

  private constructor(socket: Socket, params: object) {
    this.socket = socket;
    const text = JSON.stringify({ op: "order.place", id: "#", params });
    const length = text.length - 1 + ID_DIGITS;
    const [left = "", right = ""] = text.split("#");
    this.before = String.fromCharCode(OPCODE_TEXT, 0x80 | 126, length >> 8, length & 255, 0, 0, 0, 0) + left;
    this.after = right;
    socket.on("data", (bytes: Buffer) => this.read(bytes));
    socket.on("close", () => {
      throw new Error("the exchange has closed a connection");
    });
    socket.resume();
  }

  /** Ids are the order's number in its wave. Resolves when each order is answered. */
  run({ seconds, perSecond }: Wave, connections: number, tally: Tally): Promise<void> {
    const from = performance.now();
    const until = from + seconds * 1e3;
    const everyMs = perSecond === null ? 0 : (1e3 * connections) / perSecond;
    const total = perSecond === null ? Number.POSITIVE_INFINITY : Math.floor((seconds * perSecond) / connections);
    const dueAt: number[] = [];
    let answered = 0;
    return new Promise((resolve) => {
      const send = (count: number): void => {
        const now = performance.now();
        let frames = "";
        for (let i = 0; i < count; i++) {
          frames += this.before + String(dueAt.length).padStart(ID_DIGITS, "0") + this.after;
          dueAt.push(perSecond === null ? now : from + dueAt.length * everyMs);
        }
        if (count > 0) this.socket.write(frames, "latin1");
      };
      const isOver = (): boolean => dueAt.length >= total || performance.now() >= until;
      const timer = setInterval(() => {
        if (perSecond !== null) send(Math.min(total, Math.ceil((performance.now() - from) / everyMs)) - dueAt.length);
        if (isOver()) clearInterval(timer);
      }, 1);
      this.onAnswer = (answer) => {
        const id = /"id":"(\d+)"/.exec(answer);
        const due = dueAt[Number(id?.[1])];
        if (due === undefined) throw new Error(`an answer to nothing: ${answer}`);
        tally.add(answer, performance.now() - due);
        answered++;
        if (perSecond === null && !isOver()) send(1);
        else if (answered === dueAt.length && isOver()) resolve();
      };
      if (perSecond === null) send(IN_FLIGHT);
    });
  }

  private read(bytes: Buffer): void {
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
      if (opcode === OPCODE_PING) this.socket.write(PONG);
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
  process.on("message", async (wave: Wave) => {
    const tally = new Tally();
    const from = performance.now();
    await Promise.all(connections.map((connection) => connection.run(wave, connections.length, tally)));
    process.send?.(tally.report((performance.now() - from) / 1e3));
  });
  process.send?.("ready");
});
