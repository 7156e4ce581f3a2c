import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { HALT_REASON, HALT_REASONS, MODE_HALTED, MODE_TRADING, TRADING_STATUSES } from "../../core/base/enums.ts";
import { HaltSymbol } from "../../core/protocol/commands.ts";
import {
  IndexWentStale,
  LedgerUnsound,
  PriceUpdated,
  SelfCheckFailed,
  TradingHalted,
} from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";

const RETRY_MS = 50;

/** Where lines of the log go: the part of pino's logger that is used here. */
export interface HaltLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Says in the log what a symbol lets happen, whenever that changes; and stops all of them when the ledger is unsound. */
export function watchHalts(engine: Engine, log: HaltLogger): void {
  const symbols = new Map(engine.instruments.map(({ id, symbol }) => [id, symbol]));
  const stale = new Set<number>();
  engine.onReleased((transaction: ReleasedTransaction) => {
    for (let i = 0; i < transaction.eventCount; i++) {
      const message = transaction.messages[i];
      const symbol = symbols.get(transaction.actorId);
      if (message.type === TradingHalted.code) {
        const { mode, reason, until } = message as MessageOf<typeof TradingHalted>;
        const fields = { symbol, status: TRADING_STATUSES[mode], reason: HALT_REASONS[reason], until };
        if (mode === MODE_TRADING) log.info(fields, "the halt is over");
        else log.warn(fields, "trading is halted");
      } else if (message.type === SelfCheckFailed.code) {
        log.error({ symbol, fault: (message as MessageOf<typeof SelfCheckFailed>).fault }, "the self-check has failed");
      } else if (message.type === LedgerUnsound.code) {
        log.error({ fault: (message as MessageOf<typeof LedgerUnsound>).fault }, "the ledger's self-check has failed");
        stopTrading(engine);
      } else if (message.type === IndexWentStale.code) {
        stale.add(transaction.actorId);
        log.warn({ symbol }, "the index price is stale: no new risk and no liquidations until there is another");
      } else if (message.type === PriceUpdated.code && stale.delete(transaction.actorId))
        log.info({ symbol }, "the index price is fresh again");
    }
  });
}

/** Money is amiss, and any symbol might spend it. */
function stopTrading(engine: Engine): void {
  const command: MessageOf<typeof HaltSymbol> = {
    type: HaltSymbol.code,
    mode: MODE_HALTED,
    reason: HALT_REASON.SELF_CHECK,
  };
  const stop = (actorId: number): void => {
    // No room, or nobody there: again, until there is.
    const again = (): void => void setTimeout(stop, RETRY_MS, actorId);
    const asked = engine.request(actorId, command, (transaction) => {
      if (transaction === null) again();
    });
    if (!asked) again();
  };
  for (const { id } of engine.instruments) stop(id);
}
