import type { Contribution } from "../accounts/contribution.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import {
  PPM_DECIMALS,
  type PriceTicks,
  printFixed,
  type Quanta,
  type QuantityLots,
  type RatePpm,
  type TimeMs,
} from "../base/units.ts";
import { additionalMargin, openingRatePpm } from "../formulas/opening-rate.ts";
import { isolatedSurplus } from "../margin/isolated.ts";
import { gainOfClosing, settledMoney } from "../margin/settled-money.ts";
import { takerFee } from "../matching/fees.ts";
import type { Preview } from "../matching/preview.ts";
import type { RefusalDetails } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import type { DryRun } from "./dry-run.ts";

const { ACCOUNT, CONTRIBUTED, CONTRIBUTED_INITIAL, MARGIN_MODE, NONE, SIZE } = columns;
const { ISOLATED } = enums;

/** Reserves margin for one order at a time, from the fills that `expected` predicts. Amounts are in quanta. */
export class MarginReservation {
  /** The preview of that order. */
  readonly expected: Preview = { lots: 0, quanta: 0, leftLots: 0 };
  private readonly state: SymbolState;
  /** See formulas/opening-rate.ts; 0 = the leverage decides alone. */
  private openingPpm: RatePpm = 0;
  /** The margin that the account needs at that rate beyond the one that contributionAfter() gives. */
  private additionalQuanta: Quanta = 0;
  /** What the last reserveLoss() has taken out of the equity. */
  private takenQuanta: Quanta = 0;

  constructor(state: SymbolState) {
    this.state = state;
  }

  /** For an order that meets nobody. */
  expectNoFills(quantityLots: QuantityLots): void {
    const { expected } = this;
    expected.lots = 0;
    expected.quanta = 0;
    expected.leftLots = quantityLots;
  }

  /** Sets the rate that the next order needs to open with: by its expected fills. */
  setOpeningRate(row: number, isBuy: boolean, time: TimeMs): void {
    const size = this.state.positions.numbers[row + SIZE];
    const openedLots = this.expected.lots - Math.max(0, isBuy ? -size : size);
    this.openingPpm = openingRatePpm(this.state, time, Math.max(0, openedLots));
  }

