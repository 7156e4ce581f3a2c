import type { Released, Road } from "../actor/road.ts";
import {
  HALT_REASONS,
  IndexWentStale,
  MODE_TRADING,
  PriceUpdated,
  TRADING_STATUSES,
  TradingHalted,
} from "../core/messages.ts";
import type { MessageOf } from "../core/shape.ts";

/** Where lines of the log go: the part of pino's logger that is used here. */
export interface HaltLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Says in the log what a symbol lets happen, whenever that changes. */
export function logHalts(road: Road, log: HaltLogger): void {
  const symbols = new Map(road.instruments.map(({ id, symbol }) => [id, symbol]));
  const stale = new Set<number>();
  road.onReleased((turn: Released) => {
    for (let i = 0; i < turn.eventCount; i++) {
      const message = turn.messages[i];
      const symbol = symbols.get(turn.actorId);
      if (message.type === TradingHalted.code) {
        const { mode, reason, until } = message as MessageOf<typeof TradingHalted>;
        const fields = { symbol, status: TRADING_STATUSES[mode], reason: HALT_REASONS[reason], until };
        if (mode === MODE_TRADING) log.info(fields, "the halt is over");
        else log.warn(fields, "trading is halted");
      } else if (message.type === IndexWentStale.code) {
        stale.add(turn.actorId);
        log.warn({ symbol }, "the index price is stale: no new risk and no liquidations until there is another");
      } else if (message.type === PriceUpdated.code && stale.delete(turn.actorId))
        log.info({ symbol }, "the index price is fresh again");
    }
  });
}
