import type { MarginTable } from "../accounts/margin-table.ts";
import { NONE } from "../base/columns.ts";
import { FIRST_CUSTOMER_ACCOUNT, GATE, INSURANCE_ACCOUNT } from "../base/enums.ts";
import type { Quanta } from "../base/units.ts";
import type { SolvencyFigures } from "../protocol/payloads.ts";

/** Per transaction: it delays other commands by a fraction of a millisecond. */
const ACCOUNTS_PER_TRANSACTION = 5000;
/** Rounding leaves less than this below zero: 1 USDC is one quantum of a million accounts. */
const TOLERATED_DEFICIT_QUANTA = 1_000_000;

/** Why these figures gate withdrawals: see GATE. */
export function gateOf({ fundEquityQuanta, deficitQuanta, fundNotionalQuanta }: SolvencyFigures): number {
  if (fundEquityQuanta < 0) return GATE.FUND_BELOW_ZERO;
  if (deficitQuanta > fundEquityQuanta + TOLERATED_DEFICIT_QUANTA) return GATE.DEFICITS;
  return fundNotionalQuanta > fundEquityQuanta ? GATE.FUND_POSITIONS : GATE.OPEN;
}

/** The result of a check. */
export interface Verdict {
  readonly gate: number;
  /** With the deficits that have lasted since the check before. */
  readonly figures: SolvencyFigures;
}

/**
 * Whether the exchange can pay everybody: what customers below zero owe, and what the insurance fund has and holds. It is
 * read from the margin table in parts, since there may be many accounts.
 *
 * An account may be below zero for some milliseconds while a mark is settled. So withdrawals are gated only for what two checks
 * in a row have found, and a deficit counts only if both found it in the same account. One check that finds nothing opens
 * the gate.
 */
export class SolvencyCheck {
  private readonly marginTable: MarginTable;
  /** The next account of the check in progress; NONE between two checks. */
  private nextAccount = NONE;
  /** By account, what it owes: of the check in progress, and of the last one. */
  private deficits = new Map<number, Quanta>();
  private lastDeficits = new Map<number, Quanta>();
  /** Of the last check by itself. Null before the first. */
  private lastGate: number | null = null;

  constructor(marginTable: MarginTable) {
    this.marginTable = marginTable;
  }

  /** Whether the last check found nothing at all, not even what may be gone in milliseconds. */
  get isClean(): boolean {
    return this.lastGate === GATE.OPEN;
  }

  get isChecking(): boolean {
    return this.nextAccount !== NONE;
  }

  /** Begins a check, unless one is in progress. */
  begin(): void {
    if (!this.isChecking) this.nextAccount = FIRST_CUSTOMER_ACCOUNT;
  }

  /**
   * A part of the check in progress, of the accounts below `endAccount`. Returns null until the check ends. `gate`: the one
   * until now.
   */
  proceed(endAccount: number, gate: number): Verdict | null {
    const end = Math.min(endAccount, this.nextAccount + ACCOUNTS_PER_TRANSACTION);
    for (; this.nextAccount < end; this.nextAccount++) this.look(this.nextAccount, this.deficits);
    if (this.nextAccount < endAccount) return null;
    this.nextAccount = NONE;
    const figures = this.figures(sumOf(this.deficits));
    const lasting = { ...figures, deficitQuanta: this.lastingSum() };
    const { lastGate } = this;
    this.lastGate = gateOf(figures);
    this.lastDeficits = this.deficits;
    this.deficits = new Map();
    if (this.lastGate === GATE.OPEN) return { gate: GATE.OPEN, figures: lasting };
    const lastingGate = gateOf(lasting);
    const hasLasted = lastingGate !== GATE.OPEN && lastGate !== null && lastGate !== GATE.OPEN;
    return { gate: hasLasted ? lastingGate : gate, figures: lasting };
  }

  /** The figures of all accounts below `endAccount` as of now. */
  count(endAccount: number): SolvencyFigures {
    const deficits = new Map<number, Quanta>();
    for (let accountId = FIRST_CUSTOMER_ACCOUNT; accountId < endAccount; accountId++) this.look(accountId, deficits);
    return this.figures(sumOf(deficits));
  }

  private look(accountId: number, deficits: Map<number, Quanta>): void {
    const { marginTable } = this;
    // As it stands, an account has never more than between transactions.
    if (marginTable.equity(accountId) >= 0) return;
    marginTable.readConsistent(accountId);
    const { equity } = marginTable.consistent(accountId);
    if (equity < 0) deficits.set(accountId, -equity);
  }

  /** The fund's figures as of now, with these deficits. */
  figures(deficitQuanta: Quanta): SolvencyFigures {
    const { marginTable } = this;
    marginTable.readConsistent(INSURANCE_ACCOUNT);
    // The fund uses no leverage: its initial margin is the notional of its positions.
    const { equity, positionInitial } = marginTable.consistent(INSURANCE_ACCOUNT);
    return { fundEquityQuanta: equity, deficitQuanta, fundNotionalQuanta: positionInitial };
  }

  private lastingSum(): Quanta {
    let sum = 0;
    for (const [accountId, quanta] of this.deficits) sum += Math.min(quanta, this.lastDeficits.get(accountId) ?? 0);
    return sum;
  }
}

function sumOf(deficits: ReadonlyMap<number, Quanta>): Quanta {
  let sum = 0;
  for (const quanta of deficits.values()) sum += quanta;
  return sum;
}
