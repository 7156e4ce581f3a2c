import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { HALT_REASON, LEDGER, MODE_HALTED } from "../../core/base/enums.ts";
import { HaltSymbol } from "../../core/protocol/commands.ts";
import { LedgerUnsound } from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import { isFollower } from "./leader.ts";

const RETRY_MS = 50;

/**
 * Halts every symbol when the ledger's self-check fails: money is missing or too much, and any symbol might spend it. A process
 * that follows leaves that to its leader; when it leads, its own ledger is checked again.
 */
export function haltOnUnsoundLedger(engine: Engine): void {
  engine.onReleased(({ actorId, eventCount, messages }: ReleasedTransaction) => {
    if (actorId !== LEDGER || isFollower(engine)) return;
    for (let i = 0; i < eventCount; i++) if (messages[i].type === LedgerUnsound.code) haltAll(engine);
  });
}

function haltAll(engine: Engine): void {
  const command: MessageOf<typeof HaltSymbol> = {
    type: HaltSymbol.code,
    mode: MODE_HALTED,
    reason: HALT_REASON.SELF_CHECK,
    operator: "",
  };
  const halt = (actorId: number): void => {
    const retry = (): void => void setTimeout(halt, RETRY_MS, actorId);
    // A full queue, or an actor whose thread has died: try again until it works.
    const isAsked = engine.request(actorId, command, (transaction) => {
      if (transaction === null) retry();
    });
    if (!isAsked) retry();
  };
  for (const { id } of engine.instruments) halt(id);
}
