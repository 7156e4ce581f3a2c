/** One actor's part of an account's margin, in quanta. An account's margin is the sum of its contributions. */
export interface Contribution {
  /** Ledger balance, or a position's cash + size × mark. */
  equity: number;
  /** The part of equity that is unrealised profit or loss. */
  unrealized: number;
  /** Initial margin of positions and open orders. */
  initial: number;
  /** The positions' part of `initial`. It changes with trades and prices, and not with every order. */
  positionInitial: number;
  maintenance: number;
}

/** The sums of an account's contributions, as the margin table has them. */
export interface AccountMargin extends Contribution {
  /** Unrealised gains of single positions. Losses of other positions are not set off against them. */
  gains: number;
  /** The part of `initial` that orders in isolated mode have reserved: their fills take it out of the account. */
  reserved: number;
  /** May not be taken out, like the initial margin: see formulas/opening-rate.ts. */
  additional: number;
}

export const noMargin = (): AccountMargin => ({
  equity: 0,
  unrealized: 0,
  gains: 0,
  reserved: 0,
  initial: 0,
  positionInitial: 0,
  maintenance: 0,
  additional: 0,
});

// The order in which an actor remembers a contribution as five numbers.
export const EQUITY = 0;
export const UNREALIZED = 1;
export const INITIAL = 2;
export const POSITION_INITIAL = 3;
export const MAINTENANCE = 4;
export const CONTRIBUTION_FIELDS = 5;
// The table's columns are the same, but for two in the place of UNREALIZED: its gains and, as a positive number, its losses.
// One more is the part of INITIAL − POSITION_INITIAL that belongs to rows in isolated mode.
export const GAINS = 1;
export const LOSSES = 5;
export const RESERVED = 6;
export const VALUE_COLUMNS = 7;

/** The unrealised gain of a contribution; of the negative amount its loss. */
export const gainOf = (unrealized: number): number => (unrealized > 0 ? unrealized : 0);

/**
 * min(equity − initial − additional, equity − gains − reserved), never below 0: unrealised gains are not paid out, losses are
 * owed, and nobody takes out the margin that opening needs now. Isolated orders will take what they have reserved. So that is
 * left beside the gains, or else the gains would leave with it.
 */
export const withdrawableOf = ({
  equity,
  gains,
  reserved,
  initial,
  additional,
}: Pick<AccountMargin, "equity" | "gains" | "reserved" | "initial" | "additional">): number =>
  Math.max(0, equity - Math.max(initial + additional, gains + reserved));
