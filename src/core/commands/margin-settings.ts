import type { MarginTable } from "../accounts/margin-table.ts";
import { applyLeverageSet, applyMarginModeSet, applyMarginMoved } from "../apply/position-events.ts";
import {
  ACCOUNT,
  CONTRIBUTED,
  CONTRIBUTED_INITIAL,
  ISOLATED_QUANTA,
  LEVERAGE,
  MARGIN_MODE,
  NONE,
  OPEN_ORDERS,
  SIZE,
} from "../base/columns.ts";
import { ISOLATED } from "../base/enums.ts";
import type { Quanta } from "../base/units.ts";
import { isolatedEquity, marginToIsolate, removableMargin, setIsolatedMargin } from "../margin/isolated.ts";
import { positionInitial } from "../margin/position-margin.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { MoveMargin, SetLeverage, SetMarginMode } from "../protocol/commands.ts";
import { LeverageSet, MarginModeSet, MarginMoved } from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { type RefusalDetails, refuse, refuseLate } from "../protocol/refusals.ts";
import { LeverageView, MarginModeView } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { replyPosition } from "./symbol-views.ts";

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const leverageSet = blank(LeverageSet);
const marginModeSet = blank(MarginModeSet);
const marginMoved = blank(MarginMoved);

/** The settings of a row that decide its margin. */
interface MarginTerms {
  leverage: number;
  marginMode: number;
  isolatedQuanta: Quanta;
}

/** Changes leverage, margin mode and isolated margin, if the account has the margin. The same value again changes nothing. */
export class MarginSettings {
  private readonly instrument: Instrument;
  private readonly marginTable: MarginTable;
  private readonly state: SymbolState;

  constructor(state: SymbolState) {
    this.instrument = state.instrument;
    this.marginTable = state.marginTable;
    this.state = state;
  }

  /**
   * Lower leverage needs more margin, from the account's available margin. An isolated position needs only what its
   * isolated margin lacks (Bybit). Higher leverage releases no isolated margin: the account takes it out by moveMargin().
   */
  setLeverage(command: MessageOf<typeof SetLeverage>, transaction: Transaction): void {
    const { state, instrument } = this;
    const { leverage } = command;
    if (refuseLate(command, transaction)) return;
    if (leverage < 1 || leverage > instrument.maxLeverage)
      return refuse(transaction, "LEVERAGE_OUT_OF_RANGE", "leverage", { limit: instrument.maxLeverage });
    const row = state.positions.draft(command.accountId);
    state.contributions.refreshMark(row);
    const terms = this.termsOf(row);
    const isLower = leverage < terms.leverage;
    if (terms.leverage !== leverage) {
      // Higher leverage is less margin for the same position: refuse it like new risk.
      if (refuseWhileHalted(state, transaction, isLower)) return;
      terms.leverage = leverage;
      if (isLower && state.isIsolated(row)) terms.isolatedQuanta += this.shortfallAt(row, leverage);
      const shortfall = this.reserve(row, terms);
      if (shortfall !== null) return refuse(transaction, "INSUFFICIENT_MARGIN", "leverage", shortfall);
      leverageSet.accountId = command.accountId;
      leverageSet.leverage = leverage;
      applyLeverageSet(state, leverageSet);
      transaction.emit(leverageSet);
      setIsolatedMargin(state, transaction, row, terms.isolatedQuanta);
    }
    transaction.reply({ type: LeverageView.code, leverage });
  }

  /**
   * Refused while the account has open orders, because their margin would change (Binance −4047). An open position takes
   * the margin that opening it would need now, and its unrealised loss, into isolation. It brings all of its isolated margin back.
   */
  setMarginMode(command: MessageOf<typeof SetMarginMode>, transaction: Transaction): void {
    const { state } = this;
    const { marginMode } = command;
    if (refuseLate(command, transaction)) return;
    const row = state.positions.draft(command.accountId);
    state.contributions.refreshMark(row);
    const n = state.positions.numbers;
    if (n[row + MARGIN_MODE] !== marginMode) {
      if (refuseWhileHalted(state, transaction, n[row + SIZE] === 0)) return;
      if (n[row + OPEN_ORDERS] > 0)
        return refuse(transaction, "OPEN_ORDERS_EXIST", "mode", { openOrders: n[row + OPEN_ORDERS] });
      const terms = this.termsOf(row);
      terms.marginMode = marginMode;
      if (n[row + SIZE] !== 0) {
        terms.isolatedQuanta = marginMode === ISOLATED ? marginToIsolate(state, row) : 0;
        const shortfall = this.reserve(row, terms);
        if (shortfall !== null) return refuse(transaction, "INSUFFICIENT_MARGIN", "mode", shortfall);
      }
      marginModeSet.accountId = command.accountId;
      marginModeSet.marginMode = marginMode;
      marginModeSet.isolatedQuanta = terms.isolatedQuanta;
      applyMarginModeSet(state, marginModeSet);
      transaction.emit(marginModeSet);
    }
    transaction.reply({ type: MarginModeView.code, marginMode });
  }

