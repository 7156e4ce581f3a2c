/** CORK_BUFFER_SIZE of uWebSockets.js. */
const BUFFER_BYTES = 16 * 1024;

/**
 * What is answered while the requests of a packet are read, uWebSockets.js gathers in one buffer, which it writes behind
 * the last of them, or when it is full. If the client has not read what came before, a part of the answer that found no
 * room any more is lost then; and if that was its body, the process ends. So nothing goes there that might not fit. Whose
 * packet is read nobody is told: the answers of one turn of the event loop count together.
 */
let turn = 1;
let gatheredBytes = 0;
let isReading = false;

function endTurn(): void {
  turn++;
  gatheredBytes = 0;
  isReading = false;
}

/** A request is being read. Returns the number of this turn of the event loop. */
export function readingTurn(): number {
  if (!isReading) {
    isReading = true;
    setImmediate(endTurn);
  }
  return turn;
}

/** Whether its packet may still be being read. */
export const isBeingRead = (readIn: number): boolean => readIn === turn;

/** Whether there is surely room for so many bytes of an answer. Takes it. */
export function gather(bytes: number): boolean {
  if (gatheredBytes + bytes > BUFFER_BYTES) return false;
  gatheredBytes += bytes;
  return true;
}