  /**
   * Reserves the initial margin that the row needs after the order: expected fills count at the mark, with the loss of
   * their price; resting lots count by their own margin price and loss. Returns null, or what is required and available.
   * `replacedSlot`: the resting order that this one replaces (an amendment); not for reduce-only orders. With `dryRun` it
   * only reports.
   *
   * An order that only closes needs no margin and may lose all equity that backs the position, see
   * closingBankruptcyTicks(). So an order that reverses the position must have both: the loss of closing, and the
   * margin of the lots that it opens. An isolated position pays that loss from its own margin.
   */
  reserve(
    row: number,
    isBuy: boolean,
    restingLots: QuantityLots,
    marginPriceTicks: PriceTicks,
    lossTicks: PriceTicks,
    replacedSlot: number,
    dryRun: DryRun | null = null,
  ): RefusalDetails | null {
    const { state, expected } = this;
    const { marginTable } = state;
    const { numbers } = state.positions;
    const closingLots = Math.min(expected.lots, Math.max(0, isBuy ? -numbers[row + SIZE] : numbers[row + SIZE]));
    const isIsolated = numbers[row + MARGIN_MODE] === ISOLATED;
    const isReversing = closingLots > 0 && closingLots < expected.lots + restingLots && !isIsolated;
    const after = this.contributionAfter(
      row,
      isBuy,
      restingLots,
      marginPriceTicks,
      lossTicks,
      replacedSlot,
      isReversing,
    );
    let required = after.initial - numbers[row + CONTRIBUTED_INITIAL];
    if (isReversing)
      required = Math.max(0, required + this.expectedLoss(isBuy) + takerFee(state.instrument, expected.quanta));
    const accountId = numbers[row + ACCOUNT];
    // An account short of margin may close, but not reverse or open. That holds even if the order needs no more margin than
    // the old position or the replaced order had: that margin may be lost by now.
    const needsMargin = required > 0 || isReversing || expected.lots > closingLots;
    const requiredQuanta = Math.max(0, required);
    // Fills move isolated margin out of the cross margin. An unrealised gain may not be moved: it could be lost again.
    if (isIsolated && needsMargin) {
      const availableQuanta = required > 0 ? marginTable.withdrawable(accountId) : marginTable.unreserved(accountId);
      if (required > availableQuanta) return { requiredQuanta, availableQuanta };
      // Its fills would take away what the order has reserved before, and other positions need that by now.
      if (expected.lots > 0 && marginTable.lacksAdditional(accountId))
        return {
          requiredQuanta: marginTable.additional(accountId),
          availableQuanta: Math.max(0, marginTable.available(accountId)),
        };
    }
    if (needsMargin && this.additionalQuanta > 0) {
      const shortfall = this.openingShortfall(row, required, isIsolated);
      if (shortfall !== null) return shortfall;
    }
    if (dryRun !== null) {
      dryRun.requiredQuanta = requiredQuanta;
      const availableQuanta = marginTable.available(accountId);
      return needsMargin && required > availableQuanta ? { requiredQuanta, availableQuanta } : null;
    }
    const additional = needsMargin && !isIsolated ? this.additionalQuanta : 0;
    // Before it is checked, so that a withdrawal at the same moment leaves it.
    if (additional > 0)
      state.contributions.setAdditional(row, Math.max(additional, state.contributions.additionalOf(row)));
    if (needsMargin && !marginTable.reserve(accountId, required, numbers, row + CONTRIBUTED, additional, isIsolated)) {
      if (additional > 0) state.contributions.refreshAdditional(row);
      return { requiredQuanta, availableQuanta: marginTable.available(accountId) };
    }
    // If the whole order rests, `after` is the row's new contribution: set it here and save a second calculation.
    if (expected.lots === 0)
      marginTable.setContribution(accountId, numbers, row + CONTRIBUTED, after, false, isIsolated);
    return null;
  }

  /**
   * Whether the account has the margin that the opening rate asks for. Other orders may use it, because the rate falls again,
   * but it may not be taken out meanwhile. An isolated position must bring it itself, because the rest of the account does not
   * stand behind it.
   */
  private openingShortfall(row: number, required: Quanta, isIsolated: boolean): RefusalDetails | null {
    const { state } = this;
    const requiredQuanta = Math.max(0, required + this.additionalQuanta);
    const availableQuanta = isIsolated
      ? Math.max(0, required) + isolatedSurplus(state, row)
      : state.marginTable.available(state.positions.numbers[row + ACCOUNT]);
    if (requiredQuanta <= availableQuanta) return null;
    return { requiredQuanta, availableQuanta, openingRate: printFixed(this.openingPpm, PPM_DECIMALS) };
  }

  /**
   * The row's contribution to its account's margin after the expected fills, with the rest of the order in the book. The
   * row stays as it was. The result is a scratch object, valid until the next contribution is calculated. For a reversing
   * order the caller must add loss and fee of the fills.
   */
  private contributionAfter(
    row: number,
    isBuy: boolean,
    restingLots: QuantityLots,
    marginPriceTicks: PriceTicks,
    lossTicks: PriceTicks,
    replacedSlot: number,
    isReversing: boolean,
  ): Contribution {
    const { state, expected } = this;
    const { positions, orders } = state;
    const { numbers } = positions;
    const perTick = state.instrument.quantaPerTickLot;
    let lots = restingLots;
    let exposure = restingLots * marginPriceTicks * perTick;
    let loss = restingLots * lossTicks * perTick;
    if (replacedSlot !== NONE) {
      const replacedLots = orders.remainingLots(replacedSlot);
      lots -= replacedLots;
      exposure -= replacedLots * orders.marginPriceTicks(replacedSlot) * perTick;
      loss -= replacedLots * orders.lossTicks(replacedSlot) * perTick;
    }
    const size = numbers[row + SIZE];
    // The fills of a reversing order count as the position itself, so that the lots that they close need no margin.
    if (isReversing) numbers[row + SIZE] = isBuy ? size + expected.lots : size - expected.lots;
    else {
      lots += expected.lots;
      exposure += expected.lots * state.markTicks * perTick;
      loss += this.expectedLoss(isBuy);
    }
    positions.addResting(row, isBuy, lots, exposure, loss);
    const after = state.contributions.of(row);
    this.additionalQuanta = additionalMargin(state.instrument, numbers, row, state.markTicks, this.openingPpm);
    positions.addResting(row, isBuy, -lots, -exposure, -loss);
    numbers[row + SIZE] = size;
    return after;
  }

