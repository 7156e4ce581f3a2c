import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../core/protocol/message-schema.ts";
import { Refused } from "../../core/protocol/replies.ts";
import { ApiError, fromRefused } from "../common/errors.ts";
import type { Answer, Log } from "../http/answer.ts";

/**
 * Asks one actor and lets `read` answer the request from the durable turn: the short way, without a promise. Throws
 * OVERLOADED, UNAVAILABLE or STORAGE_FULL when the actor cannot be asked: then nothing was done. `note` hears before what
 * came of it, also when nobody waits for the answer any more; null: the actor's thread has died, and nothing.
 */
export function requestFor<C extends Message>(
  { engine, log }: { engine: Engine; log: Log },
  answer: Answer,
  actorId: number,
  command: C,
  read: (transaction: ReleasedTransaction) => void,
  note?: (transaction: ReleasedTransaction | null) => void,
): void {
  const asked = engine.request(actorId, command, (transaction) => {
    try {
      note?.(transaction);
      if (!answer.done) read(happened(transaction));
    } catch (thrown) {
      answer.fail(thrown, log);
    }
  });
  if (!asked) throw overloadRefusal(engine, actorId);
}

/**
 * Asks one actor. `read` sees the durable turn during the call only, so it copies what it keeps; what it throws rejects
 * the promise. Rejects with OVERLOADED, UNAVAILABLE or STORAGE_FULL when the actor cannot be asked, and with UNAVAILABLE when
 * its thread dies before it has done anything: then nothing was done.
 */
export function request<T>(
  engine: Engine,
  actorId: number,
  command: Message,
  read: (transaction: ReleasedTransaction) => T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const asked = engine.request(actorId, command, (transaction) => {
      try {
        resolve(read(happened(transaction)));
      } catch (thrown) {
        reject(thrown);
      }
    });
    if (!asked) reject(overloadRefusal(engine, actorId));
  });
}

/** Why `road.ask` did nothing. */
function overloadRefusal(engine: Engine, actorId: number): ApiError {
  if (engine.isDown(actorId)) return new ApiError("UNAVAILABLE");
  return new ApiError(engine.hasDiskRoom ? "OVERLOADED" : "STORAGE_FULL");
}

function happened(transaction: ReleasedTransaction | null): ReleasedTransaction {
  if (transaction === null) throw new ApiError("UNAVAILABLE");
  return transaction;
}

const isPassing = (thrown: unknown): boolean =>
  thrown instanceof ApiError && (thrown.code === "OVERLOADED" || thrown.code === "UNAVAILABLE");

const RETRY_AFTER_MS = 5;

/**
 * Asks several actors, each with a command of its own, and puts together what they say, in their order. An actor that is
 * too busy, or being rebuilt, is asked again until nobody waits any more: others may have done their part by then, so "nothing was
 * done" would not be true.
 */
export function requestEach<T>(
  engine: Engine,
  answer: Pick<Answer, "done">,
  instruments: readonly Instrument[],
  command: () => Message,
  read: (transaction: ReleasedTransaction, instrument: Instrument) => T,
): Promise<T[]> {
  const patiently = async (instrument: Instrument): Promise<T> => {
    for (;;) {
      try {
        return await request(engine, instrument.id, command(), (transaction) => read(transaction, instrument));
      } catch (thrown) {
        if (answer.done || !isPassing(thrown)) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS));
      }
    }
  };
  return Promise.all(instruments.map(patiently));
}

/**
 * Resolves when the history holds all that was released up to now. When too many wait for that already it rejects as if
 * the time was up: what the history is read for may have been done.
 */
export async function historyCaughtUp(engine: Pick<Engine, "historyCaughtUp">): Promise<void> {
  if (!(await engine.historyCaughtUp())) throw new ApiError("TIMEOUT");
}

/** The turn's first reply, by type. Throws the refusal when it is one; `instrument` prints what that holds. */
export function replyOf<M extends Message>(
  transaction: ReleasedTransaction,
  code: M["type"],
  instrument?: Instrument,
): M {
  const reply = firstReply(transaction);
  if (reply.type === code) return reply as M;
  throw (
    refusalIn(reply, instrument) ??
    new Error(`actor ${transaction.actorId} replied ${reply.type} where ${code} was due`)
  );
}

export const firstReply = (transaction: ReleasedTransaction): Message =>
  transaction.messages[transaction.eventCount] ?? NOTHING;

/** The refusal as an answer, or null when the reply is none. */
export function refusalIn(reply: Message, instrument?: Instrument): ApiError | null {
  return reply.type === Refused.code ? fromRefused(reply as MessageOf<typeof Refused>, instrument) : null;
}

/** What `read` makes of each reply of this type. */
export function mapReplies<M extends Message, T>(
  transaction: ReleasedTransaction,
  code: M["type"],
  read: (reply: M) => T,
): T[] {
  const results: T[] = [];
  for (let i = transaction.eventCount; i < transaction.messages.length; i++) {
    const reply = transaction.messages[i];
    if (reply?.type === code) results.push(read(reply as M));
  }
  return results;
}

const NOTHING: Message = { type: 0 };
