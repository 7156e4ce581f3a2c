/**
 * What the flat tables of a symbol are read with. V8 compiles a module's own constants into its code and asks for imported
 * ones each time: what every order passes through takes them as its own, `const { SIZE } = tables`, also those of
 * words.ts and messages.ts. That is an eighth of what an order costs the core.
 */

/** Not a slot, not a row. */
export const NONE = -1;

/** Columns of a row of positions.ts. */
export const ROW_STRIDE = 32;
export const ACCOUNT = 0;
export const SIZE = 1;
export const CASH = 2;
export const COST = 3;
export const LEVERAGE = 4;
/** Resting and not reduce-only: lots, lots × margin price, lots × open loss, per side. */
export const BUY_LOTS = 5;
export const BUY_EXPOSURE = 6;
export const BUY_LOSS = 7;
export const SELL_LOTS = 8;
export const SELL_EXPOSURE = 9;
export const SELL_LOSS = 10;
export const OPEN_ORDERS = 11;
export const REDUCE_ONLY_ORDERS = 12;
/** First open order of the account's list, newest first; NONE when it has none. */
export const FIRST_ORDER = 13;
export const OPENED_AT = 14;
export const UPDATED_AT = 15;
export const SEQUENCE = 16;
export const UNSAVED = 17;
/** Place in the list of open positions, + 1; 0 = none open. */
export const OPEN_INDEX = 18;
/** The last funding interval that the position has paid for, and what funding has moved since it was opened. */
export const FUNDING_TIME = 19;
export const FUNDING = 20;
/** CROSS or ISOLATED, and what an isolated position that is open holds back from the cross margin: see isolated.ts. */
export const MARGIN_MODE = 21;
export const ISOLATED_QUANTA = 22;
/** Of the turn that is under way: see Touched. */
export const DIRTY_ROUND = 23;
/** Five numbers: what the cells have been given; see AccountCells.move. */
export const CONTRIBUTED = 24;
/** The third of them. */
export const CONTRIBUTED_INITIAL = 26;
/** Orders that wait for a price, and those of them that go with the position. */
export const WAITING_ORDERS = 29;
export const CLOSING_ORDERS = 30;
/** The mark at which they were given; a row without a position contributes the same at any mark. */
export const CONTRIBUTED_MARK = 31;
