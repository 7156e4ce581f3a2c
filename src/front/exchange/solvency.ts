import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { GATE, GATE_REASONS, INSURANCE_ACCOUNT, LEDGER } from "../../core/base/enums.ts";
import type { Quanta } from "../../core/base/units.ts";
import { Describe } from "../../core/protocol/commands.ts";
import { type Event, SolvencyChanged } from "../../core/protocol/events.ts";
import { blank } from "../../core/protocol/message-schema.ts";
import type { SolvencyFigures } from "../../core/protocol/payloads.ts";
import { LedgerDescription } from "../../core/protocol/replies.ts";
import { replyOf, request } from "./request.ts";

/** Whether the ledger pays withdrawals out, and why not. Follows its events. */
export class Solvency {
  private readonly engine: Engine;
  /** Why withdrawals are refused: see GATE. */
  gate: number = GATE.OPEN;
  private deficitQuanta: Quanta = 0;

  private constructor(engine: Engine) {
    this.engine = engine;
    engine.onReleased((transaction) => this.fold(transaction));
  }

  /** Resolves when the state of the ledger was read. */
  static async open(engine: Engine): Promise<Solvency> {
    const solvency = new Solvency(engine);
    await request(engine, LEDGER, blank(Describe), (transaction) => {
      const { state } = replyOf(transaction, LedgerDescription);
      solvency.gate = state.gate;
      solvency.deficitQuanta = state.deficitQuanta;
    });
    return solvency;
  }

  /** In words, why withdrawals are refused; null: they are not. */
  get gateReason(): string | null {
    return GATE_REASONS[this.gate];
  }

  /** The deficits are those of the last check. The fund's figures are of this moment, and may not be durable yet. */
  get figures(): SolvencyFigures {
    const { marginTable } = this.engine;
    marginTable.readConsistent(INSURANCE_ACCOUNT);
    const { equity, positionInitial } = marginTable.consistent(INSURANCE_ACCOUNT);
    return { fundEquityQuanta: equity, deficitQuanta: this.deficitQuanta, fundNotionalQuanta: positionInitial };
  }

  private fold({ actorId, eventCount, messages }: ReleasedTransaction): void {
    if (actorId !== LEDGER) return;
    for (let i = 0; i < eventCount; i++) {
      const event = messages[i] as Event;
      if (event.type !== SolvencyChanged.code) continue;
      this.gate = event.gate;
      this.deficitQuanta = event.deficitQuanta;
    }
  }
}
