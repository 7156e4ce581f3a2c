/** The figures of page/probe.ts. Times are milliseconds. */

export interface Recorded {
  messages: number;
  /** From the arrival of a message to the end of the frame that shows the changes since. */
  messageToPaint: number[];
  /** From each frame to the next one. */
  frames: number[];
}

export interface Inputs {
  /** From the press of a key or button to the end of the next frame. */
  toPaint: number[];
  /** From the press to the order's request. */
  toRequest: number[];
}

export interface SinceLoad {
  /** Frames of more than 50 ms. */
  longFrames: number;
  /** Of elements that moved without an input, in the worst five seconds: "cumulative layout shift". */
  layoutShift: number;
}

export interface Probe {
  /** From the navigation to the frame that first shows both sides of the book. Null before. */
  bookShownAt: number | null;
  record(forMs: number): Promise<Recorded>;
  takeInputs(): Inputs;
  sinceLoad(): SinceLoad;
}
