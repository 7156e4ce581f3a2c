import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Message, MessageOf, MessageSchema } from "../../core/protocol/message-schema.ts";
import { Refused } from "../../core/protocol/replies.ts";
import { ApiError, fromRefused } from "../common/errors.ts";
import type { Answer, Log } from "../http/answer.ts";
import { isFollower, notLeader } from "./leader.ts";

/**
 * Sends a command to one actor. `read` answers the request from the durable transaction, without a promise. Throws OVERLOADED,
 * UNAVAILABLE or STORAGE_FULL when the actor takes no command; nothing was done then. `note` runs before `read`, even if
 * nobody waits for the answer any more. It gets null when the actor's thread died and nothing was done.
 */
export function requestFor<C extends Message>(
  { engine, log }: { engine: Engine; log: Log },
  answer: Answer,
  actorId: number,
  command: C,
  read: (transaction: ReleasedTransaction) => void,
  note?: (transaction: ReleasedTransaction | null) => void,
): void {
  const isAsked = engine.request(actorId, command, (transaction) => {
    try {
      note?.(transaction);
      if (!answer.done) read(requireTransaction(transaction));
    } catch (thrown) {
      answer.fail(thrown, log);
    }
  });
  if (!isAsked) throw overloadRefusal(engine, actorId);
}

/**
 * As requestFor(), for a command that has used up a signature. `restore` runs when nothing was done, even if nobody waits for
 * the answer any more: then the client may send the same request again.
 */
export function requestOnce<C extends Message>(
  context: { engine: Engine; log: Log },
  answer: Answer,
  actorId: number,
  command: C,
  read: (transaction: ReleasedTransaction) => void,
  restore: () => void,
): void {
  // The client has gone while the signature was checked.
  if (answer.done) return restore();
  try {
    requestFor(context, answer, actorId, command, read, (transaction) => {
      if (transaction === null || refusalIn(firstReply(transaction)) !== null) restore();
    });
  } catch (thrown) {
    restore();
    throw thrown;
  }
}

/**
 * Sends a command to one actor and resolves to the result of `read`. The durable transaction is valid only during `read`, which
 * must copy what it keeps. An error of `read` rejects the promise. Rejects with OVERLOADED, UNAVAILABLE or STORAGE_FULL when
 * the actor takes no command, and with UNAVAILABLE when its thread dies first. Nothing was done in these cases.
 */
export function request<T>(
  engine: Engine,
  actorId: number,
  command: Message,
  read: (transaction: ReleasedTransaction) => T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const isAsked = engine.request(actorId, command, (transaction) => {
      try {
        resolve(read(requireTransaction(transaction)));
      } catch (thrown) {
        reject(thrown);
      }
    });
    if (!isAsked) reject(overloadRefusal(engine, actorId));
  });
}

/** Why Engine.request() took no command. */
function overloadRefusal(engine: Engine, actorId: number): ApiError {
  if (isFollower(engine)) return notLeader(engine);
  if (engine.isDown(actorId)) return new ApiError("UNAVAILABLE");
  return new ApiError(engine.hasDiskRoom ? "OVERLOADED" : "STORAGE_FULL");
}

function requireTransaction(transaction: ReleasedTransaction | null): ReleasedTransaction {
  if (transaction === null) throw new ApiError("UNAVAILABLE");
  return transaction;
}

const isTemporary = (thrown: unknown): boolean =>
  thrown instanceof ApiError && (thrown.code === "OVERLOADED" || thrown.code === "UNAVAILABLE");

const RETRY_AFTER_MS = 5;

/**
 * Sends a command to each of several actors and resolves to their results, in the order of `instruments`. An actor that is
 * busy or being rebuilt gets it again until the client stops waiting. An error would be wrong: it says that nothing was done,
 * while other actors may have done their part.
 */
export function requestEach<T>(
  engine: Engine,
  answer: Pick<Answer, "done">,
  instruments: readonly Instrument[],
  command: () => Message,
  read: (transaction: ReleasedTransaction, instrument: Instrument) => T,
): Promise<T[]> {
  const requestUntilDone = async (instrument: Instrument): Promise<T> => {
    for (;;) {
      try {
        return await request(engine, instrument.id, command(), (transaction) => read(transaction, instrument));
      } catch (thrown) {
        if (answer.done || !isTemporary(thrown)) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS));
      }
    }
  };
  return Promise.all(instruments.map(requestUntilDone));
}

/** Reads a long reply page by page. `read` takes what it needs of a page, and returns where the next one begins; null = nowhere. */
export async function requestPages(
  engine: Engine,
  actorId: number,
  command: (from: number) => Message,
  read: (transaction: ReleasedTransaction) => number | null,
): Promise<void> {
  for (let from: number | null = 0; from !== null; ) from = await request(engine, actorId, command(from), read);
}

/**
 * Resolves when the history includes everything released up to now. Rejects with TIMEOUT when too many wait for that already.
 * It is no OVERLOADED, because the command for which the history is read may have been executed.
 */
export async function historyCaughtUp(engine: Pick<Engine, "historyCaughtUp">): Promise<void> {
  if (!(await engine.historyCaughtUp())) throw new ApiError("TIMEOUT");
}

/** The first reply of the transaction, which must be an `expected` one. Throws an ApiError when it is a refusal. */
export function replyOf<S extends MessageSchema>(
  transaction: ReleasedTransaction,
  expected: S,
  instrument?: Instrument,
): MessageOf<S> {
  const reply = firstReply(transaction);
  if (reply.type === expected.code) return reply as MessageOf<S>;
  throw (
    refusalIn(reply, instrument) ??
    new Error(`actor ${transaction.actorId} replied with message ${reply.type} instead of ${expected.code}`)
  );
}

export const firstReply = (transaction: ReleasedTransaction): Message =>
  transaction.messages[transaction.eventCount] ?? NOTHING;

/** The refusal as an ApiError, or null when the reply is none. `instrument` prints its details. */
export function refusalIn(reply: Message, instrument?: Instrument): ApiError | null {
  return reply.type === Refused.code ? fromRefused(reply as MessageOf<typeof Refused>, instrument) : null;
}

/** The results of `read` for each reply of this kind. */
export function mapReplies<S extends MessageSchema, T>(
  transaction: ReleasedTransaction,
  kind: S,
  read: (reply: MessageOf<S>) => T,
): T[] {
  const results: T[] = [];
  for (let i = transaction.eventCount; i < transaction.messages.length; i++) {
    const reply = transaction.messages[i];
    if (reply?.type === kind.code) results.push(read(reply as MessageOf<S>));
  }
  return results;
}

const NOTHING: Message = { type: 0 };
