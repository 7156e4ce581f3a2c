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
 * A dry run. An order that is tried goes through the checks of one that is placed, in the same lines, and is refused as
 * that would be. Where an order must succeed, it is told what it would come to, by the walk of the book by which
 * margin is reserved, but counting only what the book shows: an iceberg may give it more. Nothing is done: no event, no
 * margin taken, no client order id used up.
 */
export interface DryRun extends DetailedPreview {
  /** What it would have taken of the available margin. */
  requiredQuanta: Quanta;
}

/** Of an order that meets nobody. */
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

/** `placed`: the order as it would be. */
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

/** `waits`: the order as it would wait. It takes no margin. */
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
