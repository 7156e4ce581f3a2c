import {
  REASON_FOK_UNFILLABLE,
  REASON_NONE,
  REDUCE_ONLY,
  STATUS_EXPIRED,
  STATUS_FILLED,
  STATUS_NEW,
  STATUS_PARTIALLY_FILLED,
  STATUS_UNTRIGGERED,
} from "../base/enums.ts";
import type { Quanta, QuantityLots } from "../base/units.ts";
import { takerFee } from "../matching/fees.ts";
import { expiryReason } from "../matching/matching.ts";
import type { DetailedPreview } from "../matching/preview.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { PlaceExtended } from "../protocol/commands.ts";
import type { ConditionalOrderPlaced, OrderPlaced } from "../protocol/events.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import type { ExpectedFill } from "../protocol/payloads.ts";
import { DryRunResult, OrderView } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { projectAccount, projectAccountAfter } from "./account-projection.ts";

/**
 * The result of a dry run: what an order would fill and need if it were placed now. The order passes the same checks in
 * the same code. Then it gets a preview of its fills instead of an execution: no event, no margin, no client order id is
 * used. The preview counts shown lots only, so that it reveals no iceberg; the real order may fill more.
 */
export interface DryRun extends DetailedPreview {
  /** The margin that the order would reserve. */
  requiredQuanta: Quanta;
}

/** The result for an order that meets nobody; preview() changes it if it does. */
export const beginDryRun = (quantityLots: QuantityLots): DryRun => ({
  lots: 0,
  quanta: 0,
  leftLots: quantityLots,
  fills: [],
  remainingLots: quantityLots,
  stopped: REASON_NONE,
  selfTradeLots: new Map(),
  requiredQuanta: 0,
});

/**
 * Replies with the order as it would become, and with the account before and after it. `placed`: the order as it would be
 * placed. `isUnfillable`: it is FOK and cannot be filled as a whole.
 */
export function replyDryRun(
  state: SymbolState,
  transaction: Transaction,
  placed: MessageOf<typeof OrderPlaced>,
  dryRun: DryRun,
  mayRest: boolean,
  isUnfillable: boolean,
  more: Pick<MessageOf<typeof PlaceExtended>, "goodTillDate" | "displayLots"> | null,
): void {
  const { instrument } = state;
  const view = viewOf(placed, transaction);
  if (more !== null) view.goodTillDate = more.goodTillDate;
  if (more !== null) view.displayLots = Math.min(more.displayLots, placed.quantityLots);
  const fills = isUnfillable
    ? []
    : dryRun.fills.map(([price, lots]): ExpectedFill => {
        const quanta = price * lots * instrument.quantaPerTickLot;
        view.filledLots += lots;
        view.filledQuanta += quanta;
        view.feeQuanta += takerFee(instrument, quanta);
        return [price, lots, takerFee(instrument, quanta)];
      });
  if (isUnfillable) view.reason = REASON_FOK_UNFILLABLE;
  else {
    view.remainingLots = dryRun.remainingLots;
    if (view.remainingLots > 0) view.reason = dryRun.stopped || expiryReason(placed.orderType, mayRest);
  }
  if (view.reason !== REASON_NONE) view.status = STATUS_EXPIRED;
  else if (view.remainingLots === 0) view.status = STATUS_FILLED;
  else view.status = view.filledLots > 0 ? STATUS_PARTIALLY_FILLED : STATUS_NEW;
  transaction.reply(view);
  const row = state.positions.draft(placed.accountId);
  const before = projectAccount(state, row);
  const rests = view.reason === REASON_NONE && (placed.flags & REDUCE_ONLY) === 0;
  const after = isUnfillable ? before : projectAccountAfter(state, row, placed, dryRun, rests ? view.remainingLots : 0);
  transaction.reply({ type: DryRunResult.code, requiredQuanta: dryRun.requiredQuanta, fills, before, after });
}

/** Replies to the dry run of a conditional order. The account stays as it is: an untriggered order takes no margin. */
export function replyConditionalDryRun(
  state: SymbolState,
  transaction: Transaction,
  waits: MessageOf<typeof ConditionalOrderPlaced>,
): void {
  const { triggerTicks, triggerBy, callbackPpm, activationTicks } = waits;
  const terms = { triggerTicks, triggerBy, callbackPpm, activationTicks };
  transaction.reply({ ...viewOf(waits, transaction), ...terms, status: STATUS_UNTRIGGERED });
  const row = state.positions.draft(waits.accountId);
  state.contributions.refreshMark(row);
  const before = projectAccount(state, row);
  transaction.reply({ type: DryRunResult.code, requiredQuanta: 0, fills: [], before, after: before });
}

type Fields =
  | "side"
  | "orderType"
  | "timeInForce"
  | "flags"
  | "selfTradePrevention"
  | "priceTicks"
  | "quantityLots"
  | "clientOrderId";

function viewOf(
  order: Pick<MessageOf<typeof OrderPlaced>, Fields>,
  transaction: Transaction,
): MessageOf<typeof OrderView> {
  const { side, orderType, timeInForce, flags, selfTradePrevention, priceTicks, quantityLots, clientOrderId } = order;
  const terms = { side, orderType, timeInForce, flags, selfTradePrevention, priceTicks, quantityLots, clientOrderId };
  return {
    ...blank(OrderView),
    ...terms,
    remainingLots: quantityLots,
    createdAt: transaction.time,
    updatedAt: transaction.time,
  };
}
