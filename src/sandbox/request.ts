import type { Engine, ReleasedTransaction } from "../actor/engine/engine.ts";
import { must } from "../assert.ts";
import type { TimeMs } from "../core/base/units.ts";
import type { LedgerCommand, SymbolCommand } from "../core/protocol/commands.ts";
import type { Message, MessageOf, MessageSchema } from "../core/protocol/message-schema.ts";
import { Refused } from "../core/protocol/replies.ts";

const RETRY_MS = 50;

export type Command = SymbolCommand | LedgerCommand;

/**
 * Sends a command, retrying while the actor's queue is full, and resolves with `read` of its reply. `read` runs before
 * any later transaction is delivered, so what it stores is consistent with Engine.onReleased.
 */
export function sendCommand<T>(
  engine: Engine,
  actorId: number,
  command: Command,
  stopped: AbortSignal,
  read: (reply: Message, time: TimeMs) => T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onReply = (transaction: ReleasedTransaction | null): void => {
      if (transaction === null) return attempt();
      try {
        resolve(read(must(transaction.messages[transaction.eventCount], "reply"), transaction.time));
      } catch (error) {
        reject(error);
      }
    };
    const attempt = (): void => {
      if (stopped.aborted) reject(new Error("stopped"));
      else if (!engine.request(actorId, command, onReply)) setTimeout(attempt, RETRY_MS);
    };
    attempt();
  });
}

/** The message as one of `schema`; null when it is another. */
export function messageAs<S extends MessageSchema>(schema: S, message: Message | undefined): MessageOf<S> | null {
  return message !== undefined && message.type === schema.code ? (message as MessageOf<S>) : null;
}

/** The reply as one of `schema`; throws with the refusal's code when it is another. */
export function expectReply<S extends MessageSchema>(schema: S, reply: Message, what: string): MessageOf<S> {
  const found = messageAs(schema, reply);
  if (found === null)
    throw new Error(`${what}: ${messageAs(Refused, reply)?.code ?? `unexpected reply ${reply.type}`}`);
  return found;
}

/** The code with which the command was refused; null when it was not. */
export const refusalOf = ({ messages, eventCount }: ReleasedTransaction): string | null =>
  messageAs(Refused, messages[eventCount])?.code ?? null;
