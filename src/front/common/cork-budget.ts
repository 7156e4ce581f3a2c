/** CORK_BUFFER_SIZE of uWebSockets.js. */
export const BUFFER_BYTES = 16 * 1024;

/** The part of an answer that surely fits into the buffer. */
export type Room = "ALL" | "HEAD" | "NONE";

/**
 * While uWebSockets.js reads the requests of a packet, it gathers their answers in one buffer. It writes the buffer when
 * it is full and after the last request. If the client has not read the earlier answers by then, the piece of an answer
 * that found no room is lost. If that piece was a body given to end(), the process ends. uWebSockets.js does not tell whose
 * packet it reads, so all answers of one event-loop iteration count together.
 */
let iteration = 1;
let gatheredBytes = 0;
let isReading = false;

function endIteration(): void {
  iteration++;
  gatheredBytes = 0;
  isReading = false;
}

/** Call it when a request is being read. Returns the number of this event-loop iteration. */
export function readingIteration(): number {
  if (!isReading) {
    isReading = true;
    setImmediate(endIteration);
  }
  return iteration;
}

/** Whether the packet of a request that was read in iteration `readIn` may still be being read. */
export const isBeingRead = (readIn: number): boolean => readIn === iteration;

/** The room for an answer of this size, if it is sent now. */
export function roomFor(headBytes: number, bodyBytes: number): Room {
  const free = BUFFER_BYTES - gatheredBytes;
  if (headBytes > free) return "NONE";
  return headBytes + bodyBytes > free ? "HEAD" : "ALL";
}

/** Takes the room of an answer that is sent now. */
export function takeRoom(bytes: number): void {
  gatheredBytes += bytes;
}
