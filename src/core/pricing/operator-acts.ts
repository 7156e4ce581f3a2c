import type { Transaction } from "../protocol/actor.ts";
import { OperatorActed } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";

const acted = blank(OperatorActed);

/**
 * Logs who asked for the transaction. `act` is one of OPERATOR_ACTS, and `value` belongs to it: see OperatorActed. Logs
 * nothing if `operator` is "": the exchange itself asked.
 */
export function recordAct(transaction: Transaction, operator: string, act: number, value: number): void {
  if (operator === "") return;
  acted.operator = operator;
  acted.act = act;
  acted.value = value;
  transaction.emit(acted);
}
