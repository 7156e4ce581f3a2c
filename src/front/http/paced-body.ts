import { TimeSlicer } from "../common/time-slicer.ts";

/** The kernel copies as many bytes in about 20 µs. */
export const PIECE_BYTES = 1 << 16;
/** The part of a uWebSockets.js response that sends a body. */
export interface BodySink {
  /**
   * Sends as much of a piece of the body as the client takes at once. `totalBytes`: the size of the whole body. Returns
   * whether all of the piece was sent, and whether the whole body was.
   */
  tryEnd(piece: string | Uint8Array, totalBytes: number): [isTaken: boolean, isWhole: boolean];
  /** `send` runs when the client takes more. It gets the bytes of the body sent so far and returns whether it sent the rest. */
  onWritable(send: (sentBytes: number) => boolean): unknown;
  onAborted(then: () => void): unknown;
  cork(write: () => void): unknown;
}

const PIECES_PER_ITERATION = 4;

/** Bodies with a piece to send now, the next one first. Those whose client does not read are not among them. */
const due = new TimeSlicer<PacedBody>(PIECES_PER_ITERATION, (body) => body.sendPiece());

const runDue = (): void => due.run();

/** Whether a client that reads is still being sent a body. */
export const arePacedBodiesDue = (): boolean => due.size > 0;

/**
 * The rest of a long body. It goes out in pieces, round robin over all such bodies, a few in each event-loop iteration.
 * Otherwise each request for a large file would block all others while the kernel copies megabytes.
 */
export class PacedBody {
  private readonly response: BodySink;
  private readonly bytes: Uint8Array;
  private sentBytes = 0;

  /** `hasGone` runs when the client closes the connection before it got the whole body. */
  constructor(response: BodySink, bytes: Uint8Array, hasGone: () => void) {
    this.response = response;
    this.bytes = bytes;
    response.onAborted(() => {
      due.delete(this);
      hasGone();
    });
    response.onWritable((sentBytes) => {
      this.continueFrom(sentBytes);
      return true;
    });
  }

  /** Sends what follows after `sentBytes` from the next event-loop iteration on: now another answer may be corked. */
  continueFrom(sentBytes: number): void {
    this.sentBytes = sentBytes;
    due.add(this);
    setImmediate(runDue);
  }

  sendPiece(): void {
    const { response, bytes, sentBytes } = this;
    const end = sentBytes + PIECE_BYTES;
    let isTaken = false;
    let isWhole = false;
    response.cork(() => {
      [isTaken, isWhole] = response.tryEnd(bytes.subarray(sentBytes, end), bytes.length);
    });
    // Otherwise the client has not read yet: onWritable goes on, or the connection ends after 10 s.
    if (!isTaken || isWhole) return;
    this.sentBytes = end;
    due.add(this);
  }
}