  /**
   * Adds isolated margin (amount > 0), at most what the account could withdraw; or takes it out, down to the margin that
   * opening would need now, where unrealised losses count and gains do not (Binance, Bybit).
   */
  moveMargin(command: MessageOf<typeof MoveMargin>, transaction: Transaction): void {
    const { state } = this;
    const { accountId, amountQuanta, reference } = command;
    // Before all other checks: a retry must get the result of the first request, whatever has become of the position.
    if (reference !== "" && this.answerDuplicate(command, transaction)) return;
    if (refuseLate(command, transaction)) return;
    const row = state.positions.find(accountId);
    if (row === NONE || state.positions.numbers[row + SIZE] === 0) return refuse(transaction, "NO_POSITION", "symbol");
    if (!state.isIsolated(row)) return refuse(transaction, "POSITION_NOT_ISOLATED", "symbol");
    if (refuseWhileHalted(state, transaction, amountQuanta > 0)) return;
    const availableQuanta =
      amountQuanta > 0 ? this.marginTable.withdrawable(accountId) : Math.max(0, removableMargin(state, row));
    const requiredQuanta = Math.abs(amountQuanta);
    const terms = this.termsOf(row);
    terms.isolatedQuanta += amountQuanta;
    const mayMove = amountQuanta > 0 ? this.reserve(row, terms) === null : requiredQuanta <= availableQuanta;
    if (!mayMove) return refuse(transaction, "INSUFFICIENT_MARGIN", "amount", { requiredQuanta, availableQuanta });
    setIsolatedMargin(state, transaction, row, terms.isolatedQuanta);
    if (reference !== "") {
      Object.assign(marginMoved, { accountId, amountQuanta, reference });
      applyMarginMoved(state, marginMoved);
      transaction.emit(marginMoved);
    }
    replyPosition(state, transaction, row, { changing: true });
  }

  /** If the reference was used before: replies with the position (same amount) or refuses. Returns whether it did. */
  private answerDuplicate(
    { accountId, amountQuanta, reference }: MessageOf<typeof MoveMargin>,
    transaction: Transaction,
  ): boolean {
    const { state } = this;
    const movedQuanta = state.marginReferences.amountOf(accountId, reference);
    if (movedQuanta === undefined) return false;
    if (movedQuanta === amountQuanta)
      replyPosition(state, transaction, state.positions.draft(accountId), { duplicate: true });
    else refuse(transaction, "REFERENCE_REUSED", "reference", { movedQuanta });
    return true;
  }

  /** How much the isolated margin is below the position's initial margin at this leverage, in quanta. */
  private shortfallAt(row: number, leverage: number): Quanta {
    const n = this.state.positions.numbers;
    const before = n[row + LEVERAGE];
    n[row + LEVERAGE] = leverage;
    const initial = positionInitial(this.state, row);
    n[row + LEVERAGE] = before;
    return Math.max(0, initial - isolatedEquity(this.state, row));
  }

  private termsOf(row: number): MarginTerms {
    const n = this.state.positions.numbers;
    return {
      leverage: n[row + LEVERAGE],
      marginMode: n[row + MARGIN_MODE],
      isolatedQuanta: n[row + ISOLATED_QUANTA],
    };
  }

  private setTerms(row: number, terms: MarginTerms): void {
    const n = this.state.positions.numbers;
    n[row + LEVERAGE] = terms.leverage;
    n[row + MARGIN_MODE] = terms.marginMode;
    n[row + ISOLATED_QUANTA] = terms.isolatedQuanta;
  }

  /**
   * Reserves the margin that the row needs under these terms beyond now. Returns null, or what is required and available.
   * A change that leaves the account no worse off always passes: an account short of margin may improve its state.
   */
  private reserve(row: number, terms: MarginTerms): RefusalDetails | null {
    const { state, marginTable } = this;
    const n = state.positions.numbers;
    const accountId = n[row + ACCOUNT];
    const now = this.termsOf(row);
    this.setTerms(row, terms);
    const due = state.contributions.of(row);
    this.setTerms(row, now);
    const equityBy = due.equity - n[row + CONTRIBUTED];
    const initialBy = due.initial - n[row + CONTRIBUTED_INITIAL];
    if (equityBy >= 0 && initialBy <= equityBy) return null;
    const isIsolated = terms.marginMode === ISOLATED;
    const endedAdditional = isIsolated ? state.contributions.additionalOf(row) : 0;
    if (marginTable.reserveChange(accountId, due, n, row + CONTRIBUTED, endedAdditional, isIsolated)) return null;
    const keptQuanta = equityBy < 0 || isIsolated ? marginTable.additional(accountId) - endedAdditional : 0;
    const availableQuanta = marginTable.available(accountId) - keptQuanta;
    const movableQuanta =
      isIsolated && now.marginMode === ISOLATED ? marginTable.unreserved(accountId) : availableQuanta;
    return { requiredQuanta: initialBy - equityBy, availableQuanta: Math.min(availableQuanta, movableQuanta) };
  }
}