  /**
   * Takes the loss and fee of the expected fills out of the account's equity before them: of fills that close a cross position,
   * for which no margin is reserved, and of fills that only settled money may pay. Returns null, or what is required and
   * available: another thread may have spent or be withdrawing the equity that the price check counted on.
   */
  reserveLoss(row: number, isBuy: boolean): RefusalDetails | null {
    this.takenQuanta = 0;
    const { state, expected } = this;
    const { marginTable } = state;
    const { numbers } = state.positions;
    if (expected.lots === 0 || state.isIsolated(row)) return null;
    const accountId = numbers[row + ACCOUNT];
    const closes = isBuy ? numbers[row + SIZE] < 0 : numbers[row + SIZE] > 0;
    if (!closes && (this.expectedLoss(isBuy) === 0 || marginTable.usableGains(accountId) === 0)) return null;
    const requiredQuanta = this.expectedCost(isBuy) + takerFee(state.instrument, expected.quanta);
    // A close that wins is allowed even if the equity is negative.
    if (requiredQuanta <= 0) return null;
    if (marginTable.spend(accountId, requiredQuanta, numbers, row + CONTRIBUTED)) {
      this.takenQuanta = requiredQuanta;
      return null;
    }
    // Gives back what reserve() has taken for the lots that the order would open.
    state.contributions.refresh(row);
    return { requiredQuanta, availableQuanta: Math.max(0, marginTable.usableEquity(accountId)) };
  }

  /** unsettledLoss() once more, after reserveLoss(): another thread may have taken the same settled money. */
  unsettledLossAfterTaking(row: number, isBuy: boolean): RefusalDetails | null {
    if (this.takenQuanta === 0) return null;
    const unsettled = this.unsettledLoss(row, isBuy, this.takenQuanta);
    // Gives back what reserve() and reserveLoss() have taken.
    if (unsettled !== null) this.state.contributions.refresh(row);
    return unsettled;
  }

  /**
   * Whether the account can pay the loss of the expected fills from settled money: see settledMoney(). Returns null, or what is
   * required and available. An isolated position pays from its own margin. `takenQuanta`: taken out of the equity for it before.
   */
  unsettledLoss(row: number, isBuy: boolean, takenQuanta: Quanta = 0): RefusalDetails | null {
    const { state, expected } = this;
    if (expected.lots === 0) return null;
    const requiredQuanta = this.expectedLoss(isBuy);
    if (requiredQuanta === 0 || state.isIsolated(row)) return null;
    const settledQuanta = settledMoney(state, row) + takenQuanta;
    if (requiredQuanta <= settledQuanta) return null;
    const size = state.positions.numbers[row + SIZE];
    const closedLots = Math.min(expected.lots, Math.max(0, isBuy ? -size : size));
    const availableQuanta = Math.max(0, settledQuanta + gainOfClosing(state, row, closedLots));
    return requiredQuanta > availableQuanta ? { requiredQuanta, availableQuanta } : null;
  }

  /** The loss of the expected fills against the mark, at least 0. */
  expectedLoss(isBuy: boolean): Quanta {
    return Math.max(0, this.expectedCost(isBuy));
  }

  /** The loss of the expected fills against the mark; negative = a gain. */
  private expectedCost(isBuy: boolean): Quanta {
    const { lots, quanta } = this.expected;
    const atMark = lots * this.state.markTicks * this.state.instrument.quantaPerTickLot;
    return isBuy ? quanta - atMark : atMark - quanta;
  }
}
