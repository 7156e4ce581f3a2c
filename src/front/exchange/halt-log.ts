import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { GATE, GATE_REASONS, HALT_REASONS, MODE_TRADING, TRADING_STATUSES } from "../../core/base/enums.ts";
import {
  type Event,
  IndexJumpHeld,
  IndexWentStale,
  LedgerUnsound,
  PriceUpdated,
  SelfCheckFailed,
  SolvencyChanged,
  TradingHalted,
} from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";

/** The part of pino's logger that is used here. */
interface HaltLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Logs every change of a symbol's trading status and of the gate of withdrawals, every failed self-check, and when an index
 * price goes stale or comes back. `gate`: the present one, see GATE.
 */
export function logHalts(engine: Engine, log: HaltLogger, gate: number = GATE.OPEN): void {
  let lastGate = gate;
  const symbols = new Map(engine.instruments.map(({ id, symbol }) => [id, symbol]));
  const stale = new Set<number>();
  engine.onReleased(({ actorId, eventCount, messages }: ReleasedTransaction) => {
    const symbol = symbols.get(actorId);
    for (let i = 0; i < eventCount; i++) {
      const event = messages[i] as Event;
      if (event.type === TradingHalted.code) logHalt(symbol, event, log);
      else if (event.type === SelfCheckFailed.code)
        log.error({ symbol, fault: event.fault }, "the self-check has failed");
      else if (event.type === LedgerUnsound.code)
        log.error({ fault: event.fault }, "the ledger's self-check has failed");
      else if (event.type === SolvencyChanged.code) {
        if (event.gate !== lastGate) logGate(event, log);
        lastGate = event.gate;
      } else if (event.type === IndexWentStale.code) {
        stale.add(actorId);
        log.warn({ symbol }, "the index price is stale: no new risk and no liquidations until there is another");
      } else if (event.type === IndexJumpHeld.code && event.count === 1)
        log.warn({ symbol }, "the index price has jumped: no new risk until more prices confirm it");
      else if (event.type === PriceUpdated.code && stale.delete(actorId))
        log.info({ symbol }, "the index price is fresh again");
    }
  });
}

function logGate({ gate, ...figures }: MessageOf<typeof SolvencyChanged>, log: HaltLogger): void {
  const { fundEquityQuanta, fundNotionalQuanta, deficitQuanta } = figures;
  const fields = { reason: GATE_REASONS[gate], fundEquityQuanta, fundNotionalQuanta, deficitQuanta };
  if (gate === GATE.OPEN) log.info(fields, "withdrawals are paid out again");
  else log.error(fields, "withdrawals are gated");
}

function logHalt(symbol: string | undefined, event: MessageOf<typeof TradingHalted>, log: HaltLogger): void {
  const { mode, reason, until } = event;
  const fields = { symbol, status: TRADING_STATUSES[mode], reason: HALT_REASONS[reason], until };
  if (mode === MODE_TRADING) log.info(fields, "the halt is over");
  else log.warn(fields, "trading is halted");
}
