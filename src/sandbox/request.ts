import type { Engine, ReleasedTransaction } from "../actor/engine/engine.ts";
import { must } from "../assert.ts";
import type { TimeMs } from "../core/base/units.ts";
import type { LedgerCommand, SymbolCommand } from "../core/protocol/commands.ts";
import type { Message, MessageOf, MessageSchema } from "../core/protocol/message-schema.ts";
import { Refused } from "../core/protocol/replies.ts";

const RETRY_MS = 50;

export type Command = SymbolCommand | LedgerCommand;

/**
 * Sends a command, again and again while the actor has no room for it, and resolves with what `read` makes of its reply.
 * `read` runs before any later turn is seen: what it takes down is in step with Road.onReleased.
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

/** The message as one of `shape`, or null when it is another. */
export function messageAs<S extends MessageSchema>(shape: S, message: Message | undefined): MessageOf<S> | null {
  return message !== undefined && message.type === shape.code ? (message as MessageOf<S>) : null;
}

/** The reply as one of `shape`; throws with the refusal's code when it is another. */
export function expectReply<S extends MessageSchema>(shape: S, reply: Message, what: string): MessageOf<S> {
  const found = messageAs(shape, reply);
  if (found === null)
    throw new Error(`${what}: ${messageAs(Refused, reply)?.code ?? `unexpected reply ${reply.type}`}`);
  return found;
}
