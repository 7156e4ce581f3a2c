import type { Released, Road } from "../../actor/engine/engine.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../core/protocol/message-schema.ts";
import { Refused } from "../../core/protocol/messages.ts";
import { ApiError, fromRefused } from "../common/errors.ts";
import type { Answer } from "../http/answer.ts";
import type { Log } from "../http/call.ts";

/**
 * Asks one actor and lets `read` answer the request from the durable turn: the short way, without a promise. Throws
 * OVERLOADED, UNAVAILABLE or STORAGE_FULL when the actor cannot be asked: then nothing was done. `note` hears before what
 * came of it, also when nobody waits for the answer any more; null: the actor's thread has died, and nothing.
 */
export function askFor<C extends Message>(
  { road, log }: { road: Road; log: Log },
  answer: Answer,
  actorId: number,
  command: C,
  read: (turn: Released) => void,
  note?: (turn: Released | null) => void,
): void {
  const asked = road.ask(actorId, command, (turn) => {
    try {
      note?.(turn);
      if (!answer.done) read(happened(turn));
    } catch (thrown) {
      answer.fail(thrown, log);
    }
  });
  if (!asked) throw refusedAtDoor(road, actorId);
}

/**
 * Asks one actor. `read` sees the durable turn during the call only, so it copies what it keeps; what it throws rejects
 * the promise. Rejects with OVERLOADED, UNAVAILABLE or STORAGE_FULL when the actor cannot be asked, and with UNAVAILABLE when
 * its thread dies before it has done anything: then nothing was done.
 */
export function ask<T>(road: Road, actorId: number, command: Message, read: (turn: Released) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const asked = road.ask(actorId, command, (turn) => {
      try {
        resolve(read(happened(turn)));
      } catch (thrown) {
        reject(thrown);
      }
    });
    if (!asked) reject(refusedAtDoor(road, actorId));
  });
}

/** Why `road.ask` did nothing. */
function refusedAtDoor(road: Road, actorId: number): ApiError {
  if (road.isDown(actorId)) return new ApiError("UNAVAILABLE");
  return new ApiError(road.hasDiskRoom ? "OVERLOADED" : "STORAGE_FULL");
}

function happened(turn: Released | null): Released {
  if (turn === null) throw new ApiError("UNAVAILABLE");
  return turn;
}

const isPassing = (thrown: unknown): boolean =>
  thrown instanceof ApiError && (thrown.code === "OVERLOADED" || thrown.code === "UNAVAILABLE");

const ASK_AGAIN_AFTER_MS = 5;

/**
 * Asks several actors, each with a command of its own, and puts together what they say, in their order. An actor that is
 * too busy, or being rebuilt, is asked again until nobody waits any more: others may have done their part by then, so "nothing was
 * done" would not be true.
 */
export function askEach<T>(
  road: Road,
  answer: Pick<Answer, "done">,
  instruments: readonly Instrument[],
  command: () => Message,
  read: (turn: Released, instrument: Instrument) => T,
): Promise<T[]> {
  const patiently = async (instrument: Instrument): Promise<T> => {
    for (;;) {
      try {
        return await ask(road, instrument.id, command(), (turn) => read(turn, instrument));
      } catch (thrown) {
        if (answer.done || !isPassing(thrown)) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_AFTER_MS));
      }
    }
  };
  return Promise.all(instruments.map(patiently));
}

/**
 * Resolves when the history holds all that was released up to now. When too many wait for that already it rejects as if
 * the time was up: what the history is read for may have been done.
 */
export async function historyCaughtUp(road: Pick<Road, "historyCaughtUp">): Promise<void> {
  if (!(await road.historyCaughtUp())) throw new ApiError("TIMEOUT");
}

/** The turn's first reply, by type. Throws the refusal when it is one; `instrument` prints what that holds. */
export function replyOf<M extends Message>(turn: Released, code: M["type"], instrument?: Instrument): M {
  const reply = firstReply(turn);
  if (reply.type === code) return reply as M;
  throw refusalIn(reply, instrument) ?? new Error(`actor ${turn.actorId} replied ${reply.type} where ${code} was due`);
}

export const firstReply = (turn: Released): Message => turn.messages[turn.eventCount] ?? NOTHING;

/** The refusal as an answer, or null when the reply is none. */
export function refusalIn(reply: Message, instrument?: Instrument): ApiError | null {
  return reply.type === Refused.code ? fromRefused(reply as MessageOf<typeof Refused>, instrument) : null;
}

/** What `read` makes of each reply of this type. */
export function mapReplies<M extends Message, T>(turn: Released, code: M["type"], read: (reply: M) => T): T[] {
  const results: T[] = [];
  for (let i = turn.eventCount; i < turn.messages.length; i++) {
    const reply = turn.messages[i];
    if (reply?.type === code) results.push(read(reply as M));
  }
  return results;
}

const NOTHING: Message = { type: 0 };
