/**
 * The columns of a symbol's flat tables.
 *
 * V8 compiles a module's own constants into its code, but loads imported ones each time. So the modules on the path of every
 * order copy them: `const { SIZE } = columns`, and the same for enums.ts and the message modules. This saves an eighth of the
 * core's time per order.
 */

/** No slot, no row. */
export const NONE = -1;

/** Numbers in a row of positions.ts. Its columns follow. */
export const ROW_STRIDE = 32;
export const ACCOUNT = 0;
export const SIZE = 1;
export const CASH = 2;
export const COST = 3;
export const LEVERAGE = 4;
/** Sums over resting orders that are not reduce-only, per side: lots, notional at the margin price, open loss (quanta). */
export const BUY_LOTS = 5;
export const BUY_EXPOSURE = 6;
export const BUY_LOSS = 7;
export const SELL_LOTS = 8;
export const SELL_EXPOSURE = 9;
export const SELL_LOSS = 10;
export const OPEN_ORDERS = 11;
export const REDUCE_ONLY_ORDERS = 12;
/** Slot of the newest order in the account's list; NONE when it is empty. */
export const FIRST_ORDER = 13;
export const OPENED_AT = 14;
export const UPDATED_AT = 15;
export const SEQUENCE = 16;
/** 1 when the row has changed since the last snapshot. */
export const UNSAVED = 17;
/** Index in the list of open positions, + 1; 0 = not open. */
export const OPEN_INDEX = 18;
/** The last funding interval that the position has settled, and the funding moved since it was opened (quanta). */
export const FUNDING_TIME = 19;
export const FUNDING = 20;
/** CROSS or ISOLATED, and the margin set aside for an open isolated position (quanta): see isolated.ts. */
export const MARGIN_MODE = 21;
export const ISOLATED_QUANTA = 22;
/** The last round of the DirtySet that has changed the row. */
export const DIRTY_ROUND = 23;
/** Five numbers: the contribution that the margin table has of this row. See MarginTable.setContribution. */
export const CONTRIBUTED = 24;
/** The third of them: initial margin. */
export const CONTRIBUTED_INITIAL = 26;
/** Untriggered orders, and those of them that end with the position. */
export const WAITING_ORDERS = 29;
export const CLOSING_ORDERS = 30;
/** The mark (ticks) of that contribution. Without a position it is the same at any mark. */
export const CONTRIBUTED_MARK = 31;
