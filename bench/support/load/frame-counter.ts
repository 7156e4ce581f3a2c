const TEXT = 1;
const PING = 9;
const END_OF_HEAD = "\r\n\r\n";

/** Counts the text frames of a WebSocket server without reading them: the least work of a client. */
export class FrameCounter {
  texts = 0;
  /** Payload bytes of all text frames. */
  payloadBytes = 0;
  pings = 0;
  /** The handshake response so far; null when it is complete. */
  private answer: string | null = "";
  private readonly header = new Uint8Array(10);
  private headerBytes = 0;
  protected payloadLeft = 0;

  /** Reads the next `length` bytes from the server. */
  feed(bytes: Buffer, length: number): void {
    let at = this.answer === null ? 0 : this.endOfAnswer(bytes, length);
    while (at < length) {
      if (this.payloadLeft > 0) {
        const taken = Math.min(this.payloadLeft, length - at);
        this.payloadLeft -= taken;
        this.onPayload(bytes, at, at + taken);
        at += taken;
      } else {
        this.header[this.headerBytes++] = bytes[at++];
        if (this.headerBytes >= 2 && this.headerBytes === headerBytesOf(this.header[1])) this.begin();
      }
    }
  }

  /** For subclasses that read payloads: the next piece; `payloadLeft` is 0 at the last one. */
  protected onPayload(_bytes: Buffer, _from: number, _to: number): void {}

  private endOfAnswer(bytes: Buffer, length: number): number {
    const before = (this.answer ?? "").length;
    this.answer += bytes.toString("latin1", 0, length);
    const end = (this.answer ?? "").indexOf(END_OF_HEAD);
    if (end < 0) return length;
    if (!this.answer?.startsWith("HTTP/1.1 101")) throw new Error(`no WebSocket: ${this.answer}`);
    this.answer = null;
    return end + END_OF_HEAD.length - before;
  }

  /** Handles a complete frame header. */
  private begin(): void {
    const { header } = this;
    this.headerBytes = 0;
    const opcode = header[0] & 15;
    const short = header[1] & 127;
    this.payloadLeft =
      short < 126
        ? short
        : short === 126
          ? header[2] * 256 + header[3]
          : Number(Buffer.from(header).readBigUInt64BE(2));
    if (opcode === TEXT) {
      this.texts++;
      this.payloadBytes += this.payloadLeft;
    } else if (opcode === PING) this.pings++;
    else throw new Error(`a frame with opcode ${opcode}`);
  }
}

const headerBytesOf = (second: number): number => {
  const short = second & 127;
  return short < 126 ? 2 : short === 126 ? 4 : 10;
};
