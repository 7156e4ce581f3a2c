import { QuoteAnswers } from "./quote-answers.ts";
import { frameText, SocketClient, textFrame } from "./socket-client.ts";

/** Places and cancels orders on WebSockets in a separate process, with `inFlight` requests in flight on each. */
export interface SocketQuotersTask {
  url: string;
  connections: number;
  inFlight: number;
  /** First message of each connection, which waits for its reply; "" = none. */
  openingMessage: string;
  /** A message that places an order, with the id 1. */
  request: string;
}

export interface QuotersMeasurement {
  seconds: number;
}

/** The result of one measurement. */
export interface Quoted {
  /** Orders placed and canceled. */
  pairs: number;
  seconds: number;
  /** Mean bytes of the replies to an order and to a cancel. */
  placedBytes: number;
  canceledBytes: number;
}

process.once("message", async (task: SocketQuotersTask) => {
  const quoters: SocketQuoter[] = [];
  for (let i = 0; i < task.connections; i++) quoters.push(await SocketQuoter.open(task));
  process.on("message", async ({ seconds }: QuotersMeasurement) => {
    const from = performance.now();
    const before = totals(quoters);
    await Promise.all(quoters.map((quoter) => quoter.quote(seconds * 1e3)));
    const after = totals(quoters);
    const pairs = after.canceled - before.canceled;
    const quoted: Quoted = {
      pairs,
      seconds: (performance.now() - from) / 1e3,
      placedBytes: (after.placedBytes - before.placedBytes) / pairs,
      canceledBytes: (after.canceledBytes - before.canceledBytes) / pairs,
    };
    process.send?.(quoted);
  });
  process.send?.("ready");
});

function totals(quoters: readonly SocketQuoter[]): Pick<QuoteAnswers, "canceled" | "placedBytes" | "canceledBytes"> {
  const sum = (of: (answers: QuoteAnswers) => number): number =>
    quoters.reduce((total, { answers }) => total + of(answers), 0);
  return {
    canceled: sum(({ canceled }) => canceled),
    placedBytes: sum(({ placedBytes }) => placedBytes),
    canceledBytes: sum(({ canceledBytes }) => canceledBytes),
  };
}

/** One connection. Each placed order is canceled at once and replaced by another. */
class SocketQuoter {
  readonly answers: QuoteAnswers;
  private readonly socket: SocketClient;
  private readonly place: string;
  private readonly inFlight: number;

  static async open({ url, openingMessage, request, inFlight }: SocketQuotersTask): Promise<SocketQuoter> {
    const answers = new QuoteAnswers();
    const socket = await SocketClient.open(url, answers);
    if (openingMessage !== "") {
      socket.send(textFrame(openingMessage));
      await new Promise<void>((resolve) => {
        socket.onFrames = () => {
          if (answers.texts > 0) resolve();
        };
      });
    }
    return new SocketQuoter(socket, answers, frameText(request), inFlight);
  }

  private constructor(socket: SocketClient, answers: QuoteAnswers, place: string, inFlight: number) {
    this.socket = socket;
    this.answers = answers;
    this.place = place;
    this.inFlight = inFlight;
  }

  /** Resolves after `ms`, when everything has been canceled. */
  quote(ms: number): Promise<void> {
    const { answers, socket, place } = this;
    const until = performance.now() + ms;
    let seen = answers.canceled;
    let inFlight = this.inFlight;
    return new Promise((resolve) => {
      socket.onFrames = () => {
        const canceled = answers.canceled - seen;
        seen = answers.canceled;
        const placing = performance.now() < until ? canceled : 0;
        inFlight += placing - canceled;
        const frames = answers.takePlaced().map(cancelFrame).join("") + place.repeat(placing);
        if (frames !== "") socket.send(Buffer.from(frames, "latin1"));
        if (inFlight === 0) resolve();
      };
      socket.send(Buffer.from(place.repeat(inFlight), "latin1"));
    });
  }
}

const cancelFrame = (orderId: string): string =>
  frameText(`{"op":"order.cancel","id":2,"params":{"orderId":"${orderId}"}}`);
