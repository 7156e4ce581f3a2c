import { FrameCounter } from "./frame-counter.ts";

/** The start of each reply; the order's id follows. */
export const PLACED = '{"op":"order.place","id":1,"status":201,"result":{"orderId":"';
export const CANCELED = '{"op":"order.cancel","id":2,"status":200,"result":{"orderId":"';
const QUOTE = 34;
const MAX_ID_LENGTH = 17;

/** Reads from the replies to orders and cancels only what a client needs to continue. */
export class QuoteAnswers extends FrameCounter {
  canceled = 0;
  /** Total bytes of the replies of each kind. */
  placedBytes = 0;
  canceledBytes = 0;
  /** Ids of placed orders that takePlaced() has not returned yet. */
  private placed: string[] = [];
  private readonly head = Buffer.alloc(CANCELED.length + MAX_ID_LENGTH);
  private headBytes = 0;
  private length = 0;

  takePlaced(): string[] {
    const { placed } = this;
    this.placed = [];
    return placed;
  }

  protected override onPayload(bytes: Buffer, from: number, to: number): void {
    const { head } = this;
    this.headBytes += bytes.copy(head, this.headBytes, from, to);
    this.length += to - from;
    if (this.payloadLeft > 0) return;
    const text = head.toString("latin1", 0, this.headBytes);
    if (text.startsWith(PLACED)) {
      this.placed.push(text.slice(PLACED.length, head.indexOf(QUOTE, PLACED.length)));
      this.placedBytes += this.length;
    } else if (text.startsWith(CANCELED)) {
      this.canceled++;
      this.canceledBytes += this.length;
    } else if (!text.startsWith('{"op":"authenticated"')) throw new Error(`a quote was answered with ${text}`);
    this.headBytes = 0;
    this.length = 0;
  }
}
