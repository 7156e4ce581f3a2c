const MAX_MESSAGES = 256;
/** Limits the memory for deltas of deep books. */
const MAX_CHARACTERS = 512 * 1024;

interface Entry {
  readonly prevSequence: number;
  readonly text: string;
}

/** The last messages of a stream, for clients that reconnect. */
export class ReplayBuffer {
  private readonly entries: Entry[] = [];
  private characters = 0;

  push(prevSequence: number, text: string): void {
    const { entries } = this;
    entries.push({ prevSequence, text });
    this.characters += text.length;
    while (entries.length > MAX_MESSAGES || this.characters > MAX_CHARACTERS)
      this.characters -= entries.shift()?.text.length ?? 0;
  }

  /** The messages after the one with this sequence, oldest first; null when some are not in the buffer. */
  messagesAfter(sequence: number): string[] | null {
    const first = this.entries.findIndex((entry) => entry.prevSequence === sequence);
    return first < 0 ? null : this.entries.slice(first).map((entry) => entry.text);
  }
}
