import { SIZE } from "../base/columns.ts";
import {
  BUY,
  MARKET,
  REASON_FOK_UNFILLABLE,
  REASON_NONE,
  REDUCE_ONLY,
  SELL,
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
import type { PlaceExtended, PlaceOrder, ReadMaxOrderSize } from "../protocol/commands.ts";
import type { ConditionalOrderPlaced, OrderPlaced } from "../protocol/events.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import type { ExpectedFill, MaxOrderSize } from "../protocol/payloads.ts";
import { DryRunResult, MaxOrderSizeView, OrderView, Refused, type Reply } from "../protocol/replies.ts";
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
  more: Pick<MessageOf<typeof PlaceExtended>, "goodTillDate" | "displayLots" | "legs"> | null,
): void {
  const { instrument } = state;
  const view = viewOf(placed, transaction);
  if (more !== null) view.goodTillDate = more.goodTillDate;
  if (more !== null) view.displayLots = Math.min(more.displayLots, placed.quantityLots);
  if (more !== null) view.legs = more.legs;
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
  const { triggerTicks, triggerBy, callbackPpm, activationTicks, maxSlippagePpm } = waits;
  const terms = { triggerTicks, triggerBy, callbackPpm, activationTicks, maxSlippagePpm };
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

/** Decides the dry run of an order. */
type RunDry = (order: MessageOf<typeof PlaceOrder>, transaction: Transaction) => void;

/**
 * Replies with the largest order that a dry run accepts now, for each side asked for. The answer cannot differ from the
 * checks of a real order, because it asks them: about twenty dry runs per side find the edge by bisection.
 */
export function replyMaxOrderSize(
  state: SymbolState,
  transaction: Transaction,
  { order, side }: MessageOf<typeof ReadMaxOrderSize>,
  runDry: RunDry,
): void {
  const sides = side < 0 ? [BUY, SELL] : [side];
  const sizes = sides.map((each) => maxOrderSize(state, transaction, { ...order, side: each }, runDry));
  transaction.reply({ type: MaxOrderSizeView.code, sizes });
}

function maxOrderSize(
  state: SymbolState,
  transaction: Transaction,
  order: MessageOf<typeof PlaceOrder>,
  runDry: RunDry,
): MaxOrderSize {
  const { side } = order;
  const { minQuantityLots, maxQuantityLots } = state.instrument;
  const refusalOf = (quantityLots: QuantityLots): MaxOrderSize["limitedBy"] => {
    const probe = new Probe(transaction.time);
    order.quantityLots = quantityLots;
    runDry(order, probe);
    return probe.refusal;
  };
  let accepted = smallestLots(state, order);
  let limitedBy = refusalOf(accepted);
  if (limitedBy !== null) return { side, quantityLots: 0, limitedBy };
  // A reduce-only order is cut to the position, so each quantity from there on means the same.
  const isReduceOnly = (order.flags & REDUCE_ONLY) !== 0;
  const size = state.positions.numbers[state.positions.draft(order.accountId) + SIZE];
  if (isReduceOnly && Math.abs(size) <= maxQuantityLots)
    return { side, quantityLots: Math.max(minQuantityLots, Math.abs(size)), limitedBy: null };
  let refused = maxQuantityLots + 1;
  // Most often nothing else limits the order. In a deep book this saves the walks between.
  if (refusalOf(maxQuantityLots) === null) accepted = maxQuantityLots;
  limitedBy = refusalOf(refused);
  while (refused - accepted > 1) {
    const middle = Math.floor((accepted + refused) / 2);
    const refusal = refusalOf(middle);
    if (refusal === null) accepted = middle;
    else {
      refused = middle;
      limitedBy = refusal;
    }
  }
  return { side, quantityLots: accepted, limitedBy };
}

/** The least quantity that neither the instrument's minimum nor its smallest notional refuses. */
function smallestLots({ instrument, markTicks }: SymbolState, order: MessageOf<typeof PlaceOrder>): QuantityLots {
  const { minQuantityLots, minNotionalQuanta, quantaPerTickLot } = instrument;
  const valueTicks = order.orderType === MARKET ? markTicks : order.priceTicks;
  if (valueTicks === 0 || (order.flags & REDUCE_ONLY) !== 0) return minQuantityLots;
  return Math.max(minQuantityLots, Math.ceil(minNotionalQuanta / (valueTicks * quantaPerTickLot)));
}

/** The transaction of a dry run whose reply nobody reads. It keeps a refusal. */
class Probe implements Transaction {
  readonly time: number;
  refusal: MaxOrderSize["limitedBy"] = null;

  constructor(time: number) {
    this.time = time;
  }

  emit(): void {
    throw new Error("a dry run changes nothing");
  }

  reply(reply: Reply): void {
    if (reply.type === Refused.code) this.refusal = { code: reply.code, field: reply.field, details: reply.details };
  }
}
