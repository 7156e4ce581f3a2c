import type { Random } from "../../../src/sandbox/random.ts";

/** How often a fake exchange, its network and a program make things difficult for a stream. Chances are for one turn. */
export interface Trouble {
  /** The connection is lost, with all that is on the way. */
  cutChance?: number;
  /** The exchange stops answering for longer than a request waits. */
  hangChance?: number;
  /** The exchange refuses a subscription for now. Chance for each request. */
  refuseChance?: number;
  /** An update is lost on a connection that goes on. Chance for each update. */
  dropChance?: number;
  /** A request is lost on a connection that goes on. Chance for each request. */
  loseChance?: number;
  /** How long the stream waits for the answer to a request. */
  timeoutMs?: number;
  /** Several messages arrive at once, so that no promise settles between them. */
  hasBursts?: boolean;
  /** The program asks for snapshots again. */
  hasResyncs?: boolean;
  /** The program asks for channels that it has already. */
  hasRepeats?: boolean;
  /** The program leaves out fields that the exchange fills in. */
  hasShortRequests?: boolean;
  /** The program ends subscriptions by channel and symbol only. */
  hasShortEnds?: boolean;
}

/** A whole number from 1 to `max`. */
export const oneTo = (max: number, random: Random): number => 1 + Math.floor(random.between(0, max));
