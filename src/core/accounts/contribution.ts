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
  /** May not be taken out, like the initial margin: see formulas/opening-rate.ts. */
  additional: number;
}

export const noMargin = (): AccountMargin => ({
  equity: 0,
  unrealized: 0,
  gains: 0,
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
export const GAINS = 1;
export const LOSSES = 5;
export const VALUE_COLUMNS = 6;

/** The unrealised gain of a contribution; of the negative amount its loss. */
export const gainOf = (unrealized: number): number => (unrealized > 0 ? unrealized : 0);

/**
 * min(equity − initial − additional, equity − gains), never below 0: unrealised gains are not paid out, losses are owed, and
 * nobody takes out the margin that opening needs now.
 */
export const withdrawableOf = (equity: number, gains: number, initial: number, additional: number): number =>
  Math.max(0, equity - Math.max(initial + additional, gains));
