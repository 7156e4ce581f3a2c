/** CORK_BUFFER_SIZE of uWebSockets.js. */
export const BUFFER_BYTES = 16 * 1024;

/** What of an answer surely finds room in the buffer. */
export type Room = "ALL" | "HEAD" | "NONE";

/**
 * What is answered while the requests of a packet are read, uWebSockets.js gathers in one buffer, which it writes when it is
 * full, and behind the last of them. If the client has not read what came before, the piece of an answer that found no room
 * is lost then. If that was its body, given to end(), the process ends. Whose packet is read nobody is told: the answers of
 * one turn of the event loop count together.
 */
let transaction = 1;
let gatheredBytes = 0;
let isReading = false;

function endTransaction(): void {
  transaction++;
  gatheredBytes = 0;
  isReading = false;
}

/** A request is being read. Returns the number of this turn of the event loop. */
export function readingIteration(): number {
  if (!isReading) {
    isReading = true;
    setImmediate(endTransaction);
  }
  return transaction;
}

/** Whether its packet may still be being read. */
export const isBeingRead = (readIn: number): boolean => readIn === transaction;

/** The room that there is for an answer. It is taken if the answer is given at once. */
export function roomFor(headBytes: number, bodyBytes: number): Room {
  const free = BUFFER_BYTES - gatheredBytes;
  if (headBytes > free) return "NONE";
  return headBytes + bodyBytes > free ? "HEAD" : "ALL";
}

/** An answer of so many bytes is given at once. */
export function gather(bytes: number): void {
  gatheredBytes += bytes;
}
